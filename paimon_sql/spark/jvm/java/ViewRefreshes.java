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
 * The materialized views that pipelines of this driver refresh. A pipeline empties the table of a view, and appends the rows
 * of its query later. The first is put off, and the append becomes an overwrite, so that readers see the old or the new rows.
 *
 * Only the definitions in the running pipelines tell a view from a streaming table, which must be emptied before its flows
 * start: they take the rows that they have read before only once more.
 */
public class ViewRefreshes {
  private static final String APPENDS = "org.apache.spark.sql.pipelines.graph.BatchTableWrite";
  private final Set putOff = ConcurrentHashMap.newKeySet();

  /**
   * Whether a table that this thread empties for a pipeline is a view. The next rows that a pipeline appends to it replace
   * the others.
   */
  public boolean putsOff(String table) throws ReflectiveOperationException {
    Boolean view = isView(table);
    if (view == null || !view.booleanValue()) {
      putOff.remove(table);
      return false;
    }
    putOff.add(table);
    return true;
  }

  /** Whether this thread appends the rows of a view for a pipeline, and the old rows are still there. */
  public boolean replaces(String table) throws ReflectiveOperationException {
    return putOff.contains(table) && runs(APPENDS) && !Boolean.FALSE.equals(isView(table));
  }

  private static boolean runs(String name) {
    StackTraceElement[] stack = Thread.currentThread().getStackTrace();
    for (int i = 0; i < stack.length; i++) {
      if (stack[i].getClassName().startsWith(name)) return true;
    }
    return false;
  }

  /** Whether the running pipelines define a table as a view; null if none defines it. */
  private static Boolean isView(String wanted) throws ReflectiveOperationException {
    Boolean found = null;
    Field sessions = SparkConnectSessionManager.class.getDeclaredField("sessionStore");
    sessions.setAccessible(true);
    Method runs = SessionHolder.class.getDeclaredMethod("pipelineExecutions", new Class[0]);
    runs.setAccessible(true);
    Map holders = (Map) sessions.get(SparkConnectService$.MODULE$.sessionManager());
    for (java.util.Iterator each = holders.values().iterator(); each.hasNext();) {
      Map running = (Map) runs.invoke(each.next(), new Object[0]);
      for (java.util.Iterator run = running.values().iterator(); run.hasNext();) {
        Iterator tables = ((PipelineUpdateContext) run.next()).unresolvedGraph().tables().iterator();
        while (tables.hasNext()) {
          Table table = (Table) tables.next();
          if (!name(table.identifier()).equals(wanted)) continue;
          if (table.isStreamingTable()) return Boolean.FALSE;
          found = Boolean.TRUE;
        }
      }
    }
    return found;
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
