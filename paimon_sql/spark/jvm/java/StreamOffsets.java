import java.util.Optional;
import org.apache.spark.sql.connector.read.streaming.Offset;

/**
 * Offsets of streams. Spark's is an abstract class, which a proxy cannot extend. These have a text, and are equal if it is.
 */
public class StreamOffsets {
  public static class Text extends Offset {
    private final String text;
    Text(String text) { this.text = text; }
    public String json() { return text; }
  }

  public Offset of(String text) {
    return new Text(text);
  }

  /** The texts of two offsets, joined by a NUL, which JSON never contains. */
  public String both(Offset start, Offset end) {
    return start.json() + '\0' + end.json();
  }

  /** The text of an offset; null without one. */
  public String text(Optional offset) {
    return offset.isPresent() ? ((Offset) offset.get()).json() : null;
  }
}
