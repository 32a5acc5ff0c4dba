import java.lang.reflect.Field;
import java.util.*;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext$;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.classic.SparkSession;
import scala.Function2;
import scala.Product;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * Finds the relations of a plan with options that choose which rows are read.
 *
 * Spark passes the options of a relation to a table only. For a view or a query of WITH it ignores them, and returns all rows.
 */
public class ChosenRows {
  /** Analyzers refer to extensions, and extensions to the rule: a session that has ended must not stay in memory. */
  private static final Set EXTENDED = Collections.newSetFromMap(new WeakHashMap());

  /** The queries of WITH that a parsed plan reads with one of some options, a line for each: the option and the name. */
  public String queries(Object plan, List keys) {
    Set found = new LinkedHashSet();
    collect((LogicalPlan) plan, keys, Collections.emptySet(), found);
    return String.join("\n", found);
  }

  private static void collect(LogicalPlan plan, List keys, Set visible, Set found) {
    if (plan instanceof UnresolvedRelation) {
      UnresolvedRelation relation = (UnresolvedRelation) plan;
      String key = chosenBy(relation, keys);
      if (key == null || relation.multipartIdentifier().size() != 1) return;
      String name = (String) relation.multipartIdentifier().head();
      if (visible.contains(name.toLowerCase(Locale.ROOT))) found.add(key + '\0' + name);
      return;
    }
    if (plan instanceof UnresolvedWith) {
      collectWith((UnresolvedWith) plan, keys, visible, found);
      return;
    }
    for (Iterator each = subqueries(plan).iterator(); each.hasNext();) collect((LogicalPlan) each.next(), keys, visible, found);
    Set seen = Collections.newSetFromMap(new IdentityHashMap());
    for (Iterator each = nested(plan).iterator(); each.hasNext();) {
      Object inner = each.next();
      if (inner instanceof LogicalPlan && seen.add(inner)) collect((LogicalPlan) inner, keys, visible, found);
    }
  }

  /** Handle WITH: its queries may name earlier ones, and themselves if it is recursive; its statement may name all. */
  private static void collectWith(UnresolvedWith with, List keys, Set visible, Set found) {
    boolean isRecursive = false;
    for (int i = 0; i < with.productArity(); i++) isRecursive |= Boolean.TRUE.equals(with.productElement(i));
    Set names = new HashSet(visible);
    for (Iterator each = CollectionConverters.asJava(with.cteRelations()).iterator(); each.hasNext();) {
      Product one = (Product) each.next();
      String name = ((String) one.productElement(0)).toLowerCase(Locale.ROOT);
      if (isRecursive) names.add(name);
      collect((LogicalPlan) one.productElement(1), keys, names, found);
      names.add(name);
    }
    collect(with.child(), keys, names, found);
  }

  /** The plans in a node, and other values. */
  private static List nested(LogicalPlan plan) {
    List all = new ArrayList(CollectionConverters.asJava(plan.children()));
    all.addAll(CollectionConverters.asJava(plan.innerChildren()));
    for (int i = 0; i < plan.productArity(); i++) all.add(plan.productElement(i));  // as in EXPLAIN
    return all;
  }

  /** The plans in the expressions of a node. */
  private static List subqueries(LogicalPlan plan) {
    List found = new ArrayList();
    LinkedList open = new LinkedList(CollectionConverters.asJava(plan.expressions()));
    while (!open.isEmpty()) {
      Expression one = (Expression) open.removeFirst();
      if (one instanceof PlanExpression && ((PlanExpression) one).plan() instanceof LogicalPlan) found.add(((PlanExpression) one).plan());
      open.addAll(CollectionConverters.asJava(one.children()));
    }
    return found;
  }

  private static String chosenBy(UnresolvedRelation relation, List keys) {
    if (relation.options().isEmpty()) return null;
    for (int i = 0; i < keys.size(); i++)
      if (relation.options().containsKey(keys.get(i))) return (String) keys.get(i);
    return null;
  }

  /**
   * Install a rule in a session, and in sessions created from it: before Spark resolves a relation with one of some options, the
   * rule calls `check` with the session and a text. The text has the option, "temporary" for a temporary view that a view names,
   * and the parts of the relation's name, joined by NULs. Does nothing if the rule is there.
   */
  public synchronized void install(SparkSession session, SparkSessionExtensions extensions, Object analyzer, final List keys,
      final Function2 check) throws Exception {
    if (EXTENDED.add(extensions)) {
      extensions.injectHintResolutionRule(new AbstractFunction1() {
        public Object apply(Object of) { return new Checked((SparkSession) of, keys, check); }
      });
    }
    Field rules = field(analyzer.getClass());
    rules.setAccessible(true);
    List all = new ArrayList(CollectionConverters.asJava((scala.collection.Seq) rules.get(analyzer)));
    for (int i = 0; i < all.size(); i++) if (all.get(i) instanceof Checked) return;
    all.add(new Checked(session, keys, check));
    rules.set(analyzer, CollectionConverters.asScala(all).toSeq());
  }

  static Field field(Class of) throws NoSuchFieldException {
    Field[] fields = of.getDeclaredFields();
    for (int i = 0; i < fields.length; i++) if (fields[i].getName().equals("hintResolutionRules")) return fields[i];
    if (of.getSuperclass() == null) throw new NoSuchFieldException("hintResolutionRules");
    return field(of.getSuperclass());
  }

  static class Checked extends Rule {
    private final SparkSession session;
    private final List keys;
    private final Function2 check;

    Checked(SparkSession session, List keys, Function2 check) {
      this.session = session;
      this.keys = keys;
      this.check = check;
    }

    public TreeNode apply(TreeNode plan) {
      visit((LogicalPlan) plan);
      return plan;
    }

    private void visit(LogicalPlan plan) {
      if (!plan.containsPattern(TreePattern$.MODULE$.UNRESOLVED_RELATION())) return;
      if (plan instanceof UnresolvedRelation) {
        String key = chosenBy((UnresolvedRelation) plan, keys);
        if (key != null) check.apply(session, key + '\0' + name((UnresolvedRelation) plan));
        return;
      }
      for (Iterator each = subqueries(plan).iterator(); each.hasNext();) visit((LogicalPlan) each.next());
      for (Iterator each = CollectionConverters.asJava(plan.children()).iterator(); each.hasNext();) visit((LogicalPlan) each.next());
    }

    /** The name of a relation, in full if a view names it: a view has a catalog and a namespace of its own. */
    private String name(UnresolvedRelation relation) {
      scala.collection.immutable.Seq written = relation.multipartIdentifier();
      List parts = new ArrayList(CollectionConverters.asJava(written));
      AnalysisContext context = AnalysisContext$.MODULE$.get();
      List place = new ArrayList(CollectionConverters.asJava(context.catalogAndNamespace()));
      if (place.isEmpty()) return '\0' + String.join("\0", parts);
      if (context.referredTempViewNames().contains(written)) return "temporary\0" + String.join("\0", parts);
      boolean isWhole = parts.size() > 1 && session.sessionState().catalogManager().isCatalogRegistered((String) parts.get(0));
      if (!isWhole) parts.addAll(0, parts.size() == 1 ? place : place.subList(0, 1));
      return '\0' + String.join("\0", parts);
    }
  }
}
