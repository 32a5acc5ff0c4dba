import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.*;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connect.ui.SparkConnectServerAppStatusStore;
import org.apache.spark.sql.hive.thriftserver.ui.HiveThriftServer2AppStatusStore;
import org.apache.spark.util.kvstore.KVStore;
import scala.collection.Iterator;

/** What Spark's servers know of the statements of their clients, read in one crossing: JSON, an object per statement. */
public class ServerStatements {
  private static final Set RUNNING = new HashSet(Arrays.asList(new Object[] {"STARTED", "COMPILED", "READY"}));

  private static KVStore store(SparkContext context) { return context.statusStore().store(); }

  /** One that was cancelled while it was planned has an end, though Spark calls it compiled afterwards. */
  private static boolean runs(Object state, long ended) {
    return ended == 0 && RUNNING.contains(state.toString());
  }

  private static void add(List found, String server, String id, String user, String statement, long began, long ended,
      Object state) {
    Map one = new LinkedHashMap();
    one.put("server", server);
    one.put("id", id);
    one.put("user", user);
    one.put("statement", statement);
    one.put("milliseconds", Long.valueOf(ended - began));
    one.put("state", state.toString());
    found.add(one);
  }

  /** Statements of both servers that have ended. */
  public String ended(SparkContext context) throws Exception {
    List found = new ArrayList();
    Iterator thrift = new HiveThriftServer2AppStatusStore(store(context)).getExecutionList().iterator();
    while (thrift.hasNext()) {
      org.apache.spark.sql.hive.thriftserver.ui.ExecutionInfo e =
        (org.apache.spark.sql.hive.thriftserver.ui.ExecutionInfo) thrift.next();
      if (!runs(e.state(), e.finishTimestamp()))
        add(found, "thrift", e.execId(), e.userName(), e.statement(), e.startTimestamp(), e.finishTimestamp(), e.state());
    }
    Iterator connect = new SparkConnectServerAppStatusStore(store(context)).getExecutionList().iterator();
    while (connect.hasNext()) {
      org.apache.spark.sql.connect.ui.ExecutionInfo e = (org.apache.spark.sql.connect.ui.ExecutionInfo) connect.next();
      if (!runs(e.state(), e.finishTimestamp()))
        add(found, "connect", e.jobTag(), e.userId(), e.statement(), e.startTimestamp(), e.finishTimestamp(), e.state());
    }
    return new ObjectMapper().writeValueAsString(found);
  }

  /** How many sessions of clients are open. */
  public int sessions(SparkContext context) {
    return new HiveThriftServer2AppStatusStore(store(context)).getOnlineSessionNum()
      + new SparkConnectServerAppStatusStore(store(context)).getOnlineSessionNum();
  }

  /** How many statements are under way. */
  public int running(SparkContext context) {
    int found = 0;
    Iterator thrift = new HiveThriftServer2AppStatusStore(store(context)).getExecutionList().iterator();
    while (thrift.hasNext()) {
      org.apache.spark.sql.hive.thriftserver.ui.ExecutionInfo e =
        (org.apache.spark.sql.hive.thriftserver.ui.ExecutionInfo) thrift.next();
      if (runs(e.state(), e.finishTimestamp())) found++;
    }
    Iterator connect = new SparkConnectServerAppStatusStore(store(context)).getExecutionList().iterator();
    while (connect.hasNext()) {
      org.apache.spark.sql.connect.ui.ExecutionInfo e = (org.apache.spark.sql.connect.ui.ExecutionInfo) connect.next();
      if (runs(e.state(), e.finishTimestamp())) found++;
    }
    return found;
  }
}
