package paimon_sql;

import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Refuses to be a session's catalog: Paimon tables beside other tables in `spark_catalog` are not supported.
 *
 * Spark logs the error, and keeps its own catalog.
 */
public class SparkGenericCatalog implements CatalogPlugin {
  private String name;

  public void initialize(String name, CaseInsensitiveStringMap options) {
    throw new DoorException("Catalog '" + name + "' cannot be a SparkGenericCatalog: paimon-sql keeps Paimon tables in "
      + "a catalog of their own. Remove spark.sql.catalog." + name + ", set spark.sql.catalog.paimon to "
      + "paimon_sql.SparkCatalog and spark.sql.catalog.paimon.warehouse to the warehouse.", null);
  }

  public String name() { return name; }
}
