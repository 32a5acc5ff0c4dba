package paimon_sql;

import java.util.Collections;
import java.util.Map;
import org.apache.spark.SparkThrowable;

/** An error about the Python process of a JVM driver. Its message contains what failed, why, and what to do. */
public class DoorException extends RuntimeException implements SparkThrowable {
  private static final String CONDITION = "PAIMON_PYTHON_UNAVAILABLE";

  public DoorException(String message, Throwable cause) { super("[" + CONDITION + "] " + message, cause); }

  public String getCondition() { return CONDITION; }

  public String getErrorClass() { return CONDITION; }

  public String getSqlState() { return "58000"; }

  public boolean isInternalError() { return false; }

  public Map getMessageParameters() { return Collections.emptyMap(); }

  public org.apache.spark.QueryContext[] getQueryContext() { return new org.apache.spark.QueryContext[0]; }
}
