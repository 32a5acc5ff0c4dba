import java.lang.reflect.Method;
import java.util.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.apache.hive.service.cli.HiveSQLException;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.CollectLimitExec;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.hive.thriftserver.FetchIterator;
import org.apache.spark.sql.hive.thriftserver.IterableFetchIterator;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.io.ChunkedByteBuffer;
import scala.Function1;
import scala.Option;
import scala.Tuple2;
import scala.collection.AbstractIterable;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractFunction1;

/**
 * Runs a statement of HiveServer2, and keeps its answer compressed, as the tasks sent it.
 *
 * Spark limits the bytes that tasks send, but unpacks all of them at once: rows that compress well take many times as much
 * memory of the driver. With this class, a client's call unpacks only the rows that it fetches, at most some megabytes. All
 * answers that are kept take at most a part of the memory.
 */
public class ThriftResults implements Function {
  private static final String INCREMENTAL = "spark.sql.thriftServer.incrementalCollect", LARGEST = "spark.driver.maxResultSize";
  private static final int GROWTH = 4;  // how many times more partitions the next job of a LIMIT reads
  private static final AtomicLong KEPT = new AtomicLong();  // bytes of all answers that clients may still fetch
  private final long call, largest, most;
  private final String condition, state;

  public ThriftResults() { this(0, 0, 0, "", ""); }

  private ThriftResults(long call, long largest, long most, String condition, String state) {
    this.call = call;
    this.largest = largest;
    this.most = most;
    this.condition = condition;
    this.state = state;
  }

  /** A runner of statements. A client's call gets about `call` bytes of rows. An answer takes at most `largest` bytes, and
   *  all together at most `most`; 0 is no limit. Errors have a condition and a state. */
  public Function of(long call, long largest, long most, String condition, String state) {
    return new ThriftResults(call, largest, most, condition, state);
  }

  /** Run a dataset. Returns its rows as a `FetchIterator` that is also an `AutoCloseable`. */
  public Object apply(Object dataset) {
    Dataset data = (Dataset) dataset;
    boolean incremental = Boolean.parseBoolean(data.sparkSession().conf().get(INCREMENTAL, "false"));
    Answer answer = incremental ? new Answer(data, null) : collected(data);
    return new Rows(answer, call);
  }

  private Answer collected(final Dataset data) {
    final Answer answer = new Answer(data, new ArrayList());
    try {
      SQLExecution$.MODULE$.withNewExecutionId(data.queryExecution(), Option.apply("collect"), new AbstractFunction0() {
        public Object apply() {
          SparkPlan plan = data.queryExecution().executedPlan();
          plan.resetMetrics();
          if (!(plan instanceof AdaptiveSparkPlanExec)) return collect(plan, answer);
          return ((AdaptiveSparkPlanExec) plan).withFinalPlanUpdate(new AbstractFunction1() {
            public Object apply(Object last) { return collect((SparkPlan) last, answer); }
          });
        }
      });
    } catch (Throwable e) {
      answer.close();
      Platform.throwException(e);
    }
    return answer;
  }

  private Object collect(SparkPlan plan, Answer answer) {
    if (plan instanceof CollectLimitExec) take((CollectLimitExec) plan, answer);
    else if (holdsRows(plan)) answer.held = plan.executeCollect();
    else {
      answer.plan = plan;
      keep(answer, (Object[]) bytes(plan, -1).collect());
    }
    return answer;
  }

  /** Whether the plan's class returns rows by its own method, because the driver has them already or there are few. */
  private static boolean holdsRows(SparkPlan plan) {
    try {
      return plan.getClass().getMethod("executeCollect", new Class[0]).getDeclaringClass() != SparkPlan.class;
    } catch (NoSuchMethodException e) {
      return false;
    }
  }

  /** Read as many partitions as the LIMIT of a statement needs, or a few more. */
  private void take(CollectLimitExec plan, Answer answer) {
    answer.plan = plan.child();
    answer.skipped = plan.offset();
    answer.wanted = plan.limit();
    RDD all = bytes(plan.child(), plan.limit());
    int partitions = all.getNumPartitions(), from = 0;
    if (plan.limit() < 0) keep(answer, (Object[]) all.collect());
    for (long next = 1; plan.limit() >= 0 && from < partitions && answer.rows < plan.limit(); next = from * (GROWTH - 1L)) {
      int[] asked = new int[(int) Math.min(partitions - from, next)];
      for (int i = 0; i < asked.length; i++) asked[i] = from + i;
      List[] found = all.toJavaRDD().collectPartitions(asked);
      for (int i = 0; i < found.length; i++) keep(answer, found[i].toArray());
      from += asked.length;
    }
  }

