import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.apache.spark.SparkContext;
import org.apache.hive.service.cli.*;
import org.apache.hive.service.cli.operation.*;
import org.apache.hive.service.cli.session.HiveSession;
import org.apache.hive.service.cli.session.SessionManager;
import org.apache.hive.service.rpc.thrift.TRowSet;
import org.apache.hive.service.server.HiveServer2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils$;
import org.apache.spark.sql.hive.thriftserver.*;
import org.apache.spark.sql.hive.thriftserver.server.SparkSQLOperationManager;
import org.apache.spark.sql.hive.thriftserver.ui.HiveThriftServer2EventManager;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

/**
 * The operations of HiveServer2, with limits and with the tables of every catalog.
 *
 * Spark's manager of operations makes an object for each call of a client. This manager replaces it and makes objects of
 * subclasses: statements that count the rows they return, and answers to metadata calls. The answers include the tables of
 * catalogs other than Spark's own, which Spark leaves out.
 */
public class ThriftOperations {
  private static final int KEPT = 1000;  // statements with a known number of rows: more than Spark keeps
  private static final Map ROWS = Collections.synchronizedMap(new LinkedHashMap() {
    protected boolean removeEldestEntry(Map.Entry eldest) { return size() > KEPT; }
  });

  /** The number of rows that a statement has returned; -1 if they were not counted. */
  public static long rows(String statement) {
    Object found = ROWS.get(statement);
    return found == null ? -1L : ((AtomicLong) found).get();
  }

  /** Replace a server's manager. A limit of 0 means no limit. `results` runs a dataset; without it Spark does. */
  public void install(HiveServer2 server, int statements, long rows, String condition, String state, Function results)
      throws Exception {
    CLIService service = (CLIService) field(HiveServer2.class, "cliService").get(server);
    SessionManager sessions = service.getSessionManager();
    Object before = field(SessionManager.class, "operationManager").get(sessions);
    final Manager manager = new Manager(statements, rows, condition, state, results);
    Field[] shared = new Field[] {field(OperationManager.class, "handleToOperation"),
      field(SparkSQLOperationManager.class, "handleToOperation"), field(SparkSQLOperationManager.class, "sessionToContexts")};
    for (int i = 0; i < shared.length; i++) shared[i].set(manager, shared[i].get(before));
    field(SparkSQLSessionManager.class, "sparkSqlOperationManager").set(sessions, manager);
    field(SessionManager.class, "operationManager").set(sessions, manager);
    if (results != null)
      HiveThriftServer2$.MODULE$.eventManager_$eq(new Events(SparkContext.getOrCreate(), manager));
  }

  /** Events of statements. Spark calls `onStatementParsed` after it has analyzed a statement, and before it runs it. */
  static class Events extends HiveThriftServer2EventManager {
    private final Manager manager;

    Events(SparkContext context, Manager manager) {
      super(context);
      this.manager = manager;
    }

    public void onStatementParsed(String id, String plan) {
      super.onStatementParsed(id, plan);
      manager.run(id);
    }
  }

  static Field field(Class owner, String name) throws Exception {
    Field found = owner.getDeclaredField(name);
    found.setAccessible(true);
    return found;
  }

  static class Manager extends SparkSQLOperationManager {
    private final int statements;
    private final long rows;
    private final String condition, state;
    private final Function results;

    Manager(int statements, long rows, String condition, String state, Function results) {
      this.statements = statements;
      this.rows = rows;
      this.condition = condition;
      this.state = state;
      this.results = results;
    }

    /** Run a statement that Spark has analyzed. */
    void run(String id) {
      Object[] all = handleToOperation().values().toArray();
      for (int i = 0; i < all.length; i++)
        if (all[i] instanceof Statement && ((Statement) all[i]).statementId().equals(id)) ((Statement) all[i]).run(results);
    }

    public synchronized ExecuteStatementOperation newExecuteStatementOperation(HiveSession session, String statement,
        Map overlay, boolean background, long timeout) {
      if (statements > 0 && underWay(session) >= statements)
        refuse("A session may run " + statements + " statements at the same time: wait for one to end.");
      long seconds = timeout;
      SparkSession spark = (SparkSession) sessionToContexts().get(session.getSessionHandle());
      Statement made = new Statement(this, spark, session, statement, overlay, background, seconds);
      handleToOperation().put(made.getHandle(), made);
      return made;
    }

