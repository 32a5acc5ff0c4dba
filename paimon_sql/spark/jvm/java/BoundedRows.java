import java.io.Serializable;
import java.lang.reflect.Method;
import java.util.*;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkRuntimeException;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.CollectLimitExec;
import org.apache.spark.sql.execution.CollectTailExec;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.InputAdapter;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.io.ChunkedByteBuffer;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction1;

/**
 * Limits the unpacked rows of an answer that are in the driver's memory at the same time.
 *
 * Spark limits only the bytes that tasks send. But it unpacks all rows of a statement with LIMIT, of `show` and of `tail` in
 * the driver. For clients of Spark Connect, a task holds all rows of its partition; if tasks run in the driver, these are in
 * its memory, too. With this class, such a statement fails once its rows take more bytes than an answer may take.
 */
public class BoundedRows {
  private static final int GROWTH = 4;  // how many times more partitions the next job reads
  private static final String[] ANSWERS = new String[] {
    "org.apache.spark.sql.connect.execution.SparkConnectPlanExecution", "processAsArrowBatches"
  };
  private static final String EXECUTION = "org.apache.spark.sql.execution.";
  private static final String[] PARTS = new String[] {  // callers that make a part of a plan: stages, caches, subqueries
    EXECUTION + "adaptive.", EXECUTION + "columnar.", EXECUTION + "PlanSubqueries", EXECUTION + "dynamicpruning."
  };

  /** Limit the plans of sessions created from this one: statements with more than `largest` bytes of rows fail with
   *  `condition`. If tasks run in the driver, they may hold `inTasks` bytes of an answer of Spark Connect; else it is 0. */
  public static void install(SparkSessionExtensions extensions, long largest, long inTasks, String condition, String setting) {
    final Bound bound = new Bound(largest, condition, setting), ofTasks = new Bound(inTasks, condition, setting);
    extensions.injectColumnar(new AbstractFunction1() {
      public Object apply(Object session) { return new Transitions(bound, ofTasks); }
    });
  }

  /** The most bytes that rows may take, and the error for more. */
  static class Bound implements Serializable {
    private final long largest;
    private final String condition, setting;

    Bound(long largest, String condition, String setting) {
      this.largest = largest;
      this.condition = condition;
      this.setting = setting;
    }

    void check(long bytes) {
      if (bytes <= largest) return;
      String message = "The rows take more than " + largest + " bytes, the limit of an answer on this server (" + setting
        + "): request fewer rows.";
      scala.collection.immutable.Map none = scala.collection.immutable.Map$.MODULE$.empty();
      scala.collection.immutable.Map values = (scala.collection.immutable.Map) none.updated("message", message);
      Platform.throwException(new SparkRuntimeException(condition, values, null, new QueryContext[0], ""));
    }
  }

  static class Transitions extends ColumnarRule {
    private final Bound bound, ofTasks;

    Transitions(Bound bound, Bound ofTasks) {
      this.bound = bound;
      this.ofTasks = ofTasks;
    }

    public Rule postColumnarTransitions() { return new Bounding(bound, ofTasks); }
  }

  static class Bounding extends Rule {
    private final Bound bound, ofTasks;

    Bounding(Bound bound, Bound ofTasks) {
      this.bound = bound;
      this.ofTasks = ofTasks;
    }

    public TreeNode apply(TreeNode plan) {
      if (plan.getClass() == CollectLimitExec.class) {
        CollectLimitExec found = (CollectLimitExec) plan;
        return new Limit(found.limit(), found.child(), found.offset(), bound, ofTasks);
      }
      if (plan.getClass() == CollectTailExec.class)
        return new Tail(((CollectTailExec) plan).limit(), ((CollectTailExec) plan).child(), bound, ofTasks);
      boolean isBounded = ofTasks.largest > 0 && !(plan instanceof LocalTableScanExec) && isAnswer();
      return isBounded ? new Answer((SparkPlan) plan, ofTasks) : plan;
    }
  }

  /** Whether the caller is Spark Connect that plans or runs an answer. A part of a plan does not count, nor do rows that a
   *  statement writes: these may be larger. */
  private static boolean isAnswer() {
    StackTraceElement[] callers = Thread.currentThread().getStackTrace();
    for (int i = 0; i < callers.length; i++) {
      String name = callers[i].getClassName();
      if (name.equals(ANSWERS[0]) && callers[i].getMethodName().contains(ANSWERS[1])) return true;
      for (int part = 0; part < PARTS.length; part++) if (name.startsWith(PARTS[part])) return false;
    }
    return false;
  }