  private void keep(Answer answer, Object[] found) {
    for (int i = 0; i < found.length; i++) {
      Tuple2 block = (Tuple2) found[i];
      long size = ((ChunkedByteBuffer) block._2()).size(), kept = KEPT.addAndGet(size);
      answer.blocks.add(block._2());
      answer.rows += ((Long) block._1()).longValue();
      answer.bytes += size;
      if (largest > 0 && answer.bytes > largest)
        refuse("The answer takes more than " + largest + " bytes, the limit of this server (" + LARGEST + "): request fewer rows.");
      if (most > 0 && kept > most)
        refuse("The open answers of this server take more than " + most + " bytes together: close other answers, then try again.");
    }
  }

  private void refuse(String message) {
    Platform.throwException(new HiveSQLException("[" + condition + "] " + message + " SQLSTATE: " + state, state));
  }

  private static RDD bytes(SparkPlan plan, int rows) {
    return (RDD) called(plan, "getByteArrayRdd", new Class[] {int.class, boolean.class}, new Object[] {Integer.valueOf(rows), Boolean.FALSE});
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

  /** The rows of a statement. Each iterator unpacks them again. Without blocks, Spark runs a job for each partition. */
  static class Answer extends AbstractIterable {
    private final Dataset data;
    private final List blocks;
    private SparkPlan plan;
    private Object held;
    private long rows, bytes, skipped, wanted = -1;
    private boolean isClosed;

    Answer(Dataset data, List blocks) {
      this.data = data;
      this.blocks = blocks;
    }

    synchronized void close() {
      if (!isClosed) KEPT.addAndGet(-bytes);
      isClosed = true;
    }

    public Iterator iterator() {
      if (blocks == null) return data.queryExecution().executedPlan().executeToIterator();
      Iterator all = held == null ? new Unpacked(plan, blocks) : scala.Predef$.MODULE$.genericWrapArray(held).iterator();
      return wanted < 0 ? all.drop((int) skipped) : all.slice((int) skipped, (int) wanted);
    }

    Function1 reader() { return data.org$apache$spark$sql$classic$Dataset$$resolvedEnc().createDeserializer(); }
  }

  /** The rows of blocks, one block after the other. */
  static class Unpacked extends AbstractIterator {
    private final SparkPlan plan;
    private final java.util.Iterator left;
    private Iterator block;

    Unpacked(SparkPlan plan, List blocks) {
      this.plan = plan;
      this.left = blocks.iterator();
    }

    public boolean hasNext() {
      while ((block == null || !block.hasNext()) && left.hasNext())
        block = (Iterator) called(plan, "decodeUnsafeRows", new Class[] {ChunkedByteBuffer.class}, new Object[] {left.next()});
      return block != null && block.hasNext();
    }

    public Object next() {
      if (!hasNext()) throw new NoSuchElementException();
      return block.next();
    }
  }

  /** Rows for HiveServer2. A call of a client gets no more rows once it has `call` bytes. */
  static class Rows extends IterableFetchIterator implements AutoCloseable {
    private final Answer answer;
    private final Function1 reader;
    private final long call;
    private long left;

    Rows(Answer answer, long call) {
      super(answer);
      this.answer = answer;
      this.call = call;
      this.reader = answer.reader();
    }

    public boolean hasNext() { return left > 0 && super.hasNext(); }

    public Object next() {
      Object row = super.next();
      left -= row instanceof UnsafeRow ? ((UnsafeRow) row).getSizeInBytes() : 1;
      return reader.apply(row);
    }

    public void fetchNext() {
      super.fetchNext();
      left = call;
    }

    public void fetchAbsolute(long position) {
      left = Long.MAX_VALUE;
      super.fetchAbsolute(position);
      left = call;
    }

    public void close() { answer.close(); }
  }
}
