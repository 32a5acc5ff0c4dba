import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import scala.Function2;
import scala.runtime.AbstractFunction1;

/**
 * A rule that passes the MERGE of a DataFrame to a function of this package before Spark resolves it. No parser has read it.
 */
public class MergeRewrites {
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

    public TreeNode apply(TreeNode plan) {
      if (!(plan instanceof MergeIntoTable) || ((MergeIntoTable) plan).targetTable().resolved()) return plan;
      return (LogicalPlan) rewrite.apply(session, plan);
    }
  }
}
