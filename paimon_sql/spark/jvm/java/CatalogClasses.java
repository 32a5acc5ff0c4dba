import java.lang.reflect.Method;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.util.Utils;
import org.codehaus.janino.SimpleCompiler;

/**
 * Lets Spark find the classes that settings of catalogs name: it looks for them by itself, in catalog managers of its own.
 *
 * One analyzes the defaults of columns, with the settings of a session and without its catalogs. It loads the default
 * catalog for its name alone.
 */
public class CatalogClasses {
  private static final String TEXT =
    "import java.util.Map;\n"
    + "import org.apache.spark.sql.connector.catalog.*;\n"
    + "import org.apache.spark.sql.util.CaseInsensitiveStringMap;\n"
    + "public class NAME implements TableCatalog {\n"
    + "  private String name;\n"
    + "  private RuntimeException refused() {\n"
    + "    return new IllegalStateException(\"Catalog '\" + name + \"' cannot be used in this session, in which paimon-sql \"\n"
    + "      + \"is not installed: call paimon_sql.install(spark), then run the statement again.\");\n"
    + "  }\n"
    + "  public void initialize(String name, CaseInsensitiveStringMap options) { this.name = name; }\n"
    + "  public String name() { return name; }\n"
    + "  public Identifier[] listTables(String[] namespace) { throw refused(); }\n"
    + "  public Table loadTable(Identifier table) { throw refused(); }\n"
    + "  public Table alterTable(Identifier table, TableChange[] changes) { throw refused(); }\n"
    + "  public boolean dropTable(Identifier table) { throw refused(); }\n"
    + "  public void renameTable(Identifier from, Identifier to) { throw refused(); }\n"
    + "}\n";

  private static boolean isThere(String name) {
    try {
      Class.forName(name, false, Utils.getContextOrSparkClassLoader());
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  /**
   * Let Spark find a class of a name. Nothing changes if there is one, such as the class of another connector's jar.
   * Returns whether there is one now: a JVM that Spark did not start may refuse.
   */
  public synchronized boolean define(String name) throws Exception {
    if (isThere(name)) return true;
    int dot = name.lastIndexOf('.');
    SimpleCompiler compiler = new SimpleCompiler();
    compiler.setParentClassLoader(Utils.getContextOrSparkClassLoader());
    compiler.cook("package " + name.substring(0, dot) + ";\n" + TEXT.replace("NAME", name.substring(dot + 1)));
    Method define = ClassLoader.class.getDeclaredMethod(
      "defineClass", new Class[] {String.class, byte[].class, Integer.TYPE, Integer.TYPE});
    try {
      define.setAccessible(true);
    } catch (RuntimeException e) { // java.lang is not open to others
      return false;
    }
    ClassLoader sparks = Utils.getSparkClassLoader();
    for (Iterator it = compiler.getBytecodes().entrySet().iterator(); it.hasNext();) {
      Map.Entry made = (Map.Entry) it.next();
      byte[] code = (byte[]) made.getValue();
      define.invoke(sparks, new Object[] {made.getKey(), code, Integer.valueOf(0), Integer.valueOf(code.length)});
    }
    return true;
  }
}
