import java.lang.reflect.Proxy;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.logical.DescribeRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.connector.catalog.*;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.v2.DescribeTableExec;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;
import scala.collection.mutable.ArrayBuffer;

/**
 * DESCRIBE EXTENDED of Paimon tables with their NOT NULL columns, in a section after Spark's own.
 *
 * A strategy of Spark's planner that makes Spark's node with more rows. Tables that are proxies are Paimon tables.
 */
public class DescribedColumns {
  public static class DescribedExec extends DescribeTableExec {
    public DescribedExec(Seq output, /*named*/String catalog, Identifier name, /**/Table table, boolean isExtended) {
      super(output, /*named*/catalog, name, /**/table, isExtended);
    }

    public Seq run() {
      ArrayBuffer rows = new ArrayBuffer();
      rows.appendAll(super.run());
      Column[] columns = table().columns();
      boolean begun = false;
      for (int i = 0; i < columns.length; i++) {
        if (columns[i].nullable()) continue;
        if (!begun) rows.append(row("# Column Not Null", "", ""));
        begun = true;
        rows.append(row(columns[i].name(), columns[i].dataType().simpleString(), "NOT NULL"));
      }
      return rows.toSeq();
    }

    private static InternalRow row(String name, String type, String comment) {
      Object[] values = new Object[] {
        UTF8String.fromString(name), UTF8String.fromString(type), UTF8String.fromString(comment)
      };
      return new GenericInternalRow(values);
    }
  }

  public static class Strategy extends SparkStrategy {
    public Seq apply(LogicalPlan plan) {
      ArrayBuffer made = new ArrayBuffer();
      if (plan instanceof DescribeRelation && ((DescribeRelation) plan).isExtended()
          && ((DescribeRelation) plan).relation() instanceof ResolvedTable) {
        ResolvedTable found = (ResolvedTable) ((DescribeRelation) plan).relation();
        Table table = found.table();
        if (Proxy.isProxyClass(table.getClass()))
          made.append(new DescribedExec(
            plan.output(), /*named*/found.catalog().name(), found.identifier(), /**/table, true));
      }
      return made.toSeq();
    }

    public String toString() { return "DescribedColumns"; }
  }

  public SparkStrategy strategy() {
    return new Strategy();
  }
}
