"""A session's statements of every kind, again and again, and what driver and JVM hold between them."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaObject

_SETTLING_SECONDS = 30  # at most, until references that both sides dropped are collected

SETUP = (
    "CREATE TABLE keyed (k INT NOT NULL, v STRING, n BIGINT) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2', "
    "'snapshot.num-retained.max' = '10', 'snapshot.num-retained.min' = '5')",
    "CREATE TABLE plain (k INT, v STRING, p INT) PARTITIONED BY (p) TBLPROPERTIES ("
    "'snapshot.num-retained.max' = '10', 'snapshot.num-retained.min' = '5', 'deletion-vectors.enabled' = 'true')",
    "INSERT INTO keyed SELECT CAST(id AS INT), concat('v', id), id % 7 FROM range(40)",
    "INSERT INTO plain SELECT CAST(id AS INT), concat('w', id), CAST(id % 3 AS INT) FROM range(60)",
    "CALL sys.create_tag(table => 'keyed', tag => 'begin')",
)

# %d is a number of the round
STATEMENTS = (
    "SELECT count(*), sum(n) FROM keyed",
    "SELECT a.k, b.v FROM keyed a JOIN plain b ON a.k = b.k WHERE a.n > 2",
    "SELECT /*+ BROADCAST(b) */ a.k, b.v FROM keyed a JOIN plain b ON a.k = b.k",
    "SELECT /*+ MERGE(a, b) */ a.k, b.v FROM plain a JOIN plain b ON a.k = b.k ORDER BY 1",
    "SELECT n, count(*) FROM keyed WHERE k > (SELECT min(k) FROM plain) GROUP BY n ORDER BY n",
    "SELECT k FROM plain WHERE p IN (SELECT CAST(n AS INT) FROM keyed WHERE n < 2)",
    "SELECT v FROM keyed WHERE k = 3",
    "SELECT k, row_number() OVER (PARTITION BY p ORDER BY k) FROM plain UNION SELECT k, 1 FROM keyed",
    "SELECT * FROM keyed VERSION AS OF 'begin' ORDER BY k LIMIT 3",
    "SELECT snapshot_id, commit_kind FROM keyed$snapshots ORDER BY 1 DESC",
    "SELECT count(*) FROM plain$files f JOIN plain$partitions p ON true",
    "INSERT INTO keyed VALUES (%d, 'new', 1), (3, 'again', 2)",
    "INSERT INTO plain SELECT k, v, 1 FROM keyed WHERE n = 3",
    "INSERT OVERWRITE plain PARTITION (p = 1) SELECT k, v FROM keyed WHERE n = 3",
    "UPDATE keyed SET v = 'changed' WHERE k < 3",
    "UPDATE plain SET v = concat(v, '!') WHERE k = 4",
    "DELETE FROM keyed WHERE k >= 40",
    "DELETE FROM plain WHERE p = 1 AND k IN (SELECT k FROM keyed WHERE n = 2)",
    "MERGE INTO keyed t USING (SELECT k, v FROM plain WHERE p = 0) s ON t.k = s.k "
    "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (k, v, n) VALUES (s.k, s.v, 5)",
    "CALL sys.compact(table => 'plain')",
    "CREATE TABLE passing (k INT) COMMENT 'one of many'",
    "ALTER TABLE passing ADD COLUMN v STRING",
    "DESCRIBE EXTENDED passing",
    "SHOW TABLES",
    "DROP TABLE passing",
    "EXPLAIN SELECT * FROM keyed JOIN plain USING (k)",
)


KINDS = len(STATEMENTS) + 7


def statements(spark: Any) -> Iterator[Callable[[], object]]:
    """Statements without end: SQL, DataFrames that read and write, and statements that fail."""
    number = 1000
    while True:
        number += 1
        for text in STATEMENTS:
            yield lambda text=text, number=number: spark.sql(text % number if "%d" in text else text).collect()
        yield lambda: spark.table("keyed").join(spark.table("plain"), "k").groupBy("p").count().collect()
        yield lambda: spark.read.option("scan.mode", "latest").table("keyed").toArrow()
        yield (
            lambda number=number: (
                spark.createDataFrame([(number, "df", 2)], "k INT, v STRING, n BIGINT").writeTo("keyed").append()
            )
        )
        yield lambda: _fails(spark, "SELECT nope FROM keyed")
        yield lambda: _fails(spark, "INSERT INTO plain SELECT raise_error('no'), 'x', 1")
        yield lambda: _cached(spark)
        yield lambda: _in_a_session_of_its_own(spark)


def _fails(spark: Any, text: str) -> None:
    try:
        spark.sql(text).collect()
    except Exception:  # noqa: BLE001  any failure will do
        return
    raise AssertionError(f"{text} did not fail")


def _cached(spark: Any) -> None:
    frame = spark.table("plain").where("p = 0").cache()
    frame.count()
    frame.unpersist()


def _in_a_session_of_its_own(spark: Any) -> None:
    # without a shuffle: Spark's threads for them hold the session of their last query for a minute
    spark.newSession().sql("SELECT v FROM paimon.default.keyed WHERE k = 3").collect()


@dataclass(frozen=True)
class Held:
    """What a driver, its JVM and its Python workers hold."""

    threads: int
    handles: int
    bindings: int  # Java objects that Python refers to
    proxies: int  # Python objects that Java refers to
    memory_mb: int
    jvm_threads: int
    jvm_handles: int
    jvm_memory_mb: int
    jvm_heap_mb: int
    workers: int
    files: int  # below `temporary`

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in vars(self).items())


def held(spark: Any, temporary: Path | None = None) -> Held:
    """What is held once unneeded references are collected."""
    gateway = spark.sparkContext._gateway
    bindings = JavaObject("GATEWAY_SERVER", gateway._gateway_client).getGateway().getBindings()
    jvm = spark._jvm
    _settle(jvm, gateway, bindings)
    java = int(jvm.java.lang.ProcessHandle.current().pid())
    runtime = jvm.java.lang.Runtime.getRuntime()
    return Held(
        threading.active_count(),
        len(os.listdir("/proc/self/fd")),
        int(bindings.size()),
        len(gateway.gateway_property.pool),
        _resident_mb(os.getpid()),
        len(os.listdir(f"/proc/{java}/task")),
        len(os.listdir(f"/proc/{java}/fd")),
        _resident_mb(java),
        (int(runtime.totalMemory()) - int(runtime.freeMemory())) // 2**20,
        sum(1 for _ in _descendants(java)),
        sum(len(files) for _, _, files in os.walk(temporary)) if temporary is not None else 0,
    )


def _settle(jvm: Any, gateway: Any, bindings: Any) -> None:
    """Collect garbage on both sides until nothing changes: each side's garbage refers to some of the other's."""
    until, before, steady = time.monotonic() + _SETTLING_SECONDS, (-1, -1), 0
    while time.monotonic() < until and steady < 2:
        gc.collect()
        jvm.java.lang.System.gc()
        jvm.java.lang.System.runFinalization()
        while gateway._gateway_client.finalizer_deque and time.monotonic() < until:
            time.sleep(0.05)
        now = int(bindings.size()), len(gateway.gateway_property.pool)
        steady = steady + 1 if now == before else 0
        before = now
        time.sleep(0.1)


def _resident_mb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS"))


def _descendants(pid: int) -> Iterator[int]:
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found = [int(child) for child in children.read_text().split()]
        except FileNotFoundError:  # a thread that ended
            continue
        for child in found:
            yield child
            yield from _descendants(child)
