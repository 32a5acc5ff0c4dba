"""Tables as sources of structured streaming: what queries read, restarts, limits, starts, consumers, and refusals."""

from __future__ import annotations

import json
import shutil
from ast import literal_eval
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from paimon_sql.spark.streams.source import PaimonMicroBatchStream
from tests.support.spark_versions import is_before, since

pytestmark = pytest.mark.spark

KEYED = "'primary-key' = 'k', 'bucket' = '2'"


class Query:
    """A streaming query over and over, with one checkpoint: what its batches had."""

    def __init__(self, folder: Path, stream: Callable[[], Any]) -> None:
        self.checkpoint, self.stream = folder, stream
        self.batches: list[list[tuple[Any, ...]]] = []
        self.progress: list[Any] = []

    def run(self, **trigger: Any) -> list[tuple[Any, ...]]:
        """Read what there is; the rows of this run, sorted."""
        before = len(self.batches)
        query = (
            self.stream()
            .writeStream.foreachBatch(lambda rows, _: self.batches.append([tuple(r) for r in rows.collect()]))
            .option("checkpointLocation", str(self.checkpoint))
            .trigger(**trigger or {"availableNow": True})
            .start()
        )
        try:
            assert query.awaitTermination(120)
        finally:
            query.stop()
        self.progress = [p.sources[0] for p in query.recentProgress if p.sources[0].endOffset]
        return sorted(row for batch in self.batches[before:] for row in batch)

    @property
    def metrics(self) -> dict[str, int]:
        return {name: int(value) for name, value in self.progress[-1].metrics.items()}


@pytest.fixture
def follow(spark: Any, tmp_path: Path) -> Callable[..., Query]:
    """Makes a query of a table, under options of the reader."""

    def made(table: str = "t", name: str = "checkpoint", **options: str) -> Query:
        spelled = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
        return Query(tmp_path / name, lambda: spark.readStream.options(**spelled).table(table))

    return made


def create(spark: Any, options: str = "", table: str = "t") -> None:
    spark.sql(f"CREATE TABLE {table} (k INT, v STRING)" + (f" TBLPROPERTIES ({options})" if options else ""))


def insert(spark: Any, *rows: tuple[int, str], table: str = "t") -> None:
    spark.sql(f"INSERT INTO {table} VALUES " + ", ".join(f"({k}, '{v}')" for k, v in rows))


def expire(spark: Any, kept: int = 1) -> None:
    spark.sql(f"CALL sys.expire_snapshots(table => 't', retain_max => {kept}, retain_min => {kept})")


# -- what is read -----------------------------------------------------------------------------------------------------


def test_rows_and_then_what_is_appended(spark: Any, follow: Any) -> None:
    create(spark)
    insert(spark, (1, "a"), (2, "b"))
    query = follow()
    assert query.run() == [(1, "a"), (2, "b")]
    assert query.run() == []
    insert(spark, (3, "c"))
    insert(spark, (4, "d"))
    spark.sql("CALL sys.compact(table => 't')")
    assert query.run() == [(3, "c"), (4, "d")]
    assert [p.numInputRows for p in query.progress] == [2]
    assert query.run(once=True) == []


@pytest.mark.parametrize("producer", ["", f"{KEYED}, 'changelog-producer' = 'lookup'"])
def test_files_that_need_no_merge_are_read_by_spark(
    spark: Any, follow: Any, monkeypatch: pytest.MonkeyPatch, producer: str
) -> None:
    create(spark, producer)
    insert(spark, (1, "a"))
    query = follow()
    monkeypatch.setattr("paimon_sql.spark.streams.source.MergeScan", None)  # no Python worker reads
    assert query.run() == [(1, "a")]
    insert(spark, (2, "b"))
    assert query.run() == [(2, "b")]


@pytest.mark.parametrize("producer", ["none", "input", "lookup"])
def test_changes_by_key(spark: Any, follow: Any, producer: str) -> None:
    create(spark, f"{KEYED}, 'changelog-producer' = '{producer}'")
    insert(spark, (1, "a"), (2, "b"))
    rows, log = follow(), follow(name="log", read__changelog="true")
    assert rows.run() == [(1, "a"), (2, "b")]
    assert log.run() == [("+I", 1, "a"), ("+I", 2, "b")]
    insert(spark, (2, "c"), (3, "d"))
    spark.sql("DELETE FROM t WHERE k = 1")
    assert rows.run() == [(2, "c"), (3, "d")]
    exact = [("+I", 3, "d"), ("+U", 2, "c"), ("-D", 1, "a"), ("-U", 2, "b")]
    assert log.run() == (exact if producer == "lookup" else [("+I", 2, "c"), ("+I", 3, "d"), ("-D", 1, "a")])


