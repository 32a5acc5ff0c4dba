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


def told(name: str, run: Callable[[], Any]) -> None:
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
told("allowed: read", lambda: sorted(tuple(r) for r in spark.table("t").collect()))
told("allowed: functions", lambda: rows.select(F.sum("id"), F.max(F.col("id") + 1)).collect())
told("allowed: rows of the client", lambda: spark.createDataFrame([(1, "a")], "k INT, v STRING").collect())
told("allowed: statistics", lambda: [rows.describe().count(), rows.summary().count()])
told("allowed: files", lambda: spark.read.format("text").load(FILE).count())
told("allowed: options", lambda: spark.read.option("scan.snapshot-id", "1").format("paimon").load(TABLE).count())
told("allowed: options of tables", lambda: spark.read.option("SCAN.mode", "latest").table("t").count())
told("allowed: options of files", lambda: spark.read.option("wholeText", "true").text(FILE).count())
told("allowed: settings", lambda: spark.conf.set("spark.sql.shuffle.partitions", "3"))
told("allowed: views", lambda: rows.createOrReplaceTempView("mine") or spark.table("mine").count())
told(
    "allowed: catalog",
    lambda: [spark.catalog.tableExists("t"), spark.catalog.currentDatabase(), len(spark.catalog.listTables())],
)
told("allowed: statements", lambda: spark.sql("SELECT :x AS x", args={"x": 1}).collect())
told(
    "allowed: values that are parsed",
    lambda: spark.table("t").select(F.from_json(F.lit('{"a": 1}'), "a INT")).collect(),
)
told("allowed: schema", lambda: [rows.schema.simpleString(), rows._explain_string()[:10], rows.isStreaming])

for estimator in (LogisticRegression(), KMeans(), StringIndexer(inputCol="a", outputCol="b")):
    name = type(estimator).__name__
    told(f"ML write {name}", lambda e=estimator: e.write().overwrite().save(TABLE))
    told(f"ML read {name}", lambda e=estimator: type(e).load(TABLE))
    told(f"ML fit {name}", lambda e=estimator: e.fit(spark.createDataFrame([("x", 1.0)], "a STRING, label DOUBLE")))
told("artifact: file", lambda: spark.addArtifacts(f"{FOLDER}/token", file=True))
told("artifact: Python", lambda: spark.addArtifacts(__file__, pyfile=True))
told("artifact: copy to the server", lambda: spark.copyFromLocalToFs(f"{FOLDER}/token", OUT))
for kind in ("parquet", "csv", "json", "orc", "text", "noop", "console", "paimon", "jdbc"):
    told(f"write {kind}", lambda k=kind: rows.write.format(k).mode("overwrite").save(OUT))
told("write to the table's folder", lambda: rows.write.mode("overwrite").parquet(TABLE))
told("save as table", lambda: rows.write.saveAsTable("u"))
told("insert into", lambda: spark.table("t").write.insertInto("t"))
told("append", lambda: spark.table("t").writeTo("t").append())
told("overwrite", lambda: spark.table("t").writeTo("t").overwrite(F.lit(True)))
told("create", lambda: spark.table("t").writeTo("u").create())
told("replace", lambda: spark.table("t").writeTo("t").createOrReplace())
told("merge", lambda: rows.mergeInto("t", F.expr("k = id")).whenMatched().delete().merge())
told("jdbc", lambda: spark.read.jdbc(f"jdbc:derby:{OUT};create=true", "sys.systables").collect())
told(
    "jdbc by class",
    lambda: (
        spark.read.format("org.apache.spark.sql.jdbc").option("url", "jdbc:x").option("dbtable", "x").load().collect()
    ),
)
told("source of the client", lambda: spark.read.format("rate").load().schema)
told("path", lambda: spark.read.text([FILE, f"{FOLDER}/token"]).count())
told("path of an option", lambda: spark.read.format("text").option("path", f"{FOLDER}/token").load().count())
told("path of a name", lambda: spark.table(f"text.`{FOLDER}/token`").count())
told("path of a table", lambda: spark.read.format("paimon").load(f"{FOLDER}/other").count())
told(
    "path of a database",
    lambda: spark.read.format("paimon").options(catalog="paimon_path", database=FOLDER, table="other").load().count(),
)
told("path of an address", lambda: spark.read.csv("http://127.0.0.1:1/x").count())
told("catalog: path", lambda: spark.catalog.listColumns(f"paimon_path.`{FOLDER}/other`"))
told("catalog: paths", lambda: spark.catalog.setCurrentCatalog("paimon_path"))
told("catalog: path of a database", lambda: spark.catalog.tableExists("t", f"{FOLDER}/other"))
told("option of Hadoop", lambda: spark.read.option("fs.file.impl", "Evil").parquet(OUT).schema)
for kind, key in (
    ("paimon", "metastore"),
    ("paimon", "query-auth.enabled"),
    ("xml", "rowValidationXSDPath"),
    ("avro", "avroSchemaUrl"),
    ("parquet", "fs.file.impl"),
):
    told(f"option {key} of {kind}", lambda k=kind, o=key: spark.read.format(k).option(o, "x").load(TABLE).schema)
    told(f"option {key} of a table", lambda o=key: spark.read.option(o, "x").table("t").collect())
