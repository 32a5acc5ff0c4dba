import java.lang.reflect.Method;
import java.util.*;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.catalog.SQLFunction;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.StartsWith;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ShowFunctions;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.Product;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * The calls of functions in parsed plans, and copies of plans with other names in their calls. In Spark before 4.2, a catalog
 * cannot make the expression of a call; in no version can it make the rows of a table function.
 */
public class FunctionCalls {
  static final String SCALAR = "scalar", TABLE = "table", RELATION = "relation", QUERY = "query";

  /** A function of a name and its node. `name` is the kind and the parts, joined by NULs. Returns the new name, or null. */
  public interface Names { String of(String name, TreeNode node); }

  static String name(String kind, scala.collection.immutable.Seq parts) {
    StringBuilder text = new StringBuilder(kind);
    for (Iterator it = CollectionConverters.asJava(parts).iterator(); it.hasNext();) text.append('\0').append(it.next());
    return text.toString();
  }

  static Object[] elements(Product node) {
    Object[] parts = new Object[node.productArity()];
    for (int i = 0; i < parts.length; i++) parts[i] = node.productElement(i);
    return parts;
  }

  static Object named(TreeNode node, String name) {
    Object[] parts = elements((Product) node);
    parts[0] = CollectionConverters.asScala(Collections.singletonList(name)).toSeq();
    return node.makeCopy(parts);
  }

  public static class Expressions extends AbstractPartialFunction {
    private final Names names;
    Expressions(Names names) { this.names = names; }
    public boolean isDefinedAt(Object node) { return node instanceof UnresolvedFunction; }

    public Object applyOrElse(Object node, Function1 other) {
      if (!isDefinedAt(node)) return other.apply(node);
      String name = names.of(name(SCALAR, ((UnresolvedFunction) node).nameParts()), (TreeNode) node);
      return name == null ? node : named((TreeNode) node, name);
    }
  }

  /** Handle the common table expressions of a node, which are not its children. */
  public static class Plans extends AbstractPartialFunction {
    private final Names names;
    Plans(Names names) { this.names = names; }

    public boolean isDefinedAt(Object node) {
      return node instanceof UnresolvedWith || node instanceof UnresolvedTableValuedFunction
        || node instanceof UnresolvedRelation;
    }

    public Object applyOrElse(Object node, Function1 other) {
      if (node instanceof UnresolvedTableValuedFunction) {
        String name = names.of(name(TABLE, ((UnresolvedTableValuedFunction) node).name()), (TreeNode) node);
        return name == null ? node : named((TreeNode) node, name);
      }
      if (node instanceof UnresolvedRelation) {
        names.of(name(RELATION, ((UnresolvedRelation) node).multipartIdentifier()), (TreeNode) node);
        return node;
      }
      if (!(node instanceof UnresolvedWith)) return other.apply(node);
      UnresolvedWith with = (UnresolvedWith) node;
      List found = new ArrayList();
      for (Iterator it = CollectionConverters.asJava(with.cteRelations()).iterator(); it.hasNext();) {
        Product one = (Product) it.next();
        names.of(QUERY + '\0' + one.productElement(0), with);
        Object plan = changed((LogicalPlan) one.productElement(1), names);
        found.add(one.productArity() == 2
          ? (Object) new scala.Tuple2(one.productElement(0), plan)
          : (Object) new scala.Tuple3(one.productElement(0), plan, one.productElement(2)));
      }
      Object[] parts = elements(with);
      parts[1] = CollectionConverters.asScala(found).toSeq();
      return with.makeCopy(parts);
    }
  }

  /** Handle the plan that EXPLAIN explains, which is not a child of its node. */
  static Object changed(LogicalPlan plan, Names names) {
    if (plan.getClass().getSimpleName().equals("ExplainCommand")) {
      Object[] parts = elements((Product) plan);
      parts[0] = changed((LogicalPlan) parts[0], names);
      return plan.makeCopy(parts);
    }
    LogicalPlan inner = (LogicalPlan) plan.transformDownWithSubqueries(new Plans(names));
    return inner.transformAllExpressionsWithSubqueries(new Expressions(names));
  }

  /**
   * The names in a plan, a line for each: its kind, its position in the text, and its parts, joined by NULs. Names of
   * built-in and temporary functions are left out.
   */
  public String names(Object plan, Object session) {
    final SessionCatalog known = ((SparkSession) session).sessionState().catalog();
    final StringBuilder lines = new StringBuilder();
    changed((LogicalPlan) plan, new Names() {
      public String of(String name, TreeNode node) {
        String[] parts = name.split("\0");
        boolean isCall = parts[0].equals(SCALAR) || parts[0].equals(TABLE);
        if (isCall && parts.length == 2
            && (known.lookupBuiltinOrTempFunction(parts[1]).isDefined()
              || known.lookupBuiltinOrTempTableFunction(parts[1]).isDefined())) return null;
        scala.Option start = node.origin().startIndex();
        lines.append(parts[0]).append('\0').append(start.isDefined() ? start.get() : "-1");
        for (int i = 1; i < parts.length; i++) lines.append('\0').append(parts[i]);
        lines.append('\n');
        return null;
      }
    });
    return lines.toString();
  }

  /** A copy of a plan with other names in its calls. `names` maps the kind and the parts of a name to the new name. */
  public Object renamed(Object plan, final Map names) {
    return changed((LogicalPlan) plan, new Names() {
      public String of(String name, TreeNode node) { return (String) names.get(name); }
    });
  }

  /** SHOW FUNCTIONS without the session's temporary functions whose names begin with a prefix; other plans as they are. */
  public Object without(Object plan, Object catalog, List prefixes) {
    if (!(plan instanceof ShowFunctions)) return plan;
    LogicalPlan shown = (LogicalPlan) plan;
    Expression name = (Expression) shown.output().head();
    for (Iterator it = prefixes.iterator(); it.hasNext();) {
      String prefix = (String) it.next();
      if (!hasTemporary((SessionCatalog) catalog, prefix)) continue;
      Expression begin = new Literal(UTF8String.fromString(prefix), DataTypes.StringType);
      shown = new Filter(new Not(new StartsWith(name, begin)), shown);
    }
    return shown;
  }

  static boolean hasTemporary(SessionCatalog catalog, String prefix) {
    Iterator it = CollectionConverters.asJava(catalog.listTemporaryFunctions()).iterator();
    while (it.hasNext()) if (((FunctionIdentifier) it.next()).funcName().startsWith(prefix)) return true;
    return false;
  }

  /** A Scala function from arguments to the call of an SQL function: an expression, or a plan for a table function. */
  public Object builder(Object catalog, Object function) throws Exception {
    String name = ((SQLFunction) function).isTableFunc() ? "makeSQLTableFunctionBuilder" : "makeSQLFunctionBuilder";
    Method method = SessionCatalog.class.getDeclaredMethod(name, SQLFunction.class);
    method.setAccessible(true);
    return method.invoke(catalog, function);
  }
}
