import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.*;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.connect.service.SparkListenerConnectOperationCanceled;
import org.apache.spark.sql.connect.service.SparkListenerConnectOperationFailed;
import org.apache.spark.sql.connect.ui.SparkConnectServerAppStatusStore;
import org.apache.spark.sql.hive.thriftserver.ui.HiveThriftServer2AppStatusStore;
import org.apache.spark.sql.hive.thriftserver.ui.SparkListenerThriftServerOperationCanceled;
import org.apache.spark.sql.hive.thriftserver.ui.SparkListenerThriftServerOperationError;
import org.apache.spark.sql.hive.thriftserver.ui.SparkListenerThriftServerOperationTimeout;
import org.apache.spark.util.kvstore.KVStore;
import scala.collection.Iterator;

/** What Spark's servers know of the statements of their clients, read in one crossing. */
public class ServerStatements {
  private static final Set RUNNING = new HashSet(Arrays.asList(new Object[] {"STARTED", "COMPILED", "READY"}));

  private static final int KEPT = 1000;  // statements: more than Spark remembers
  private static final Map FAILURES = Collections.synchronizedMap(new LinkedHashMap() {
    protected boolean removeEldestEntry(Map.Entry eldest) { return size() > KEPT; }
  });

  /** Remembers how statements failed. Spark forgets that when their clients close them. */
  static class Failures extends SparkListener {
    public void onOtherEvent(SparkListenerEvent event) {
      if (event instanceof SparkListenerThriftServerOperationError)
        remember("thrift", ((SparkListenerThriftServerOperationError) event).id(), "FAILED");
      else if (event instanceof SparkListenerThriftServerOperationCanceled)
        remember("thrift", ((SparkListenerThriftServerOperationCanceled) event).id(), "CANCELED");
      else if (event instanceof SparkListenerThriftServerOperationTimeout)
        remember("thrift", ((SparkListenerThriftServerOperationTimeout) event).id(), "TIMEDOUT");
      else if (event instanceof SparkListenerConnectOperationFailed)
        remember("connect", ((SparkListenerConnectOperationFailed) event).jobTag(), "FAILED");
      else if (event instanceof SparkListenerConnectOperationCanceled)
        remember("connect", ((SparkListenerConnectOperationCanceled) event).jobTag(), "CANCELED");
    }

    /** What came first is the cause: a statement that was cancelled may fail of it. */
    private static void remember(String server, String id, String state) {
      synchronized (FAILURES) {
        if (!FAILURES.containsKey(server + id)) FAILURES.put(server + id, state);
      }
    }
  }

  /** Remember failures from now on, in the queue of the servers' own listeners: each failure before its statement's end. */
  public void watch(SparkContext context) { context.listenerBus().addToStatusQueue(new Failures()); }

  private static KVStore store(SparkContext context) { return context.statusStore().store(); }

  private static Map statement(String server, String id, String user, String statement, long began, long ended,
      long closed, Object state) {
    Object failure = FAILURES.get(server + id);
    boolean abandoned = ended == 0 && closed != 0;  // its client closed it while it ran
    Map one = new LinkedHashMap();
    one.put("server", server);
    one.put("id", id);
    one.put("user", user);
    one.put("statement", statement);
    one.put("milliseconds", Long.valueOf((abandoned ? closed : ended) - began));
    one.put("state", failure != null ? failure : abandoned ? "CANCELED" : state.toString());
    // one that was cancelled while it was planned has an end, though Spark calls it compiled afterwards
    one.put("runs", Boolean.valueOf(failure == null && ended == 0 && RUNNING.contains(state.toString())));
    return one;
  }

  /** Statements of both servers, those that run or those that have ended. */
  private static List statements(SparkContext context, boolean running) {
    List found = new ArrayList();
    Iterator thrift = new HiveThriftServer2AppStatusStore(store(context)).getExecutionList().iterator();
    while (thrift.hasNext()) {
      org.apache.spark.sql.hive.thriftserver.ui.ExecutionInfo e =
        (org.apache.spark.sql.hive.thriftserver.ui.ExecutionInfo) thrift.next();
      found.add(statement("thrift", e.execId(), e.userName(), e.statement(), e.startTimestamp(), e.finishTimestamp(),
        e.closeTimestamp(), e.state()));
    }
    Iterator connect = new SparkConnectServerAppStatusStore(store(context)).getExecutionList().iterator();
    while (connect.hasNext()) {
      org.apache.spark.sql.connect.ui.ExecutionInfo e = (org.apache.spark.sql.connect.ui.ExecutionInfo) connect.next();
      found.add(statement("connect", e.jobTag(), e.userId(), e.statement(), e.startTimestamp(), e.finishTimestamp(),
        e.closeTimestamp(), e.state()));
    }
    for (java.util.Iterator each = found.iterator(); each.hasNext();)
      if (((Boolean) ((Map) each.next()).remove("runs")).booleanValue() != running) each.remove();
    return found;
  }

  /** JSON, an object for each statement that has ended; of those that have rows, when these have been `fetched`. */
  public String ended(SparkContext context, boolean fetched) throws Exception {
    List found = statements(context, false);
    for (java.util.Iterator each = found.iterator(); fetched && each.hasNext();)
      if (((Map) each.next()).get("state").equals("FINISHED")) each.remove();
    return new ObjectMapper().writeValueAsString(found);
  }

  /** How many statements are under way. */
  public int running(SparkContext context) { return statements(context, true).size(); }

  /** How many sessions of clients are open. */
  public int sessions(SparkContext context) {
    return new HiveThriftServer2AppStatusStore(store(context)).getOnlineSessionNum()
      + new SparkConnectServerAppStatusStore(store(context)).getOnlineSessionNum();
  }
}
