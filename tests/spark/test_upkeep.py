"""Upkeep in SQL, where Spark has a say: listing procedures, branches as tables, the database `sys`."""

from __future__ import annotations

import os
import re
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark import InheritableThread
from pyspark.errors import PySparkException

from paimon_core.maintenance import running
from paimon_core.maintenance.orphans.job import OrphanSearch
from paimon_core.maintenance.running import Announcement
from paimon_core.progress import PHASES, Phase, PhaseProgress
from paimon_sql.procedures import PROCEDURES, file_tasks
from paimon_sql.spark.workers import orphan_frames
from paimon_sql.spark.workers.executor import SparkExecutor
from tests.support.spark_versions import is_before
from tests.support.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.spark


def rows(spark: Any, query: str) -> list[tuple[Any, ...]]:
    return [tuple(r) for r in spark.sql(query).collect()]


def test_procedures_are_listed_and_described(spark: Any) -> None:
    if is_before(4, 1):
        for statement in ("SHOW PROCEDURES IN sys", "DESCRIBE PROCEDURE sys.create_tag"):
            with pytest.raises(PySparkException, match="PROCEDURE needs Spark 4.1"):
                spark.sql(statement)
        with pytest.raises(PySparkException, match="There is no procedure") as listing:
            spark.sql("CALL sys.none()")
        assert all(f"sys.{name}" in str(listing.value) for name in PROCEDURES)
        return
    assert {r[-1] for r in rows(spark, "SHOW PROCEDURES IN sys")} == set(PROCEDURES)
    text = "\n".join(str(r[0]) for r in rows(spark, "DESCRIBE PROCEDURE sys.create_tag"))
    assert "create_tag" in text and "time_retained" in text


def test_a_branch_is_a_table(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, dt STRING) PARTITIONED BY (dt)")
    spark.sql("INSERT INTO t VALUES (1, 'a')")
    spark.sql("CALL sys.create_branch('t', 'b')")
    spark.sql("INSERT INTO `t$branch_b` VALUES (2, 'a'), (3, 'b')")
    assert rows(spark, "SELECT * FROM `t$branch_b` WHERE k > 2") == [(3, "b")]
    assert rows(spark, "SELECT partition FROM `t$branch_b$partitions` VERSION AS OF 1") == [("dt=a",), ("dt=b",)]
    spark.sql("ALTER TABLE t SET TBLPROPERTIES ('scan.fallback-branch' = 'b')")
    assert sorted(rows(spark, "SELECT k FROM t")) == [(1,), (3,)]
    assert rows(spark, "SELECT count(*) FROM t") == [(2,)]
    with pytest.raises(PySparkException, match=r"scan\.fallback-branch"):
        spark.sql("DELETE FROM t WHERE k = 3")
    with pytest.raises(PySparkException, match=r"scan\.fallback-branch"):
        spark.sql("CALL sys.delete_branch('t', 'b')")
    with pytest.raises(PySparkException, match="cannot be found|no branch"):
        spark.sql("SELECT * FROM `t$branch_nope`")


