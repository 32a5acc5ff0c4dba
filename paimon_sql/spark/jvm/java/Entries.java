import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.*;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.collection.Map;
import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Maps and lists of texts, which cross as JSON: entry by entry, each would take a crossing. */
public class Entries {
  private final ObjectMapper json = new ObjectMapper();

  public HashMap of(String text) throws Exception {
    return (HashMap) json.readValue(text, HashMap.class);
  }

  /** The options of a statement, names as typed. */
  public String options(CaseInsensitiveStringMap options) throws Exception {
    return json.writeValueAsString(options.asCaseSensitiveMap());
  }

  public String map(Map texts) throws Exception {
    return json.writeValueAsString(CollectionConverters.asJava(texts));
  }

  public String seq(Seq texts) throws Exception {
    return json.writeValueAsString(CollectionConverters.asJava(texts));
  }

  /** The namespace, and behind it the name. */
  public String identifier(Identifier identifier) throws Exception {
    List parts = new ArrayList(Arrays.asList(identifier.namespace()));
    parts.add(identifier.name());
    return json.writeValueAsString(parts);
  }
}
