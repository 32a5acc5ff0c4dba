import java.lang.reflect.Proxy;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.logical.DescribeRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ShowCreateTable;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.connector.catalog.*;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.v2.DescribeTableExec;
import org.apache.spark.sql.execution.datasources.v2.ShowCreateTableExec;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;
import scala.collection.mutable.ArrayBuffer;

/**
 * DESCRIBE EXTENDED of Paimon tables with their NOT NULL and generated columns, in sections after Spark's own, and SHOW
 * CREATE TABLE with the expressions of generated columns.
 *
 * A strategy of Spark's planner that makes Spark's nodes with more text. Tables that are proxies are Paimon tables.
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
      begun = false;
      for (int i = 0; i < columns.length; i++) {
        String expression = columns[i].generationExpression();
        if (expression == null) continue;
        if (!begun) rows.append(row("# Generated Column", "", ""));
        begun = true;
        rows.append(row(columns[i].name(), columns[i].dataType().simpleString(), expression));
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

  public static class ShownExec extends ShowCreateTableExec {
    private static final String COLLATE = " COLLATE UTF8_BINARY";

    public ShownExec(Seq output, ResolvedTable table) {
      super(output, table);
    }

    public Seq run() {
      Seq rows = super.run();
      String text = ((InternalRow) rows.apply(0)).getUTF8String(0).toString();
      Column[] columns = resolvedTable().table().columns();
      for (int i = 0; i < columns.length; i++) {
        String expression = columns[i].generationExpression();
        if (expression == null) continue;
        StructField plain = new StructField(columns[i].name(), columns[i].dataType(), true, Metadata.empty());
        String definition = "\n  " + plain.toDDL();
        int end = text.indexOf(definition) + definition.length();
        if (text.startsWith(COLLATE, end)) end += COLLATE.length();  // a part of the type, which `plain` lacks
        text = text.substring(0, end) + " GENERATED ALWAYS AS (" + expression + ")" + text.substring(end);
      }
      ArrayBuffer made = new ArrayBuffer();
      made.append(new GenericInternalRow(new Object[] { UTF8String.fromString(text) }));
      return made.toSeq();
    }

    public static boolean applies(Table table) {
      if (!Proxy.isProxyClass(table.getClass())) return false;
      Column[] columns = table.columns();
      for (int i = 0; i < columns.length; i++) if (columns[i].generationExpression() != null) return true;
      return false;
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
      if (plan instanceof ShowCreateTable && !((ShowCreateTable) plan).asSerde()
          && ((ShowCreateTable) plan).child() instanceof ResolvedTable) {
        ResolvedTable found = (ResolvedTable) ((ShowCreateTable) plan).child();
        if (ShownExec.applies(found.table())) made.append(new ShownExec(plan.output(), found));
      }
      return made.toSeq();
    }

    public String toString() { return "DescribedColumns"; }
  }

  public SparkStrategy strategy() {
    return new Strategy();
  }
}
