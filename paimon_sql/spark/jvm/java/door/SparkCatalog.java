package paimon_sql;

import java.util.Map;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.*;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import paimon.DefaultSource;

/**
 * The object that Spark loads for a Paimon catalog before a statement was parsed, such as for `spark.catalog`.
 *
 * The first call starts Python, which puts its own catalog into this one's place, and continues there.
 */
public class SparkCatalog implements TableCatalog, SupportsNamespaces {
  private String name;

  public void initialize(String name, CaseInsensitiveStringMap options) { this.name = name; }

  public String name() { return name; }

  public String[] defaultNamespace() { return new String[] {"default"}; }

  protected CatalogPlugin found() {
    try {
      SparkSession session = (SparkSession) org.apache.spark.sql.SparkSession.active();
      ParserInterface parser = session.sessionState().sqlParser();
      parser.parseMultipartIdentifier("`" + name.replace("`", "``") + "`");  // Python makes the session's catalogs
      CatalogPlugin found = DefaultSource.catalog(name);
      if (!(found instanceof SparkCatalog)) return found;
    } catch (Exception e) {
      org.apache.spark.unsafe.Platform.throwException(e);
    }
    throw new DoorException("Catalog '" + name + "' cannot be used: spark.sql.extensions does not contain "
      + "paimon_sql.Extensions. Add it, and start the program again.", null);
  }

  private TableCatalog tables() { return (TableCatalog) found(); }

  private SupportsNamespaces namespaces() { return (SupportsNamespaces) found(); }

  public Identifier[] listTables(String[] namespace) {
    try {
      return tables().listTables(namespace);
    } catch (Exception e) {
      org.apache.spark.unsafe.Platform.throwException(e);
      return null;
    }
  }

  public Table loadTable(Identifier table) {
    try {
      return tables().loadTable(table);
    } catch (Exception e) {
      org.apache.spark.unsafe.Platform.throwException(e);
      return null;
    }
  }

  public Table alterTable(Identifier table, TableChange[] changes) {
    try {
      return tables().alterTable(table, changes);
    } catch (Exception e) {
      org.apache.spark.unsafe.Platform.throwException(e);
      return null;
    }
  }

  public boolean dropTable(Identifier table) { return tables().dropTable(table); }

  public void renameTable(Identifier from, Identifier to) {
    try {
      tables().renameTable(from, to);
    } catch (Exception e) {
      org.apache.spark.unsafe.Platform.throwException(e);
    }
  }

  public String[][] listNamespaces() {
    try {
      return namespaces().listNamespaces();
    } catch (Exception e) {
      org.apache.spark.unsafe.Platform.throwException(e);
      return null;
    }
  }

  public String[][] listNamespaces(String[] namespace) {
    try {
      return namespaces().listNamespaces(namespace);
    } catch (Exception e) {
      org.apache.spark.unsafe.Platform.throwException(e);
      return null;
    }
  }

  public Map loadNamespaceMetadata(String[] namespace) {
    try {
      return namespaces().loadNamespaceMetadata(namespace);
    } catch (Exception e) {
      org.apache.spark.unsafe.Platform.throwException(e);
      return null;
    }
  }

  public void createNamespace(String[] namespace, Map metadata) {
    try {
      namespaces().createNamespace(namespace, metadata);
    } catch (Exception e) {
      org.apache.spark.unsafe.Platform.throwException(e);
    }
  }

  public void alterNamespace(String[] namespace, NamespaceChange[] changes) {
    try {
      namespaces().alterNamespace(namespace, changes);
    } catch (Exception e) {
      org.apache.spark.unsafe.Platform.throwException(e);
    }
  }

  public boolean dropNamespace(String[] namespace, boolean cascade) {
    try {
      return namespaces().dropNamespace(namespace, cascade);
    } catch (Exception e) {
      org.apache.spark.unsafe.Platform.throwException(e);
      return false;
    }
  }
}
