import java.lang.reflect.Constructor;
import java.util.*;
import org.apache.spark.sql.connector.metric.*;
import org.apache.spark.util.Utils;

/** Makes metrics of `Metric.java` and their values, all of a scan or a write in one call. */
public class UiMetrics {
  public static class Value implements CustomTaskMetric {
    private final String name;
    private final long value;
    Value(String name, long value) { this.name = name; this.value = value; }
    public String name() { return name; }
    public long value() { return value; }
  }

  /** Metrics of lines with a class, a name and a description. Returns none if Spark does not find the classes. */
  public CustomMetric[] supported(String lines) throws Exception {
    String[] given = lines.split("\n");
    CustomMetric[] made = new CustomMetric[given.length];
    for (int i = 0; i < given.length; i++) {
      String[] parts = given[i].split("\t");
      Class kind;
      try {
        kind = Class.forName(parts[0], true, Utils.getContextOrSparkClassLoader());
      } catch (ClassNotFoundException e) { // this JVM does not let us define classes
        return new CustomMetric[0];
      }
      Constructor constructor = kind.getConstructor(new Class[] {String.class, String.class});
      made[i] = (CustomMetric) constructor.newInstance(new Object[] {parts[1], parts[2]});
    }
    return made;
  }

  /** Values of lines with a name and a number. */
  public CustomTaskMetric[] values(String lines) {
    String[] given = lines.split("\n");
    CustomTaskMetric[] made = new CustomTaskMetric[given.length];
    for (int i = 0; i < given.length; i++) {
      String[] parts = given[i].split("\t");
      made[i] = new Value(parts[0], Long.parseLong(parts[1]));
    }
    return made;
  }
}
