import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.datasources.FileStatusCache;
import scala.Option;
import scala.collection.Seq;

/** The sizes of files, so that Spark's index of files asks no storage for them. */
public class KnownFiles {
  public static class Sizes extends FileStatusCache {
    final Map files = new HashMap();

    public Option getLeafFiles(Path path) { return Option.apply(files.get(path)); }
    public void putLeafFiles(Path path, FileStatus[] found) { }
    public void invalidateAll() { }
  }

  /** `sizes` has the size of each path in bytes, in the same order, separated by commas. */
  public FileStatusCache of(Seq paths, String sizes) {
    Sizes known = new Sizes();
    String[] each = sizes.split(",");
    for (int i = 0; i < paths.size(); i++) {
      Path path = (Path) paths.apply(i);
      long size = Long.parseLong(each[i]);
      known.files.put(path, new FileStatus[] { new FileStatus(size, false, 1, Math.max(size, 1L), 0L, path) });
    }
    return known;
  }
}
