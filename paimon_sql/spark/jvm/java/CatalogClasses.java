import java.lang.reflect.Method;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.util.Utils;
import org.codehaus.janino.SimpleCompiler;

/**
 * Lets Spark find the classes that catalogs' settings name. Spark looks for these classes in catalog managers of its own.
 *
 * One such manager analyzes the defaults of columns. It has the settings of a session, but not its catalogs, and loads the
 * default catalog only for its name.
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

  /** Return whether Spark finds a class of this name. */
  public static boolean isThere(String name) {
    try {
      Class.forName(name, false, Utils.getContextOrSparkClassLoader());
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  /**
   * Define a class of this name for Spark, unless it exists, for instance in another connector's jar. Returns whether the
   * class exists now: a JVM that Spark did not start may refuse to define it.
   */
  public synchronized boolean define(String name) throws Exception {
    if (isThere(name)) return true;
    int dot = name.lastIndexOf('.');
    SimpleCompiler compiler = new SimpleCompiler();
    compiler.setParentClassLoader(Utils.getContextOrSparkClassLoader());
    compiler.cook("package " + name.substring(0, dot) + ";\n" + TEXT.replace("NAME", name.substring(dot + 1)));
    return put(compiler.getBytecodes());
  }

  /** Define compiled classes for Spark, unless `name` exists. Returns whether they are new. */
  public synchronized boolean defineCompiled(String name, Map classes) throws Exception {
    return !isThere(name) && put(classes);
  }

  private static boolean put(Map classes) throws Exception {
    Method define = ClassLoader.class.getDeclaredMethod(
      "defineClass", new Class[] {String.class, byte[].class, Integer.TYPE, Integer.TYPE});
    try {
      define.setAccessible(true);
    } catch (RuntimeException e) { // this JVM does not open java.lang
      return false;
    }
    ClassLoader sparks = Utils.getSparkClassLoader();
    // a class is defined before the classes nested in it, which may extend it
    for (Iterator it = new TreeMap(classes).entrySet().iterator(); it.hasNext();) {
      Map.Entry made = (Map.Entry) it.next();
      byte[] code = (byte[]) made.getValue();
      define.invoke(sparks, new Object[] {made.getKey(), code, Integer.valueOf(0), Integer.valueOf(code.length)});
    }
    return true;
  }
}
