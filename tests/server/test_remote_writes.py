"""Writes and streams of a client of Spark Connect: values are cast, made and checked as by PySpark."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.served import PATIENCE, Server
from tests.support.spark_versions import since

pytestmark = [pytest.mark.spark, pytest.mark.slow, since(4, 1, "Spark 4.0 checks no constraints")]

CLIENT = """
import datetime as dt
import sys
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession, functions as F
spark, folder = SparkSession.builder.remote(sys.argv[1]).getOrCreate(), sys.argv[2]
spark.sql("CREATE DATABASE written")
spark.sql("USE written")
TS, DAY, WRONG = dt.datetime(2024, 3, 5, 12), dt.date(2024, 3, 5), dt.date(2024, 3, 6)
NARROW = "id INT, ts TIMESTAMP_NTZ"
narrow = spark.createDataFrame([(5, TS)], NARROW)
turned = spark.createDataFrame([(TS, 5)], "TS TIMESTAMP_NTZ, Id INT")
wide = spark.createDataFrame([(5, TS, DAY)], NARROW + ", dt DATE")
wrong = spark.createDataFrame([(5, TS, WRONG)], NARROW + ", dt DATE")
negative = spark.createDataFrame([(-5, TS)], NARROW)
texts = spark.createDataFrame([("5", "2024-03-05 12:00:00")], "id STRING, ts STRING")
more = spark.createDataFrame([(5, TS, "x")], NARROW + ", note STRING")
def fresh():
    spark.sql("DROP TABLE IF EXISTS t")
    spark.sql("CREATE TABLE t (id INT, ts TIMESTAMP_NTZ, dt DATE GENERATED ALWAYS AS (CAST(ts AS DATE)),"
        " CONSTRAINT positive CHECK (id > 0)) PARTITIONED BY (dt)")
def report(name, run):
    fresh()
    try:
        run()
        error = ""
    except PySparkException as e:
        error = e.getCondition() or type(e).__name__
        error = "CHECK_CONSTRAINT_VIOLATION" if "CHECK_CONSTRAINT_VIOLATION" in str(e) else error
    print(name, [tuple(map(str, r)) for r in spark.sql("SELECT * FROM t").collect()], error)
number = iter(range(100))
def stream(rows):
    path = f"{folder}/rows-{next(number)}"
    rows.write.parquet(path)
    made = spark.readStream.schema(rows.schema).parquet(path).writeStream.trigger(availableNow=True)
    query = made.option("checkpointLocation", path + "-seen").toTable("t")
    while not query.awaitTermination(60):
        pass
    if query.exception() is not None:
        raise query.exception()
exec(sys.argv[3])
spark.sql("DROP DATABASE written CASCADE")
spark.stop()
"""
WRITES = """
report("append", lambda: narrow.writeTo("t").append())
report("turned", lambda: turned.writeTo("t").append())
report("given", lambda: wide.writeTo("t").append())
report("wrong", lambda: wrong.writeTo("t").append())
report("negative", lambda: negative.writeTo("t").append())
report("overwrite", lambda: narrow.writeTo("t").overwrite(F.lit(True)))
report("partitions", lambda: narrow.writeTo("t").overwritePartitions())
report("save", lambda: narrow.write.mode("append").saveAsTable("t"))
report("insert into", lambda: narrow.write.insertInto("t"))
report("insert over", lambda: narrow.write.insertInto("t", overwrite=True))
report("texts", lambda: texts.writeTo("t").append())
report("merge schema", lambda: more.writeTo("t").option("write.merge-schema", "true").append())
"""
STREAMS = """
report("stream", lambda: stream(narrow))
report("turned stream", lambda: stream(turned))
report("given stream", lambda: stream(wide))
report("wrong stream", lambda: stream(wrong))
report("negative stream", lambda: stream(negative))
"""
REPLACEMENTS = """
other = spark.createDataFrame([("abc", 1.5)], "id STRING, ts DOUBLE")
report("replaced by SQL", lambda: spark.sql("CREATE OR REPLACE TABLE t AS SELECT 'abc' AS id, 1.5D AS ts"))
report("replaced", lambda: other.writeTo("t").createOrReplace())
report("replaced by save", lambda: other.write.mode("overwrite").saveAsTable("t"))
"""
ROW = "[('5', '2024-03-05 12:00:00', '2024-03-05')]"
VIOLATED = "[] CHECK_CONSTRAINT_VIOLATION"
WRITTEN = {
    **dict.fromkeys(("append", "turned", "given", "overwrite", "partitions", "save"), ROW),
    **dict.fromkeys(("insert into", "insert over", "texts"), ROW),
    **dict.fromkeys(("wrong", "negative"), VIOLATED),
    "merge schema": "[('5', '2024-03-05 12:00:00', '2024-03-05', 'x')]",
}
STREAMED = {
    **dict.fromkeys(("stream", "turned stream", "given stream"), ROW),
    **dict.fromkeys(("wrong stream", "negative stream"), VIOLATED),
}
REPLACED = dict.fromkeys(("replaced by SQL", "replaced", "replaced by save"), "[('abc', '1.5')]")
PARTS = {"writes": (WRITES, WRITTEN), "streams": (STREAMS, STREAMED), "replacements": (REPLACEMENTS, REPLACED)}


@pytest.mark.parametrize("part", PARTS)
def test_writes_of_a_remote_client(common_server: Server, part: str) -> None:
    program, expected = PARTS[part]
    command = [sys.executable, "-c", CLIENT, common_server.remote, str(common_server.log.parent / part), program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
    found = dict(line.replace(" [", "|[", 1).split("|") for line in done.stdout.splitlines())
    assert {name: text.strip() for name, text in found.items()} == expected, done.stderr[-3000:]