    private int underWay(HiveSession session) {
      int found = 0;
      Object[] all = handleToOperation().values().toArray();
      for (int i = 0; i < all.length; i++) {
        if (!(all[i] instanceof ExecuteStatementOperation)) continue;
        Operation one = (Operation) all[i];
        if (one.getParentSession() == session && !one.getStatus().getState().isTerminal() && !one.isFinished()) found++;
      }
      return found;
    }

    void check(long given) {
      if (rows > 0 && given > rows)
        refuse("The answer has more than " + rows + " rows, the limit of this server: request fewer, for example with LIMIT.");
    }

    private void refuse(String message) {
      Platform.throwException(new HiveSQLException("[" + condition + "] " + message + " SQLSTATE: " + state, state));
    }

    public synchronized GetCatalogsOperation newGetCatalogsOperation(HiveSession session) {
      Catalogs made = new Catalogs((SparkSession) sessionToContexts().get(session.getSessionHandle()), session);
      handleToOperation().put(made.getHandle(), made);
      return made;
    }

    public synchronized GetSchemasOperation newGetSchemasOperation(HiveSession session, String catalog, String schema) {
      SparkSession spark = (SparkSession) sessionToContexts().get(session.getSessionHandle());
      Schemas made = new Schemas(spark, session, catalog, schema);
      handleToOperation().put(made.getHandle(), made);
      return made;
    }

    public synchronized MetadataOperation newGetTablesOperation(HiveSession session, String catalog, String schema,
        String table, List types) {
      SparkSession spark = (SparkSession) sessionToContexts().get(session.getSessionHandle());
      Tables made = new Tables(spark, session, catalog, schema, table, types);
      handleToOperation().put(made.getHandle(), made);
      return made;
    }

    public synchronized GetColumnsOperation newGetColumnsOperation(HiveSession session, String catalog, String schema,
        String table, String column) {
      SparkSession spark = (SparkSession) sessionToContexts().get(session.getSessionHandle());
      Columns made = new Columns(spark, session, catalog, schema, table, column);
      handleToOperation().put(made.getHandle(), made);
      return made;
    }

    public synchronized GetPrimaryKeysOperation newGetPrimaryKeysOperation(HiveSession session, String catalog,
        String schema, String table) {
      SparkSession spark = (SparkSession) sessionToContexts().get(session.getSessionHandle());
      PrimaryKeys made = new PrimaryKeys(spark, session, catalog, schema, table);
      handleToOperation().put(made.getHandle(), made);
      return made;
    }
  }

  static class Statement extends SparkExecuteStatementOperation {
    private final Manager manager;
    private final AtomicLong given = new AtomicLong();
    private volatile Object found;  // its rows

    Statement(Manager manager, SparkSession spark, HiveSession session, String statement, Map overlay,
        boolean background, long timeout) {
      super(spark, session, statement, overlay, background, timeout);
      this.manager = manager;
    }

    /** Run the statement, and give Spark an answer with its columns but without rows. */
    void run(Function results) {
      try {
        Field answer = own("org$apache$spark$sql$hive$thriftserver$SparkExecuteStatementOperation$$result");
        Dataset data = (Dataset) answer.get(this);
        Object rows = results.apply(data);
        answer.set(this, session().createDataFrame(Collections.EMPTY_LIST, data.schema()));
        found = rows;
        if (getStatus().getState().isTerminal()) forget();  // closed meanwhile
      } catch (Throwable e) {
        Platform.throwException(e);
      }
    }

    private static Field own(String name) throws Exception {
      return field(SparkExecuteStatementOperation.class, name);
    }

    private void forget() throws Exception {
      if (found != null) ((AutoCloseable) found).close();
    }

    public void close() {
      super.close();
      try {
        forget();
      } catch (Exception e) {
        Platform.throwException(e);
      }
    }

    public TRowSet getNextRowSet(FetchOrientation order, long most) {
      try {
        if (found != null) own("iter").set(this, found);
      } catch (Exception e) {
        Platform.throwException(e);
      }
      return counted(order, most);
    }

    private TRowSet counted(FetchOrientation order, long most) {
      TRowSet found = super.getNextRowSet(order, most);
      if (order.equals(FetchOrientation.FETCH_FIRST)) given.set(0);
      ROWS.put(statementId(), given);
      manager.check(given.addAndGet(count(found)));
      return found;
    }

