import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.*;
import scala.Option;
import scala.Product;
import scala.Some;
import org.apache.spark.sql.catalyst.expressions.SupportQueryContext;
import org.apache.spark.sql.catalyst.trees.*;
import org.apache.spark.sql.types.DataType;

/**
 * Moves the origins of a plan's nodes from the text that Spark parsed to the statement that the user wrote.
 *
 * A plan has hundreds of nodes, so one call moves all of them.
 */
public class StatementOrigins {
  private static final Method MAPPER = positionMapper();

  private static Method positionMapper() {
    try {
      return Origin.class.getMethod("positionMapper", new Class[0]);
    } catch (NoSuchMethodException e) {
      return null;
    }
  }

  private static void set(Origin origin, String name, Object value) throws Exception {
    Field field = Origin.class.getDeclaredField(name);
    field.setAccessible(true);
    field.set(origin, value);
  }

  /** Spark's mapping of the positions of parameters, or null. Before 4.1 Spark puts their values into the plan, not the text. */
  private static Object mapper(Origin origin) throws Exception {
    if (MAPPER == null) return null;
    Option found = (Option) MAPPER.invoke(origin, new Object[0]);
    return found.isDefined() ? found.get() : null;
  }

  private static int original(Object mapper, int offset) throws Exception {
    Method map = mapper.getClass().getMethod("mapToOriginal", new Class[] {int.class});
    return ((Integer) map.invoke(mapper, new Object[] {Integer.valueOf(offset)})).intValue();
  }

  private static void move(Origin origin, String written, int[] edits) throws Exception {
    int first = ((Integer) origin.startIndex().get()).intValue();
    int last = ((Integer) origin.stopIndex().get()).intValue();
    Object mapper = mapper(origin);
    if (mapper != null) { // the values of parameters also move positions
      first = original(mapper, first);
      last = original(mapper, last);
      set(origin, "positionMapper", Option.empty());
    }
    first = offsetWritten(first, edits, false);
    last = offsetWritten(last, edits, true);
    int begin = written.offsetByCodePoints(0, first);
    int behind = written.lastIndexOf('\n', begin - 1) + 1;
    int line = 1;
    for (int i = 0; i < behind; i++) if (written.charAt(i) == '\n') line++;
    set(origin, "line", new Some(Integer.valueOf(line)));
    set(origin, "startPosition", new Some(Integer.valueOf(written.codePointCount(behind, begin))));
    set(origin, "startIndex", new Some(Integer.valueOf(first)));
    set(origin, "stopIndex", new Some(Integer.valueOf(last)));
    set(origin, "sqlText", new Some(written));
    set(origin, "bitmap$0", Boolean.FALSE); // so that Spark computes its context again
  }

  private static int offsetWritten(int offset, int[] edits, boolean last) {
    int shift = 0;
    for (int i = 0; i < edits.length; i += 3) {
      int start = edits[i], end = edits[i + 1], grown = edits[i + 2];
      if (offset < start + shift) break;
      if (offset < start + shift + grown) return last && end > start ? end - 1 : start;
      shift += grown - (end - start);
    }
    return offset - shift;
  }

  public Object moved(Object plan, String parsed, String written, String encoded) throws Exception {
    String[] numbers = encoded.split(" ");
    int[] edits = new int[numbers.length];
    for (int i = 0; i < edits.length; i++) edits[i] = Integer.parseInt(numbers[i]);
    Set seen = Collections.newSetFromMap(new IdentityHashMap());
    ArrayDeque todo = new ArrayDeque();
    todo.add(plan);
    while (!todo.isEmpty()) {
      Object node = todo.poll();
      if (node instanceof TreeNode) {
        Origin origin = ((TreeNode) node).origin();
        if (origin.sqlText().contains(parsed) && origin.stopIndex().isDefined() && seen.add(origin))
          move(origin, written, edits);
        if (node instanceof SupportQueryContext && ((SupportQueryContext) node).queryContext().isDefined())
          ((SupportQueryContext) node).queryContext_$eq(new Some(origin.context()));
      }
      scala.collection.Iterator parts = null;
      if (node instanceof scala.collection.Iterable) parts = ((scala.collection.Iterable) node).iterator();
      else if (node instanceof Product) parts = ((Product) node).productIterator();
      while (parts != null && parts.hasNext()) {
        Object part = parts.next();
        boolean isNested = part instanceof scala.collection.Iterable || part instanceof Product;
        if (isNested && !(part instanceof DataType) && seen.add(part)) todo.add(part);
      }
    }
    return plan;
  }
}
