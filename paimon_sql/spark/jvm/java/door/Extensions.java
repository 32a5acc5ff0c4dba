package paimon_sql;

import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import paimon.DefaultSource;
import scala.Function1;
import scala.Function2;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/** Named by `spark.sql.extensions`: hands statements, paths and merges of a program's sessions to Python. */
public class Extensions extends AbstractFunction1 {
  public Object apply(Object given) {
    SparkSessionExtensions extensions = (SparkSessionExtensions) given;
    extensions.injectParser(new AbstractFunction2() {
      public Object apply(Object session, Object parser) { return DoorParser.of(session, parser); }
    });
    extensions.injectHintResolutionRule(new AbstractFunction1() {
      public Object apply(Object session) { return new Merges((SparkSession) session); }
    });
    DefaultSource.locateWith(new AbstractFunction1() {
      public Object apply(Object options) {
        SparkSession session = (SparkSession) org.apache.spark.sql.SparkSession.active();
        return Door.python(session).locate().apply(options);
      }
    });
    return BoxedUnit.UNIT;
  }

  /** Gives the MERGE of a DataFrame, which no parser has seen, to Python before Spark resolves it. */
  static class Merges extends Rule {
    private final SparkSession session;

    Merges(SparkSession session) { this.session = session; }

    public TreeNode apply(TreeNode plan) {
      if (!(plan instanceof MergeIntoTable) || ((MergeIntoTable) plan).targetTable().resolved()) return plan;
      return (LogicalPlan) Door.python(session).rewrite().apply(session, plan);
    }
  }
}
