package paimon;

import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.connector.catalog.*;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Function1;

/**
 * What Spark finds under the name of `format("paimon")`: the table of a catalog that the options name.
 *
 * Clients of Spark Connect have PySpark's own readers and writers, and Spark looks for this class for them.
 */
public class DefaultSource implements SupportsCatalogOptions {
  private static volatile Function1 locate;

  /** A function of options, that gives the parts of a table's name between NULs, the catalog first. */
  public static void locateWith(Function1 function) { locate = function; }

  private static String[] parts(Map options) { return ((String) locate.apply(options)).split("\0"); }

  private static Identifier identifier(String[] parts) {
    String[] namespace = new String[parts.length - 2];
    System.arraycopy(parts, 1, namespace, 0, namespace.length);
    try {  // Janino calls no static method of an interface
      return (Identifier) Identifier.class.getMethod("of", new Class[] {String[].class, String.class})
        .invoke(null, new Object[] {namespace, parts[parts.length - 1]});
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static String registered(String catalog) throws Exception {
    // our parser makes the catalogs of a session when it sees a name
    ((org.apache.spark.sql.classic.SparkSession) SparkSession.active()).sessionState().sqlParser()
      .parseMultipartIdentifier("`" + catalog.replace("`", "``") + "`");
    return catalog;
  }

  private static Table load(Map options) {
    try {
      String[] parts = parts(options);
      CatalogManager catalogs =
        ((org.apache.spark.sql.classic.SparkSession) SparkSession.active()).sessionState().catalogManager();
      return ((TableCatalog) catalogs.catalog(registered(parts[0]))).loadTable(identifier(parts));
    } catch (Exception e) {
      org.apache.spark.unsafe.Platform.throwException(e);
      return null;
    }
  }

  public Identifier extractIdentifier(CaseInsensitiveStringMap options) {
    return identifier(parts(options.asCaseSensitiveMap()));
  }

  public String extractCatalog(CaseInsensitiveStringMap options) {
    try {
      return registered(parts(options.asCaseSensitiveMap())[0]);
    } catch (Exception e) {
      org.apache.spark.unsafe.Platform.throwException(e);
      return null;
    }
  }

  public Optional extractTimeTravelTimestamp(CaseInsensitiveStringMap options) { return Optional.empty(); }

  public Optional extractTimeTravelVersion(CaseInsensitiveStringMap options) { return Optional.empty(); }

  public StructType inferSchema(CaseInsensitiveStringMap options) { return load(options.asCaseSensitiveMap()).schema(); }

  public Transform[] inferPartitioning(CaseInsensitiveStringMap options) { return new Transform[0]; }

  public boolean supportsExternalMetadata() { return false; }

  public Table getTable(StructType schema, Transform[] partitioning, Map options) { return load(options); }
}