  private static RDD counted(RDD rows, Bound bound) { return rows.toJavaRDD().mapPartitions(new Counting(bound)).rdd(); }

  /** A plan with tasks that count the bytes of their rows. All tasks of an answer share the count, because each task holds
   *  its rows until it ends. */
  static class Answer extends InputAdapter {
    private final Bound bound;

    Answer(SparkPlan child, Bound bound) {
      super(child);
      this.bound = bound;
    }

    public boolean supportCodegen() { return false; }

    public InputAdapter withNewChildInternal(SparkPlan child) { return new Answer(child, bound); }

    public RDD doExecute() { return counted(child().execute(), bound); }
  }

  /** The last rows of each partition. Spark's own task would hold them without a limit. */
  static class Last extends InputAdapter {
    private final int count;
    private final Bound bound;

    Last(SparkPlan child, int count, Bound bound) {
      super(child);
      this.count = count;
      this.bound = bound;
    }

    public boolean supportCodegen() { return false; }

    public InputAdapter withNewChildInternal(SparkPlan child) { return new Last(child, count, bound); }

    public RDD doExecute() { return child().execute().toJavaRDD().mapPartitions(new Keeping(count, bound)).rdd(); }
  }

  static class Keeping implements FlatMapFunction {
    private final int count;
    private final Bound bound;

    Keeping(int count, Bound bound) {
      this.count = count;
      this.bound = bound;
    }

    public java.util.Iterator call(Object rows) {
      ArrayDeque kept = new ArrayDeque();
      long bytes = 0;
      for (java.util.Iterator each = (java.util.Iterator) rows; each.hasNext();) {
        InternalRow row = ((InternalRow) each.next()).copy();
        kept.addLast(row);
        bytes += sizeOf(row);
        if (kept.size() > count) bytes -= sizeOf((InternalRow) kept.removeFirst());
        bound.check(bytes);
      }
      return kept.iterator();
    }
  }

  private static long sizeOf(InternalRow row) { return row instanceof UnsafeRow ? ((UnsafeRow) row).getSizeInBytes() : 0; }

  static class Counting implements FlatMapFunction {
    private static final Map SEEN = Collections.synchronizedMap(new LinkedHashMap() {  // from an answer to its bytes
      protected boolean removeEldestEntry(Map.Entry eldest) { return size() > 1000; }
    });
    private final Bound bound;
    private final String answer = UUID.randomUUID().toString();

    Counting(Bound bound) { this.bound = bound; }

    public java.util.Iterator call(Object rows) {
      final java.util.Iterator all = (java.util.Iterator) rows;
      final AtomicLong seen;
      synchronized (SEEN) {
        if (!SEEN.containsKey(answer)) SEEN.put(answer, new AtomicLong());
        seen = (AtomicLong) SEEN.get(answer);
      }
      return new java.util.Iterator() {
        public boolean hasNext() { return all.hasNext(); }

        public Object next() {
          Object row = all.next();
          bound.check(seen.addAndGet(sizeOf((InternalRow) row)));
          return row;
        }

        public void remove() { throw new UnsupportedOperationException(); }
      };
    }
  }

  /** Spark's own node with a limit of bytes. Executors do not have this class, so tasks get Spark's own node. */
  static class Limit extends CollectLimitExec {
    private final Bound bound, ofTasks;

    Limit(int limit, SparkPlan child, int offset, Bound bound, Bound ofTasks) {
      super(limit, child, offset);
      this.bound = bound;
      this.ofTasks = ofTasks;
    }

    public String nodeName() { return "CollectLimit"; }

    public SparkPlan withNewChildInternal(SparkPlan child) { return new Limit(limit(), child, offset(), bound, ofTasks); }

    public RDD doExecute() {
      RDD rows = new CollectLimitExec(limit(), child(), offset()).execute();
      return ofTasks.largest > 0 && isAnswer() ? counted(rows, ofTasks) : rows;
    }

