// Sessions as Apache Kyuubi's engine opens them: one driver, a session for each connection, statements in threads of a pool
// with a job group each, results by rows, iterators or Arrow, and the metadata of JDBC clients by the catalogs' own methods.
import java.util.concurrent.{Callable, Executors, Future}
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.connector.catalog.{CatalogPlugin, SupportsNamespaces, TableCatalog}
import org.apache.spark.sql.execution.SQLExecution
import scala.jdk.CollectionConverters._
import scala.util.Try

type Classic = org.apache.spark.sql.classic.SparkSession
val root = spark.asInstanceOf[Classic]

// a client asks for names before any statement
def below(catalog: SupportsNamespaces, found: Array[Array[String]]): Array[Array[String]] = {
  val children = found.flatMap(catalog.listNamespaces(_))
  if (children.isEmpty) found else found ++ below(catalog, children)
}
def schemas(catalog: CatalogPlugin) = catalog match {
  case found: SupportsNamespaces => below(found, found.listNamespaces()).map(_.mkString(".")).sorted.mkString(",")
}
println("schemas first = " + schemas(root.sessionState.catalogManager.currentCatalog))

class Connection(val number: Int) {
  val session = root.newSession().asInstanceOf[Classic]
  session.sql("SHOW DATABASES").take(1)
  private def daemon(work: Runnable) = { val made = new Thread(work); made.setDaemon(true); made }
  private val threads = Executors.newFixedThreadPool(2, daemon(_))

  def submit[T](id: String, statement: String)(read: org.apache.spark.sql.DataFrame => T): Future[T] =
    threads.submit(new Callable[T] {
      def call(): T = SQLExecution.withSQLConfPropagated(session) {
        SparkSession.setActiveSession(session)
        session.sparkContext.setJobGroup(id, statement, true)
        Thread.currentThread().setContextClassLoader(session.sharedState.jarClassLoader)
        try read(session.sql(statement))
        finally { session.sparkContext.clearJobGroup(); SparkSession.clearActiveSession() }
      }
    })
  def sql(statement: String): Array[Row] = submit(number + statement, statement)(_.collect()).get()
  def close() = threads.shutdown()
}
val connections = (0 until 4).map(new Connection(_))
connections(0).sql("CREATE TABLE shared (id INT, name STRING COMMENT 'a name') WITH ('primary-key' = 'id', 'bucket' = '1')")
def begin(connection: Connection) = {
  val n = connection.number
  connection.sql("CREATE DATABASE db" + n)
  connection.sql("USE db" + n)
  connection.sql("CREATE TABLE own (id INT) WITH ('bucket' = '-1')")
  connection.sql("CREATE TEMPORARY VIEW mine AS SELECT " + n + " AS id")
  Seq("INSERT INTO own SELECT id FROM mine", s"INSERT INTO paimon.default.shared VALUES ($n, 'of $n')")
    .map(statement => connection.submit(s"$n $statement", statement)(_.collect()))
}
val begun = connections.flatMap(begin(_))
begun.foreach(_.get())
println("own = " + connections.map(_.sql("SELECT id FROM own").map(_.getInt(0)).mkString).mkString(","))
println("shared = " + connections(3).sql("SELECT id FROM paimon.default.shared ORDER BY id").map(_.getInt(0)).mkString(","))
println("current = " + connections.map(_.session.catalog.currentDatabase).mkString(","))

// rows one by one, and Arrow's batches, as Kyuubi fetches them
val rows = "SELECT id, name FROM paimon.default.shared ORDER BY id"
println("iterator = " + connections(1).submit("i", rows)(_.toLocalIterator.asScala.map(_.getString(1)).mkString(",")).get())
val arrow = connections(1).submit("a", rows) { frame =>
  frame.getClass.getMethod("toArrowBatchRdd").invoke(frame).asInstanceOf[org.apache.spark.rdd.RDD[Array[Byte]]].collect().length
}
println("arrow = " + (arrow.get() > 0))

// metadata: schemas, tables with their comments, columns
val tables = connections(2).session.sessionState.catalogManager.catalog("paimon").asInstanceOf[TableCatalog]
println("schemas = " + schemas(tables))
println("tables = " + tables.listTables(Array("default")).map(_.name).mkString(","))
val found = tables.loadTable(tables.listTables(Array("default")).head)
println("columns = " + found.columns().map(c => c.name + " " + c.comment).mkString(","))

// a statement that its client cancels: the group's jobs end, and the thread is interrupted
val slow = "INSERT INTO own SELECT length(reflect('java.lang.Thread', 'sleep', 10000L)) FROM range(0, 2, 1, 2)"
val insert = connections(0).submit("slow", slow)(_.collect())
Thread.sleep(3000)
insert.cancel(true)
spark.sparkContext.cancelJobGroup("slow")
println("cancelled = " + connections(0).sql("SELECT count(*) FROM own").head.getLong(0))
connections(0).sql("INSERT INTO own VALUES (9)")
println("goes on = " + connections(0).sql("SELECT count(*) FROM own").head.getLong(0))
val error = Try(connections(1).sql("SELECT nothing FROM own")).failed.get.getCause.asInstanceOf[org.apache.spark.SparkThrowable]
println("error = " + error.getCondition + " " + error.getSqlState)
connections.foreach(_.close())
System.exit(0)