def test_changes_of_full_compactions(spark: Any, follow: Any) -> None:
    create(spark, f"{KEYED}, 'changelog-producer' = 'full-compaction', 'full-compaction.delta-commits' = '1'")
    insert(spark, (1, "a"))
    query = follow("t$audit_log")
    assert query.run() == [("+I", 1, "a")]
    insert(spark, (1, "b"))
    assert query.run() == [("+U", 1, "b"), ("-U", 1, "a")]


def test_the_changes_of_a_key_stay_in_their_order(spark: Any, follow: Any) -> None:
    create(spark, KEYED)
    insert(spark, (0, "first"))
    query = follow()
    query.run()
    for step in range(4):
        insert(spark, *((k, f"{step}") for k in range(20)))
    query.run()
    (batch,) = query.batches[1:]
    for key in range(20):
        assert [v for k, v in batch if k == key] == ["0", "1", "2", "3"]


def test_binlog(spark: Any, follow: Any) -> None:
    create(spark, f"{KEYED}, 'changelog-producer' = 'lookup'")
    insert(spark, (1, "a"))
    query = follow("t$binlog")
    assert query.run() == [("+I", [1], ["a"])]
    insert(spark, (1, "b"))
    assert query.run() == [("+U", [1, 1], ["a", "b"])]


def test_postponed_rows(spark: Any, follow: Any) -> None:
    create(spark, "'primary-key' = 'k', 'bucket' = '-2'")
    insert(spark, (1, "a"))
    query = follow()
    assert query.run() == [(1, "a")]
    insert(spark, (2, "b"))
    spark.sql("CALL sys.compact(table => 't')")
    insert(spark, (3, "c"))
    assert query.run() == [(2, "b"), (3, "c")]


def test_a_path_a_branch_and_a_tag(spark: Any, follow: Any, tmp_path: Path, warehouse: str) -> None:
    create(spark)
    insert(spark, (1, "a"))
    spark.sql("CALL sys.create_tag(table => 't', tag => 'one')")
    spark.sql("CALL sys.create_branch(table => 't', branch => 'dev', tag => 'one')")
    insert(spark, (2, "main"))
    insert(spark, (3, "dev"), table="`t$branch_dev`")
    by_path = Query(tmp_path / "path", lambda: spark.readStream.format("paimon").load(f"{warehouse}/default.db/t"))
    assert by_path.run() == [(1, "a"), (2, "main")]
    assert follow("`t$branch_dev`", "branch").run() == [(1, "a"), (3, "dev")]
    assert follow(name="option", branch="dev").run() == [(1, "a"), (3, "dev")]
    tagged = follow(name="tag", scan__tag_name="one")
    assert tagged.run() == [(1, "a"), (2, "main")]
    assert len(tagged.batches) == 2  # the rows of the tag, then changes


@pytest.mark.parametrize("options", ["", "TBLPROPERTIES ('primary-key' = 'k,p', 'changelog-producer' = 'lookup')"])
def test_columns_and_filters(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str) -> None:
    read: list[tuple[list[str], int]] = []
    scan_of = PaimonMicroBatchStream._scan_of

    def watched(self: Any, plan: Any) -> Any:
        scan = scan_of(self, plan)
        read.append((scan.required.fieldNames(), len({s.partition for s in scan.plan.splits})))
        return scan

    monkeypatch.setattr(PaimonMicroBatchStream, "_scan_of", watched)
    spark.sql(f"CREATE TABLE t (k INT, v STRING, p INT) PARTITIONED BY (p) {options}")
    spark.sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)")
    query = Query(tmp_path / "at", lambda: spark.readStream.table("t").where("p = 2").select("v"))
    assert query.run() == [("b",)]
    spark.sql("INSERT INTO t VALUES (3, 'c', 1), (4, 'd', 2), (5, 'e', 3)")
    assert query.run() == [("d",)]
    assert [p.numInputRows for p in query.progress] == [1]
    assert read == [(["v", "p"], 1)] * 2, "a batch is planned once, though Spark asks for it twice"


