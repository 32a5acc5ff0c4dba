"""Statements of every kind in one session, again and again, and the objects that driver and JVM hold meanwhile."""

from __future__ import annotations

import gc
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from py4j.java_gateway import JavaObject

import paimon_sql
from tests.support.quick_jvm import QUICK_JVM

_SETTLING_SECONDS = 30  # at most, until references that both sides have dropped are collected
_BOUNDED = "'snapshot.num-retained.max' = '10', 'snapshot.num-retained.min' = '5'"

# statements of a round; {n} is the round's number, {folder} a folder for files
STATEMENTS = (
    # queries
    "SELECT count(*), sum(n) FROM keyed",
    "SELECT a.k, b.v FROM keyed a JOIN plain b ON a.k = b.k WHERE a.n > 2",
    "SELECT /*+ BROADCAST(b) */ a.k, b.v FROM keyed a JOIN plain b ON a.k = b.k",
    "SELECT /*+ MERGE(a, b) */ a.k, b.v FROM plain a JOIN plain b ON a.k = b.k ORDER BY 1",
    "SELECT n, count(*) FROM keyed WHERE k > (SELECT min(k) FROM plain) GROUP BY n ORDER BY n",
    "SELECT k FROM plain WHERE p IN (SELECT CAST(n AS INT) FROM keyed WHERE n < 2)",
    "SELECT v FROM keyed WHERE k = 3",
    "SELECT k, row_number() OVER (PARTITION BY p ORDER BY k) FROM plain UNION SELECT k, 1 FROM keyed",
    "EXPLAIN SELECT * FROM keyed JOIN plain USING (k)",
    # system tables
    "SELECT snapshot_id, commit_kind FROM keyed$snapshots ORDER BY 1 DESC",
    "SELECT count(*) FROM plain$files f JOIN plain$partitions p ON true",
    "SELECT * FROM keyed$manifests",
    "SELECT rowkind, count(*) FROM keyed$audit_log GROUP BY rowkind",
    "SELECT * FROM sys.tables",
    # rows
    "INSERT INTO keyed VALUES ({n}, 'new', 1), (3, 'again', 2)",
    "INSERT INTO plain SELECT k, v, 1 FROM keyed WHERE n = 3",
    "INSERT OVERWRITE plain PARTITION (p = 1) SELECT k, v FROM keyed WHERE n = 3",
    "UPDATE keyed SET v = 'changed' WHERE k < 3",
    "UPDATE plain SET v = concat(v, '!') WHERE k = 4",
    "DELETE FROM keyed WHERE k >= 40",
    "DELETE FROM plain WHERE p = 1 AND k IN (SELECT k FROM keyed WHERE n = 2)",
    "MERGE INTO keyed t USING (SELECT k, v FROM plain WHERE p = 0) s ON t.k = s.k "
    "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (k, v, n) VALUES (s.k, s.v, 5)",
    "COPY INTO '{folder}/copied' FROM plain FILE_FORMAT = (TYPE = CSV) OVERWRITE = TRUE",
    # other versions
    "CALL sys.create_tag(table => 'keyed', tag => 'now')",
    "SELECT * FROM keyed VERSION AS OF 'begin' ORDER BY k LIMIT 3",
    "SELECT count(*) FROM keyed TIMESTAMP AS OF current_timestamp()",
    "SELECT * FROM keyed /*+ OPTIONS('scan.tag-name' = 'now') */",
    "SELECT * FROM paimon_incremental_query('keyed', 'begin', 'now')",
    "CALL sys.create_branch('keyed', 'aside', 'now')",
    "INSERT INTO keyed$branch_aside VALUES (1, 'aside', 1)",
    "SELECT count(*) FROM keyed$branch_aside",
    "CALL sys.delete_branch('keyed', 'aside')",
    "CALL sys.rollback('keyed', 'now')",
    "ALTER TABLE keyed DELETE TAG now",
    # procedures
    "CALL sys.compact(table => 'plain')",
    "CALL sys.compact(table => 'plain', order_strategy => 'order', order_by => 'k')",
    "CALL sys.compact_manifest(table => 'keyed')",
    "CALL sys.expire_snapshots(table => 'plain', retain_max => 5)",
    "CALL sys.remove_orphan_files(table => 'keyed', dry_run => true)",
    "ANALYZE TABLE plain COMPUTE STATISTICS FOR ALL COLUMNS",
    # tables that are created and dropped, each with a new name
    "CREATE TABLE passing_{n} (k INT) COMMENT 'one of many'",
    "ALTER TABLE passing_{n} ADD COLUMN v STRING",
    "DESCRIBE EXTENDED passing_{n}",
    "DROP TABLE passing_{n}",
    "CREATE TABLE other.default.passing_{n} AS SELECT * FROM keyed",
    "SELECT count(*) FROM other.default.passing_{n} JOIN plain USING (k)",
    "DROP TABLE other.default.passing_{n} PURGE",
    "SHOW TABLES IN other.default",
    # objects that a session keeps by name
    "USE other.default",
    "USE paimon.default",
    "CREATE TEMPORARY VIEW passing_{n} AS SELECT k, v FROM keyed WHERE n > 1",
    "CACHE TABLE passing_{n}",
    "SELECT count(*) FROM passing_{n}",
    "UNCACHE TABLE passing_{n}",
    "DROP VIEW passing_{n}",
)
# and statements with errors
FAILING = {
    "SELECT nope FROM keyed": "UNRESOLVED_COLUMN",
    "SELECT (": "PARSE_SYNTAX_ERROR",
    "SELECT * FROM keyed VERSION AS OF 'nope'": "nope",
    "INSERT INTO plain SELECT raise_error('not this row'), 'x', 1": "not this row",
    "CALL sys.rollback('keyed', 'nope')": "nope",
}


