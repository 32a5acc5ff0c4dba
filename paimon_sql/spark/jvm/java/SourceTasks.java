import org.apache.spark.sql.catalyst.plans.logical.*;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import java.util.function.IntSupplier;
import scala.Function3;
import scala.Option;

/**
 * A rule of Spark's optimizer that removes the shuffle before a write if the tasks that read files may also write.
 *
 * It runs after the rules that apply the distributions of connectors. A Paimon write is an IntSupplier: the number of files
 * that a task writes if tasks may have any rows, 0 if they may not.
 */
public class SourceTasks {
  public static class Unshuffled extends Rule {
    private final Function3 mayWrite;
    Unshuffled(Function3 mayWrite) { this.mayWrite = mayWrite; }

    public TreeNode apply(TreeNode plan) {
      Option write = plan instanceof AppendData ? ((AppendData) plan).write()
        : plan instanceof OverwriteByExpression ? ((OverwriteByExpression) plan).write() : Option.empty();
      if (write.isEmpty()) return plan;
      V2WriteCommand command = (V2WriteCommand) plan;
      if (!(command.query() instanceof RepartitionByExpression)) return plan;
      LogicalPlan source = ((RepartitionByExpression) command.query()).child();
      LogicalPlan leaf = source;
      while (leaf instanceof Project) leaf = ((Project) leaf).child();
      if (!(leaf instanceof LogicalRelation)) return plan;
      if (!(write.get() instanceof IntSupplier)) return plan;
      Integer files = Integer.valueOf(((IntSupplier) write.get()).getAsInt());
      boolean may = Boolean.TRUE.equals(mayWrite.apply(files, source, ((LogicalRelation) leaf).relation()));
      return may ? (TreeNode) command.withNewQuery(source) : plan;
    }
  }

  public Rule rule(Function3 mayWrite) {
    return new Unshuffled(mayWrite);
  }
}
