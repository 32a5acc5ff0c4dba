"""Postponed buckets against a dictionary: rows get their buckets later, and the last one of a key wins."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import CommitConflictError, CorruptFileError, InvalidDataError, InvalidOptionError
from paimon_core.expressions.predicate import And, Compare
from paimon_core.jobs import Executor, Job, ResultT, TaskT
from paimon_core.lsm.strategy import Strategy
from paimon_core.row_level.writer import open_changes_writer
from paimon_core.scan.changes.increment import Increment, IncrementMode
from paimon_core.scan.derived_tables import DerivedTable
from paimon_core.scan.limits import Order, first_rows, sample_of_files, top_rows
from paimon_core.scan.plan import Plan
from paimon_core.scan.read import read_split
from paimon_core.scan.streams.history import History
from paimon_core.scan.streams.java_offsets import taken_over
from paimon_core.scan.streams.position import Position
from paimon_core.spec.message import BucketState, CommitMessage
from paimon_core.spec.snapshot import CommitKind, Snapshot
from paimon_core.spec.split import DATA_SPLIT
from paimon_core.spec.types import INT, STRING, Kind, TimeType
from paimon_core.store.data.postponed_files import arrival_order
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter
from paimon_core.table import Table
from paimon_core.write.bucket_moves import BucketMoves, bucket_numbers
from paimon_core.write.buckets.postponed import PostponedWriter
from paimon_core.write.routing import ROUTE
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.load import load_catalog
from tests.support.examples import examples
from tests.support.executors import TextExecutor
from tests.support.stored import T, open_table
from tests.support.tables import fields

Row = tuple[int, int, str]
_NAME = re.compile(r"data--u-[0-9a-f-]{36}-s-[0-9]+-w-[0-9a-f-]{36}-[0-9]+\.avro")


def postponed_table(root: Path, **more: str) -> Table:
    options = {"primary-key": "p,k", "partition": "p", "bucket": "-2", "postpone.default-bucket-num": "3", **more}
    schema = new_table_schema(fields(p=INT, k=INT, v=STRING), options=options)
    load_catalog({"warehouse": str(root)}).create_table(T, schema)
    return open_table(str(root))


class Here(TextExecutor):
    def run(self, job: Job[TaskT, ResultT]) -> list[ResultT]:
        assert job.size is not None and (job.size > 0) == bool(job.tasks)
        return super().run(job)


def moves(table: Table, executor: Executor | None = None) -> BucketMoves:
    return table.bucket_moves(executor or Here(), "move rows")


def batch_of(rows: Sequence[Row], kinds: Sequence[int] | None = None) -> pa.RecordBatch:
    p, k, v = zip(*rows, strict=True)
    arrays = [pa.array(p, pa.int32()), pa.array(k, pa.int32()), pa.array(v), pa.array(kinds or [0] * len(p), pa.int8())]
    return pa.record_batch(arrays, names=["p", "k", "v", "_VALUE_KIND"])


def write(table: Table, rows: Sequence[Row], kinds: Sequence[int] | None = None) -> list[CommitMessage]:
    writer = open_writer(table.store, sequence_start=table.max_sequence_number() + 1)
    for start in range(0, len(rows), 4):
        writer.write(batch_of(rows[start : start + 4], None if kinds is None else kinds[start : start + 4]))
    return writer.finish()


def commit(table: Table, messages: Sequence[CommitMessage], overwrite: Overwrite | None = None) -> Snapshot | None:
    return table.commit(messages, CommitInfo(user="tester"), overwrite)


def insert(table: Table, rows: Sequence[Row], overwrite: Overwrite | None = None) -> Snapshot | None:
    """As a statement does it."""
    staged = write(table, rows)
    made = commit(table, moves(table).assign(staged, overwrites=overwrite is not None), overwrite)
    table.abort(staged)
    return made


def compact(table: Table, strategy: Strategy = Strategy.MINOR) -> Snapshot | None:
    everything = PartitionFilter(table.schema.partition_fields)
    return commit(table, moves(table).compact(everything, strategy))


def rescale(table: Table, buckets: int) -> Snapshot | None:
    everything = PartitionFilter(table.schema.partition_fields)
    return commit(table, moves(table).rescale(everything, buckets))


def read(table: Table, version: Snapshot | Increment | None = None) -> list[Any]:
    splits = table.plan(version or table.latest_snapshot()).splits
    batches = [b for s in splits for b in read_split(table.store, s, ["p", "k", "v"])]
    return sorted(tuple(r.values()) for b in batches for r in b.to_pylist())


def layout(table: Table) -> set[tuple[int, int]]:
    """The buckets with files, and of how many each is."""
    return {(e.bucket, e.total_buckets) for e in live_files(table.store, table.latest_snapshot()).values()}


def data_files(root: Path) -> set[str]:
    return {p.name for p in root.rglob("*") if p.suffix in (".avro", ".parquet")}


steps = st.one_of(
    st.tuples(
        st.sampled_from(["postpone", "insert", "overwrite"]),
        st.lists(st.tuples(st.integers(0, 1), st.integers(0, 9)), min_size=1, max_size=9),
    ),
    st.tuples(st.sampled_from(["compact", "full"]), st.just([])),
    st.tuples(st.just("rescale"), st.integers(1, 4).map(lambda n: [(n, n)])),
)


@settings(max_examples=examples(10), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, max_size=9), st.sampled_from(["1 b", "128 mb"]), st.sampled_from(["none", "lookup"]))
def test_any_history_against_a_model(
    tmp_path_factory: pytest.TempPathFactory, history: list[Any], split: str, producer: str
) -> None:
    root = tmp_path_factory.mktemp("postponed")
    table = postponed_table(root, **{"source.split.target-size": split, "changelog-producer": producer})
    seen: dict[tuple[int, int], str] = {}
    postponed: dict[tuple[int, int], str] = {}
    for number, (what, keys) in enumerate(history):
        rows = [(p, k, f"v{number}.{i}") for i, (p, k) in enumerate(keys)]
        new = {(p, k): v for p, k, v in rows}
        if what == "postpone":
            commit(table, write(table, rows))
            postponed |= new
        elif what == "insert":
            insert(table, rows)
            seen |= new
        elif what == "overwrite":
            insert(table, rows, Overwrite(dynamic=True))
            replaced = {p for p, _ in new}
            seen = {key: v for key, v in seen.items() if key[0] not in replaced} | new
            postponed = {key: v for key, v in postponed.items() if key[0] not in replaced}
        elif what == "rescale":
            rescale(table, keys[0][0])
        else:
            compact(table, Strategy.FULL if what == "full" else Strategy.MINOR)
            seen, postponed = seen | postponed, {}
        assert read(table) == sorted((p, k, v) for (p, k), v in seen.items())
        eager = table.with_options({"postpone.merge-on-read": "true"})
        assert read(eager) == sorted((p, k, v) for (p, k), v in (seen | postponed).items())
    live = {e.file.file_name for e in live_files(table.store, table.latest_snapshot()).values()}
    assert live <= data_files(root)


def test_rows_wait_in_files_of_their_writer(tmp_path: Path) -> None:
    table = postponed_table(tmp_path, **{"file.format": "orc"})
    commit(table, write(table, [(1, 5, "a"), (1, 2, "b"), (1, 5, "c")]))
    assert (read(table), layout(table)) == ([], {(-2, -2)})
    (file,) = [e.file for e in live_files(table.store, table.latest_snapshot()).values()]
    assert _NAME.fullmatch(file.file_name) and (tmp_path / "default.db/t/p=1/bucket-postpone" / file.file_name).exists()
    assert (file.row_count, file.level, file.value_stats_cols) == (3, 0, ())
    assert compact(table) is not None
    assert read(table) == [(1, 2, "b"), (1, 5, "c")]
    assert compact(table) is None


def test_rows_that_wait_are_merged_by_readers_that_want_them(tmp_path: Path) -> None:
    sums = {"merge-engine": "aggregation", "fields.v.aggregate-function": "listagg", "postpone.merge-on-read": "true"}
    table = postponed_table(tmp_path, **sums)
    insert(table, [(1, k, "a") for k in range(5)])
    compact(table, Strategy.FULL)
    commit(table, write(table, [(1, 3, "b"), (1, 7, "c"), (1, 3, "d"), (2, 3, "e")]))
    only = [Compare("k", ">", 2), Compare("v", "=", "a,b,d")]
    assert read(table)[3:] == [(1, 3, "a,b,d"), (1, 4, "a"), (1, 7, "c"), (2, 3, "e")]
    plan = table.plan(table.latest_snapshot(), And(tuple(only)))
    assert [s.needs_merge for s in plan.splits] == [True, True] and plan.row_count is None
    (first, _) = sorted(plan.splits, key=lambda s: len(s.files), reverse=True)
    travelled = DATA_SPLIT.decode(DATA_SPLIT.encode(first))
    (batch,) = read_split(table.store, travelled, ["v", "k"], And(tuple(only)))
    assert batch.to_pylist() == [{"v": "a,b,d", "k": 3}]
    optimized = table.plan(table.latest_snapshot(), derived=DerivedTable.READ_OPTIMIZED)
    assert optimized.row_count == 5


def test_parts_of_the_rows_include_postponed_rows(tmp_path: Path) -> None:
    """A LIMIT, the first rows in an order and a sample, where a partition has only rows that wait for a bucket."""
    table = postponed_table(tmp_path, **{"postpone.merge-on-read": "true"})
    insert(table, [(2, k, "a") for k in range(5)])
    commit(table, write(table, [(1, 3, "new"), (1, 4, "new")]))
    plan = table.plan(table.latest_snapshot())

    def rows(part: Plan) -> list[Row]:
        batches = [b for s in part.splits for b in read_split(table.store, s, ["p", "k", "v"])]
        return sorted(tuple(r.values()) for b in batches for r in b.to_pylist())

    everything = read(table)
    assert len(everything) == 7
    assert rows(sample_of_files(table.store, plan, 0, 1, 1)) == everything
    for count in range(1, 9):
        assert len(rows(first_rows(table.store, plan, count))) >= min(count, 7)
        for column, descending in ((0, False), (0, True), (1, False), (1, True)):
            top = rows(top_rows(table.store, plan, Order("pk"[column], descending), count))
            found, wanted = (sorted((r[column] for r in s), reverse=descending)[:count] for s in (top, everything))
            assert found == wanted


def test_checkpoints_of_java_count_splits_of_only_postponed_rows(tmp_path: Path) -> None:
    table = postponed_table(tmp_path, **{"postpone.merge-on-read": "true"})
    insert(table, [(2, 1, "a")])
    snapshot = commit(table, write(table, [(1, 3, "new")]))
    assert snapshot is not None
    found = taken_over(History(table.store), Position(snapshot.id, 1, scan=True))
    assert (found.total, found.is_complete) == (2, True)


def test_columns_that_avro_cannot_hold_wait_in_the_format_of_the_table(tmp_path: Path) -> None:
    nanos = TimeType(Kind.TIMESTAMP, True, 9)
    schema = new_table_schema(fields(k=INT, t=nanos), options={"primary-key": "k", "bucket": "-2"})
    load_catalog({"warehouse": str(tmp_path)}).create_table(T, schema)
    table = open_table(str(tmp_path))
    writer = open_writer(table.store, sequence_start=0)
    moments = pa.array([1], pa.int64()).cast(pa.timestamp("ns"))
    writer.write(pa.record_batch([pa.array([1], pa.int32()), moments], names=["k", "t"]))
    (message,) = writer.finish()
    assert message.new_files[0].file_name.endswith(".parquet")


def test_a_statement_leaves_only_files_with_buckets(tmp_path: Path) -> None:
    table = postponed_table(tmp_path)
    made = insert(table, [(1, k, "a") for k in range(20)])
    assert made is not None and made.commit_kind is CommitKind.APPEND
    assert layout(table) == {(0, 3), (1, 3), (2, 3)}
    assert not [n for n in data_files(tmp_path) if n.endswith(".avro")]


def test_rows_that_wait_already_count_for_the_buckets_of_a_partition(tmp_path: Path) -> None:
    table = postponed_table(tmp_path)
    commit(table, write(table, [(1, k, "a") for k in range(30)]))
    values = {k: v for k, v in table.store.options.values.items() if k != "postpone.default-bucket-num"}
    options = replace(table.store.options, values=values | {"postpone.target-row-num-per-bucket": "20"})
    insert(Table(replace(table.store, options=options)), [(p, 100 + k, "a") for k in range(10) for p in (1, 2)])
    live = live_files(table.store, table.latest_snapshot()).values()
    assert {(table.store.partition_spec(e.partition)["p"], e.total_buckets) for e in live} == {
        ("1", -2),
        ("1", 2),
        ("2", 1),
    }


def test_compactions_tell_the_changelog(tmp_path: Path) -> None:
    published = {"lookup": [(1, 1, "a")], "input": [(1, 1, "a")], "full-compaction": [(1, 1, "a")]}
    for producer, expected in published.items():
        table = postponed_table(tmp_path / producer, **{"changelog-producer": producer})
        commit(table, write(table, [(1, 1, "a")]))
        made = compact(table, Strategy.FULL)
        assert made is not None and made.commit_kind is CommitKind.COMPACT
        changes = Increment(mode=IncrementMode.CHANGELOG, end=made, snapshots=(made,))
        assert read(table, changes) == expected, producer
        rescaled = rescale(table, 2)
        assert rescaled is not None and rescaled.changelog_record_count is None
        assert layout(table) <= {(0, 2), (1, 2)}


def test_the_number_of_buckets_of_a_new_partition(tmp_path: Path) -> None:
    table = postponed_table(tmp_path)
    (message,) = write(table, [(1, k, "a") for k in range(50)])
    postponed = BucketState(*message.key, message.total_buckets, message.new_files)

    def number(known: int | None = None, *, batch: bool = False, **more: str) -> int:
        options = {k: v for k, v in table.store.options.values.items() if k != "postpone.default-bucket-num"}
        store = replace(table.store, options=replace(table.store.options, values=options))
        store = store.with_options({f"postpone.{k.replace('_', '-')}": v for k, v in more.items()})
        partition = postponed.partition
        return bucket_numbers(store, {} if known is None else {partition: known}, [postponed], batch=batch)[partition]

    size = postponed.size
    assert (number(), number(5), number(default_bucket_num="7"), number(5, default_bucket_num="7")) == (1, 5, 7, 5)
    assert number(target_row_num_per_bucket="20") == 3 and number(target_row_num_per_bucket="20", batch=True) == 3
    assert number(target_size_per_bucket=f"{size // 2} b") in (2, 3)
    many = {"target_row_num_per_bucket": "1", "batch_write_fixed_bucket.max_parallelism": "6"}
    assert number(batch=True, **many) == 6
    for wrong in ("default_bucket_num", "target_row_num_per_bucket"):
        with pytest.raises(InvalidOptionError, match="1 or more"):
            number(**{wrong: "0"})


def test_files_are_read_in_the_order_their_rows_came(tmp_path: Path) -> None:
    table = postponed_table(tmp_path)
    (file,) = write(table, [(1, 1, "a")])[0].new_files
    then = datetime(2024, 1, 1, tzinfo=UTC)
    late = [replace(file, file_name=f"data--u-x-s-1-w-y-{n}.avro", creation_time=then) for n in (10, 9, 0)]
    early = replace(file, file_name="data--u-z-s-1-w-y-3.avro", creation_time=then - timedelta(milliseconds=1))
    found = [f.file_name.rpartition("-")[2] for f in arrival_order([*late, early])]
    assert found == ["3.avro", "0.avro", "9.avro", "10.avro"]


def test_a_statement_that_changes_a_row_twice_is_refused(tmp_path: Path) -> None:
    table = postponed_table(tmp_path)
    writer = open_changes_writer(table.store, sequence_start=0, once=True)
    assert isinstance(writer, PostponedWriter)
    writer.write(batch_of([(1, 1, "a"), (1, 1, "b")], [2, 3]))
    with pytest.raises(InvalidDataError, match="several source rows"):
        writer.finish()
    writer.abort()
    assert not data_files(tmp_path)


def test_a_row_that_comes_in_between_makes_a_rescale_fail(tmp_path: Path) -> None:
    table = postponed_table(tmp_path)
    insert(table, [(1, k, "a") for k in range(9)])
    everything = PartitionFilter(table.schema.partition_fields)
    messages = moves(table).rescale(everything, 5)
    insert(table, [(1, 3, "b")])
    with pytest.raises(CommitConflictError, match="new bucket num 5"):
        commit(table, messages)
    table.abort(messages)
    assert rescale(table, 5) is not None
    assert read(table)[3] == (1, 3, "b")
    compact(table, Strategy.FULL)
    assert {of for _, of in layout(table)} == {5} and len(layout(table)) > 3


def test_a_failed_compaction_leaves_nothing(tmp_path: Path) -> None:
    table = postponed_table(tmp_path)
    commit(table, write(table, [(1, k, "a") for k in range(9)]))
    before = data_files(tmp_path)

    class FailsSecond(Here):
        def run(self, job: Job[TaskT, ResultT]) -> list[ResultT]:
            if job.task is not ROUTE:
                raise InvalidDataError("no")
            return super().run(job)

    everything = PartitionFilter(table.schema.partition_fields)
    with pytest.raises(InvalidDataError):
        moves(table, FailsSecond()).compact(everything, Strategy.FULL)
    assert data_files(tmp_path) == before
    with pytest.raises(CorruptFileError, match="<route>"):
        ROUTE.decode(json.dumps({"buckets": 1}))


def test_a_default_is_not_put_into_rows_that_were_written_before(tmp_path: Path) -> None:
    table = postponed_table(tmp_path)
    insert(table, [(1, 1, None)])  # type: ignore[list-item]
    columns = tuple(replace(f, default="'x'") if f.name == "v" else f for f in table.schema.fields)
    later = Table(replace(table.store, schema=replace(table.schema, fields=columns)))
    messages = moves(later).rescale(PartitionFilter(table.schema.partition_fields), 1)
    commit(table, messages)
    assert read(table) == [(1, 1, None)]


def test_snapshots_do_not_expire_behind_rows_that_wait(tmp_path: Path) -> None:
    bounds = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}
    table = postponed_table(tmp_path, **bounds)
    for n in range(4):
        commit(table, write(table, [(1, n, "a")]))
    snapshots = tmp_path / "default.db/t/snapshot"
    assert len(list(snapshots.glob("snapshot-*"))) == 4
    compact(table)
    assert len(list(snapshots.glob("snapshot-*"))) == 2
