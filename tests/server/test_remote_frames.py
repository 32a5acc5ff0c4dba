"""`format("paimon")`, `mergeInto` and streams of a client of Spark Connect, whose PySpark knows nothing of ours."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.served import PATIENCE, Server

pytestmark = [pytest.mark.spark, pytest.mark.slow]

CLIENT = """
import json, sys, threading, time, urllib.request, uuid
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession, functions as F
spark, lake = SparkSession.builder.remote(sys.argv[1]).getOrCreate(), sys.argv[2]
def rows(frame):
    return sorted(tuple(row) for row in frame.collect())
def report(name, run):
    try:
        answer = run()
        print(name, answer)
    except PySparkException as error:
        print(name, type(error).__name__, error.getCondition())
def read(**options):
    return spark.read.format("paimon").options(**options)
def write(frame, **options):
    return frame.write.format("paimon").options(**options)
def stream(made, name):
    query = made.writeStream.format("memory").queryName(name).trigger(availableNow=True).start()
    query.awaitTermination(120)
    return rows(spark.table(name))
def sink(made, run):
    query = run(made.writeStream.trigger(availableNow=True).option("checkpointLocation", lake + "/../" + made_name()))
    query = query.start() if hasattr(query, "start") else query
    any(query.awaitTermination(60) for _ in range(8))
    return query.exception()
def place(session):
    return session.range(1).select(F.current_catalog(), F.current_database())
TOO_SLOW = "Spark does not wait"
def made_name():
    return "checkpoint-" + uuid.uuid4().hex
key = {"primary-key": "k", "bucket": "1"}
one, more = (spark.createDataFrame(r, "k INT, v STRING") for r in ([(3, "c")], [(3, "m"), (4, "n")]))
exec(sys.argv[4])
spark.stop()
"""
TABLES = """
table = lake + "/default.db/c"
spark.sql("CREATE TABLE c (k INT, v STRING) WITH ('primary-key' = 'k', 'bucket' = '1')")
spark.sql("INSERT INTO c VALUES (1, 'a'), (2, 'b')")
report("load", lambda: rows(read().load(table)))
report("by names", lambda: rows(read(catalog="paimon", database="default", table="c").load()))
report("snapshots", lambda: read().load(table + "$snapshots").count())
report("append", lambda: write(one).mode("append").save(table) or rows(read().load(table)))
report("as it was", lambda: rows(read(**{"scan.snapshot-id": "1"}).load(table)))
report("changes", lambda: rows(read(**{"read.changelog": "true"}).load(table)))
report("overwrite", lambda: write(one).mode("overwrite").save(table) or rows(read().load(table)))
report("new", lambda: write(one, **key).save(lake + "/new") or rows(read().load(lake + "/new")))
report("its options", lambda: sorted({r[0] for r in read().load(lake + "/new$options").collect()} & {"bucket", "path"}))
report("again", lambda: write(one).save(lake + "/new"))
report("ignored", lambda: write(more).mode("ignore").save(lake + "/new") or rows(read().load(lake + "/new")))
named = {"catalog": "paimon", "database": "default", "table": "named"}
report("by name", lambda: write(one, **named).save() or rows(spark.table("named")))
report("partitioned", lambda: write(one).partitionBy("v").save(lake + "/parts") or rows(read().load(lake + "/parts")))
report("append to none", lambda: write(one).mode("append").save(lake + "/none"))
report("no table", lambda: rows(read().load(lake + "/none")))
report("no path", lambda: rows(read().load()))
report("secret", lambda: rows(read(**{"s3.secret-key": "hush"}).load(table)))
report("another's path", lambda: rows(spark.sql("SELECT * FROM c WITH ('path' = '/x')")))
merge = lambda frame, name: frame.alias("s").mergeInto(name, F.expr("c.k = s.k"))
both = merge(more, "c").whenMatched().updateAll().whenNotMatched().insertAll()
report("merge", lambda: both.merge() or rows(spark.table("c")))
report("delete", lambda: merge(one, "paimon.default.c").whenMatched().delete().merge() or rows(spark.table("c")))
report("merge into none", lambda: merge(one, "none").whenMatched().delete().merge())
report("path", lambda: rows(spark.sql(f"SELECT * FROM paimon.`{lake}/default.db/c`")))
report("path by name", lambda: rows(spark.table(f"paimon.`{lake}/default.db/c`")))
spark.sql("CREATE DATABASE shop")
spark.sql("USE shop")
def cloned():
    clone = spark.cloneSession()
    try:
        return rows(place(clone))
    finally:
        clone.client.release_session()
        clone.client.close()
