"""The program that `test_local_cluster.py` runs: statements on a cluster whose executors are processes of their own.

Arguments: a warehouse, and the file for what was seen (JSON). Functions of this module travel to executors by value.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import SparkContext, TaskContext
from pyspark.sql import SparkSession

import paimon_sql
from paimon_core.store.table_store import TableStore
from paimon_core.write.buckets.dynamic import AssignmentBase
from paimon_sql.spark.workers import worker
from paimon_sql.spark.workers.worker import BatchFunction
from paimon_sql.spark.write import write as write_bridge
from tests.support.quick_jvm import ARCHIVED

SETTINGS = {
    "spark.driver.extraJavaOptions": ARCHIVED,
    "spark.executor.extraJavaOptions": ARCHIVED,
    "spark.master": "local-cluster[2,1,1024]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",  # each statement writes in two tasks
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "500ms",
}
KEYED = "TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2')"
LONGER_THAN_THE_TEST = 600


def main(warehouse: str, report: str) -> None:
    spark = paimon_sql.connect(warehouse, **SETTINGS)
    spark.sparkContext.setLogLevel("OFF")
    add_worker(spark.sparkContext, "127.0.0.2")
    seen = {
        "folders": folders(spark),
        "statements": statements(spark),
        "dies": with_first_attempt(spark, "dies", lambda: os._exit(1)),
        "sleeps": with_first_attempt(spark, "sleeps", lambda: time.sleep(LONGER_THAN_THE_TEST)),
    }
    Path(report).write_text(json.dumps(seen), encoding="utf-8")
    spark.stop()


def add_worker(context: SparkContext, host: str) -> None:
    """One more worker, on a host of another name: Spark speculates only where there is one."""
    jvm, scheduler = context._jvm, context._jsc.sc().schedulerBackend()
    masters = scheduler.getClass().getDeclaredField("masters")
    masters.setAccessible(True)
    worker_class = jvm.org.apache.spark.deploy.worker.Worker
    cores, memory, any_port, number, none = 1, 1024, 0, 3, jvm.scala.Option.empty()
    folder, settings = os.path.abspath("worker"), context._jsc.sc().conf()
    worker_class.startRpcEnvAndEndpoint(
        host, any_port, any_port, cores, memory, masters.get(scheduler), folder, jvm.scala.Some(number), settings, none
    )
    while context._jsc.sc().getExecutorMemoryStatus().size() < 4:  # with the driver
        time.sleep(0.1)


def folders(spark: SparkSession) -> list[str]:
    """Where tasks run: each executor has a folder."""
    return spark.sparkContext.parallelize(range(2), 2).map(lambda _: os.getcwd()).collect()


def statements(spark: SparkSession) -> dict[str, Any]:
    """Create, upsert, read merged, compact, read raw, travel back in time."""

    def rows(query: str) -> list[list[Any]]:
        return [list(row) for row in spark.sql(query).collect()]

    totals = "SELECT v, count(*), sum(k) FROM t {} GROUP BY v ORDER BY v"
    seen: dict[str, Any] = {}
    spark.sql(f"CREATE TABLE t (k INT, v STRING) {KEYED}")
    spark.sql("INSERT INTO t SELECT id, 'old' FROM range(1000)")
    spark.sql("INSERT INTO t SELECT id, 'new' FROM range(900, 1200)")
    seen["merged"] = rows(totals.format(""))
    seen["merged plan"] = rows(f"EXPLAIN {totals.format('')}")
    joined = "SELECT count(*), sum(l.k) FROM t l JOIN t r ON l.k = r.k"
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.conf.set("spark.sql.sources.v2.bucketing.enabled", "true")  # the default from Spark 4.1 on
    seen["joined merged"] = rows(joined)
    spark.sql("CALL sys.compact(table => 't')")
    seen["joined raw"] = rows(joined)
    seen["joined plan"] = rows(f"EXPLAIN {joined.replace('count(*), sum(l.k)', '*')}")
    seen["raw"] = rows(totals.format(""))
    seen["raw plan"] = rows(f"EXPLAIN {totals.format('')}")
    seen["first version"] = rows(totals.format("VERSION AS OF 1"))
    seen["snapshots"] = rows("SELECT snapshot_id, commit_kind, total_record_count FROM `t$snapshots` ORDER BY 1")
    return seen


def with_first_attempt(spark: SparkSession, name: str, fate: Callable[[], object]) -> dict[str, Any]:
    """Insert and upsert, where `fate` meets the attempt at the first task that has its files written first."""
    original, folder = write_bridge.write_function, os.getcwd()
    spark.sql(f"CREATE TABLE {name} (k INT, v STRING) {KEYED}")
    write_bridge.write_function = lambda store, start, base: ill_fated(store, start, base, fate, folder)
    try:
        spark.sql(f"INSERT INTO {name} SELECT id, 'old' FROM range(1000)")
        spark.sql(f"INSERT INTO {name} SELECT id, 'new' FROM range(500, 1500)")
    finally:
        write_bridge.write_function = original
    snapshots = spark.sql(f"SELECT total_record_count FROM `{name}$snapshots` ORDER BY snapshot_id")
    totals = spark.sql(f"SELECT v, count(*), sum(k) FROM {name} GROUP BY v ORDER BY v")
    return {
        "rows": [list(row) for row in totals.collect()],
        "counts": [row[0] for row in snapshots.collect()],
        "live": [row[0] for row in spark.sql(f"SELECT file_path FROM `{name}$files`").collect()],
    }


def ill_fated(
    store: TableStore, sequence_start: int, base: AssignmentBase | None, fate: Callable[[], object], folder: str
) -> BatchFunction:
    write = worker.write_function(store, sequence_start, base)

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        messages = list(write(batches))
        context = TaskContext.get()
        assert context is not None
        if context.partitionId() == 0:
            with suppress(FileExistsError):  # another attempt met it
                os.close(os.open(os.path.join(folder, f"fate-{context.stageId()}"), os.O_CREAT | os.O_EXCL))
                fate()
        yield from messages

    return task


if __name__ == "__main__":
    main(*sys.argv[1:])