def test_a_join_of_a_stream_and_a_table(spark: Any, tmp_path: Path) -> None:
    create(spark)
    create(spark, KEYED, table="names")
    insert(spark, (1, "one"), (2, "two"), table="names")
    insert(spark, (2, "b"))
    query = Query(tmp_path / "at", lambda: spark.readStream.table("t").join(spark.table("names"), "k"))
    assert query.run() == [(2, "b", "two")]


def test_one_stream_twice_in_a_query(spark: Any, tmp_path: Path) -> None:
    create(spark)
    insert(spark, (1, "a"))

    def twice() -> Any:
        stream = spark.readStream.table("t")
        return stream.union(stream)

    assert Query(tmp_path / "at", twice).run() == [(1, "a"), (1, "a")]


# -- where it starts --------------------------------------------------------------------------------------------------


def test_starts(spark: Any, follow: Any) -> None:
    create(spark)
    for number in (1, 2, 3):
        insert(spark, (number, "x"))
    times = [
        t
        for (t,) in spark.sql(
            "SELECT unix_millis(CAST(commit_time AS TIMESTAMP)) FROM t$snapshots ORDER BY snapshot_id"
        ).collect()
    ]
    starts: list[tuple[dict[str, str], list[int]]] = [
        ({"scan.mode": "latest-full"}, [1, 2, 3, 4]),
        ({"scan.mode": "latest"}, [4]),
        ({"scan.mode": "from-snapshot", "scan.snapshot-id": "2"}, [2, 3, 4]),
        ({"scan.snapshot-id": "3"}, [3, 4]),
        ({"scan.mode": "from-snapshot-full", "scan.snapshot-id": "2"}, [1, 2, 3, 4]),
        ({"scan.timestamp-millis": str(times[1])}, [2, 3, 4]),
        ({"scan.mode": "from-timestamp", "scan.timestamp-millis": str(times[1] + 1)}, [3, 4]),
        ({"scan.timestamp": "2000-01-01 00:00:00"}, [1, 2, 3, 4]),
        ({"scan.mode": "compacted-full"}, [1, 2, 3, 4]),
        ({"scan.mode": "from-creation-timestamp", "scan.creation-time-millis": str(times[2])}, [3, 4]),
        ({"scan.mode": "from-file-creation-time", "scan.file-creation-time-millis": str(times[2] + 10**6)}, [4]),
    ]
    queries = [follow(name=str(i), **options) for i, (options, _) in enumerate(starts)]
    found = [{k for k, _ in q.run()} for q in queries]
    insert(spark, (4, "x"))
    for query, (options, keys), first in zip(queries, starts, found, strict=True):
        assert sorted(first | {k for k, _ in query.run()}) == keys, options


def test_an_expired_start_and_an_empty_table(spark: Any, follow: Any) -> None:
    create(spark)
    empty = follow(name="empty")
    assert empty.run() == []
    for number in (1, 2, 3):
        insert(spark, (number, "x"))
    assert [k for k, _ in empty.run()] == [1, 2, 3]
    expire(spark, 2)
    assert [k for k, _ in follow(scan__snapshot_id="1").run()] == [2, 3]


# -- how much at once -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "value", "batches"),
    [
        ("maxFilesPerTrigger", "1", 3),
        ("maxFilesPerTrigger", "2", 2),
        ("maxRowsPerTrigger", "4", 2),
        ("maxRowsPerTrigger", "1", 3),
        ("maxBytesPerTrigger", "1", 3),
        ("maxBytesPerTrigger", "100000", 1),
    ],
)
def test_limits(spark: Any, follow: Any, limit: str, value: str, batches: int) -> None:
    create(spark, "'bucket' = '1', 'bucket-key' = 'k'")
    insert(spark, (0, "start"))
    query = follow(**{f"read.stream.{limit}": value})
    query.run()
    for number in (1, 3, 5):
        insert(spark, (number, "x"), (number + 1, "x"))
    assert [k for k, _ in query.run()] == [1, 2, 3, 4, 5, 6]
    assert len(query.batches) - 1 == batches


def test_once_reads_all_whatever_the_limits(spark: Any, follow: Any) -> None:
    create(spark)
    for number in (1, 2, 3):
        insert(spark, (number, "x"))
    query = follow(read__stream__maxFilesPerTrigger="1", scan__snapshot_id="1")
    assert [k for k, _ in query.run(once=True)] == [1, 2, 3] and len(query.batches) == 1


