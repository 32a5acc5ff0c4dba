import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.*;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.execution.datasources.v2.FileScanBuilder;
import org.apache.spark.sql.internal.connector.SupportsPushDownCatalystFilters;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/** Spark 4.0 passes Catalyst's filters only to its own FileScanBuilder. This subclass passes them to a Paimon scan builder. */
public class FileScanBuilders {
  public static class Plain extends FileScanBuilder {
    protected final Object asked;

    Plain(Object asked, SparkSession session, PartitioningAwareFileIndex none, StructType schema) {
      super(session, none, schema);
      this.asked = asked;
    }

    public void pruneColumns(StructType required) { ((SupportsPushDownRequiredColumns) asked).pruneColumns(required); }
    public Seq pushFilters(Seq filters) { return ((SupportsPushDownCatalystFilters) asked).pushFilters(filters); }
    public Predicate[] pushedFilters() { return ((SupportsPushDownCatalystFilters) asked).pushedFilters(); }
    public Scan build() { return ((ScanBuilder) asked).build(); }
  }

  public static class Pushing extends Plain
      implements SupportsPushDownAggregates, SupportsPushDownLimit, SupportsPushDownTopN {
    Pushing(Object asked, SparkSession session, PartitioningAwareFileIndex none, StructType schema) {
      super(asked, session, none, schema);
    }

    public boolean supportCompletePushDown(Aggregation a) {
      return ((SupportsPushDownAggregates) asked).supportCompletePushDown(a);
    }
    public boolean pushAggregation(Aggregation a) { return ((SupportsPushDownAggregates) asked).pushAggregation(a); }
    public boolean pushLimit(int limit) { return ((SupportsPushDownLimit) asked).pushLimit(limit); }
    public boolean pushTopN(SortOrder[] orders, int limit) {
      return ((SupportsPushDownTopN) asked).pushTopN(orders, limit);
    }
    public boolean isPartiallyPushed() {
      return asked instanceof SupportsPushDownTopN && ((SupportsPushDownTopN) asked).isPartiallyPushed();
    }
  }

  public ScanBuilder before(
      ScanBuilder asked, SparkSession session, PartitioningAwareFileIndex none, StructType schema) {
    return asked instanceof SupportsPushDownTopN
      ? (ScanBuilder) new Pushing(asked, session, none, schema)
      : (ScanBuilder) new Plain(asked, session, none, schema);
  }
}
