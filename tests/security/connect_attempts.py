"""Run by a test, as a client of Spark Connect: attempts that have to be refused. Prints a line of JSON for each.

The arguments are the server's address and a folder that the attempts try to change.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pyspark.sql.connect.proto as proto
from pyspark.errors import PySparkException
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.clustering import KMeans
from pyspark.ml.feature import StringIndexer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

REMOTE, FOLDER, *STATEMENTS = sys.argv[1:]
spark: Any = SparkSession.builder.remote(REMOTE).getOrCreate()
OUT, TABLE = f"{FOLDER}/out", f"{FOLDER}/warehouse/default.db/t"
FILE = f"{TABLE}/schema/schema-0"
ONE = {"k": 1}


def attempt(name: str, run: Callable[[], Any]) -> None:
    try:
        done = f"done: {run()!r:.200}"
    except PySparkException as error:
        done = str(error)[:300]
    except Exception as error:
        done = f"{type(error).__name__}: {error}"[:300]
    print(json.dumps([name, done]), flush=True)


def command(**parts: Any) -> Any:
    """A command of a client that knows of no Python methods."""
    return spark.client.execute_command(proto.Command(**parts))


rows = spark.range(3)
attempt("allowed: read", lambda: sorted(tuple(r) for r in spark.table("t").collect()))
attempt("allowed: functions", lambda: rows.select(F.sum("id"), F.max(F.col("id") + 1)).collect())
attempt("allowed: rows of the client", lambda: spark.createDataFrame([(1, "a")], "k INT, v STRING").collect())
attempt("allowed: statistics", lambda: [rows.describe().count(), rows.summary().count()])
attempt("allowed: files", lambda: spark.read.format("text").load(FILE).count())
attempt("allowed: options", lambda: spark.read.option("scan.snapshot-id", "1").format("paimon").load(TABLE).count())
attempt("allowed: options of tables", lambda: spark.read.option("SCAN.mode", "latest").table("t").count())
attempt("allowed: options of files", lambda: spark.read.option("wholeText", "true").text(FILE).count())
attempt("allowed: settings", lambda: spark.conf.set("spark.sql.shuffle.partitions", "3"))
attempt("allowed: views", lambda: rows.createOrReplaceTempView("mine") or spark.table("mine").count())
attempt(
    "allowed: catalog",
    lambda: [spark.catalog.tableExists("t"), spark.catalog.currentDatabase(), len(spark.catalog.listTables())],
)
attempt("allowed: statements", lambda: spark.sql("SELECT :x AS x", args={"x": 1}).collect())
attempt(
    "allowed: values that are parsed",
    lambda: spark.table("t").select(F.from_json(F.lit('{"a": 1}'), "a INT")).collect(),
)
attempt("allowed: schema", lambda: [rows.schema.simpleString(), rows._explain_string()[:10], rows.isStreaming])

for estimator in (LogisticRegression(), KMeans(), StringIndexer(inputCol="a", outputCol="b")):
    name = type(estimator).__name__
    attempt(f"ML write {name}", lambda e=estimator: e.write().overwrite().save(TABLE))
    attempt(f"ML read {name}", lambda e=estimator: type(e).load(TABLE))
    attempt(f"ML fit {name}", lambda e=estimator: e.fit(spark.createDataFrame([("x", 1.0)], "a STRING, label DOUBLE")))
attempt("artifact: file", lambda: spark.addArtifacts(f"{FOLDER}/token", file=True))
attempt("artifact: Python", lambda: spark.addArtifacts(__file__, pyfile=True))
attempt("artifact: copy to the server", lambda: spark.copyFromLocalToFs(f"{FOLDER}/token", OUT))
for kind in ("parquet", "csv", "json", "orc", "text", "noop", "console", "paimon", "jdbc"):
    attempt(f"write {kind}", lambda k=kind: rows.write.format(k).mode("overwrite").save(OUT))
attempt("write to the table's folder", lambda: rows.write.mode("overwrite").parquet(TABLE))
attempt("save as table", lambda: rows.write.saveAsTable("u"))
attempt("insert into", lambda: spark.table("t").write.insertInto("t"))
attempt("append", lambda: spark.table("t").writeTo("t").append())
attempt("overwrite", lambda: spark.table("t").writeTo("t").overwrite(F.lit(True)))
attempt("create", lambda: spark.table("t").writeTo("u").create())
attempt("replace", lambda: spark.table("t").writeTo("t").createOrReplace())
attempt("merge", lambda: rows.mergeInto("t", F.expr("k = id")).whenMatched().delete().merge())
attempt("jdbc", lambda: spark.read.jdbc(f"jdbc:derby:{OUT};create=true", "sys.systables").collect())
attempt(
    "jdbc by class",
    lambda: (
        spark.read.format("org.apache.spark.sql.jdbc").option("url", "jdbc:x").option("dbtable", "x").load().collect()
    ),
)
attempt("source of the client", lambda: spark.read.format("rate").load().schema)
attempt("path", lambda: spark.read.text([FILE, f"{FOLDER}/token"]).count())
attempt("path of an option", lambda: spark.read.format("text").option("path", f"{FOLDER}/token").load().count())
attempt("path of a name", lambda: spark.table(f"text.`{FOLDER}/token`").count())
attempt("path of a table", lambda: spark.read.format("paimon").load(f"{FOLDER}/other").count())
attempt(
    "path of a database",
    lambda: spark.read.format("paimon").options(catalog="paimon_path", database=FOLDER, table="other").load().count(),
)
attempt("path of an address", lambda: spark.read.csv("http://127.0.0.1:1/x").count())
attempt("catalog: path", lambda: spark.catalog.listColumns(f"paimon_path.`{FOLDER}/other`"))
attempt("catalog: paths", lambda: spark.catalog.setCurrentCatalog("paimon_path"))
attempt("catalog: path of a database", lambda: spark.catalog.tableExists("t", f"{FOLDER}/other"))
attempt("option of Hadoop", lambda: spark.read.option("fs.file.impl", "Evil").parquet(OUT).schema)
for kind, key in (
    ("paimon", "metastore"),
    ("paimon", "query-auth.enabled"),
    ("xml", "rowValidationXSDPath"),
    ("avro", "avroSchemaUrl"),
    ("parquet", "fs.file.impl"),
):
    attempt(f"option {key} of {kind}", lambda k=kind, o=key: spark.read.format(k).option(o, "x").load(TABLE).schema)
    attempt(f"option {key} of a table", lambda o=key: spark.read.option(o, "x").table("t").collect())
attempt(
    "option of a function",
    lambda: rows.select(F.from_xml(F.lit("<a/>"), "b INT", {"rowValidationXSDPath": f"{FOLDER}/x"})).collect(),
)
attempt("option of a parser", lambda: spark.read.option("new", "x").json(rows.selectExpr("'{}' AS value")).collect())
attempt("UDF", lambda: rows.select(F.udf(lambda x: __import__("os").mkdir(OUT))("id")).collect())
attempt("pandas UDF", lambda: rows.mapInPandas(lambda i: i, "id BIGINT").collect())
attempt("arrow", lambda: rows.mapInArrow(lambda i: i, "id BIGINT").collect())
attempt("grouped", lambda: rows.groupBy("id").applyInPandas(lambda f: f, "id BIGINT").collect())
attempt("registered UDF", lambda: spark.udf.register("f", lambda x: x))
attempt("registered Java", lambda: spark.udf.registerJavaFunction("f", "Evil"))
attempt(
    "table function",
    lambda: spark.udtf.register("g", F.udtf(type("G", (), {"eval": lambda self: [(1,)]}), returnType="x INT")),
)
attempt(
    "reflect",
    lambda: rows.select(F.reflect(F.lit("java.lang.System"), F.lit("setProperty"), F.lit("a"), F.lit("b"))).collect(),
)
attempt(
    "reflect by name", lambda: rows.select(F.call_function("reflect", F.lit("java.lang.System"), F.lit("gc"))).collect()
)
attempt("reflect in text", lambda: rows.selectExpr("java_method('java.lang.System', 'gc')").collect())
attempt("checkpoint", lambda: rows.checkpoint())
attempt("local checkpoint", lambda: rows.localCheckpoint())
attempt(
    "stream",
    lambda: spark.readStream.format("rate").load().writeStream.format("noop").option("checkpointLocation", OUT).start(),
)
attempt(
    "stream to files",
    lambda: (
        spark.readStream.format("rate")
        .load()
        .writeStream.format("parquet")
        .option("path", OUT)
        .option("checkpointLocation", f"{FOLDER}/checkpoint")
        .start()
    ),
)
attempt("stream of the table", lambda: spark.readStream.table("t").writeStream.toTable("u"))
attempt("streams", lambda: spark.streams.active)
attempt("catalog: create", lambda: spark.catalog.createTable("u", schema=rows.schema))
attempt("catalog: external", lambda: spark.catalog.createExternalTable("u", path=OUT, source="parquet"))
attempt("catalog: caches of all", lambda: spark.catalog.clearCache())
attempt("catalog: cache", lambda: spark.catalog.cacheTable("t"))
attempt("catalog: uncache", lambda: spark.catalog.uncacheTable("t"))
attempt("catalog: caches of a path", lambda: spark.catalog.refreshByPath(TABLE))
attempt("cache", lambda: spark.table("t").cache().count())
attempt("view of all", lambda: rows.createOrReplaceGlobalTempView("seen"))
attempt("view of all: drop", lambda: spark.catalog.dropGlobalTempView("seen"))
attempt("catalog: partitions", lambda: spark.catalog.recoverPartitions("t"))
attempt("resources", lambda: command(get_resources_command=proto.GetResourcesCommand()))
attempt(
    "external command", lambda: command(execute_external_command=proto.ExecuteExternalCommand(runner="x", command="y"))
)
attempt(
    "pipeline",
    lambda: command(
        pipeline_command=proto.PipelineCommand(create_dataflow_graph=proto.PipelineCommand.CreateDataflowGraph())
    ),
)
attempt("plugin", lambda: command(extension={}))
attempt(
    "profile",
    lambda: command(
        create_resource_profile_command=proto.CreateResourceProfileCommand(profile=proto.ResourceProfile())
    ),
)
attempt("clone of a cached table", lambda: rows.persist(StorageLevel.DISK_ONLY).write.parquet(OUT))
for key in ("mine", "spark.sql.columnNameOfCorruptRecord"):
    attempt(f"value of {key}", lambda k=key: spark.conf.set(k, "${env:HOME}"))
for line in STATEMENTS:
    key, _, value = line.partition(" ")
    attempt(f"set {key}", lambda k=key, v=value: spark.conf.set(k, v))
    attempt(f"unset {key}", lambda k=key: spark.conf.unset(k))
spark.stop()