def session_below(folder: Path) -> Any:
    """Return a session on the warehouse in a folder. All temporary files of Python and Java are in that folder, too."""
    (temporary := folder / "temporary").mkdir()
    tempfile.tempdir = os.environ["TMPDIR"] = str(temporary)
    settings = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(temporary),
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={temporary} {QUICK_JVM}",
        "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "OFF",
        # Spark keeps up to 1,000 ended queries, jobs and stages
        "spark.sql.ui.retainedExecutions": "50",
        "spark.ui.retainedJobs": "50",
        "spark.ui.retainedStages": "50",
    }
    return paimon_sql.connect(str(folder / "warehouse"), **settings)


def set_up(spark: Any, folder: Path) -> None:
    """Create the tables that `statements` reads and changes, in the session's catalog and in another,
    called `other`.
    """
    spark.conf.set("spark.sql.catalog.other", "paimon_sql.SparkCatalog")
    spark.conf.set("spark.sql.catalog.other.warehouse", str(folder / "other"))
    for text in (
        f"CREATE TABLE keyed (k INT NOT NULL, v STRING, n BIGINT) "
        f"TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2', {_BOUNDED})",
        f"CREATE TABLE plain (k INT, v STRING, p INT) PARTITIONED BY (p) "
        f"TBLPROPERTIES ('deletion-vectors.enabled' = 'true', {_BOUNDED})",
        "INSERT INTO keyed SELECT CAST(id AS INT), concat('v', id), id % 7 FROM range(40)",
        "INSERT INTO plain SELECT CAST(id AS INT), concat('w', id), CAST(id % 3 AS INT) FROM range(60)",
        "CALL sys.create_tag(table => 'keyed', tag => 'begin')",
        "CREATE DATABASE IF NOT EXISTS other.default",
    ):
        spark.sql(text)


def statements(spark: Any, folder: Path) -> Iterator[Callable[[], object]]:
    """Yield statements without end, in rounds of `KINDS`."""
    for number in count(1000):
        for text in STATEMENTS:
            yield partial(_run, spark, text.format(n=number, folder=folder))
        for text, words in FAILING.items():
            yield partial(_fails, spark, text, words)
        for act in _ACTS:
            yield partial(act, spark, number)


def _run(spark: Any, text: str) -> None:
    spark.sql(text).collect()


def _fails(spark: Any, text: str, words: str) -> None:
    try:
        _run(spark, text)
    except Exception as error:
        if words in str(error):
            return
        raise
    raise AssertionError(f"{text} did not fail")


def _joins_frames(spark: Any, _: int) -> None:
    spark.table("keyed").join(spark.table("plain"), "k").groupBy("p").count().collect()


def _reads_arrow(spark: Any, _: int) -> None:
    spark.read.option("scan.mode", "latest").table("keyed").toArrow()


def _appends_rows(spark: Any, number: int) -> None:
    spark.createDataFrame([(number, "df", 2)], "k INT, v STRING, n BIGINT").writeTo("keyed").append()


def _runs_python(spark: Any, _: int) -> None:
    spark.table("plain").mapInArrow(lambda batches: batches, "k INT, v STRING, p INT").collect()


def _caches(spark: Any, _: int) -> None:
    frame = spark.table("plain").where("p = 0").cache()
    frame.count()
    frame.unpersist()