report("clone", cloned if hasattr(spark, "cloneSession") else lambda: rows(place(spark)))  # not in 4.0
"""
TABLES_EXPECTED = """
load [(1, 'a'), (2, 'b')]
by names [(1, 'a'), (2, 'b')]
snapshots 1
append [(1, 'a'), (2, 'b'), (3, 'c')]
as it was [(1, 'a'), (2, 'b')]
changes [('+I', 1, 'a'), ('+I', 2, 'b'), ('+I', 3, 'c')]
overwrite [(3, 'c')]
new [(3, 'c')]
its options ['bucket']
again AnalysisException TABLE_OR_VIEW_ALREADY_EXISTS
ignored [(3, 'c')]
by name [(3, 'c')]
partitioned [(3, 'c')]
append to none AnalysisException TABLE_OR_VIEW_NOT_FOUND
no table AnalysisException TABLE_OR_VIEW_NOT_FOUND
no path IllegalArgumentException PAIMON_INVALID_OPTION
secret IllegalArgumentException PAIMON_INVALID_OPTION
another's path IllegalArgumentException PAIMON_INVALID_OPTION
merge [(3, 'm'), (4, 'n')]
delete [(4, 'n')]
merge into none AnalysisException TABLE_OR_VIEW_NOT_FOUND
path [(4, 'n')]
path by name [(4, 'n')]
clone [('paimon', 'shop')]
"""
STREAMS = """
table = lake + "/default.db/s"
spark.sql("CREATE TABLE s (k INT, v STRING) WITH ('primary-key' = 'k', 'bucket' = '1')")
spark.sql("INSERT INTO s VALUES (3, 'm'), (4, 'n')")
spark.sql("DELETE FROM s WHERE k = 3")
report("stream", lambda: stream(spark.readStream.format("paimon").load(table), "streamed"))
report("stream of a name", lambda: stream(spark.readStream.table("s"), "named_stream"))
changes = spark.readStream.option("read.changelog", "true").format("paimon").load(table)
report("stream of changes", lambda: stream(changes, "changes"))
spark.sql("CREATE TABLE sink (k INT, v STRING) WITH ('primary-key' = 'k', 'bucket' = '1')")
report("sink", lambda: sink(spark.readStream.table("s"), lambda w: w.format("paimon").start(lake + "/default.db/sink")))
report("its rows", lambda: rows(spark.table("sink")))
report("sink by name", lambda: sink(spark.readStream.table("sink"), lambda w: w.format("paimon").toTable("new_sink")))
report("its rows", lambda: rows(spark.table("new_sink")))
def statements():
    with urllib.request.urlopen(sys.argv[3]) as answer:
        return json.load(answer)["statements"]
def tagged():
    spark.addTag("slow")
    spark.sql("SELECT count(*) FROM range(0, 1000000000000, 1, 1) AS r JOIN sink AS s ON r.id % 7 = s.k").collect()
slow = threading.Thread(target=report, args=("interrupted", tagged))
slow.start()
while slow.is_alive() and not statements():
    time.sleep(0.1)
report("beside it", lambda: rows(spark.table("sink")))
print("another tag", spark.interruptTag("other"), slow.is_alive())
while slow.is_alive():
    spark.interruptTag("slow")
    slow.join(1)
report("after it", lambda: rows(spark.table("sink")))
"""
STREAMS_EXPECTED = """
stream [(4, 'n')]
stream of a name [(4, 'n')]
stream of changes [('+I', 4, 'n'), ('-D', 3, 'm')]
sink None
its rows [(4, 'n')]
sink by name None
its rows [(4, 'n')]
beside it [(4, 'n')]
another tag [] True
interrupted UnknownException OPERATION_CANCELED
after it [(4, 'n')]
"""
BATCHES = """
spark.sql("CREATE DATABASE batched")
spark.sql("USE batched")
spark.sql("CREATE TABLE sink (k INT, v STRING) WITH ('primary-key' = 'k', 'bucket' = '1')")
spark.sql("INSERT INTO sink VALUES (4, 'n')")
spark.sql("CREATE TABLE batches (k INT, v STRING) WITH ('primary-key' = 'k', 'bucket' = '1')")
spark.sql("CREATE TABLE places (catalog STRING, database STRING)")
def each(batch, number):
    batch.writeTo("batches").append()
    here = place(batch.sparkSession)
    here.toDF("catalog", "database").writeTo("places").append()
def batches():
    for _ in range(5):  # Spark waits 10 seconds for its Python, which a busy machine may need for the imports
        try:
            return sink(spark.readStream.table("sink"), lambda w: w.foreachBatch(each))
        except PySparkException as error:
            if "failed to connect back" not in str(error):
                raise
    return TOO_SLOW
report("batches", batches)
report("their rows", lambda: [rows(spark.table("batches")), rows(spark.table("places"))])
"""
BATCHES_EXPECTED = """
batches None
their rows [[(4, 'n')], [('paimon', 'batched')]]
"""
PARTS = {
    "tables": (TABLES, TABLES_EXPECTED),
    "streams": (STREAMS, STREAMS_EXPECTED),
    "batches": (BATCHES, BATCHES_EXPECTED),
}


@pytest.mark.parametrize("part", PARTS)
def test_frames_of_a_remote_client(common_server: Server, part: str) -> None:
    program, expected = PARTS[part]
    command = [sys.executable, "-c", CLIENT, common_server.remote, str(common_server.log.parent / "warehouse")]
    command += [common_server.health_address, program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
    if "Spark does not wait" in done.stdout:
        pytest.skip("this machine is too busy for the ten seconds that Spark gives the Python of foreachBatch")
    assert done.stdout.splitlines() == expected.strip().splitlines(), done.stderr[-3000:]
