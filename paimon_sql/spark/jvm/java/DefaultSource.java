package paimon;

import java.lang.reflect.InvocationTargetException;
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
 * The class that Spark finds for `format("paimon")`: it returns the table of a catalog that the options name.
 *
 * For clients of Spark Connect, which have PySpark's own readers and writers, Spark looks for this class.
 */
public class DefaultSource implements SupportsCatalogOptions {
  private static volatile Function1 locate;

  /** Set the function that finds a table. It takes options and returns the parts of a name, joined by NULs, the catalog first. */
  public static void locateWith(Function1 function) { locate = function; }

  private static String[] parts(Map options) { return ((String) locate.apply(options)).split("\0"); }

  private static Identifier identifier(String[] parts) {
    String[] namespace = new String[parts.length - 2];
    System.arraycopy(parts, 1, namespace, 0, namespace.length);
    try {  // Janino cannot call static methods of interfaces
      return (Identifier) Identifier.class.getMethod("of", new Class[] {String[].class, String.class})
        .invoke(null, new Object[] {namespace, parts[parts.length - 1]});
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static String registered(String catalog) throws Exception {
    // parsing makes the catalogs of a session
    ((org.apache.spark.sql.classic.SparkSession) SparkSession.active()).sessionState().sqlParser()
      .parseMultipartIdentifier("`" + catalog.replace("`", "``") + "`");
    return catalog;
  }

  /** A catalog of the active session. Spark's CatalogManager is a class or an interface, and a compiled call fits only one. */
  public static CatalogPlugin catalog(String name) throws Exception {
    Object manager = ((org.apache.spark.sql.classic.SparkSession) SparkSession.active()).sessionState().catalogManager();
    try {
      return (CatalogPlugin) CatalogManager.class.getMethod("catalog", new Class[] {String.class})
        .invoke(manager, new Object[] {name});
    } catch (InvocationTargetException e) {
      org.apache.spark.unsafe.Platform.throwException(e.getCause());
      return null;
    }
  }

  private static Table load(Map options) {
    try {
      String[] parts = parts(options);
      return ((TableCatalog) catalog(registered(parts[0]))).loadTable(identifier(parts));
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
