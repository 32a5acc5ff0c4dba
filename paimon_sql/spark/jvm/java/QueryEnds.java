import java.util.function.Predicate;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;

/** Calls Python once at the end of each execution of a query, and not for the many other events of Spark. */
public class QueryEnds {
  public void watch(SparkContext context, Predicate ended) { context.addSparkListener(new Ends(ended)); }

  public static class Ends extends SparkListener {
    private final Predicate ended;

    public Ends(Predicate ended) { this.ended = ended; }

    public void onOtherEvent(SparkListenerEvent event) {
      if (event instanceof SparkListenerSQLExecutionEnd) {
        SparkListenerSQLExecutionEnd end = (SparkListenerSQLExecutionEnd) event;
        boolean failed = end.errorMessage().isDefined() && !end.errorMessage().get().toString().isEmpty();
        ended.test(end.executionId() + (failed ? " failed" : " done"));
      }
    }
  }
}