def test_files_are_looked_for_and_deleted_by_tasks(spark: Any, warehouse: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spark.sql("CREATE TABLE t (k INT, dt STRING) PARTITIONED BY (dt) TBLPROPERTIES ('write-only' = 'true')")
    for k in range(3):
        spark.sql(f"INSERT INTO t VALUES ({k}, 'a'), ({k}, 'b')")
    spark.sql("CALL sys.create_tag('t', 'kept', 1)")
    root = Path(warehouse, "default.db", "t")
    unique = uuid.uuid4()
    lost = [root / "dt=a" / "bucket-0" / f"data-{unique}-0.parquet", root / "manifest" / f"manifest-{unique}-0"]
    for path in lost:
        path.write_text("12345")
        os.utime(path, (1, 1))
    young = root / "dt=b" / "bucket-0" / f"changelog-{unique}-0.parquet"
    young.touch()
    call = "CALL sys.remove_orphan_files(table => 't', mode => 'distributed', parallelism => 2, dry_run => "
    assert rows(spark, f"{call} true)") == [(2, 10)] and all(p.exists() for p in lost)
    assert rows(spark, f"{call} false)") == [(2, 10)]
    assert not any(p.exists() for p in lost) and young.exists()
    assert rows(spark, "SELECT count(*) FROM t") == [(6,)]
    spark.sql("INSERT OVERWRITE t VALUES (9, 'a')")
    monkeypatch.setattr(file_tasks, "MANY_DELETIONS", 1)
    assert rows(spark, "CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1)") == [(3,)]
    assert rows(spark, "SELECT count(*) FROM t VERSION AS OF 'kept'") == [(2,)]
    assert len(list(root.glob("dt=*/bucket-0/data-*"))) == 3
    (root / "snapshot" / "snapshot-4").write_bytes(b"junk")
    with pytest.raises(PySparkException, match="snapshot-4"):
        spark.sql(f"{call} false)")


def test_tasks_that_have_ended_are_counted(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = list[Phase]()
    monkeypatch.setattr(Announcement, "follow", lambda _, job: jobs.append(job))
    spark.sql("CREATE TABLE t (k INT, dt INT, PRIMARY KEY (k, dt) NOT ENFORCED) PARTITIONED BY (dt)"
              " TBLPROPERTIES ('bucket' = '1', 'write-only' = 'true')")  # fmt: skip
    for _ in range(2):
        spark.sql("INSERT INTO t SELECT id, id % 3 FROM range(30)")
    spark.sql("CALL sys.compact('t')")
    *writes, compaction = jobs
    now = compaction.progress
    assert (now.description, now.done, now.count, now.unit) == ("compact default.t", 6, 6, "files")
    assert {(job.description, job.progress.done == job.count) for job in writes} == {("write default.t", True)}
    assert PHASES.newest is None


def test_sorts_and_searches_show_the_tasks_of_their_stages(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, ended, opened = list[PhaseProgress](), threading.Event(), PHASES.open

    def follow(phase: Phase) -> None:
        """Look at a phase until it ends."""
        opened(phase)
        watcher = threading.Thread(target=look, args=(phase,), daemon=True)
        watcher.start()

    def look(phase: Phase) -> None:
        while not ended.wait(0.01):
            seen.append(phase.progress)

    monkeypatch.setattr(PHASES, "open", follow)
    spark.sql("CREATE TABLE t (k INT, v INT)")
    spark.sql("INSERT INTO t SELECT id, id % 7 FROM range(0, 3000, 1, 3)")
    spark.sql("CALL sys.compact(table => 't', order_strategy => 'order', order_by => 'v')")
    spark.sql("CALL sys.remove_orphan_files(table => 't', mode => 'distributed')")
    ended.set()
    for work in ("sort", "find orphans"):
        of_work = [p for p in seen if p.description.startswith(work) and "stage" in p.description]
        assert of_work and all(0 <= p.done <= p.count and p.unit == "tasks" for p in of_work), work
        assert re.search(r"default\.t, stage \d of \d", of_work[0].description)


def test_writes_are_seen_while_they_run(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = str(tmp_path / "goes-on")

    def waited(value: int) -> int:
        while not os.path.exists(goes_on):
            time.sleep(0.01)
        return value

    spark.udf.register("waited", waited, "bigint")
    spark.sql("CREATE TABLE t (k BIGINT)")
    monkeypatch.setattr(running, "_FIRST", 0.0)
    monkeypatch.setattr(running, "_EVERY", 0.01)
    thread = InheritableThread(target=lambda: spark.sql("INSERT INTO t SELECT waited(id) FROM range(0, 1, 1, 1)"))
    thread.start()
    found = list[tuple[Any, ...]]()

    def is_seen() -> bool:
        found[:] = rows(spark, "SELECT work, job, done, total, unit FROM t$running")
        return bool(found)

    wait_until(lambda: is_seen() or not thread.is_alive())
    Path(goes_on).touch()
    thread.join(PATIENCE)
    assert found == [("insert", "write default.t", 0, 1, "tasks")]
    assert rows(spark, "SELECT work FROM t$running") == [] and rows(spark, "SELECT * FROM t") == [(0,)]


def test_writes_are_named_and_end(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = list[Announcement]()
    monkeypatch.setattr(Announcement, "begin", lambda self, _: begun.append(self))
    spark.sql("CREATE TABLE t (k INT, v INT NOT NULL, PRIMARY KEY (k) NOT ENFORCED) TBLPROPERTIES ('bucket' = '1')")
    merged = "MERGE INTO t USING (SELECT 1 AS k) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = 7"
    for statement in (
        *("INSERT INTO t VALUES (1, 1), (2, 2)", "INSERT OVERWRITE t VALUES (1, 1), (3, 3)"),
        *("UPDATE t SET v = v + 1 WHERE k = 1", merged, "DELETE FROM t WHERE v > 2"),
    ):
        spark.sql(statement)
    with pytest.raises(PySparkException):
        spark.sql("INSERT INTO t SELECT CAST(id AS INT), CAST(1 / (id - 1) AS INT) FROM range(3)")
    names = [one._work for one in begun if one._work != "compaction"]
    assert names[:5] == ["insert", "overwrite", "update", "merge", "delete"]
    assert all(one._ended.is_set() for one in begun)


def stopped(spark: Any, started: Path, statement: str) -> str:
    """The error of a statement whose jobs are cancelled once a task has done its work and made `started`."""
    context, told = spark.sparkContext, list[str]()

    def run() -> None:
        context.setJobGroup("upkeep", "to be stopped", interruptOnCancel=True)
        with pytest.raises((PySparkException, Py4JJavaError)) as caught:  # the latter is how PySpark has Spark's own
            spark.sql(statement)
        told.append(str(caught.value))

    thread = InheritableThread(target=run)
    thread.start()
    wait_until(lambda: started.exists() or not thread.is_alive())
    context.cancelJobGroup("upkeep")
    thread.join(PATIENCE)
    started.unlink()
    return told[0]


def test_jobs_are_stopped_without_harm(
    spark: Any, warehouse: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever their tasks have done by then."""
    started = tmp_path / "started"

    def slow(function: Callable[[str], str]) -> Callable[[str], str]:
        def work(text: str) -> str:
            result = function(text)
            started.touch()
            time.sleep(60)
            return result

        return work

    def slow_rows(function: Callable[[OrphanSearch], Callable[[Any], Any]]) -> Callable[[OrphanSearch], Any]:
        def work(search: OrphanSearch) -> Callable[[Any], Any]:
            of_batches = function(search)
            return lambda batches: slow(lambda _: list(of_batches(batches)))("")

        return work

    keyed = "'primary-key' = 'k', 'bucket' = '2', 'write-only' = 'true'"
    spark.sql(f"CREATE TABLE t (k INT, v INT) TBLPROPERTIES ({keyed})")
    for v in range(3):
        spark.sql(f"INSERT INTO t SELECT id, {v} FROM range(20)")
    spark.sql("CREATE TABLE text (k INT) USING csv")
    spark.sql("INSERT INTO text VALUES (1), (2)")
    root, count = Path(warehouse, "default.db", "t"), "SELECT count(*), sum(v) FROM t"
    with monkeypatch.context() as patch:
        run = SparkExecutor.run
        patch.setattr(file_tasks, "MANY_DELETIONS", 1)
        patch.setattr(SparkExecutor, "run", lambda self, job: run(self, replace(job, function=slow(job.function))))
        for statement in (
            "CALL sys.compact('t')",
            "CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1)",
            "CALL sys.rescale('t', 4)",
            "CALL sys.migrate_table(source_type => 'hive', table => 'text')",
        ):
            assert "cancelled" in stopped(spark, started, statement), statement
            assert rows(spark, count) == [(20, 40)], statement
    assert rows(spark, "SELECT snapshot_id, commit_kind FROM t.snapshots") == [(3, "APPEND")]
    assert rows(spark, "SELECT count(*) FROM text") == [(2,)]
    for path in root.rglob("bucket-*/*"):
        os.utime(path, (1, 1))
    lost = rows(spark, "CALL sys.remove_orphan_files(table => 't', dry_run => true)")[0]
    search = "CALL sys.remove_orphan_files(table => 't', mode => 'distributed', parallelism => 1)"
    for function in ("found_function", "delete_function"):
        with monkeypatch.context() as patch:
            patch.setattr(orphan_frames, function, slow_rows(getattr(orphan_frames, function)))
            assert "cancelled" in stopped(spark, started, search), function
            assert rows(spark, count) == [(20, 40)], function
    assert lost[0] > 0 and rows(spark, "CALL sys.remove_orphan_files(table => 't')")[0] <= lost
    assert rows(spark, "CALL sys.remove_orphan_files(table => 't', dry_run => true)") == [(0, 0)]
    spark.sql("CALL sys.compact('t')")
    spark.sql("CALL sys.migrate_table(source_type => 'hive', table => 'text')")
    assert rows(spark, count) == [(20, 40)] and rows(spark, "SELECT sum(k) FROM text") == [(3,)]


def test_the_database_sys(spark: Any) -> None:
    spark.sql("CREATE TABLE u (k INT) TBLPROPERTIES ('x' = 'y')")
    spark.sql("INSERT INTO u VALUES (1), (2)")
    assert rows(spark, "SELECT value FROM sys.all_table_options WHERE table_name = 'u' AND key = 'x'") == [("y",)]
    assert len(rows(spark, "SELECT value FROM sys.all_table_options WHERE table_name = 'u' AND key = 'path'")) == 1
    about = "SELECT partitioned, primary_key, record_count FROM sys.tables WHERE table_name = 'u'"
    assert rows(spark, about) == [(False, False, 2)]
    assert ("warehouse",) in rows(spark, "SELECT key FROM sys.catalog_options")
    assert {r[1] for r in rows(spark, "SHOW TABLES IN sys")} == {
        "all_table_options",
        "catalog_options",
        "partitions",
        "running",
        "tables",
    }
    with pytest.raises(PySparkException, match=r"sys.*nope"):
        spark.sql("SELECT * FROM sys.nope")
