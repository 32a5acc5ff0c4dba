package paimon_sql;

import java.util.Map;
import org.apache.spark.sql.classic.SparkSession;

/** The Python process of this driver: started at the first statement, and again if it has ended. */
public final class Door {
  private static final Object STARTING = new Object();
  private static volatile PythonProcess current;

  /** Python for a session, started if none runs. Raises DoorException. */
  public static PythonProcess python(SparkSession session) {
    PythonProcess found = running(session);
    if (found != null) return found;
    synchronized (STARTING) {
      found = running(session);
      if (found != null) return found;
      if (current != null) current.close();
      current = PythonProcess.start(session, System.getenv());
      return current;
    }
  }

  /** Python for a session if it runs, else null. A stopped context has no use for its Python. */
  public static PythonProcess running(SparkSession session) {
    PythonProcess found = current;
    return found != null && found.isRunning() && found.context == session.sparkContext() ? found : null;
  }
}
