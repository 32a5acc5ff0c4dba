import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.NoopCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.unsafe.Platform;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Keeps the names of Paimon tables in Spark's session catalog: Spark gives a table or a view of its own such a name without asking
 * the catalog.
 *
 * A rule sees each command that Spark has analyzed, whether a statement, a method of `spark.catalog` or a writer has made it.
 */
public class NewNames {
  /** The element of each command that has the new name. */
  private static final String[][] COMMANDS = new String[][] {
    {"CreateDataSourceTableCommand", "table"}, {"CreateTableCommand", "table"}, {"CreateDataSourceTableAsSelectCommand", "table"},
    {"CreateHiveTableAsSelectCommand", "tableDesc"}, {"CreateTableLikeCommand", "targetTable"}, {"CreateViewCommand", "name"},
    {"CreateMetricViewCommand", "child"}, {"AlterTableRenameCommand", "newName"}};

  /** Install the rule in a session, in place of an earlier one. `tables` is the catalog of the Paimon tables. */
  public void install(SparkSession session, Object analyzer, Object tables) throws Exception {
    Field rules = field(analyzer.getClass());
    rules.setAccessible(true);
    List all = new ArrayList(CollectionConverters.asJava((scala.collection.Seq) rules.get(analyzer)));
    for (Iterator each = all.iterator(); each.hasNext();)
      if (each.next().getClass().getName().equals(Kept.class.getName())) each.remove();  // also of a Python that has ended
    all.add(new Kept(session, (TableCatalog) tables));
    rules.set(analyzer, CollectionConverters.asScala(all).toSeq());
  }

  private static Field field(Class of) throws NoSuchFieldException {
    Field[] fields = of.getDeclaredFields();
    for (int i = 0; i < fields.length; i++) if (fields[i].getName().equals("postHocResolutionRules")) return fields[i];
    if (of.getSuperclass() == null) throw new NoSuchFieldException("postHocResolutionRules");
    return field(of.getSuperclass());
  }

  static class Kept extends Rule {
    private final SparkSession session;
    private final TableCatalog tables;

    Kept(SparkSession session, TableCatalog tables) {
      this.session = session;
      this.tables = tables;
    }

    public TreeNode apply(TreeNode plan) {
      Object element = null;
      String kind = plan.getClass().getSimpleName();
      for (int i = 0; i < COMMANDS.length && element == null; i++)
        if (kind.equals(COMMANDS[i][0])) element = element(plan, COMMANDS[i][1]);
      if (element == null) return plan;
      try {
        return kept((LogicalPlan) plan, element);
      } catch (Exception e) {
        Platform.throwException(e);
        return plan;
      }
    }

    private TreeNode kept(LogicalPlan plan, Object element) throws Exception {
      Identifier name = element instanceof ResolvedIdentifier ? ((ResolvedIdentifier) element).identifier()
        : named(plan, element instanceof CatalogTable ? ((CatalogTable) element).identifier() : (TableIdentifier) element);
      if (name == null || !isTaken(name)) return plan;
      if (!isLenient(plan)) throw new TableAlreadyExistsException(name);
      List parts = new ArrayList(Arrays.asList(name.namespace()));
      parts.add(name.name());
      return new NoopCommand(plan.nodeName(), CollectionConverters.asScala(parts).toSeq());
    }

    /** Return the full new name; null for a temporary view, which may hide a table. */
    private Identifier named(LogicalPlan plan, TableIdentifier written) throws Exception {
      SessionCatalog catalog = session.sessionState().catalog();
      Object kind = element(plan, "viewType");
      if (kind != null && !kind.toString().equals("PersistedView")) return null;
      Option database = written.database();
      TableIdentifier old = (TableIdentifier) element(plan, "oldName");
      if (old != null && catalog.isTempView(old)) return null;
      if (database.isEmpty() && old != null) database = old.database();
      String place = database.isEmpty() ? catalog.getCurrentDatabase() : (String) database.get();
      return identifier(new String[] {place}, written.table());
    }

    /** Whether a Paimon table has the name, or the name in lower case, which Spark's own tables get. */
    private boolean isTaken(Identifier name) throws Exception {
      if (tables.tableExists(name)) return true;
      if (session.sessionState().conf().caseSensitiveAnalysis()) return false;
      String lower = name.name().toLowerCase(Locale.ROOT);
      String[] place = (String[]) name.namespace().clone();
      for (int i = 0; i < place.length; i++) place[i] = place[i].toLowerCase(Locale.ROOT);
      Identifier other = identifier(place, lower);
      return !other.equals(name) && tables.tableExists(other);
    }

    /** Return a name. The compiler of these sources does not call static methods of interfaces. */
    private static Identifier identifier(String[] namespace, String name) throws Exception {
      return (Identifier) Identifier.class.getMethod("of", new Class[] {String[].class, String.class})
        .invoke(null, new Object[] {namespace, name});
    }

    private static boolean isLenient(LogicalPlan plan) {
      Object mode = element(plan, "mode");
      return Boolean.TRUE.equals(element(plan, "ignoreIfExists")) || Boolean.TRUE.equals(element(plan, "ifNotExists"))
        || Boolean.TRUE.equals(element(plan, "allowExisting")) || (mode != null && mode.toString().equals("Ignore"));
    }

    private static Object element(TreeNode plan, String name) {
      for (int i = 0; i < plan.productArity(); i++)
        if (plan.productElementName(i).equals(name)) return plan.productElement(i);
      return null;
    }
  }
}
