import java.util.*;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.CompoundPlanStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SingleStatement;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import scala.Function1;
import scala.Product;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/** Statements inside of parsed plans: the statements of a script, and the statement after WITH. */
public class NestedStatements {
  /** A function that is called with each statement of a script, in order. */
  public interface Change { LogicalPlan of(LogicalPlan statement); }

  static Object changed(Object part, Change change) {
    if (part instanceof SingleStatement) {
      LogicalPlan plan = ((SingleStatement) part).parsedPlan();
      LogicalPlan other = change.of(plan);
      return other == plan ? part : ((TreeNode) part).makeCopy(new Object[] {other});
    }
    if (part instanceof scala.Some) {
      Object inner = ((scala.Some) part).get();
      Object other = changed(inner, change);
      return other == inner ? part : new scala.Some(other);
    }
    boolean isSeq = part instanceof scala.collection.immutable.Seq;
    if (!isSeq && !(part instanceof CompoundPlanStatement)) return part;
    List parts = new ArrayList();
    boolean differs = false;
    Iterator it = isSeq
      ? CollectionConverters.asJava((scala.collection.Iterable) part).iterator()
      : CollectionConverters.asJava(((Product) part).productIterator());
    while (it.hasNext()) {
      Object inner = it.next();
      Object other = changed(inner, change);
      differs |= other != inner;
      parts.add(other);
    }
    if (!differs) return part;
    return isSeq ? CollectionConverters.asScala(parts).toSeq() : ((TreeNode) part).makeCopy(parts.toArray());
  }

  /** The statements, conditions and queries of a script; null if the plan is not a script. */
  public Object statements(Object plan) {
    if (!(plan instanceof CompoundPlanStatement)) return null;
    final List found = new ArrayList();
    changed(plan, new Change() {
      public LogicalPlan of(LogicalPlan statement) { found.add(statement); return statement; }
    });
    return found;
  }

  /** A script with other statements, conditions and queries, in the same order. */
  public Object withStatements(Object plan, List others) {
    final Iterator next = others.iterator();
    return changed(plan, new Change() {
      public LogicalPlan of(LogicalPlan statement) { return (LogicalPlan) next.next(); }
    });
  }

  public static class Queries extends AbstractPartialFunction {
    private final UnresolvedWith with;
    Queries(UnresolvedWith with) { this.with = with; }
    public boolean isDefinedAt(Object node) { return node instanceof SubqueryExpression; }

    public Object applyOrElse(Object node, Function1 other) {
      if (!isDefinedAt(node)) return other.apply(node);
      SubqueryExpression query = (SubqueryExpression) node;
      return query.withNewPlan(behind(with, (LogicalPlan) query.plan()));
    }
  }

  static LogicalPlan behind(UnresolvedWith with, LogicalPlan query) {
    return (LogicalPlan) with.withNewChildren(CollectionConverters.asScala(Collections.singletonList(query)).toSeq());
  }

  /** The statement after WITH, with the WITH moved to each query in it. The first `kept` children are not queries. */
  public Object withQueries(Object plan, int kept) {
    UnresolvedWith with = (UnresolvedWith) plan;
    LogicalPlan statement = (LogicalPlan) with.child().transformExpressions(new Queries(with));
    List children = new ArrayList();
    for (Iterator it = CollectionConverters.asJava((scala.collection.Iterable) statement.children()).iterator(); it.hasNext();) {
      LogicalPlan child = (LogicalPlan) it.next();
      children.add(children.size() < kept ? child : behind(with, child));
    }
    return statement.withNewChildren(CollectionConverters.asScala(children).toSeq());
  }
}
