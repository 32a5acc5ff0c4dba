import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.*;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connect.ui.SparkConnectServerAppStatusStore;
import org.apache.spark.sql.hive.thriftserver.ui.HiveThriftServer2AppStatusStore;
import org.apache.spark.util.kvstore.KVStore;
import scala.collection.Iterator;

/** What Spark's servers know of the statements of their clients, read in one crossing. */
public class ServerStatements {
  private static final Set RUNNING = new HashSet(Arrays.asList(new Object[] {"STARTED", "COMPILED", "READY"}));

  private static KVStore store(SparkContext context) { return context.statusStore().store(); }

  private static Map statement(String server, String id, String user, String statement, long began, long ended,
      Object state) {
    Map one = new LinkedHashMap();
    one.put("server", server);
    one.put("id", id);
    one.put("user", user);
    one.put("statement", statement);
    one.put("milliseconds", Long.valueOf(ended - began));
    one.put("state", state.toString());
    // one that was cancelled while it was planned has an end, though Spark calls it compiled afterwards
    one.put("runs", Boolean.valueOf(ended == 0 && RUNNING.contains(state.toString())));
    return one;
  }

  /** Statements of both servers, those that run or those that have ended. */
  private static List statements(SparkContext context, boolean running) {
    List found = new ArrayList();
    Iterator thrift = new HiveThriftServer2AppStatusStore(store(context)).getExecutionList().iterator();
    while (thrift.hasNext()) {
      org.apache.spark.sql.hive.thriftserver.ui.ExecutionInfo e =
        (org.apache.spark.sql.hive.thriftserver.ui.ExecutionInfo) thrift.next();
      found.add(statement("thrift", e.execId(), e.userName(), e.statement(), e.startTimestamp(), e.finishTimestamp(), e.state()));
    }
    Iterator connect = new SparkConnectServerAppStatusStore(store(context)).getExecutionList().iterator();
    while (connect.hasNext()) {
      org.apache.spark.sql.connect.ui.ExecutionInfo e = (org.apache.spark.sql.connect.ui.ExecutionInfo) connect.next();
      found.add(statement("connect", e.jobTag(), e.userId(), e.statement(), e.startTimestamp(), e.finishTimestamp(), e.state()));
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
