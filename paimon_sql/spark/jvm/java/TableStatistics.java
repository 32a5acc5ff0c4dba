import java.util.*;
import org.apache.spark.sql.catalyst.catalog.*;
import org.apache.spark.sql.catalyst.plans.logical.ColumnStat;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.colstats.ColumnStatistics;
import org.apache.spark.sql.types.*;

/** The statistics of a scan, made from the form that Spark's own catalog stores. Spark reads each several times per statement. */
public class TableStatistics {
  static OptionalLong number(scala.Option found) {
    return found.isDefined() ? OptionalLong.of(((Number) found.get()).longValue()) : OptionalLong.empty();
  }

  static Optional value(scala.Option found) {
    return found.isDefined() ? Optional.of(found.get()) : Optional.empty();
  }

  public static class OfColumn implements ColumnStatistics {
    private final ColumnStat known;
    OfColumn(ColumnStat known) { this.known = known; }
    public OptionalLong distinctCount() { return number(known.distinctCount()); }
    public OptionalLong nullCount() { return number(known.nullCount()); }
    public OptionalLong avgLen() { return number(known.avgLen()); }
    public OptionalLong maxLen() { return number(known.maxLen()); }
    public Optional min() { return value(known.min()); }
    public Optional max() { return value(known.max()); }
    public Optional histogram() { return Optional.empty(); }
  }

  public static class OfTable implements Statistics {
    private final CatalogStatistics known;
    private final Map columns = new HashMap();
    OfTable(CatalogStatistics known, StructType schema) {
      this.known = known;
      StructField[] fields = schema.fields();
      for (int i = 0; i < fields.length; i++) {
        scala.Option found = known.colStats().get(fields[i].name());
        if (found.isEmpty()) continue;
        ColumnStat stat = ((CatalogColumnStat) found.get()).toPlanStat(fields[i].name(), fields[i].dataType());
        columns.put(FieldReference.column(fields[i].name()), new OfColumn(stat));
      }
    }
    public OptionalLong sizeInBytes() { return OptionalLong.of(known.sizeInBytes().longValue()); }
    public OptionalLong numRows() { return number(known.rowCount()); }
    public Map columnStats() { return columns; }
  }

  public Statistics of(CatalogStatistics known, StructType schema) {
    return new OfTable(known, schema);
  }
}
