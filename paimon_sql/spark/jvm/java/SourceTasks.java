import org.apache.spark.sql.catalyst.plans.logical.*;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import java.util.function.IntSupplier;
import scala.Function3;
import scala.Option;
import scala.collection.immutable.Nil$;

/**
 * A rule of Spark's optimizer that removes the shuffle before a write if the tasks that read files may also write, or if the
 * rows are few and in the statement itself, so that one task writes them.
 *
 * It runs after the rules that apply the distributions of connectors. A Paimon write is an IntSupplier: the number of files
 * that a task writes if tasks may have any rows, 0 if they may not.
 */
public class SourceTasks {
  /** The most rows of a statement that one task writes. Spark's adaptive execution would bring as many into one task. */
  private static final int MOST_ROWS = 10000;

  public static class Unshuffled extends Rule {
    private final Function3 mayWrite;
    Unshuffled(Function3 mayWrite) { this.mayWrite = mayWrite; }

    public TreeNode apply(TreeNode plan) {
      Option write = plan instanceof AppendData ? ((AppendData) plan).write()
        : plan instanceof OverwriteByExpression ? ((OverwriteByExpression) plan).write()
        : plan instanceof OverwritePartitionsDynamic ? ((OverwritePartitionsDynamic) plan).write() : Option.empty();
      if (write.isEmpty()) return plan;
      V2WriteCommand command = (V2WriteCommand) plan;
      if (!(write.get() instanceof IntSupplier)) return plan;
      LogicalPlan single = inOneTask(command.query());
      if (single != null) return (TreeNode) command.withNewQuery(single);
      if (!(command.query() instanceof RepartitionByExpression)) return plan;
      LogicalPlan source = ((RepartitionByExpression) command.query()).child();
      LogicalPlan leaf = source;
      while (leaf instanceof Project) leaf = ((Project) leaf).child();
      if (!(leaf instanceof LogicalRelation)) return plan;
      Integer files = Integer.valueOf(((IntSupplier) write.get()).getAsInt());
      boolean may = Boolean.TRUE.equals(mayWrite.apply(files, source, ((LogicalRelation) leaf).relation()));
      return may ? (TreeNode) command.withNewQuery(source) : plan;
    }

    /** A query that has one task and no shuffle; null if its rows are not a few of the statement itself. */
    private static LogicalPlan inOneTask(LogicalPlan query) {
      if (query instanceof Sort && !((Sort) query).global()) {
        LogicalPlan sorted = inOneTask(((Sort) query).child());
        return sorted == null ? null : (LogicalPlan) ((TreeNode) query).withNewChildren(Nil$.MODULE$.$colon$colon(sorted));
      }
      boolean shuffles = query instanceof RepartitionByExpression || query instanceof RebalancePartitions;
      if (!shuffles) return null;
      LogicalPlan source = (LogicalPlan) ((UnaryNode) query).child();
      LogicalPlan leaf = source;
      while (leaf instanceof Project) leaf = ((Project) leaf).child();
      if (!(leaf instanceof LocalRelation) || ((LocalRelation) leaf).data().size() > MOST_ROWS) return null;
      return new Repartition(1, false, source);
    }
  }

  public Rule rule(Function3 mayWrite) {
    return new Unshuffled(mayWrite);
  }
}
