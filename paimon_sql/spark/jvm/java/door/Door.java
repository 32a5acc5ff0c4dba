package paimon_sql;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.classic.SparkSession;

/**
 * The Python process of this driver: started beside its first session, and again by the next statement if it has ended.
 *
 * Each start has a thread of its own. Statements wait for it, and the first one gets the error of a start that failed.
 */
public final class Door {
  private static final String SETTING = "spark.paimon_sql.start";
  private static final Object LOCK = new Object();
  private static final Object STARTING = new Object();  // one Python starts at a time
  private static Start last;  // guarded by LOCK; null before the first start, and after the error of the last one was raised
  private static volatile PythonProcess current;

  /** A start of Python for a context. */
  private static final class Start extends FutureTask {
    final SparkContext context;
    volatile boolean hasFailed;

    Start(final SparkSession session) {
      super(new Callable() {
        public Object call() {
          synchronized (STARTING) {
            if (current != null) current.close();
            return begun(session, PythonProcess.start(session, System.getenv()));
          }
        }
      });
      context = session.sparkContext();
    }

    protected void setException(Throwable error) {
      hasFailed = true;
      super.setException(error);
    }
  }

  /** Start Python for the first session of a driver, unless a setting says that the first statement does. */
  public static void begin(SparkSession session) {
    if (!whenToStart(session.sparkContext()).equals("session")) return;
    synchronized (LOCK) {
      if (last == null) start(session);
    }
  }

  /** Python for a session, started if none runs. Raises DoorException. */
  public static PythonProcess python(SparkSession session) {
    PythonProcess found = running(session);
    if (found != null) return found;
    if (session.sparkContext().isStopped()) throw stopped();
    check(whenToStart(session.sparkContext()));
    Start start;
    synchronized (LOCK) {
      boolean isOver = last == null || last.context != session.sparkContext()
        || (last.isDone() && !last.hasFailed && running(session) == null);
      start = isOver ? start(session) : last;
    }
    try {
      return (PythonProcess) start.get();
    } catch (InterruptedException e) {
      throw PythonProcess.interrupted(e);
    } catch (ExecutionException e) {
      synchronized (LOCK) {
        if (last == start) last = null;  // the next statement tries again
      }
      org.apache.spark.unsafe.Platform.throwException(e.getCause());
      return null;
    }
  }

  private static String whenToStart(SparkContext context) { return context.conf().get(SETTING, "session"); }

  private static void check(String start) {
    if (start.equals("session") || start.equals("statement")) return;
    throw new DoorException("Setting " + SETTING + " = '" + start + "' is not valid. Set it to 'session', which starts Python beside"
      + " the first session, or to 'statement', which starts it at the first statement.", null);
  }

  private static Start start(SparkSession session) {
    last = new Start(session);
    Thread beside = new Thread(last, "paimon-sql starts");
    beside.setDaemon(true);
    beside.setContextClassLoader(Door.class.getClassLoader());
    beside.start();
    return last;
  }

  /** Keep Python that has started for the other calls. If its context has stopped, end Python and raise DoorException. */
  private static PythonProcess begun(SparkSession session, PythonProcess python) {
    if (session.sparkContext().isStopped()) {
      python.close();
      throw stopped();
    }
    current = python;
    return python;
  }

  private static DoorException stopped() {
    return new DoorException("The Spark context of this session has stopped. Use a session of the running context.", null);
  }

  /** Python for a session if it runs, else null. A stopped context has no use for its Python. */
  public static PythonProcess running(SparkSession session) {
    PythonProcess found = current;
    return found != null && found.isRunning() && found.context == session.sparkContext() ? found : null;
  }
}
