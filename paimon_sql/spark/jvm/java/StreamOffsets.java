import java.util.Optional;
import org.apache.spark.sql.connector.read.streaming.Offset;

/**
 * Offsets of streams. Spark's is an abstract class, which no proxy can be: these are a text, and equal where it is.
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

  /** The texts of two offsets, a NUL between them, which JSON never has. */
  public String both(Offset start, Offset end) {
    return start.json() + '\0' + end.json();
  }

  /** The text of an offset, null for none. */
  public String text(Optional offset) {
    return offset.isPresent() ? ((Offset) offset.get()).json() : null;
  }
}
