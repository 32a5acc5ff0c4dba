"""Tables as sinks of streaming queries: every kind of table, output mode and trigger; each epoch once."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.base import (
    IllegalArgumentException,
    PySparkException,
    StreamingQueryException,
    UnsupportedOperationException,
)

from paimon_core.io.local import LocalFileIO
from paimon_core.store.schemas import latest_schema
from paimon_core.store.streams import last_stream_commit, stream_users
from paimon_core.store.table_store import TableStore
from tests.support.waiting import wait_until

pytestmark = pytest.mark.spark

KINDS = {
    "append": ("k INT, v INT", ""),
    "append-buckets": ("k INT, v INT", "'bucket' = '2', 'bucket-key' = 'k'"),
    "deduplicate": ("k INT NOT NULL, v INT, PRIMARY KEY (k) NOT ENFORCED", "'bucket' = '2'"),
    "aggregation": (
        "k INT NOT NULL, v INT, PRIMARY KEY (k) NOT ENFORCED",
        "'bucket' = '1', 'merge-engine' = 'aggregation', 'fields.v.aggregate-function' = 'sum'",
    ),
    "partial-update": (
        "k INT NOT NULL, v INT, PRIMARY KEY (k) NOT ENFORCED",
        "'bucket' = '1', 'merge-engine' = 'partial-update'",
    ),
    "first-row": (
        "k INT NOT NULL, v INT, PRIMARY KEY (k) NOT ENFORCED",
        "'bucket' = '1', 'merge-engine' = 'first-row'",
    ),
    "dynamic": ("k INT NOT NULL, v INT, PRIMARY KEY (k) NOT ENFORCED", "'bucket' = '-1'"),
    "postponed": ("k INT NOT NULL, v INT, PRIMARY KEY (k) NOT ENFORCED", "'bucket' = '-2'"),
    "postponed-sum": (
        "k INT NOT NULL, v INT, PRIMARY KEY (k) NOT ENFORCED",
        "'bucket' = '-2', 'merge-engine' = 'aggregation', 'fields.v.aggregate-function' = 'sum'",
    ),
    "vectors": (
        "k INT NOT NULL, v INT, PRIMARY KEY (k) NOT ENFORCED",
        "'bucket' = '1', 'deletion-vectors.enabled' = 'true'",
    ),
    "lookup": (
        "k INT NOT NULL, v INT, PRIMARY KEY (k) NOT ENFORCED",
        "'bucket' = '1', 'changelog-producer' = 'lookup'",
    ),
}
SUMS = ("aggregation", "postponed-sum")


@dataclass
class Stream:
    """A folder of JSON files, each an epoch, as a stream into a table."""

    spark: Any
    folder: Path
    schema: str = "k INT, v INT"
    options: dict[str, str] = field(default_factory=dict)
    count: int = 0

    def feed(self, *rows: dict[str, Any]) -> None:
        source = self.folder / "source"
        source.mkdir(parents=True, exist_ok=True)
        self.count += 1
        hidden = source / f"_{self.count}"
        hidden.write_text("\n".join(json.dumps(r) for r in rows))
        os.utime(hidden, (self.count, self.count))  # Spark reads the oldest first, and clocks of disks are coarse
        hidden.rename(source / f"{self.count:05}.json")

    def pairs(self, *rows: tuple[int, int]) -> None:
        self.feed(*({"k": k, "v": v} for k, v in rows))

    @property
    def rows(self) -> Any:
        reader = self.spark.readStream.schema(self.schema).option("maxFilesPerTrigger", "1")
        return reader.json(str(self.folder / "source"))

    def writer(self, rows: Any = None, checkpoint: str = "checkpoint") -> Any:
        found = (self.rows if rows is None else rows).writeStream
        found = found.option("checkpointLocation", str(self.folder / checkpoint)).options(**self.options)
        return found.trigger(availableNow=True)

    def run(self, table: str = "t", rows: Any = None, mode: str = "append", checkpoint: str = "checkpoint") -> Any:
        """Write what is new, and wait for it."""
        query = self.writer(rows, checkpoint).outputMode(mode).toTable(table)
        query.awaitTermination()
        return query

    def lose(self, epoch: int, checkpoint: str = "checkpoint") -> None:
        """What a driver leaves that dies before Spark has noted an epoch down."""
        commits = self.folder / checkpoint / "commits"
        (commits / str(epoch)).unlink()
        (commits / f".{epoch}.crc").unlink(missing_ok=True)


@pytest.fixture
def stream(spark: Any, tmp_path: Path) -> Stream:
    (tmp_path / "source").mkdir()
    return Stream(spark, tmp_path)


def create(spark: Any, kind: str, name: str = "t") -> None:
    columns, options = KINDS[kind]
    spark.sql(f"CREATE TABLE {name} ({columns})" + (f" TBLPROPERTIES ({options})" if options else ""))


def content(spark: Any, table: str = "t") -> list[tuple[Any, ...]]:
    return sorted(tuple(r) for r in spark.table(table).collect())


def epochs(spark: Any, user: str, table: str = "t") -> list[int]:
    """The commit identifiers of rows of a user."""
    found = spark.sql(f"SELECT commit_user, commit_identifier, commit_kind FROM `{table}$snapshots`").collect()
    return [r[1] for r in found if r[0] == user and r[2] != "COMPACT"]


def store_of(warehouse: str, table: str = "t") -> TableStore:
    path = f"{warehouse}/default.db/{table}"
    schema = latest_schema(LocalFileIO(), path)
    assert schema is not None
    return TableStore.of(LocalFileIO(), path, schema)


def data_files(warehouse: str, table: str = "t") -> set[str]:
    return {p.name for p in Path(f"{warehouse}/default.db/{table}").rglob("bucket-*/*")}


# -- each epoch once --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_an_epoch_that_comes_again_is_committed_once(spark: Any, warehouse: str, stream: Stream, kind: str) -> None:
    create(spark, kind)
    stream.pairs((1, 10), (2, 20))
    stream.pairs((2, 5), (3, 30))
    query = stream.run()
    before, files = content(spark), data_files(warehouse)
    assert {r[0] for r in before} == {1, 2, 3}
    if kind in SUMS:
        assert (2, 25) in before
    if kind.startswith("append"):
        assert before == [(1, 10), (2, 5), (2, 20), (3, 30)]
    assert epochs(spark, query.id) == [0, 1]
    stream.lose(1)
    again = stream.run()
    assert (again.id, content(spark), data_files(warehouse)) == (query.id, before, files)
    assert epochs(spark, query.id) == [0, 1]
    stream.pairs((4, 40))
    stream.run()
    assert content(spark) == sorted([*before, (4, 40)]) and epochs(spark, query.id) == [0, 1, 2]


def test_epochs_are_remembered_when_their_snapshots_have_expired(spark: Any, warehouse: str, stream: Stream) -> None:
    create(spark, "aggregation")
    stream.pairs((1, 10))
    query = stream.run()
    for value in range(3):
        spark.sql(f"INSERT INTO t VALUES (9, {value})")
    spark.sql("CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1)")
    assert epochs(spark, query.id) == []
    stream.lose(0)
    stream.pairs((1, 1))
    stream.run()
    assert content(spark) == [(1, 11), (9, 3)] and epochs(spark, query.id) == [1]
    assert stream_users(store_of(warehouse)) == [query.id]


def test_a_new_checkpoint_is_a_new_stream(spark: Any, stream: Stream) -> None:
    create(spark, "aggregation")
    stream.pairs((1, 10))
    first = stream.run()
    second = stream.run(checkpoint="another")
    assert first.id != second.id and content(spark) == [(1, 20)]


def test_names_of_commit_users(spark: Any, stream: Stream) -> None:
    spark.sql("CREATE TABLE t (k INT, v INT) TBLPROPERTIES ('commit.user-prefix' = 'team/a')")
    stream.pairs((1, 10))
    query = stream.run()
    assert epochs(spark, f"team/a_{query.id}") == [0]
    stream.options["write.stream.commit-user"] = "orders"
    stream.run(checkpoint="second")
    stream.run(checkpoint="third")  # the same user: the same stream
    assert epochs(spark, "orders") == [0] and content(spark) == [(1, 10)] * 2


def test_two_queries_of_one_stream_at_once(spark: Any, stream: Stream) -> None:
    create(spark, "append")
    stream.options["write.stream.commit-user"] = "orders"
    for number in range(4):
        stream.pairs((number, number))
    queries = [stream.writer(checkpoint=c).toTable("t") for c in ("first", "second")]
    for query in queries:
        query.awaitTermination()
    assert content(spark) == [(n, n) for n in range(4)]
    assert epochs(spark, "orders") == list(range(4))


def test_two_streams_into_one_table(spark: Any, stream: Stream) -> None:
    create(spark, "dynamic")
    for number in range(3):
        stream.pairs((number, number), (number + 10, number))
    queries = [stream.writer(checkpoint=c).toTable("t") for c in ("first", "second")]
    for query in queries:
        query.awaitTermination()
    assert content(spark) == sorted((n + d, n) for n in range(3) for d in (0, 10))
    assert [epochs(spark, q.id) for q in queries] == [[0, 1, 2]] * 2


def test_a_table_that_was_made_again_beneath_a_stream_is_refused(spark: Any, stream: Stream) -> None:
    create(spark, "append")
    stream.pairs((1, 10))
    stream.run()
    spark.sql("DROP TABLE t")
    create(spark, "append")
    stream.pairs((2, 20))
    with pytest.raises(StreamingQueryException, match=r"neither snapshots of its stream.*new checkpoint"):
        stream.run()
    assert content(spark) == []
    stream.options["write.stream.unknown-epoch"] = "commit"
    stream.run()
    assert content(spark) == [(2, 20)]


def test_a_table_that_was_made_again_while_the_query_runs_is_refused(spark: Any, stream: Stream) -> None:
    create(spark, "append")
    stream.pairs((1, 10))
    query = stream.writer().trigger(processingTime="0 seconds").toTable("t")
    query.processAllAvailable()
    spark.sql("DROP TABLE t")
    create(spark, "append")
    stream.pairs((2, 20))
    with pytest.raises(StreamingQueryException, match="was dropped"):
        query.processAllAvailable()
    query.stop()
    assert content(spark) == []


def test_rows_that_fail_leave_nothing(spark: Any, warehouse: str, stream: Stream) -> None:
    create(spark, "deduplicate")
    stream.pairs((1, 10))
    stream.run()
    files = data_files(warehouse)
    stream.feed({"k": None, "v": 1}, {"k": 2, "v": 2})
    with pytest.raises(StreamingQueryException, match="(?i)null"):
        stream.run()
    assert content(spark) == [(1, 10)] and data_files(warehouse) == files


# -- output modes -----------------------------------------------------------------------------------------------------


def counted(stream: Stream) -> Any:
    return stream.rows.groupBy("k").agg({"v": "sum"}).toDF("k", "v")


@pytest.mark.parametrize("kind", ["append", "deduplicate", "dynamic", "postponed"])
def test_complete_replaces_the_rows(spark: Any, stream: Stream, kind: str) -> None:
    create(spark, kind)
    stream.pairs((1, 10), (2, 20))
    stream.pairs((1, 1))
    query = stream.run(rows=counted(stream), mode="complete")
    assert content(spark) == [(1, 11), (2, 20)] and epochs(spark, query.id) == [0, 1]
    spark.sql("INSERT INTO t VALUES (7, 70)")
    stream.lose(1)
    stream.run(rows=counted(stream), mode="complete")
    assert content(spark) == [(1, 11), (2, 20), (7, 70)], "it was replaced before, and is not again"
    stream.pairs((2, 2))
    stream.run(rows=counted(stream), mode="complete")
    assert content(spark) == [(1, 11), (2, 22)]


@pytest.mark.parametrize("kind", ["deduplicate", "dynamic", "postponed"])
def test_update_replaces_rows_by_key(spark: Any, stream: Stream, kind: str) -> None:
    create(spark, kind)
    stream.pairs((1, 10), (2, 20))
    stream.pairs((1, 1))
    stream.run(rows=counted(stream), mode="update")
    assert content(spark) == [(1, 11), (2, 20)]


def test_update_needs_a_key(spark: Any, stream: Stream) -> None:
    create(spark, "append")
    with pytest.raises(UnsupportedOperationException, match="output mode 'update' needs a primary key"):
        stream.run(rows=counted(stream), mode="update")


# -- columns ----------------------------------------------------------------------------------------------------------


def test_columns_go_by_name_and_are_cast(spark: Any, stream: Stream) -> None:
    spark.sql("CREATE TABLE t (k INT, v STRING, s STRUCT<a: INT, b: BIGINT>, c CHAR(3), d INT DEFAULT 7, e DATE)")
    stream.schema = "E STRING, s STRUCT<b: INT, a: STRING>, v INT, k STRING, c STRING"
    stream.feed({"E": "2024-02-03", "s": {"b": 2, "a": "1"}, "v": 5, "k": "4", "c": "x"})
    stream.run()
    (row,) = spark.table("t").collect()
    assert (row.k, row.v, tuple(row.s), row.c, row.d, str(row.e)) == (4, "5", (1, 2), "x  ", 7, "2024-02-03")


def test_columns_that_do_not_fit_are_refused_before_the_query_starts(spark: Any, stream: Stream) -> None:
    spark.sql("CREATE TABLE t (k INT NOT NULL, v INT)")
    for schema in ("k INT, v INT, more INT", "v INT", "k INT, v STRUCT<a: INT>"):
        stream.schema = schema
        with pytest.raises(AnalysisException):
            stream.run()
    assert not (stream.folder / "checkpoint").exists() and content(spark) == []


def test_a_stream_brings_columns(spark: Any, stream: Stream) -> None:
    create(spark, "deduplicate")
    stream.pairs((1, 10))
    stream.run()
    stream.schema = "k INT, v BIGINT, more STRING"
    stream.options |= {"write.merge-schema": "true", "write.merge-schema.type-widening": "true"}
    stream.feed({"k": 2, "v": 2**40, "more": "x"})
    query = stream.run()
    assert content(spark) == [(1, 10, None), (2, 2**40, "x")] and epochs(spark, query.id) == [0, 1]


def test_columns_that_are_added_while_a_query_runs(spark: Any, stream: Stream) -> None:
    create(spark, "append")
    stream.pairs((1, 10))
    query = stream.writer().trigger(processingTime="0 seconds").toTable("t")
    query.processAllAvailable()
    spark.sql("ALTER TABLE t ADD COLUMN more INT")
    spark.sql("ALTER TABLE t SET TBLPROPERTIES ('target-file-size' = '1 mb')")
    stream.pairs((2, 20))
    query.processAllAvailable()
    query.stop()
    assert spark.sql("SELECT * FROM t ORDER BY k").collect() == [(1, 10, None), (2, 20, None)]


def test_rescaled_while_a_query_runs(spark: Any, stream: Stream) -> None:
    create(spark, "deduplicate")
    stream.pairs((1, 10))
    query = stream.writer().trigger(processingTime="0 seconds").toTable("t")
    query.processAllAvailable()
    spark.sql("ALTER TABLE t SET TBLPROPERTIES ('bucket' = '4')")
    spark.sql("CALL sys.rescale(table => 't', bucket_num => 4)")
    stream.pairs((1, 11), (2, 20))
    query.processAllAvailable()
    query.stop()
    assert content(spark) == [(1, 11), (2, 20)]


# -- where to ---------------------------------------------------------------------------------------------------------


def test_paths(spark: Any, warehouse: str, stream: Stream) -> None:
    create(spark, "append")
    stream.pairs((1, 10))
    path = f"{warehouse}/default.db/t"
    query = stream.writer().format("paimon").start(path)
    query.awaitTermination()
    stream.pairs((2, 20))
    stream.writer().option("path", path).start(format="paimon", outputMode="append", queryName="q").awaitTermination()
    located = {"catalog": "paimon", "database": "default", "table": "t"}
    stream.pairs((3, 30))
    stream.writer().format("paimon").options(**located).start().awaitTermination()
    assert content(spark) == [(1, 10), (2, 20), (3, 30)] and epochs(spark, query.id) == [0, 1, 2]
    with pytest.raises(IllegalArgumentException, match="one table at one path, not no path"):
        stream.writer().format("paimon").start()


def test_a_table_that_is_not_there_is_created(spark: Any, stream: Stream) -> None:
    stream.pairs((1, 10), (2, 20))
    stream.writer().partitionBy("v").toTable("made", format="paimon").awaitTermination()
    assert content(spark, "made") == [(1, 10), (2, 20)]
    assert [r[0] for r in spark.sql("SHOW PARTITIONS made").collect()] == ["v=10", "v=20"]
    stream.writer(checkpoint="second").toTable("made2").awaitTermination()
    assert content(spark, "made2") == [(1, 10), (2, 20)]


def test_partitions_and_branches(spark: Any, stream: Stream) -> None:
    spark.sql(
        "CREATE TABLE t (k INT NOT NULL, v INT NOT NULL, PRIMARY KEY (k, v) NOT ENFORCED) PARTITIONED BY (v)"
        " TBLPROPERTIES ('bucket' = '1')"
    )
    spark.sql("INSERT INTO t VALUES (0, 0)")
    spark.sql("CALL sys.create_branch('t', 'b')")
    stream.pairs((1, 10), (1, 20))
    query = stream.run("`t$branch_b`")
    assert content(spark, "`t$branch_b`") == [(1, 10), (1, 20)] and content(spark) == [(0, 0)]
    assert epochs(spark, query.id, "t$branch_b") == [0]
    stream.lose(0)
    stream.run("`t$branch_b`")
    assert epochs(spark, query.id, "t$branch_b") == [0]


def test_what_no_stream_can_write_to(spark: Any, stream: Stream) -> None:
    create(spark, "append")
    spark.sql("CREATE TABLE f (k INT, v INT) USING csv TBLPROPERTIES ('type' = 'format-table')")
    spark.sql("CREATE TABLE u (k INT, v INT) TBLPROPERTIES ('upsert-key' = 'k')")
    wrong: Sequence[tuple[Callable[[], Any], str]] = (
        (lambda: stream.run("`t$snapshots`"), "is a system table"),
        (lambda: stream.run("`t$audit_log`"), "is a system table"),
        (lambda: stream.run("f"), "format table, a folder of files without snapshots"),
        (lambda: stream.run("u"), "'upsert-key'"),
        (lambda: stream.writer().option("branch", "b").toTable("t"), "by its name, `t.branch_NAME`"),
        (lambda: stream.writer().format("csv").toTable("new"), r"leave format\('csv'\) out"),
        (lambda: stream.writer().format("paimon").toTable("spark_catalog.default.t"), "not in a Paimon catalog"),
    )
    for act, message in wrong:
        with pytest.raises(UnsupportedOperationException, match=message):
            act()


@pytest.mark.parametrize(
    "key", ["scan.snapshot-id", "scan.mode", "incremental-between", "read.stream.maxFilesPerTrigger", "consumer-id"]
)
def test_options_of_reads_are_refused(spark: Any, stream: Stream, key: str) -> None:
    create(spark, "append")
    with pytest.raises(PySparkException, match=rf"{key} cannot be set on a stream"):
        stream.writer().option(key, "1").toTable("t")
    with pytest.raises(PySparkException, match="each epoch of a stream into t has its own"):
        stream.writer().option("commit.identifier", "1").toTable("t")


def test_other_sinks_are_sparks(spark: Any, stream: Stream) -> None:
    stream.pairs((1, 10))
    stream.writer().format("memory").queryName("m").trigger(availableNow=True).start().awaitTermination()
    assert content(spark, "m") == [(1, 10)]


# -- compaction -------------------------------------------------------------------------------------------------------


def level_0(spark: Any) -> int:
    return int(spark.sql("SELECT count(*) FROM `t$files` WHERE level = 0").collect()[0][0])


def test_compaction_keeps_pace(spark: Any, stream: Stream) -> None:
    spark.sql(
        "CREATE TABLE t (k INT NOT NULL, v INT, PRIMARY KEY (k) NOT ENFORCED) TBLPROPERTIES ('bucket' = '1',"
        " 'num-sorted-run.compaction-trigger' = '3', 'num-sorted-run.stop-trigger' = '4')"
    )
    for number in range(12):
        stream.pairs((number % 3, number), (100 + number, number))
    query = stream.run()
    assert epochs(spark, query.id) == list(range(12))
    # compactions behind a stream come later
    wait_until(lambda: level_0(spark) < 3, lambda: level_0(spark))
    kinds = [r[0] for r in spark.sql("SELECT commit_kind FROM `t$snapshots`").collect()]
    assert kinds.count("COMPACT") >= 2
    assert content(spark) == sorted([(n % 3, n) for n in (9, 10, 11)] + [(100 + n, n) for n in range(12)])


def test_tables_that_only_have_a_writer_are_left(spark: Any, stream: Stream) -> None:
    spark.sql(
        "CREATE TABLE t (k INT NOT NULL, v INT, PRIMARY KEY (k) NOT ENFORCED) TBLPROPERTIES ('bucket' = '1',"
        " 'num-sorted-run.compaction-trigger' = '2', 'write-only' = 'true')"
    )
    for number in range(4):
        stream.pairs((number, number))
    stream.run()
    assert level_0(spark) == 4


# -- foreachBatch -----------------------------------------------------------------------------------------------------


def each_batch(stream: Stream, act: Callable[[Any, int], object]) -> None:
    stream.writer().foreachBatch(act).start().awaitTermination()


def test_foreach_batch_with_an_identifier(spark: Any, warehouse: str, stream: Stream) -> None:
    create(spark, "aggregation", "by_append")
    create(spark, "append", "by_save")
    create(spark, "append", "by_overwrite")

    def act(rows: Any, batch: int) -> None:
        once = {"write.stream.commit-user": "orders", "commit.identifier": str(batch)}
        rows.writeTo("paimon.default.by_append").options(**once).append()
        rows.write.options(**once).mode("append").saveAsTable("paimon.default.by_save")
        rows.write.options(**once).mode("overwrite").insertInto("paimon.default.by_overwrite")

    stream.pairs((1, 10))
    stream.pairs((1, 1))
    each_batch(stream, act)
    spark.sql("INSERT INTO by_overwrite VALUES (7, 70)")
    stream.lose(1)
    files = data_files(warehouse, "by_save")
    each_batch(stream, act)
    assert content(spark, "by_append") == [(1, 11)]
    assert content(spark, "by_save") == [(1, 1), (1, 10)] and data_files(warehouse, "by_save") == files
    assert content(spark, "by_overwrite") == [(1, 1), (7, 70)]
    assert epochs(spark, "orders", "by_append") == [0, 1]
    record = last_stream_commit(store_of(warehouse, "by_append"), "orders")
    assert record is not None and record.identifier == 1


@pytest.mark.parametrize("kind", ["aggregation", "append"])
def test_foreach_batch_with_merge(spark: Any, stream: Stream, kind: str) -> None:
    create(spark, "append" if kind == "append" else "deduplicate")

    def act(rows: Any, batch: int) -> None:
        session = rows.sparkSession
        session.conf.set("spark.paimon.write.stream.commit-user", "orders")
        session.conf.set("spark.paimon.commit.identifier", str(batch))
        rows.createOrReplaceTempView("new_rows")
        session.sql(
            "MERGE INTO paimon.default.t AS t USING new_rows s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = t.v + s.v"
            " WHEN NOT MATCHED THEN INSERT *"
        )

    stream.pairs((1, 10))
    stream.pairs((1, 1), (2, 2))
    each_batch(stream, act)
    assert content(spark) == [(1, 11), (2, 2)]
    stream.lose(1)
    each_batch(stream, act)
    assert content(spark) == [(1, 11), (2, 2)] and epochs(spark, "orders") == [0, 1]


def test_an_identifier_needs_a_user(spark: Any) -> None:
    create(spark, "append")
    rows = spark.createDataFrame([(1, 10)], "k INT, v INT")
    for given in ({"commit.identifier": "3"}, {"commit.identifier": "-3", "write.stream.commit-user": "u"}):
        with pytest.raises(PySparkException, match=r"must be a number from 0 on.*write\.stream\.commit-user"):
            rows.writeTo("t").options(**given).append()
    assert content(spark) == []
