import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.MergeIntoWriter;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.streaming.DataStreamWriter;
import org.apache.spark.sql.streaming.Trigger;

/** 16 threads write and read one table, each in another way and in a session of its own. Janino compiles this source. */
public class JvmThreads {
  static final int THREADS = 16;
  static final String TABLE = "paimon.shop.t";
  final SparkSession spark;
  final String lake;
  final long id;

  JvmThreads(SparkSession spark, String lake, long id) {
    this.spark = spark;
    this.lake = lake;
    this.id = id;
  }

  Dataset row() { return spark.range(id, id + 1).selectExpr(new String[] {"id", "'v' AS v"}); }

  void write() throws Exception {
    String values = "(SELECT " + id + "L AS id, 'v' AS v)";
    if (id % 8 == 0) spark.sql("INSERT INTO " + TABLE + " VALUES (" + id + ", 'v')");
    else if (id % 8 == 1) row().writeTo(TABLE).append();
    else if (id % 8 == 2) row().write().mode("append").saveAsTable(TABLE);
    else if (id % 8 == 3) row().write().insertInto(TABLE);
    else if (id % 8 == 4) row().write().format("paimon").mode("append").save(lake + "/shop.db/t");
    else if (id % 8 == 5)
      spark.sql("MERGE INTO " + TABLE + " t USING " + values + " s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *");
    else if (id % 8 == 6) {
      MergeIntoWriter merge = row().as("s").mergeInto(TABLE, functions.expr("s.id = t.id"));
      merge.whenNotMatched().insertAll();
      merge.merge();
    } else stream();
  }

  /** Write by a stream of a table of this thread's own. */
  void stream() throws Exception {
    String source = "paimon.shop.source_" + id;
    spark.sql("CREATE TABLE " + source + " (id BIGINT, v STRING) WITH ('bucket' = '-1')");
    row().writeTo(source).append();
    DataStreamWriter writer = spark.readStream().table(source).writeStream();
    writer.trigger(Trigger.AvailableNow());
    writer.option("checkpointLocation", lake + "/../checkpoint_" + id);
    if (id == 7) {
      writer.toTable(TABLE).awaitTermination();
      return;
    }
    writer.foreachBatch(new VoidFunction2() {
      public void call(Object batch, Object number) throws Exception { ((Dataset) batch).writeTo(TABLE).append(); }
    });
    writer.start().awaitTermination();
  }

  /** The number of rows with the id, as one of the readers finds it. */
  long read() {
    Dataset rows = id % 4 == 0 ? spark.sql("SELECT * FROM " + TABLE)
      : id % 4 == 1 ? spark.table(TABLE)
      : id % 4 == 2 ? spark.read().format("paimon").load(lake + "/shop.db/t")
      : spark.read().option("scan.mode", "latest").table(TABLE);
    return rows.where("id = " + id).count();
  }

  public static void main(String[] words) throws Exception {
    SparkSession first = SparkSession.builder().getOrCreate();
    first.sql("CREATE DATABASE paimon.shop");
    first.sql("CREATE TABLE " + TABLE + " (id BIGINT, v STRING) WITH ('bucket' = '-1')");
    ExecutorService pool = Executors.newFixedThreadPool(THREADS);
    Future[] found = new Future[THREADS];
    for (int i = 0; i < THREADS; i++) {
      final JvmThreads work = new JvmThreads(first.newSession(), words[0], i);
      found[i] = pool.submit(new Callable() {
        public Object call() throws Exception {
          work.write();
          return Long.valueOf(work.read());
        }
      });
    }
    for (int i = 0; i < THREADS; i++) {
      try {
        System.out.println("thread " + i + " = " + found[i].get());
      } catch (Exception e) {
        System.out.println("thread " + i + " raised " + e.getCause());
      }
    }
    pool.shutdown();
    Row all = (Row) first.sql("SELECT count(*), sum(id) FROM " + TABLE).head();
    System.out.println("all = " + all);
    first.stop();
  }
}
