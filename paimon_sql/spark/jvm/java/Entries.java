import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.HashMap;

/** Maps of texts and numbers, which cross as JSON: entry by entry, each would take a crossing. */
public class Entries {
  private final ObjectMapper json = new ObjectMapper();

  public HashMap of(String text) throws Exception {
    return (HashMap) json.readValue(text, HashMap.class);
  }
}
