import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.*;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.connect.service.SessionHolder;
import org.apache.spark.sql.connect.service.SparkConnectService$;
import org.apache.spark.sql.connect.service.SparkConnectSessionManager;
import org.apache.spark.sql.pipelines.graph.PipelineUpdateContext;
import org.apache.spark.sql.pipelines.graph.Table;
import scala.Option;
import scala.collection.Iterator;

/**
 * The tables that running pipelines of this driver define. Only these definitions tell a materialized view from a streaming
 * table, which must be emptied before its flows start: they take the rows that they have read before only once more.
 */
public class ViewRefreshes {
  private final Map putOff = new ConcurrentHashMap();  // the runs of views by table; Python may start again between the two
  private final IdentityHashMap numbers = new IdentityHashMap();  // of runs
  private long last;

  /**
   * The definitions of a table, under its name in any case: for each, the number of its run, "view" or "streaming
   * table", and the name.
   */
  public synchronized List definitions(String wanted) throws ReflectiveOperationException {
    List found = new ArrayList();
    Field sessions = SparkConnectSessionManager.class.getDeclaredField("sessionStore");
    sessions.setAccessible(true);
    Method runs = SessionHolder.class.getDeclaredMethod("pipelineExecutions", new Class[0]);
    runs.setAccessible(true);
    Map holders = (Map) sessions.get(SparkConnectService$.MODULE$.sessionManager());
    Set running = Collections.newSetFromMap(new IdentityHashMap());
    for (java.util.Iterator each = holders.values().iterator(); each.hasNext();) {
      Map own = (Map) runs.invoke(each.next(), new Object[0]);
      for (java.util.Iterator run = own.values().iterator(); run.hasNext();) {
        Object context = run.next();
        running.add(context);
        Iterator tables = ((PipelineUpdateContext) context).unresolvedGraph().tables().iterator();
        while (tables.hasNext()) {
          Table table = (Table) tables.next();
          String name = name(table.identifier());
          String kind = table.isStreamingTable() ? "streaming table" : "view";
          if (name.equalsIgnoreCase(wanted)) found.add(new String[] {number(context), kind, name});
        }
      }
    }
    numbers.keySet().retainAll(running);
    return found;
  }

  /** Keep the runs for which the truncation of a table is put off; "" for none. */
  public void keep(String table, String runs) { putOff.put(table, runs); }

  /** The runs for which the truncation of a table is put off; "" for none. */
  public String kept(String table) {
    Object found = putOff.get(table);
    return found == null ? "" : (String) found;
  }

  private String number(Object run) {
    if (!numbers.containsKey(run)) numbers.put(run, String.valueOf(++last));
    return (String) numbers.get(run);
  }

  private static String name(TableIdentifier identifier) {
    Option catalog = identifier.catalog();
    Option database = identifier.database();
    return text(catalog) + "." + text(database) + "." + identifier.table();
  }

  private static String text(Option part) {
    return part.isDefined() ? (String) part.get() : "";
  }
}
