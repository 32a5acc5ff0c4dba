import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.*;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.catalyst.expressions.ArrayContains;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BinaryExpression;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.ElementAt;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetMapValue;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.MapKeys;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.UnaryExpression;
import org.apache.spark.sql.catalyst.plans.logical.*;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import scala.Function1;
import scala.collection.mutable.ArrayBuffer;
import scala.runtime.AbstractPartialFunction;

/**
 * A rule of Spark's optimizer that passes to scans the keys of MAPs that a query uses, as in m['k'].
 *
 * A scan that can read by keys is a UnaryOperator: of the keys by column, as JSON, to the scan that reads them, or null. The
 * rule runs after the others, so no later rule uses a MAP in another way. A node that is not among the known ones uses its
 * whole input. Plans of subqueries are optimized, and compared with each other, before the plan around them: they are changed
 * with the plan around them.
 */
public class SelectedKeys {
  static final ObjectMapper JSON = new ObjectMapper();

  /** The MAPs of a plan by the ids of their columns: the keys that are used, and the MAPs that are used as a whole. */
  public static class Uses {
    final Map keys = new HashMap();
    final Set whole = new HashSet();

    void of(LogicalPlan plan) {
      boolean known = isKnown(plan);
      for (int i = 0; i < plan.children().size(); i++) {
        LogicalPlan child = (LogicalPlan) plan.children().apply(i);
        of(child);
        if (!known) all(child);
      }
      if (!known) return;
      for (int i = 0; i < plan.expressions().size(); i++) {
        Object expression = plan.expressions().apply(i);
        boolean passes = plan instanceof Project && expression instanceof AttributeReference;
        if (!passes) of((Expression) expression);
      }
    }

    void all(LogicalPlan plan) {
      for (int i = 0; i < plan.output().size(); i++) whole.add(((Attribute) plan.output().apply(i)).exprId());
    }

    private void of(Expression expression) {
      if (expression instanceof Attribute) {
        whole.add(((Attribute) expression).exprId());
        return;
      }
      boolean checksNull = expression instanceof IsNull || expression instanceof IsNotNull;
      if (checksNull && ((UnaryExpression) expression).child() instanceof AttributeReference) return;
      if (expression instanceof BinaryExpression && isKey((BinaryExpression) expression)) return;
      for (int i = 0; i < expression.children().size(); i++) of((Expression) expression.children().apply(i));
    }

    /** Whether an expression uses one key of a MAP only; the key is kept. */
    private boolean isKey(BinaryExpression expression) {
      Expression map = (Expression) expression.left();
      boolean isIn = expression instanceof ArrayContains && map instanceof MapKeys;  // map_contains_key
      if (isIn) map = (Expression) ((MapKeys) map).child();
      else if (!(expression instanceof GetMapValue || expression instanceof ElementAt)) return false;
      Object key = expression.right();
      if (!(map instanceof AttributeReference && hasTexts((Attribute) map) && key instanceof Literal)) return false;
      Literal text = (Literal) key;
      if (!(text.dataType() instanceof StringType) || text.value() == null) return false;
      Object id = ((Attribute) map).exprId();
      if (!keys.containsKey(id)) keys.put(id, new TreeSet());
      ((Set) keys.get(id)).add(text.value().toString());
      return true;
    }

    /** The keys of the columns of a scan that are not used as a whole. */
    Map ofScan(DataSourceV2ScanRelation scan) {
      Map found = new TreeMap();
      for (int i = 0; i < scan.output().size(); i++) {
        Attribute column = (Attribute) scan.output().apply(i);
        if (!hasTexts(column) || whole.contains(column.exprId())) continue;
        Object of = keys.get(column.exprId());
        found.put(column.name(), of == null ? Collections.emptySet() : of);
      }
      return found;
    }
  }

  static boolean hasTexts(Attribute column) {
    return column.dataType() instanceof MapType && ((MapType) column.dataType()).keyType() instanceof StringType;
  }

  /** Whether a node uses its input by its expressions only, and passes columns on with their ids. */
  static boolean isKnown(LogicalPlan plan) {
    return plan instanceof Project || plan instanceof Filter || plan instanceof Sort || plan instanceof Aggregate
      || plan instanceof Join || plan instanceof GlobalLimit || plan instanceof LocalLimit || plan instanceof Offset
      || plan instanceof Window || plan instanceof Generate || plan instanceof Sample || plan instanceof RepartitionByExpression;
  }

  /** Return a plan whose scans read the used keys. */
  static LogicalPlan reading(LogicalPlan plan, final Uses uses) {
    LogicalPlan found = scansReading(plan, uses);
    if (!found.containsPattern(TreePattern$.MODULE$.PLAN_EXPRESSION())) return found;
    return (LogicalPlan) found.transformAllExpressions(new Queries(uses));
  }

  private static LogicalPlan scansReading(LogicalPlan plan, Uses uses) {
    if (plan instanceof DataSourceV2ScanRelation) {
      DataSourceV2ScanRelation scan = (DataSourceV2ScanRelation) plan;
      return scan.scan() instanceof UnaryOperator ? ofKeys(scan, uses.ofScan(scan)) : plan;
    }
    ArrayBuffer children = new ArrayBuffer();
    boolean changed = false;
    for (int i = 0; i < plan.children().size(); i++) {
      LogicalPlan child = (LogicalPlan) plan.children().apply(i), now = scansReading(child, uses);
      children.append(now);
      changed = changed || now != child;
    }
    return changed ? (LogicalPlan) plan.withNewChildren(children.toSeq()) : plan;
  }

  private static LogicalPlan ofKeys(DataSourceV2ScanRelation relation, Map keys) {
    if (keys.isEmpty()) return relation;
    Object scan;
    try {
      scan = ((UnaryOperator) relation.scan()).apply(JSON.writeValueAsString(keys));
    } catch (java.io.IOException e) {
      throw new RuntimeException(e);
    }
    if (scan == null) return relation;
    Object[] members = new Object[relation.productArity()];
    for (int i = 0; i < members.length; i++) {
      members[i] = relation.productElementName(i).equals("scan") ? scan : relation.productElement(i);
    }
    return (LogicalPlan) relation.makeCopy(members);
  }

  static LogicalPlan changed(LogicalPlan plan) {
    Uses uses = new Uses();
    uses.of(plan);
    uses.all(plan);
    return reading(plan, uses);
  }

  /** Plans in expressions. One that prunes partitions repeats a side of a join, and Spark looks for an equal plan there. */
  public static class Queries extends AbstractPartialFunction {
    private final Uses around;
    Queries(Uses around) { this.around = around; }
    public boolean isDefinedAt(Object node) { return node instanceof SubqueryExpression; }

    public Object applyOrElse(Object node, Function1 other) {
      if (!isDefinedAt(node)) return other.apply(node);
      SubqueryExpression query = (SubqueryExpression) node;
      LogicalPlan plan = (LogicalPlan) query.plan();
      LogicalPlan now = node instanceof DynamicPruningSubquery ? reading(plan, around) : changed(plan);
      return now == plan ? node : query.withNewPlan(now);
    }
  }

  public static class Selecting extends Rule {
    public TreeNode apply(TreeNode plan) {
      return plan instanceof Subquery ? plan : changed((LogicalPlan) plan);
    }

    public String ruleName() { return "SelectedKeysOfMaps"; }
  }

  public Rule rule() {
    return new Selecting();
  }
}