    private static long count(TRowSet rows) {
      if (rows.getColumnsSize() == 0) return rows.getRowsSize();
      Object values = ((org.apache.hive.service.rpc.thrift.TColumn) rows.getColumns().get(0)).getFieldValue();
      try {
        return ((List) values.getClass().getMethod("getValues", new Class[0]).invoke(values, new Object[0])).size();
      } catch (Exception e) {
        return 0;
      }
    }
  }

  /** The tables of a catalog other than Spark's own, from `SHOW TABLES` and `SHOW VIEWS`. */
  static class Catalog {
    private final SparkSession spark;
    final String name;

    private Catalog(SparkSession spark, String name) {
      this.spark = spark;
      this.name = name;
    }

    /** The catalog that a call names, or the current one; null for Spark's own catalog, and for a missing one. */
    static Catalog of(SparkSession spark, String asked) {
      boolean any = isAny(asked);
      String name = any ? first(spark, "SELECT current_catalog()") : asked;
      if (name.equals("spark_catalog")) return null;
      return any || names(spark).contains(name) ? new Catalog(spark, name) : null;
    }

    /** Whether a call is for one catalog other than Spark's own, whose rows Spark's code adds to each answer. */
    static boolean isOther(String asked) { return !isAny(asked) && !asked.equals("spark_catalog"); }

    static boolean isAny(String asked) { return asked == null || asked.isEmpty() || asked.equals("%"); }

    static List names(SparkSession spark) {
      List found = new ArrayList();
      List catalogs = rows(spark, "SHOW CATALOGS");
      for (int i = 0; i < catalogs.size(); i++) found.add(((Row) catalogs.get(i)).getString(0));
      return found;
    }

    List schemas(Pattern schema) {
      List found = new ArrayList();
      List all = rows(spark, "SHOW NAMESPACES IN " + quoted(name));
      for (int i = 0; i < all.size(); i++) {
        String one = ((Row) all.get(i)).getString(0).replace("`", "");
        if (schema.matcher(one.toLowerCase(Locale.ROOT)).matches()) found.add(one);
      }
      return found;
    }

    /** Lists of schema, name and kind. */
    List tables(Pattern schema, Pattern table) {
      List found = new ArrayList();
      List schemas = schemas(schema);
      for (int i = 0; i < schemas.size(); i++) {
        String one = (String) schemas.get(i);
        Map kinds = new TreeMap();
        add(kinds, "TABLE", "SHOW TABLES IN " + quoted(name) + "." + quoted(one));
        add(kinds, "VIEW", "SHOW VIEWS IN " + quoted(name) + "." + quoted(one));
        for (Iterator each = kinds.entrySet().iterator(); each.hasNext();) {
          Map.Entry entry = (Map.Entry) each.next();
          if (table.matcher(((String) entry.getKey()).toLowerCase(Locale.ROOT)).matches())
            found.add(new String[] {one, (String) entry.getKey(), (String) entry.getValue()});
        }
      }
      return found;
    }

    /** The columns of a table; null if it cannot be read, so that it does not hide other tables. */
    StructType columns(String schema, String table) {
      try {
        StructType read = spark.sql("SELECT * FROM " + quoted(name) + "." + quoted(schema) + "." + quoted(table)).schema();
        return CharVarcharUtils$.MODULE$.getRawSchema(read);  // with CHAR and VARCHAR, which are STRING in a query
      } catch (Exception e) {
        return null;
      }
    }

    /** The columns of a table's primary key, in its order; none for a table without a key, or one that cannot be read. */
    List key(String schema, String table) {
      try {
        List found = rows(spark, "SHOW TBLPROPERTIES " + quoted(name) + "." + quoted(schema) + "." + quoted(table));
        for (int i = 0; i < found.size(); i++)
          if (((Row) found.get(i)).getString(0).equals("primary-key"))
            return Arrays.asList(((Row) found.get(i)).getString(1).split("\\s*,\\s*"));
      } catch (Exception e) {
        // the table was dropped since or is damaged, or it is a view
      }
      return Collections.EMPTY_LIST;
    }

    private void add(Map kinds, String kind, String statement) {
      try {
        List found = rows(spark, statement);
        for (int i = 0; i < found.size(); i++)
          if (!((Row) found.get(i)).getBoolean(2)) kinds.put(((Row) found.get(i)).getString(1), kind);
      } catch (Exception e) {
        // the database was dropped since, or the catalog does not support views
      }
    }

    private static List rows(SparkSession spark, String statement) { return spark.sql(statement).collectAsList(); }