def test_a_stream_waits_for_rows(spark: Any, tmp_path: Path) -> None:
    create(spark)
    options = {"read.stream.minRowsPerTrigger": "3", "read.stream.maxTriggerDelayMs": "600000"}
    batches: list[int] = []
    stream = (
        spark.readStream.options(**options).table("t").writeStream.foreachBatch(lambda r, _: batches.append(r.count()))
    )
    insert(spark, (0, "start"))
    query = stream.option("checkpointLocation", str(tmp_path / "at")).trigger(processingTime="100 milliseconds").start()
    try:
        query.processAllAvailable()
        assert batches == [1]  # the first batch waits for nothing
        insert(spark, (1, "x"))
        query.processAllAvailable()
        assert batches == [1]
        insert(spark, (2, "x"), (3, "x"))
        query.processAllAvailable()
        assert batches == [1, 3]
    finally:
        query.stop()


# -- what operators see -----------------------------------------------------------------------------------------------


def test_metrics(spark: Any, follow: Any) -> None:
    create(spark, "'bucket' = '1', 'bucket-key' = 'k'")
    for number in (1, 2, 3):
        insert(spark, (number, "x"))
    query = follow(**{"scan.snapshot-id": "1", "read.stream.maxFilesPerTrigger": "1"})
    query.run()
    found = [{n: int(v) for n, v in p.metrics.items()} for p in query.progress]
    assert [(m["rows"], m["files"], m["snapshotsBehind"]) for m in found] == [(1, 1, 2), (1, 1, 1), (1, 1, 0)]
    assert [m["millisBehind"] > 0 for m in found] == [True, True, False]
    assert all(m["bytes"] > 100 for m in found)


def test_offsets_are_those_of_javas_connector(spark: Any, follow: Any) -> None:
    create(spark)
    insert(spark, (1, "a"))
    query = follow()
    query.run()
    told = query.progress[-1].endOffset
    offset = literal_eval(told) if is_before(4, 2) else json.loads(told)  # older: as Python writes it
    assert {k: offset[k] for k in ("snapshotId", "index", "scanSnapshot", "totalSplits")} == {
        "snapshotId": 1,
        "index": 0,
        "scanSnapshot": True,
        "totalSplits": 1,
    }


def test_a_consumer(spark: Any, follow: Any) -> None:
    create(spark)
    insert(spark, (1, "x"))
    query = follow(consumer_id="c")
    query.run()
    assert consumers(spark) == [("c", 2)]
    for number in (2, 3, 4):
        insert(spark, (number, "x"))
    expire(spark)
    assert [k for k, _ in query.run()] == [2, 3, 4]
    assert consumers(spark) == [("c", 5)]
    insert(spark, (5, "x"))
    assert [k for k, _ in follow(name="another", consumer_id="c").run()] == [5]  # goes on where the consumer is
    spark.sql("CALL sys.reset_consumer(table => 't', consumerId => 'c', nextSnapshotId => 4)")
    assert [k for k, _ in follow(name="reset", consumer_id="c").run()] == [4, 5]
    ignoring = follow(name="ignoring", **{"consumer-id": "c", "consumer.ignore-progress": "true"})
    assert [k for k, _ in ignoring.run()] == [1, 2, 3, 4, 5]
    spark.sql("CALL sys.clear_consumers(table => 't')")
    assert consumers(spark) == []


def test_a_consumer_of_flinks(spark: Any, follow: Any, warehouse: str) -> None:
    create(spark)
    for number in (1, 2, 3):
        insert(spark, (number, "x"))
    folder = Path(warehouse) / "default.db" / "t" / "consumer"
    folder.mkdir()
    (folder / "consumer-flink").write_text('{"nextSnapshot": 3}', encoding="utf-8")
    assert [k for k, _ in follow(consumer_id="flink").run()] == [3]
    assert consumers(spark) == [("flink", 4)]


def consumers(spark: Any) -> list[tuple[str, int]]:
    return [tuple(r) for r in spark.sql("SELECT consumer_id, next_snapshot_id FROM t$consumers").collect()]


# -- what happens beneath a stream ------------------------------------------------------------------------------------


def test_expired_changes(spark: Any, follow: Any) -> None:
    create(spark)
    insert(spark, (1, "x"))
    query = follow()
    query.run()
    for number in (2, 3, 4):
        insert(spark, (number, "x"))
    expire(spark)
    with pytest.raises(
        PySparkException, match="cannot go on at snapshot 2 of table default.t, which expired.*consumer-id"
    ):
        query.run()