def _is_in_a_session_of_its_own(spark: Any, _: int) -> None:
    # without a shuffle: Spark's threads for them hold the session of their last query for a minute
    spark.newSession().sql("SELECT v FROM paimon.default.keyed WHERE k = 3").collect()


def _is_in_a_thread_of_its_own(spark: Any, _: int) -> None:
    thread = threading.Thread(target=_run, args=(spark, "SELECT k FROM plain WHERE p = 2"))
    thread.start()
    thread.join()


def _is_cancelled(spark: Any, number: int, text: str = "SELECT {slow} FROM plain") -> None:
    """Run a statement, and cancel its job from another thread while its tasks sleep."""
    context, group = spark.sparkContext, f"cancelled-{number}"
    done = threading.Event()

    def cancel() -> None:
        while not done.is_set():
            if context.statusTracker().getJobIdsForGroup(group):
                context.cancelJobGroup(group)
            done.wait(0.05)

    canceller = threading.Thread(target=cancel)
    context.setJobGroup(group, "cancelled", interruptOnCancel=True)
    canceller.start()
    try:
        _fails(spark, text.format(slow="reflect('java.lang.Thread', 'sleep', 60000L + k)"), "cancelled")
    finally:
        done.set()
        canceller.join()
        for name in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
            context.setLocalProperty(name, None)


def _is_a_cancelled_write(spark: Any, number: int) -> None:
    _is_cancelled(spark, number, "INSERT INTO plain SELECT k, {slow}, p FROM plain")


_ACTS = (
    _joins_frames,
    _reads_arrow,
    _appends_rows,
    _runs_python,
    _caches,
    _is_in_a_session_of_its_own,
    _is_in_a_thread_of_its_own,
    _is_cancelled,
    _is_a_cancelled_write,
)
NAMES = (*STATEMENTS, *FAILING, *(act.__name__ for act in _ACTS))  # the statements of a round, in their order
KINDS = len(NAMES)


@dataclass(frozen=True)
class Held:
    """The objects that a driver, its JVM and its Python workers hold."""

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
    worker_memory_mb: int  # of the largest
    temporary_files: int
    table_files: int

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in vars(self).items())


def grown(samples: Sequence[Held]) -> list[str]:
    """Return the counts that are larger in the last third of a session than in the middle third, by more than 5 % and
    by more than two. Return none for one or two rounds.
    """
    if (third := len(samples) // 3) == 0:
        return []
    found = []
    for name in (field.name for field in fields(Held)):
        middle, last = (
            median(getattr(held, name) for held in part) for part in (samples[third : 2 * third], samples[-third:])
        )
        if last > middle * 1.05 and last > middle + 2:
            found.append(f"{name} grew from {middle:g} to {last:g}")
    return found


def held(spark: Any, folder: Path | None = None) -> Held:
    """Return the counts after unneeded references are collected, with the files of `folder` below `temporary` and
    `warehouse`.
    """
    gateway = spark.sparkContext._gateway
    bindings = JavaObject("GATEWAY_SERVER", gateway._gateway_client).getGateway().getBindings()
    jvm = spark._jvm
    _settle(jvm, gateway, bindings)
    java = int(jvm.java.lang.ProcessHandle.current().pid())
    runtime = jvm.java.lang.Runtime.getRuntime()
    workers = [_resident_mb(pid) for pid in _descendants(java)]
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
        len(workers),
        max(workers, default=0),
        *(_count_files(folder / name) if folder else 0 for name in ("temporary", "warehouse")),
    )


def processor_seconds(spark: Any) -> float:
    """Return the processor seconds that driver, JVM and workers have used."""
    java = int(spark._jvm.java.lang.ProcessHandle.current().pid())
    return time.process_time() + sum(map(_processor_seconds, (java, *_descendants(java))))


def _processor_seconds(pid: int) -> float:
    """Return the processor seconds of a process, and of its ended children."""
    try:
        values = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:  # the worker has ended
        return 0.0
    return sum(map(int, values[11:15])) / os.sysconf("SC_CLK_TCK")


def _count_files(folder: Path) -> int:
    return sum(len(files) for _, _, files in os.walk(folder))


def _settle(jvm: Any, gateway: Any, bindings: Any) -> None:
    """Collect garbage on both sides until nothing changes: some garbage of each side refers to garbage of the other."""
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
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except FileNotFoundError:  # the worker has ended
        return 0
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS")), 0)


def _descendants(pid: int) -> Iterator[int]:
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found = [int(child) for child in children.read_text().split()]
        except FileNotFoundError:  # the thread has ended
            continue
        for child in found:
            yield child
            yield from _descendants(child)
