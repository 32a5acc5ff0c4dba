import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.*;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.*;

/**
 * Paimon tables in Spark's session catalog, beside the tables, views and functions of Spark.
 *
 * Each call goes to one of two catalogs: by the table that it names, or by the provider of a new table. The answers and
 * errors of Spark's own catalog do not pass through Python.
 */
public class GenericCatalogs {
  private static final Class[] INTERFACES =
    new Class[] {CatalogExtension.class, StagingTableCatalog.class, ProcedureCatalog.class};
  private static final Set ON_A_TABLE =
    new HashSet(Arrays.asList(new Object[] {"alterTable", "dropTable", "purgeTable", "renameTable"}));
  private static final Set NEW_TABLE = new HashSet(Arrays.asList(new Object[] {
    "createTable", "createTableLike", "stageCreate", "stageReplace", "stageCreateOrReplace"}));
  private static final Set UNITED = new HashSet(Arrays.asList(new Object[] {"capabilities", "tableStateOptionKeys"}));
  private static final Comparator BY_NAME = new Comparator() {
    public int compare(Object one, Object other) { return ((Identifier) one).name().compareTo(((Identifier) other).name()); }
  };

  /** Return a catalog of both. `tables` is the Paimon catalog, `others` Spark's own. */
  public Object of(Object tables, Object others) {
    return Proxy.newProxyInstance(GenericCatalogs.class.getClassLoader(), INTERFACES, new Both(tables, others));
  }

  public static class Both implements InvocationHandler {
    private final TableCatalog tables;
    private final TableCatalog others;

    Both(Object tables, Object others) {
      this.tables = (TableCatalog) tables;
      this.others = (TableCatalog) others;
    }

    public Object invoke(Object self, Method method, Object[] arguments) throws Throwable {
      String name = method.getName();
      if (method.getDeclaringClass() == Object.class) {
        if (name.equals("equals")) return Boolean.valueOf(self == arguments[0]);
        return name.equals("hashCode") ? (Object) Integer.valueOf(System.identityHashCode(this)) : "spark_catalog";
      }
      if (name.equals("initialize") || name.equals("setDelegateCatalog")) return null;
      if (name.equals("loadTable") || name.equals("loadChangelog")) return loaded(method, arguments);
      if (NEW_TABLE.contains(name)) return made(method, arguments);
      if (name.equals("listTables")) return listed(arguments);
      if (name.equals("dropNamespace")) return ask(isUsual((String[]) arguments[0]) ? others : tables, method, arguments);
      if (UNITED.contains(name)) {
        Set all = new HashSet((Set) ask(others, method, arguments));
        all.addAll((Set) ask(tables, method, arguments));
        return all;
      }
      Object first = arguments == null ? null : arguments[0];
      if (name.equals("tableExists"))
        return Boolean.valueOf(tables.tableExists((Identifier) first) || others.tableExists((Identifier) first));
      boolean ofPaimon = isOfPaimon(name, method, first);
      if (name.equals("renameTable")) {
        Identifier to = (Identifier) arguments[1];
        if (to.namespace().length == 0) to = named(((Identifier) first).namespace(), to.name());
        if ((ofPaimon ? others : tables).tableExists(to)) throw new TableAlreadyExistsException(to);  // one hides the other
      }
      return ask(ofPaimon ? tables : others, method, arguments);
    }

    private boolean isOfPaimon(String name, Method method, Object first) throws Exception {
      if (ON_A_TABLE.contains(name)) return tables.tableExists((Identifier) first);
      if (name.equals("loadFunction") || name.equals("functionExists")) {
        String[] namespace = ((Identifier) first).namespace();
        return isOfSystem(namespace) || (namespace.length == 0 && ((Identifier) first).name().equals("bucket"));
      }
      if (name.equals("listFunctions")) return isOfSystem((String[]) first);
      return name.equals("useNullableQuerySchema") || !documented(method).getDeclaringClass().isInstance(others);
    }

    /** Return a name. The compiler of these sources does not call static methods of interfaces. */
    private static Identifier named(String[] namespace, String name) throws Exception {
      return (Identifier) Identifier.class.getMethod("of", new Class[] {String[].class, String.class})
        .invoke(null, new Object[] {namespace, name});
    }

    /** Whether a namespace is the one that Spark never drops. */
    private boolean isUsual(String[] namespace) {
      String[] usual = ((CatalogPlugin) others).defaultNamespace();
      return namespace.length == 1 && usual.length == 1 && namespace[0].equalsIgnoreCase(usual[0]);
    }

    private static boolean isOfSystem(String[] namespace) {
      return namespace.length == 1 && namespace[0].equals("sys");
    }

    private static Object ask(Object catalog, Method method, Object[] arguments) throws Throwable {
      try {
        return documented(method).invoke(catalog, arguments);
      } catch (InvocationTargetException e) {
        throw e.getCause();
      }
    }

    /** The method as Spark declares it: an object in front of this one has interfaces of its own. */
    private static Method documented(Method method) throws Exception {
      for (int i = 0; i < INTERFACES.length; i++) {
        try {
          return INTERFACES[i].getMethod(method.getName(), method.getParameterTypes());
        } catch (NoSuchMethodException e) {
          continue;
        }
      }
      return method;
    }

    private Object loaded(Method method, Object[] arguments) throws Throwable {
      try {
        return ask(tables, method, arguments);
      } catch (NoSuchTableException e) {
        return ask(others, method, arguments);
      }
    }

    private Object made(Method method, Object[] arguments) throws Throwable {
      Identifier table = (Identifier) arguments[0];
      if (!isPaimon(method.getName(), arguments)) {
        if (method.getName().startsWith("stage"))
          throw new UnsupportedOperationException("Table " + table + " cannot be created together with its rows, as it is not a "
            + "Paimon table: write CREATE TABLE, then INSERT INTO.");
        if (tables.tableExists(table)) throw new TableAlreadyExistsException(table);
        return ask(others, method, arguments);
      }
      if (!tables.tableExists(table) && others.tableExists(table)) throw new TableAlreadyExistsException(table);
      return ask(tables, method, arguments);
    }

    private static boolean isPaimon(String name, Object[] arguments) throws Exception {
      Object last = arguments[arguments.length == 4 ? 3 : 1];
      Map properties = last instanceof Map ? (Map) last
        : (Map) last.getClass().getMethod("properties", new Class[0]).invoke(last, new Object[0]);
      Object provider = properties.get("provider");
      if (provider != null) return "paimon".equalsIgnoreCase((String) provider);
      return !name.equals("createTableLike") || Proxy.isProxyClass(arguments[2].getClass());  // like a Paimon table
    }

    private Identifier[] listed(Object[] arguments) throws Throwable {
      String[] namespace = (String[]) arguments[0];
      SortedSet all = new TreeSet(BY_NAME);
      if (((SupportsNamespaces) tables).namespaceExists(namespace)) all.addAll(Arrays.asList(tables.listTables(namespace)));
      if (all.isEmpty() || ((SupportsNamespaces) others).namespaceExists(namespace))
        all.addAll(Arrays.asList(others.listTables(namespace)));
      return (Identifier[]) all.toArray(new Identifier[0]);
    }
  }
}