told(
    "option of a function",
    lambda: rows.select(F.from_xml(F.lit("<a/>"), "b INT", {"rowValidationXSDPath": f"{FOLDER}/x"})).collect(),
)
told("option of a parser", lambda: spark.read.option("new", "x").json(rows.selectExpr("'{}' AS value")).collect())
told("UDF", lambda: rows.select(F.udf(lambda x: __import__("os").mkdir(OUT))("id")).collect())
told("pandas UDF", lambda: rows.mapInPandas(lambda i: i, "id BIGINT").collect())
told("arrow", lambda: rows.mapInArrow(lambda i: i, "id BIGINT").collect())
told("grouped", lambda: rows.groupBy("id").applyInPandas(lambda f: f, "id BIGINT").collect())
told("registered UDF", lambda: spark.udf.register("f", lambda x: x))
told("registered Java", lambda: spark.udf.registerJavaFunction("f", "Evil"))
told(
    "table function",
    lambda: spark.udtf.register("g", F.udtf(type("G", (), {"eval": lambda self: [(1,)]}), returnType="x INT")),
)
told(
    "reflect",
    lambda: rows.select(F.reflect(F.lit("java.lang.System"), F.lit("setProperty"), F.lit("a"), F.lit("b"))).collect(),
)
told(
    "reflect by name", lambda: rows.select(F.call_function("reflect", F.lit("java.lang.System"), F.lit("gc"))).collect()
)
told("reflect in text", lambda: rows.selectExpr("java_method('java.lang.System', 'gc')").collect())
told("checkpoint", lambda: rows.checkpoint())
told("local checkpoint", lambda: rows.localCheckpoint())
told(
    "stream",
    lambda: spark.readStream.format("rate").load().writeStream.format("noop").option("checkpointLocation", OUT).start(),
)
told(
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
told("stream of the table", lambda: spark.readStream.table("t").writeStream.toTable("u"))
told("streams", lambda: spark.streams.active)
told("catalog: create", lambda: spark.catalog.createTable("u", schema=rows.schema))
told("catalog: external", lambda: spark.catalog.createExternalTable("u", path=OUT, source="parquet"))
told("catalog: caches of all", lambda: spark.catalog.clearCache())
told("catalog: cache", lambda: spark.catalog.cacheTable("t"))
told("catalog: uncache", lambda: spark.catalog.uncacheTable("t"))
told("catalog: caches of a path", lambda: spark.catalog.refreshByPath(TABLE))
told("cache", lambda: spark.table("t").cache().count())
told("view of all", lambda: rows.createOrReplaceGlobalTempView("seen"))
told("view of all: drop", lambda: spark.catalog.dropGlobalTempView("seen"))
told("catalog: partitions", lambda: spark.catalog.recoverPartitions("t"))
told("resources", lambda: command(get_resources_command=proto.GetResourcesCommand()))
told(
    "external command", lambda: command(execute_external_command=proto.ExecuteExternalCommand(runner="x", command="y"))
)
told(
    "pipeline",
    lambda: command(
        pipeline_command=proto.PipelineCommand(create_dataflow_graph=proto.PipelineCommand.CreateDataflowGraph())
    ),
)
told("plugin", lambda: command(extension={}))
told(
    "profile",
    lambda: command(
        create_resource_profile_command=proto.CreateResourceProfileCommand(profile=proto.ResourceProfile())
    ),
)
told("clone of a cached table", lambda: rows.persist(StorageLevel.DISK_ONLY).write.parquet(OUT))
for key in ("mine", "spark.sql.columnNameOfCorruptRecord"):
    told(f"value of {key}", lambda k=key: spark.conf.set(k, "${env:HOME}"))
for line in STATEMENTS:
    key, _, value = line.partition(" ")
    told(f"set {key}", lambda k=key, v=value: spark.conf.set(k, v))
    told(f"unset {key}", lambda k=key: spark.conf.unset(k))
spark.stop()
