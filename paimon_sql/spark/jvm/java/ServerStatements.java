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

/** The statements of clients that Spark's servers have listed, read in one crossing. */
public class ServerStatements {
  private static final Set RUNNING = new HashSet(Arrays.asList(new Object[] {"STARTED", "COMPILED", "READY"}));

  private static final int KEPT = 1000;  // statements: more than Spark keeps
  private static final Map FAILURES = Collections.synchronizedMap(new LinkedHashMap() {
    protected boolean removeEldestEntry(Map.Entry eldest) { return size() > KEPT; }
  });

  /** Records how statements failed. Spark forgets that when clients close the statements. */
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

    /** Keep the first event, which is the cause: a cancelled statement may also fail because of that. */
    private static void remember(String server, String id, String state) {
      synchronized (FAILURES) {
        if (!FAILURES.containsKey(server + id)) FAILURES.put(server + id, state);
      }
    }
  }

  /** Record failures from now on. The listener is in the queue of the servers' own, so a failure comes before its statement's end. */
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
    one.put("ended", Long.valueOf(ended));
    one.put("state", failure != null ? failure : abandoned ? "CANCELED" : state.toString());
    // a statement cancelled while it was planned has ended, though its state is then "compiled"
    one.put("runs", Boolean.valueOf(failure == null && ended == 0 && RUNNING.contains(state.toString())));
    return one;
  }

  /** The running or the ended statements of both servers. */
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

  /** JSON with an object for each ended statement. If `fetched`, statements with rows are included only after the rows are fetched. */
  public String ended(SparkContext context, boolean fetched) throws Exception {
    List found = statements(context, false);
    for (java.util.Iterator each = found.iterator(); each.hasNext();) {
      Map one = (Map) each.next();
      one.remove("ended");
      if (fetched && one.get("state").equals("FINISHED")) each.remove();
    }
    return new ObjectMapper().writeValueAsString(found);
  }

  /** The number of running statements. */
  public int running(SparkContext context) { return statements(context, true).size(); }

  /** The number of statements that ended less than some milliseconds ago, with rows that clients may still fetch. */
  public int unfetched(SparkContext context, long milliseconds) {
    long since = System.currentTimeMillis() - milliseconds;
    int found = 0;
    for (java.util.Iterator each = statements(context, false).iterator(); each.hasNext();) {
      Map one = (Map) each.next();
      if (one.get("state").equals("FINISHED") && ((Long) one.get("ended")).longValue() > since) found++;
    }
    return found;
  }

  /** The number of open client sessions. */
  public int sessions(SparkContext context) {
    return new HiveThriftServer2AppStatusStore(store(context)).getOnlineSessionNum()
      + new SparkConnectServerAppStatusStore(store(context)).getOnlineSessionNum();
  }
}