    public InternalRow[] executeCollect() {
      if (limit() < 0 || holdsRows(child())) return super.executeCollect();
      List found = taken(child(), limit(), false, bound);
      int from = Math.min(offset(), found.size());
      return (InternalRow[]) found.subList(from, found.size()).toArray(new InternalRow[0]);
    }
  }

  static class Tail extends CollectTailExec {
    private final Bound bound, ofTasks;

    Tail(int limit, SparkPlan child, Bound bound, Bound ofTasks) {
      super(limit, child);
      this.bound = bound;
      this.ofTasks = ofTasks;
    }

    public String nodeName() { return "CollectTail"; }

    public SparkPlan withNewChildInternal(SparkPlan child) { return new Tail(limit(), child, bound, ofTasks); }

    public RDD doExecute() {
      RDD rows = new CollectTailExec(limit(), child()).execute();
      return ofTasks.largest > 0 && isAnswer() ? counted(rows, ofTasks) : rows;
    }

    public InternalRow[] executeCollect() {
      if (holdsRows(child())) return super.executeCollect();
      SparkPlan plan = ofTasks.largest > 0 ? new Last(child(), limit(), ofTasks) : child();
      return (InternalRow[]) taken(plan, limit(), true, bound).toArray(new InternalRow[0]);
    }
  }

  /** Whether the plan's class returns rows by its own method, because the driver has them already or there are few. */
  private static boolean holdsRows(SparkPlan plan) {
    try {
      return plan.getClass().getMethod("executeCollect", new Class[0]).getDeclaringClass() != SparkPlan.class;
    } catch (NoSuchMethodException e) {
      return false;
    }
  }

  /** The first or last `wanted` rows of a plan. Jobs read only as many partitions as necessary, or a few more. */
  private static List taken(SparkPlan plan, int wanted, boolean last, Bound bound) {
    LinkedList rows = new LinkedList();
    if (wanted == 0) return rows;
    RDD all = (RDD) called(plan, "getByteArrayRdd", new Class[] {int.class, boolean.class},
        new Object[] {Integer.valueOf(wanted), Boolean.valueOf(last)});
    int partitions = all.getNumPartitions(), seen = 0;
    long bytes = 0;
    for (long next = 1; seen < partitions && rows.size() < wanted; next = seen * (GROWTH - 1L)) {
      int[] asked = new int[(int) Math.min(partitions - seen, next)];
      for (int i = 0; i < asked.length; i++) asked[i] = last ? partitions - 1 - seen - i : seen + i;
      List[] found = all.toJavaRDD().collectPartitions(asked);
      for (int i = 0; i < found.length && rows.size() < wanted; i++) {
        for (java.util.Iterator block = found[i].iterator(); block.hasNext();)
          bytes = unpack(plan, (Tuple2) block.next(), rows, wanted, last, bytes, bound);
        found[i] = null;
      }
      seen += asked.length;
    }
    return rows;
  }

  /** Unpack a block of rows and add it after the other rows, or before them if `last`. Returns the bytes of all rows. */
  private static long unpack(SparkPlan plan, Tuple2 block, LinkedList rows, int wanted, boolean last, long bytes, Bound bound) {
    long size = bytes, skipped = last ? Math.max(0, ((Long) block._1()).longValue() - (wanted - rows.size())) : 0;
    List more = new ArrayList();
    Iterator each = (Iterator) called(plan, "decodeUnsafeRows", new Class[] {ChunkedByteBuffer.class}, new Object[] {block._2()});
    while (each.hasNext() && rows.size() + more.size() < wanted) {
      UnsafeRow row = (UnsafeRow) each.next();
      if (skipped-- > 0) continue;
      size += row.getSizeInBytes();
      bound.check(size);
      more.add(row);
    }
    rows.addAll(last ? 0 : rows.size(), more);
    return size;
  }

  /** The result of a method of SparkPlan that other classes may not call. Exceptions of the method pass unchanged. */
  private static Object called(SparkPlan plan, String name, Class[] types, Object[] values) {
    try {
      Method found = SparkPlan.class.getDeclaredMethod(name, types);
      found.setAccessible(true);
      return found.invoke(plan, values);
    } catch (java.lang.reflect.InvocationTargetException e) {
      Platform.throwException(e.getCause());
    } catch (Exception e) {
      Platform.throwException(e);
    }
    return null;
  }
}
