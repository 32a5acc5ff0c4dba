package paimon_sql;

import org.apache.spark.sql.connector.catalog.*;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;

/** The object that Spark loads for its own catalog if it has Paimon tables, too: as `SparkCatalog`, until Python has started. */
public class SparkGenericCatalog extends SparkCatalog implements CatalogExtension {
  /** Python asks the session for Spark's own catalog itself. */
  public void setDelegateCatalog(CatalogPlugin delegate) {}

  private FunctionCatalog functions() { return (FunctionCatalog) found(); }

  public Identifier[] listFunctions(String[] namespace) {
    try {
      return functions().listFunctions(namespace);
    } catch (Exception e) {
      org.apache.spark.unsafe.Platform.throwException(e);
      return null;
    }
  }

  public UnboundFunction loadFunction(Identifier function) {
    try {
      return functions().loadFunction(function);
    } catch (Exception e) {
      org.apache.spark.unsafe.Platform.throwException(e);
      return null;
    }
  }
}