def test_overwritten_rows(spark: Any, follow: Any) -> None:
    create(spark, KEYED)
    insert(spark, (1, "a"), (2, "b"))
    rows, log = follow(), follow(name="log", read__changelog="true", streaming_read_overwrite="true")
    rows.run(), log.run()
    spark.sql("INSERT OVERWRITE t VALUES (2, 'c'), (3, 'd')")
    insert(spark, (4, "e"))
    assert rows.run() == [(4, "e")]
    assert rows.metrics["skippedOverwrites"] == 1
    assert log.run() == [("+I", 2, "c"), ("+I", 3, "d"), ("+I", 4, "e"), ("-D", 1, "a")]


def test_new_columns_appear_after_a_restart(spark: Any, follow: Any, tmp_path: Path) -> None:
    create(spark)
    insert(spark, (1, "a"))
    batches: list[list[tuple[Any, ...]]] = []
    stream = spark.readStream.table("t").writeStream.foreachBatch(
        lambda r, _: batches.append(sorted(map(tuple, r.collect())))
    )
    query = stream.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        query.processAllAvailable()
        spark.sql("ALTER TABLE t ADD COLUMNS (n INT)")
        spark.sql("INSERT INTO t VALUES (2, 'b', 20)")
        query.processAllAvailable()
    finally:
        query.stop()
    assert batches == [[(1, "a")], [(2, "b")]]
    spark.sql("INSERT INTO t VALUES (3, 'c', 30)")
    assert follow().run() == [(3, "c", 30)]


@pytest.mark.parametrize(
    ("change", "row", "message"),
    [
        ("ALTER COLUMN k TYPE BIGINT", "(2, 'b')", "column 'k' became BIGINT instead of INT"),
        ("DROP COLUMN v", "(2)", "column 'v' was dropped"),
    ],
)
def test_what_cannot_be_followed(spark: Any, follow: Any, tmp_path: Path, change: str, row: str, message: str) -> None:
    create(spark)
    insert(spark, (1, "a"))
    query = spark.readStream.table("t").writeStream.foreachBatch(lambda r, _: r.collect())
    started = query.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        started.processAllAvailable()
        spark.sql(f"ALTER TABLE t {change}")
        spark.sql(f"INSERT INTO t VALUES {row}")
        with pytest.raises(
            PySparkException, match=f"snapshot 2 of table default.t: since the query started, {message}"
        ):
            started.processAllAvailable()
    finally:
        started.stop()
    assert [r[0] for r in follow().run()] == [2]  # the same checkpoint goes on with the new columns


def test_a_table_that_was_made_again(spark: Any, follow: Any) -> None:
    create(spark)
    insert(spark, (1, "a"))
    query = follow()
    query.run()
    spark.sql("DROP TABLE t")
    create(spark)
    insert(spark, (1, "b"))
    insert(spark, (2, "b"))
    with pytest.raises(PySparkException, match="not of table default.t as it is now.*dropped and created again"):
        query.run()


def test_another_table_and_another_branch(spark: Any, follow: Any) -> None:
    create(spark)
    insert(spark, (1, "a"))
    follow().run()
    create(spark, table="other")
    insert(spark, (1, "a"), table="other")
    spark.sql("CALL sys.create_branch(table => 't', branch => 'dev')")
    for name in ("other", "`t$branch_dev`"):
        with pytest.raises(PySparkException, match="The checkpoint belongs to "):
            follow(name).run()


def test_a_rollback(spark: Any, follow: Any) -> None:
    create(spark)
    for number in (1, 2, 3):
        insert(spark, (number, "a"))
    query = follow()
    query.run()
    spark.sql("CALL sys.rollback(table => 't', version => '1')")
    with pytest.raises(PySparkException, match="rolled back, and its latest snapshot is 1"):
        query.run()
    for number in (4, 5, 6):
        insert(spark, (number, "b"))
    with pytest.raises(
        PySparkException, match="has read snapshot 3 of table default.t, which is no longer in the table's history"
    ):
        query.run()


# -- checkpoints of Java's connector ----------------------------------------------------------------------------------


def java_checkpoint(query: Query, offset: dict[str, Any]) -> None:
    """Put an offset of Java's into the checkpoint."""
    for file in (query.checkpoint / "offsets").glob("[0-9]*"):
        lines = file.read_text(encoding="utf-8").splitlines()
        file.write_text("\n".join([*lines[:-1], json.dumps(offset)]), encoding="utf-8")
    for file in query.checkpoint.rglob(".*.crc"):
        file.unlink()


