package paimon_sql;

import java.text.NumberFormat;
import java.util.Locale;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.util.Utils;

/**
 * A number that Spark's UI shows for a scan or a write: a sum of counts.
 *
 * Spark only keeps the name of the class and makes an object of it, without name and description, to format the values. So each
 * kind of number has a class.
 */
public class Metric implements CustomMetric {
  private final String name;
  private final String description;

  public Metric() { this("", ""); }

  public Metric(String name, String description) {
    this.name = name;
    this.description = description;
  }

  public String name() { return name; }

  public String description() { return description; }

  public String aggregateTaskMetrics(long[] values) {
    long sum = 0;
    for (int i = 0; i < values.length; i++) sum += values[i];
    return text(sum);
  }

  protected String text(long value) { return NumberFormat.getIntegerInstance(Locale.US).format(value); }

  /** Numbers of bytes. */
  public static class Bytes extends Metric {
    public Bytes() {}
    public Bytes(String name, String description) { super(name, description); }
    protected String text(long value) { return Utils.bytesToString(value); }
  }

  /** Durations in milliseconds. */
  public static class Millis extends Metric {
    public Millis() {}
    public Millis(String name, String description) { super(name, description); }
    protected String text(long value) { return Utils.msDurationToString(value); }
  }

  /** An id: the largest one. */
  public static class Id extends Metric {
    public Id() {}
    public Id(String name, String description) { super(name, description); }
    public String aggregateTaskMetrics(long[] values) {
      long largest = 0;
      for (int i = 0; i < values.length; i++) largest = Math.max(largest, values[i]);
      return Long.toString(largest);
    }
  }
}
