import java.util.*;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.read.*;
import org.apache.spark.sql.execution.datasources.*;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
import org.apache.spark.sql.types.*;

/**
 * Input partitions that know their bucket, and the function `bucket`: Spark joins tables of equal buckets without a shuffle.
 * A batch of Spark's own scan of files, which is planned once.
 *
 * Spark reads the key of such a partition from HasPartitionKey, which the partitions of its own scans lack. These classes
 * are used in the driver only: executors get instances of the classes that they extend, and never get the function.
 */
public class BucketPartitions {
  static InternalRow key(Object bucket) {
    return new GenericInternalRow(new Object[] {bucket});
  }

  public static class Files extends FilePartition implements HasPartitionKey {
    private final transient InternalRow key;
    Files(int index, PartitionedFile[] files, Object bucket) { super(index, files); key = key(bucket); }
    public InternalRow partitionKey() { return key; }
    public Object writeReplace() { return new FilePartition(index(), files()); }
  }

  public static class Split extends PythonInputPartition implements HasPartitionKey {
    private final transient InternalRow key;
    Split(int index, byte[] split, Object bucket) { super(index, split); key = key(bucket); }
    public InternalRow partitionKey() { return key; }
    public Object writeReplace() { return new PythonInputPartition(index(), pickedPartition()); }
  }

  /**
   * A batch of a scan of files. Spark asks it several times in a query; each time, its own batches divide the files anew and
   * broadcast Hadoop's settings anew. `bucketOfFile` is null if the partitions are not divided by bucket. With `turns`, the
   * positions of the files by name, each bucket is one partition, which reads its files in this order.
   */
  public static class Kept implements Batch {
    private final Batch batch;
    private final Map bucketOfFile;
    private final Map turns;
    private InputPartition[] partitions;
    private PartitionReaderFactory factory;
    Kept(Batch batch, Map bucketOfFile, Map turns) { this.batch = batch; this.bucketOfFile = bucketOfFile; this.turns = turns; }
    public synchronized InputPartition[] planInputPartitions() {
      if (partitions == null) {
        InputPartition[] found = batch.planInputPartitions();
        if (turns != null) found = inTurn(found, turns);
        partitions = bucketOfFile == null ? found : ofFiles(found, bucketOfFile);
      }
      return partitions;
    }
    public synchronized PartitionReaderFactory createReaderFactory() {
      if (factory == null) factory = batch.createReaderFactory();
      return factory;
    }
    public boolean equals(Object other) {
      if (!(other instanceof Kept)) return false;
      Kept kept = (Kept) other;
      return batch.equals(kept.batch) && Objects.equals(bucketOfFile, kept.bucketOfFile) && Objects.equals(turns, kept.turns);
    }
    public int hashCode() { return batch.hashCode(); }
  }

  public Batch kept(Batch batch, Map bucketOfFile, Map turns) {
    return new Kept(batch, bucketOfFile, turns);
  }

  /** One partition of all files, in the order of their positions, and the parts of a file in the order of its rows. */
  static InputPartition[] inTurn(InputPartition[] partitions, final Map turns) {
    List all = new ArrayList();
    for (int i = 0; i < partitions.length; i++) all.addAll(Arrays.asList(((FilePartition) partitions[i]).files()));
    Collections.sort(all, new Comparator() {
      public int compare(Object a, Object b) {
        PartitionedFile one = (PartitionedFile) a;
        PartitionedFile other = (PartitionedFile) b;
        int turn = ((Integer) turns.get(one.toPath().getName())).compareTo((Integer) turns.get(other.toPath().getName()));
        return turn != 0 ? turn : Long.compare(one.start(), other.start());
      }
    });
    return new InputPartition[] {new FilePartition(0, (PartitionedFile[]) all.toArray(new PartitionedFile[0]))};
  }

  static InputPartition[] ofFiles(InputPartition[] partitions, Map bucketOfFile) {
    List result = new ArrayList();
    for (int i = 0; i < partitions.length; i++) {
      PartitionedFile[] files = ((FilePartition) partitions[i]).files();
      Map parts = new TreeMap();
      for (int j = 0; j < files.length; j++) {
        Object bucket = bucketOfFile.get(files[j].toPath().getName());
        if (!parts.containsKey(bucket)) parts.put(bucket, new ArrayList());
        ((List) parts.get(bucket)).add(files[j]);
      }
      for (Iterator it = parts.entrySet().iterator(); it.hasNext();) {
        Map.Entry part = (Map.Entry) it.next();
        Object[] own = ((List) part.getValue()).toArray(new PartitionedFile[0]);
        result.add(new Files(result.size(), (PartitionedFile[]) own, part.getKey()));
      }
    }
    return (InputPartition[]) result.toArray(new InputPartition[0]);
  }

  public static class Bucket implements BoundFunction {
    private final DataType[] types;
    Bucket(DataType[] types) { this.types = types; }
    public String name() { return "bucket"; }
    public DataType[] inputTypes() { return types; }
    public DataType resultType() { return DataTypes.IntegerType; }
    public boolean isResultNullable() { return false; }
    public boolean isDeterministic() { return true; }
    public String canonicalName() { return "paimon.bucket(" + types[0].simpleString() + ")"; }
    public Object writeReplace() { return null; }
  }

  /** The function for arguments that have the types of some columns. */
  public BoundFunction bucket(StructType columns) {
    StructField[] fields = columns.fields();
    DataType[] types = new DataType[fields.length];
    for (int i = 0; i < fields.length; i++) types[i] = fields[i].dataType();
    return new Bucket(types);
  }

  public InputPartition ofSplit(int index, byte[] split, int bucket) {
    return new Split(index, split, Integer.valueOf(bucket));
  }
}
