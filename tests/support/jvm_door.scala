// Each line of the output is `NAME = VALUE`, or `NAME raised CLASS CONDITION SQLSTATE MESSAGE`.
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.{AnalysisException, DataFrame}
import org.apache.spark.sql.streaming.Trigger
import scala.concurrent.{Await, Future}
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration.DurationInt
val lake = sys.env("LAKE")
def line(text: Any): String = text.toString.replace("\n", " ")
def step(name: String)(work: => Any): Unit = try println(s"$name = ${line(work)}") catch {
  case e: Throwable with SparkThrowable => println(s"$name raised ${e.getClass.getSimpleName} ${e.getCondition} ${e.getSqlState} ${line(e.getMessage)}")
  case e: Throwable => println(s"$name raised ${e.getClass.getName} ${line(e.getMessage)}")
}
def sql(text: String) = spark.sql(text).collect().mkString(",")
def python = ProcessHandle.current().children().filter(_.info().arguments().map[Boolean](_.contains("-c")).orElse(false)).toArray.map(_.asInstanceOf[ProcessHandle])
step("missing") { sql("SELECT 1") }
step("current database") { spark.catalog.currentDatabase }
step("databases") { spark.catalog.listDatabases().collect().map(_.name).mkString(",") }
step("create") { sql("CREATE DATABASE shop"); sql("USE shop"); sql("CREATE TABLE t (id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')"); spark.catalog.listTables().collect().map(_.name).mkString(",") }
step("writeTo") { spark.range(3).selectExpr("id", "'a' AS name").writeTo("t").append(); spark.table("t").count() }
step("saveAsTable") { spark.range(3).write.saveAsTable("a"); spark.range(3).write.insertInto("a"); spark.table("a").count() }
step("path") { spark.range(2).write.format("paimon").mode("append").save(s"$lake/shop.db/a"); spark.read.format("paimon").load(s"$lake/shop.db/a").count() }
step("mergeInto") { spark.range(2, 5).selectExpr("id", "'b' AS name").as("s").mergeInto("t", expr("s.id = t.id")).whenMatched().updateAll().whenNotMatched().insertAll().merge(); sql("SELECT id, name FROM t ORDER BY id") }
step("view") { sql("CREATE VIEW v AS SELECT id, name FROM t WHERE id > 1"); Seq(spark.table("v").count(), spark.newSession().table("paimon.shop.v").count(), sql("SHOW VIEWS"), spark.catalog.tableExists("v")).mkString(" ") }
step("view over view") { sql("CREATE OR REPLACE VIEW w AS SELECT max(id) AS top FROM v"); val before = sql("SELECT * FROM w"); sql("ALTER VIEW v AS SELECT id, name FROM t WHERE id < 2"); before + sql("SELECT * FROM w") }
step("function") { sql("CREATE FUNCTION twice(x BIGINT) RETURNS BIGINT RETURN x * 2"); sql("SELECT max(twice(id)) FROM t") + spark.newSession().sql("SELECT paimon.shop.twice(21)").head }
step("function of rows") { sql("CREATE FUNCTION below(top BIGINT) RETURNS TABLE (id BIGINT) RETURN SELECT id FROM t WHERE id < top"); sql("SELECT * FROM below(2) ORDER BY id") }
step("function in Python") { sql("CREATE FUNCTION reversed(s STRING) RETURNS STRING LANGUAGE PYTHON AS $$ return s[::-1] $$"); sql("SELECT reversed('abc')") }
step("functions") { sql("SHOW USER FUNCTIONS") }
step("no function") { sql("DROP FUNCTION twice"); sql("SELECT twice(1)") }
step("no view") { sql("DROP VIEW w"); spark.table("w").count() }
step("generated") { sql("CREATE TABLE g (ts TIMESTAMP_NTZ, dt DATE GENERATED ALWAYS AS (CAST(ts AS DATE)))"); spark.sql("SELECT '2024-03-05 12:00:00' AS ts").writeTo("g").append(); sql("SELECT * FROM g") }
step("time travel") { spark.read.option("scan.snapshot-id", "1").table("t").count() }
step("call") { sql("CALL sys.compact(table => 'shop.t')") }
step("newSession") { spark.newSession().sql("SELECT count(*) FROM paimon.shop.t").head.getLong(0) }
step("threads") { Await.result(Future.sequence((1 to 16).map(i => Future { spark.newSession().sql(s"INSERT INTO paimon.shop.a VALUES ($i)").collect(); 1 })), 500.seconds).sum }
step("after threads") { spark.table("a").count() }
step("foreachBatch") { spark.readStream.table("a").writeStream.trigger(Trigger.AvailableNow()).option("checkpointLocation", s"$lake/../c1").foreachBatch { (rows: DataFrame, id: Long) => rows.writeTo("paimon.shop.b").createOrReplace() }.start().awaitTermination(); spark.table("b").count() }
step("toTable") { sql("CREATE TABLE c (id BIGINT)"); val query = spark.readStream.table("a").writeStream.trigger(Trigger.AvailableNow()).option("checkpointLocation", s"$lake/../c2").toTable("c"); if (!query.awaitTermination(60000)) { import scala.jdk.CollectionConverters._; Thread.getAllStackTraces().asScala.foreach { case (t, s) => if (t.getName.contains("stream") || t.getName.contains("task launch")) println("HANG " + t.getName + s.mkString("\n  ", "\n  ", "")) }; query.stop() }; spark.table("c").count() }
step("no table") { spark.table("nothing").count() }
step("table exists") { sql("CREATE TABLE t (id INT)") }
step("no database") { sql("CREATE TABLE nowhere.t (id INT)") }
step("bad option") { sql("CREATE TABLE bad (id INT) WITH ('bucket' = 'x')") }
step("no syntax") { sql("CREATE TABLE t (id INT PRIMARY KEY NOT") }
step("pythons") { python.length }
spark.udf.register("slow", (id: Long) => { python.foreach(_.destroyForcibly()); Thread.sleep(3000); id })
step("killed") { sql("INSERT INTO a SELECT slow(id) FROM range(1)") }
step("after") { spark.table("a").count() }
step("goes on") { sql("INSERT INTO a VALUES (77)"); spark.table("a").count() }
step("newSession goes on") { spark.newSession().sql("SELECT count(*) FROM paimon.shop.a").head.getLong(0) }
step("pythons again") { python.length }
println("process " + python.head.pid)
System.exit(0)
