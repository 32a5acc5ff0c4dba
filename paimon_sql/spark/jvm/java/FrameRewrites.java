import java.lang.reflect.Proxy;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.*;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Function2;
import scala.runtime.AbstractFunction1;

/**
 * A rule that passes the writes, merges and streams of DataFrames to a function of this package before Spark resolves them. No
 * parser has read them. Spark applies the rule until nothing changes, so a mark shows which plans the function has seen.
 */
public class FrameRewrites {
  private static final TreeNodeTag SEEN = new TreeNodeTag("paimon_sql.seen");

  /** Install the rule. `rewrite` takes a session and a plan, and returns the plan to run. */
  public void install(SparkSessionExtensions extensions, final Function2 rewrite) {
    extensions.injectHintResolutionRule(new AbstractFunction1() {
      public Object apply(Object session) { return new Rewritten((SparkSession) session, rewrite); }
    });
  }

  static class Rewritten extends Rule {
    private final SparkSession session;
    private final Function2 rewrite;

    Rewritten(SparkSession session, Function2 rewrite) {
      this.session = session;
      this.rewrite = rewrite;
    }

    public TreeNode apply(TreeNode root) {
      LogicalPlan plan = (LogicalPlan) root;
      if (!mayBeOurs(plan) || plan.getTagValue(SEEN).isDefined()) return plan;
      LogicalPlan made = (LogicalPlan) rewrite.apply(session, plan);
      made.setTagValue(SEEN, Boolean.TRUE);
      return made;
    }

    private static boolean mayBeOurs(LogicalPlan plan) {
      if (plan instanceof MergeIntoTable) return !((MergeIntoTable) plan).targetTable().resolved();
      if (plan instanceof WriteToStreamStatement) {
        WriteToStreamStatement stream = (WriteToStreamStatement) plan;
        return stream.catalogAndIdent().isDefined() && Proxy.isProxyClass(stream.sink().getClass());
      }
      if (!(plan instanceof AppendData || plan instanceof OverwriteByExpression || plan instanceof OverwritePartitionsDynamic))
        return false;
      V2WriteCommand write = (V2WriteCommand) plan;
      if (!write.query().resolved() || write.query().isStreaming()) return false;
      if (write.table() instanceof UnresolvedRelation) return true;
      if (!(write.table() instanceof DataSourceV2Relation)) return false;
      DataSourceV2Relation relation = (DataSourceV2Relation) write.table();
      // rows of CREATE OR REPLACE TABLE … AS SELECT do not go to the table that has the name now
      if (relation.table() instanceof StagedTable) return false;
      return relation.catalog().isDefined() && Proxy.isProxyClass(relation.table().getClass());
    }
  }
}