    private static String first(SparkSession spark, String statement) {
      return ((Row) rows(spark, statement).get(0)).getString(0);
    }

    private static String quoted(String name) { return "`" + name.replace("`", "``") + "`"; }
  }

  /** The pattern of a schema: an empty one matches all schemas, as in Spark. */
  static Pattern ofSchemas(String asked) { return pattern(asked == null || asked.isEmpty() ? "%" : asked); }

  /** Java's pattern for a pattern of JDBC, for names in lower case; `*` and `.*` are wildcards, too, as in Spark. Each text
   *  between two wildcards is searched only once, because a pattern that tries all positions of all texts may take forever. */
  static Pattern pattern(String asked) {
    if (asked == null) return Pattern.compile(".*", Pattern.DOTALL);
    List parts = new ArrayList();
    StringBuilder part = new StringBuilder();
    String text = asked.toLowerCase(Locale.ROOT);
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      boolean escaped = c == '\\' && i + 1 < text.length();
      if (escaped) c = text.charAt(++i);
      if (!escaped && c == '.' && text.startsWith("*", i + 1)) continue;
      if (!escaped && (c == '%' || c == '*')) {
        parts.add(part.toString());
        part = new StringBuilder();
      } else if (!escaped && c == '_') part.append('.');
      else part.append(Pattern.quote(String.valueOf(c)));
    }
    parts.add(part.toString());
    StringBuilder made = new StringBuilder((String) parts.get(0));
    for (int i = 1; i < parts.size() - 1; i++)
      if (!((String) parts.get(i)).isEmpty()) made.append("(?>.*?").append(parts.get(i)).append(")");
    if (parts.size() > 1) made.append(".*").append(parts.get(parts.size() - 1));
    return Pattern.compile(made.toString(), Pattern.DOTALL);
  }

  /** The answer with all catalogs, of which Spark before 4.3 lists none. */
  static class Catalogs extends SparkGetCatalogsOperation {
    Catalogs(SparkSession spark, HiveSession session) { super(spark, session); }

    public void runInternal() {
      super.runInternal();
      if (rowSet.numRows() > 0) return;
      List found = Catalog.names(session());
      for (int i = 0; i < found.size(); i++) rowSet.addRow(new Object[] {found.get(i)});
    }
  }

  /** The answer with the schemas of the requested catalog. Spark lists those of its own catalog, or from 4.3 on the current one. */
  static class Schemas extends SparkGetSchemasOperation {
    private final String asked, schemas;

    Schemas(SparkSession spark, HiveSession session, String catalog, String schema) {
      super(spark, session, catalog, schema);
      this.asked = catalog;
      this.schemas = schema;
    }

    public void runInternal() {
      super.runInternal();
      if ("spark_catalog".equals(asked)) return;
      try {
        addAll();
      } catch (Exception e) {
        Platform.throwException(new HiveSQLException(e));
      }
    }

    private void addAll() throws Exception {
      boolean any = Catalog.isAny(asked);
      if (!any) {
        TableSchema columns = (TableSchema) field(GetSchemasOperation.class, "RESULT_SET_SCHEMA").get(null);
        field(GetSchemasOperation.class, "rowSet").set(this, RowSetFactory.create(columns, getProtocolVersion(), false));
      }
      Set told = new HashSet(Collections.singleton("spark_catalog"));
      for (Iterator each = rowSet.iterator(); each.hasNext();) told.add(((Object[]) each.next())[1]);
      List names = Catalog.names(session());
      for (int i = 0; i < names.size(); i++) {
        String name = (String) names.get(i);
        if (told.contains(name) || !any && !name.equals(asked)) continue;
        List found = Catalog.of(session(), name).schemas(ofSchemas(schemas));
        for (int k = 0; k < found.size(); k++) rowSet.addRow(new Object[] {found.get(k), name});
      }
    }
  }

  static class Tables extends SparkGetTablesOperation {
    private final String asked, schemas, tables;
    private final List types;

    Tables(SparkSession spark, HiveSession session, String catalog, String schema, String table, List types) {
      super(spark, session, catalog, schema, table, types);
      this.asked = catalog;
      this.schemas = schema;
      this.tables = table;
      this.types = types;
    }

    public void runInternal() {
      super.runInternal();
      try {
        if (Catalog.isOther(asked)) forget();
      } catch (Exception e) {
        Platform.throwException(new HiveSQLException(e));
      }
      Catalog catalog = Catalog.of(session(), asked);
      if (catalog == null) return;
      List found = catalog.tables(ofSchemas(schemas), pattern(tables));
      for (int i = 0; i < found.size(); i++) {
        String[] one = (String[]) found.get(i);
        if (types == null || types.isEmpty() || types.contains(one[2]))
          rowSet.addRow(new Object[] {catalog.name, one[0], one[1], one[2], "", null, null, null, null, null});
      }
    }

    private void forget() throws Exception {
      TableSchema columns = (TableSchema) field(GetTablesOperation.class, "RESULT_SET_SCHEMA").get(null);
      field(GetTablesOperation.class, "rowSet").set(this, RowSetFactory.create(columns, getProtocolVersion(), false));
    }
  }

  static class Columns extends SparkGetColumnsOperation {
    private final String asked, schemas, tables, columns;

    Columns(SparkSession spark, HiveSession session, String catalog, String schema, String table, String column) {
      super(spark, session, catalog, schema, table, column);
      this.asked = catalog;
      this.schemas = schema;
      this.tables = table;
      this.columns = column;
    }

    public void runInternal() {
      super.runInternal();
      Catalog catalog = Catalog.of(session(), asked);
      if (catalog == null && !Catalog.isOther(asked)) return;
      try {
        addAll(catalog);
      } catch (Exception e) {
        Platform.throwException(new HiveSQLException(e));
      }
    }

    /** Add the catalog's name to the rows that Spark's own code makes for a table. */
    private void addAll(Catalog catalog) throws Exception {
      Method add = SparkGetColumnsOperation.class.getDeclaredMethod("addToRowSet",
        new Class[] {Pattern.class, String.class, String.class, StructType.class});
      add.setAccessible(true);
      Pattern wanted = Pattern.compile(pattern(columns).pattern(), Pattern.CASE_INSENSITIVE | Pattern.DOTALL);
      int known = rowSet.numRows();
      List found = catalog == null ? Collections.EMPTY_LIST : catalog.tables(ofSchemas(schemas), pattern(tables));
      for (int i = 0; i < found.size(); i++) {
        String[] one = (String[]) found.get(i);
        StructType schema = catalog.columns(one[0], one[1]);
        if (schema != null) add.invoke(this, new Object[] {wanted, one[0], one[1], schema});
      }
      RowSet named = RowSetFactory.create(RESULT_SET_SCHEMA, getProtocolVersion(), false);
      int at = 0;
      for (Iterator each = rowSet.iterator(); each.hasNext(); at++) {
        Object[] row = (Object[]) each.next();
        if (at >= known) row[0] = catalog.name;
        if (at >= known || !Catalog.isOther(asked)) named.addRow(row);
      }
      field(GetColumnsOperation.class, "rowSet").set(this, named);
    }
  }

  /** The answer with primary keys. HiveServer2 has them only for tables in a Hive metastore. */
  static class PrimaryKeys extends GetPrimaryKeysOperation {
    private final SparkSession spark;
    private final String asked, schema, table;

    PrimaryKeys(SparkSession spark, HiveSession session, String catalog, String schema, String table) {
      super(session, catalog, schema, table);
      this.spark = spark;
      this.asked = catalog;
      this.schema = schema;
      this.table = table;
    }

    public void runInternal() throws HiveSQLException {
      Catalog catalog = Catalog.of(spark, asked);
      if (catalog == null) {
        super.runInternal();
        return;
      }
      setState(OperationState.RUNNING);
      try {
        addAll(catalog);
      } catch (Exception e) {
        setState(OperationState.ERROR);
        throw new HiveSQLException(e);
      }
      setState(OperationState.FINISHED);
    }

    /** Sort the columns by name as JDBC requires; each row also has the column's position in the key. */
    private void addAll(Catalog catalog) throws Exception {
      RowSet rows = (RowSet) field(GetPrimaryKeysOperation.class, "rowSet").get(this);
      boolean current = schema == null || schema.isEmpty();
      String database = current ? Catalog.first(spark, "SELECT current_schema()") : schema;
      List key = catalog.key(database, table);
      Map places = new TreeMap();
      for (int i = 0; i < key.size(); i++) places.put(key.get(i), Integer.valueOf(i + 1));
      for (Iterator each = places.entrySet().iterator(); each.hasNext();) {
        Map.Entry one = (Map.Entry) each.next();
        rows.addRow(new Object[] {catalog.name, database, table, one.getKey(), one.getValue(), null});
      }
    }
  }
}
