import java.util.HashSet;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.*;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.UnionExec;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import scala.Option;
import scala.collection.Iterable;
import scala.collection.immutable.Seq;
import scala.collection.mutable.ArrayBuffer;

/**
 * Scans in two parts: Spark's own Parquet reader reads the files that need no merge, Python workers read the rest.
 *
 * Tasks of one scan must all return rows or all return columns, so a strategy of the planner makes a union of two scans. A
 * divided Paimon scan is a Supplier of its parts. The union has no partitioning by bucket, so the strategy leaves a scan whole
 * if Spark knows its buckets. The rule removes this knowledge from queries that cannot use it.
 */
public class DividedScans {
  static boolean isDivided(LogicalPlan plan) {
    return plan instanceof DataSourceV2ScanRelation && ((DataSourceV2ScanRelation) plan).scan() instanceof Supplier;
  }

  static LogicalPlan with(DataSourceV2ScanRelation relation, String member, Object value) {
    Object[] members = new Object[relation.productArity()];
    for (int i = 0; i < members.length; i++) {
      members[i] = relation.productElementName(i).equals(member) ? value : relation.productElement(i);
    }
    return (LogicalPlan) relation.makeCopy(members);
  }

  static LogicalPlan onlyChild(LogicalPlan plan) {
    return (LogicalPlan) plan.children().apply(0);
  }

  public static class Ungrouped extends Rule {
    public TreeNode apply(TreeNode root) {
      LogicalPlan plan = (LogicalPlan) root;
      Set keys = new HashSet(), others = new HashSet();
      collect(plan, keys, others);
      return keys.isEmpty() || mayUse(plan, others) ? plan : ungrouped(plan);
    }

    /** Collect the columns that decide the buckets of divided scans, and the other columns of all leaves. */
    private static void collect(LogicalPlan plan, Set keys, Set others) {
      if (isDivided(plan)) add(keysOf((DataSourceV2ScanRelation) plan), keys);
      if (plan instanceof LeafNode) add(plan.outputSet().toSeq(), others);
      others.removeAll(keys);
      for (int i = 0; i < plan.children().size(); i++) collect((LogicalPlan) plan.children().apply(i), keys, others);
    }

    private static Seq keysOf(DataSourceV2ScanRelation relation) {
      Option keys = relation.keyGroupedPartitioning();
      return keys.isEmpty() ? new ArrayBuffer().toSeq() : AttributeSet.fromAttributeSets(references((Seq) keys.get())).toSeq();
    }

    private static Iterable references(Seq expressions) {
      ArrayBuffer sets = new ArrayBuffer();
      for (int i = 0; i < expressions.size(); i++) sets.append(((Expression) expressions.apply(i)).references());
      return sets;
    }

    private static void add(Seq attributes, Set ids) {
      for (int i = 0; i < attributes.size(); i++) ids.add(((Attribute) attributes.apply(i)).exprId());
    }

    /** Return whether buckets may save a shuffle: a node that Spark may shuffle for uses a key, or a column that is not a leaf's. */
    private static boolean mayUse(LogicalPlan plan, Set others) {
      boolean isRowByRow = plan instanceof Project || plan instanceof Filter || plan instanceof Sort || plan instanceof Union
        || plan instanceof GlobalLimit || plan instanceof LocalLimit || plan instanceof LeafNode || plan instanceof V2WriteCommand
        || plan instanceof RepartitionOperation || plan instanceof RepartitionByExpression
        || (plan instanceof Aggregate && ((Aggregate) plan).groupingExpressions().isEmpty());
      Set used = new HashSet();
      add(plan.references().toSeq(), used);
      boolean found = !isRowByRow && !others.containsAll(used);
      for (int i = 0; !found && i < plan.children().size(); i++) {
        found = mayUse((LogicalPlan) plan.children().apply(i), others);
      }
      return found;
    }

    private static LogicalPlan ungrouped(LogicalPlan plan) {
      if (isDivided(plan)) {
        DataSourceV2ScanRelation relation = (DataSourceV2ScanRelation) plan;
        return relation.keyGroupedPartitioning().isEmpty() ? plan : with(relation, "keyGroupedPartitioning", Option.empty());
      }
      ArrayBuffer children = new ArrayBuffer();
      boolean changed = false;
      for (int i = 0; i < plan.children().size(); i++) {
        LogicalPlan child = (LogicalPlan) plan.children().apply(i), now = ungrouped(child);
        children.append(now);
        changed = changed || now != child;
      }
      return changed ? (LogicalPlan) plan.withNewChildren(children.toSeq()) : plan;
    }

    public String ruleName() { return "UngroupedDividedScans"; }
  }

  public static class Strategy extends SparkStrategy {
    public Seq apply(LogicalPlan plan) {
      ArrayBuffer made = new ArrayBuffer();
      LogicalPlan leaf = plan;
      while ((leaf instanceof Project || leaf instanceof Filter) && leaf.deterministic()) leaf = onlyChild(leaf);
      if (!isDivided(leaf) || ((DataSourceV2ScanRelation) leaf).keyGroupedPartitioning().isDefined()) return made.toSeq();
      Scan[] parts = (Scan[]) ((Supplier) ((DataSourceV2ScanRelation) leaf).scan()).get();
      ArrayBuffer scans = new ArrayBuffer();
      for (int i = 0; i < parts.length; i++) scans.append(planLater(reading(plan, parts[i])));
      made.append(new UnionExec(scans.toSeq()));
      return made.toSeq();
    }

    /** Return the plan above a divided scan, but above one of its parts. */
    private static LogicalPlan reading(LogicalPlan plan, Scan part) {
      if (plan instanceof DataSourceV2ScanRelation) return with((DataSourceV2ScanRelation) plan, "scan", part);
      ArrayBuffer child = new ArrayBuffer();
      child.append(reading(onlyChild(plan), part));
      return (LogicalPlan) plan.withNewChildren(child.toSeq());
    }

    public String toString() { return "DividedScans"; }
  }

  public SparkStrategy strategy() {
    return new Strategy();
  }

  public Rule rule() {
    return new Ungrouped();
  }
}