def test_a_checkpoint_of_java_goes_on_at_the_end_of_a_snapshot(spark: Any, follow: Any) -> None:
    create(spark, KEYED)
    insert(spark, *((k, "a") for k in range(10)))  # in both buckets
    query = follow()
    query.run()
    insert(spark, *((k, "b") for k in range(10)))
    insert(spark, (3, "c"))
    for offset in (
        {"snapshotId": 2, "index": 1, "scanSnapshot": False},
        {"snapshotId": 2, "index": 1, "scanSnapshot": False, "totalSplits": 2},
    ):
        java_checkpoint(query, offset)
        again = shutil.copytree(query.checkpoint, query.checkpoint.with_name(f"java{len(offset)}"))
        assert follow(name=again.name).run() == [(3, "c")]
    java_checkpoint(query, {"snapshotId": 2, "index": 0, "scanSnapshot": False})
    with pytest.raises(PySparkException, match="is at split 0 of the 2 splits of snapshot 2.*Trigger.AvailableNow"):
        query.run()


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"incremental-between": "1,2"}, "'incremental-between' is for batch queries"),
        ({"scan.watermark": "1"}, "'scan.watermark' is for batch queries"),
        ({"scan.mode": "latest-delta"}, "'scan.mode' = 'latest-delta' is for batch queries"),
        ({"scan.mode": "from-snapshot"}, "needs 'scan.snapshot-id'"),
        ({"scan.mode": "sideways"}, "one of default, latest-full"),
        ({"consumer-id": "../c"}, "consumer name '../c' cannot be a folder's name"),
        ({"consumer-id": ""}, "consumer name '' is empty"),
        ({"read.stream.maxFilesPerTrigger": "0"}, "a number of files of 1 or more"),
        ({"read.stream.maxRowsPerTrigger": "many"}, "cannot be 'many'"),
        ({"read.stream.minRowsPerTrigger": "5"}, "go together"),
        ({"scan.tag-name": "missing"}, "no tag 'missing'"),
    ],
)
def test_refused_options_of_streams(spark: Any, follow: Any, options: dict[str, str], message: str) -> None:
    create(spark)
    insert(spark, (1, "a"))
    with pytest.raises(PySparkException, match=message):
        follow(**options).run()


@pytest.mark.parametrize("option", ["read.stream.maxFilesPerTrigger", "consumer-id", "scan.bounded.watermark"])
def test_options_of_streams_in_batch_queries(spark: Any, option: str) -> None:
    create(spark)
    with pytest.raises(PySparkException, match=f"'{option}' is for streams"):
        spark.read.option(option, "1").table("t").collect()


def test_tables_without_streams(spark: Any, follow: Any, tmp_path: Path) -> None:
    create(spark)
    for name in ("t$ro", "t$files", "t$row_tracking"):
        with pytest.raises(PySparkException):
            follow(f"`{name}`", name).run()
    with pytest.raises(PySparkException, match="cannot read system table"):
        follow("`t$audit_log`", read__changelog="true").run()
    with pytest.raises(PySparkException, match="true or false"):
        spark.readStream.option("read.changelog", "maybe").table("t")
    with pytest.raises(PySparkException, match="no path"):
        spark.readStream.format("paimon").load()
    with pytest.raises(PySparkException, match="schema"):
        spark.readStream.schema("k INT").format("paimon").load(str(tmp_path))


def test_a_bounded_watermark_and_a_delay(spark: Any, follow: Any) -> None:
    create(spark)
    insert(spark, (1, "a"))
    assert follow(name="late", **{"scan.snapshot-id": "1", "streaming.read.snapshot.delay": "1 h"}).run() == []
    assert follow(**{"scan.snapshot-id": "1", "scan.bounded.watermark": "0"}).run() == [(1, "a")]


@since(4, 1, "FROM STREAM t is a table called STREAM before")
def test_a_stream_in_sql(spark: Any, tmp_path: Path) -> None:
    create(spark)
    insert(spark, (1, "a"))
    query = Query(tmp_path / "at", lambda: spark.sql("SELECT k FROM STREAM t"))
    assert query.run() == [(1,)]
    insert(spark, (2, "b"))
    assert query.run() == [(2,)]
