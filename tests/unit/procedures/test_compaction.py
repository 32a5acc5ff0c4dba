from __future__ import annotations

import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidOptionError, PaimonError, TableNotFoundError, UnsupportedFeatureError
from paimon_core.jobs import Job, ResultT, TaskT
from paimon_core.maintenance.orphans.job import OrphanSearch
from paimon_core.options import TableOptions
from paimon_core.scan.read import read_split
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.manifest import FileSource, ManifestEntry
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.snapshot import CommitKind
from paimon_core.spec.types import INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import SetOption, UpdateColumnDefault
from paimon_core.store.manifests import live_files
from paimon_core.table import Table
from paimon_core.write.compaction.clustering import clustering_curve
from paimon_core.write.compaction.sort_job import Curve, SortJob
from paimon_core.write.deletion import delete_rows
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.load import load_catalog
from paimon_sql.procedures import PROCEDURES, ProcedureContext
from tests.support import stored
from tests.support.orphan_tasks import Lost
from tests.support.tables import fields


class Tasks:
    """Runs tasks here, as if they had travelled; keeps what it was asked."""

    def __init__(self) -> None:
        self.counts: list[int] = []
        self.descriptions: list[str] = []
        self.conditions: list[tuple[str, list[Any]]] = []

    def run(self, job: Job[TaskT, ResultT]) -> list[ResultT]:
        self.counts.append(len(job.tasks))
        self.descriptions.append(job.description)
        travelled = pickle.loads(pickle.dumps(job.text_function))  # noqa: S301  our own bytes
        return [job.result.decode(travelled(text)) for text in job.texts]

    def find_orphans(self, search: OrphanSearch, parallelism: int | None, description: str) -> Lost:
        """As Spark's joins do."""
        self.descriptions.append(description)
        return Lost(search)

    def foreign_table(self, database: str, name: str) -> None:
        """The session catalog has none."""

    def select(self, rows: pa.Table, condition: str) -> list[int]:
        """Knows `c is not null` and `c > 'text'`."""
        column, compared = condition.split(" ", 1)
        if column not in rows.column_names:
            raise InvalidOptionError(f"where cannot be {condition!r}: only conditions on partition columns")
        values = rows.column(column).to_pylist()
        self.conditions.append((condition, values))
        least = "" if compared == "is not null" else compared.removeprefix("> ").strip("'")
        return [i for i, v in enumerate(values) if v is not None and str(v) > least]

    def sort(self, job: SortJob, description: str) -> list[CommitMessage]:
        """All in one task, in memory."""
        travelled = pickle.loads(pickle.dumps(job))  # noqa: S301  our own bytes
        rows = pa.Table.from_batches([b for text in travelled.texts for b in travelled.read(text)])
        order = [(c, "ascending") for c in job.sort_columns]
        writer = open_writer(travelled.store, sequence_start=0)
        for batch in rows.sort_by(order).combine_chunks().to_batches():
            writer.write(batch)
        self.descriptions.append(description)
        return writer.finish()


def call(warehouse: str, **arguments: Any) -> Tasks:
    tasks = Tasks()
    context = ProcedureContext(load_catalog({"warehouse": warehouse}), "default", tasks)
    assert PROCEDURES["compact"].call(context, {"table": "t"} | arguments) == [(True,)]
    return tasks


def partitioned(warehouse: str) -> Table:
    """Two commits, each a file in partitions 1, 2 and NULL."""
    schema = new_table_schema(fields(p=INT, v=STRING), ["p"], {"partition.default-name": "none"})
    load_catalog({"warehouse": warehouse}).create_table(Identifier("default", "t"), schema)
    for value in ("a", "b"):
        table = stored.open_table(warehouse)
        writer = open_writer(table.store, sequence_start=0)
        writer.write(pa.record_batch([pa.array([1, 2, None], pa.int32()), pa.array([value] * 3)], names=["p", "v"]))
        table.commit(writer.finish(), CommitInfo(user="writer"))
    return stored.open_table(warehouse)


def files(table: Table) -> list[ManifestEntry]:
    return list(live_files(table.store, table.latest_snapshot()).values())


def files_per_partition(warehouse: str) -> dict[str, int]:
    table = stored.open_table(warehouse)
    specs = [table.store.partition_spec(e.partition)["p"] for e in files(table)]
    return {spec: specs.count(spec) for spec in specs}


def test_all_runs_become_one(warehouse: str) -> None:
    table = stored.create_table(warehouse, primary_key="k", bucket="2", write_only="true")
    for value in ("a", "b", "c"):
        stored.insert(stored.open_table(warehouse), [(i, f"{value}{i}") for i in range(10)])
    assert len(files(table)) == 6
    tasks = call(warehouse)
    assert tasks.counts == [2]
    assert tasks.descriptions == ["compact default.t"]
    assert len(files(table)) == 2
    assert stored.read(stored.open_table(warehouse)) == [(i, f"c{i}") for i in range(10)]
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert (snapshot.id, snapshot.commit_kind, snapshot.operation) == (4, CommitKind.COMPACT, None)


def test_where_nothing_is_due_nothing_is_committed(warehouse: str) -> None:
    table = stored.create_table(warehouse, primary_key="k", bucket="1", write_only="true")
    assert call(warehouse).counts == [0]
    assert table.latest_snapshot() is None
    stored.insert(table, [(1, "a")])
    stored.insert(stored.open_table(warehouse), [(1, "b")])
    call(warehouse)
    call(warehouse)
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert snapshot.id == 3


@pytest.mark.parametrize(("strategy", "compacted"), [("full", True), ("FULL", True), (None, True), ("minor", False)])
def test_strategies(warehouse: str, strategy: str | None, compacted: bool) -> None:
    table = stored.create_table(
        warehouse, primary_key="k", bucket="1", write_only="true", num_sorted_run__compaction_trigger="5"
    )
    stored.insert(table, [(i, "a" * 100) for i in range(1000)])
    stored.insert(stored.open_table(warehouse), [(1, "b")])
    call(warehouse, **{} if strategy is None else {"compact_strategy": strategy})
    assert len(files(table)) == (1 if compacted else 2)


def test_another_strategy_is_refused(warehouse: str) -> None:
    stored.create_table(warehouse)
    with pytest.raises(
        InvalidOptionError, match="compact_strategy cannot be 'most': it only supports 'full' or 'minor'"
    ):
        call(warehouse, compact_strategy="most")


@pytest.mark.parametrize(
    ("partitions", "expected", "tasks"),
    [
        (None, {"1": 1, "2": 1, "none": 1}, 3),
        ("p=1", {"1": 1, "2": 2, "none": 2}, 1),
        ("p=2;p=none", {"1": 2, "2": 1, "none": 1}, 2),
        ("p=3", {"1": 2, "2": 2, "none": 2}, 0),
    ],
)
def test_partitions(warehouse: str, partitions: str | None, expected: dict[str, int], tasks: int) -> None:
    partitioned(warehouse)
    assert files_per_partition(warehouse) == {"1": 2, "2": 2, "none": 2}
    arguments = {} if partitions is None else {"partitions": partitions}
    assert call(warehouse, **arguments).counts == [tasks]
    assert files_per_partition(warehouse) == expected


def test_wrong_partitions_are_refused_before_anything_runs(warehouse: str) -> None:
    partitioned(warehouse)
    for partitions in ("q=1", "p=x", ";"):
        with pytest.raises(InvalidOptionError, match="partitions"):
            call(warehouse, partitions=partitions)
    assert files_per_partition(warehouse) == {"1": 2, "2": 2, "none": 2}


def test_a_table_that_is_not_there(warehouse: str) -> None:
    with pytest.raises(TableNotFoundError, match="nowhere"):
        call(warehouse, table="nowhere")


def test_a_table_that_cannot_be_written_is_refused_before_anything_runs(warehouse: str) -> None:
    table = stored.create_table(warehouse, primary_key="k", bucket="1")
    stored.insert(table, [(1, "a")])
    schema = Path(table.store.paths.schema(0))
    text = schema.read_text(encoding="utf-8")
    schema.write_text(text.replace('"options": {', '"options": {"row-tracking.enabled": "true", '), encoding="utf-8")
    with pytest.raises(UnsupportedFeatureError, match="row-tracking"):
        call(warehouse)


def test_a_condition_chooses_partitions(warehouse: str) -> None:
    partitioned(warehouse)
    tasks = call(warehouse, where="p is not null")
    assert tasks.conditions == [("p is not null", [1, 2, None])]
    assert files_per_partition(warehouse) == {"1": 1, "2": 1, "none": 2}
    with pytest.raises(InvalidOptionError, match="partitions and where"):
        call(warehouse, where="p = 1", partitions="p=1")


def test_a_condition_needs_partitions(warehouse: str) -> None:
    stored.create_table(warehouse)
    with pytest.raises(InvalidOptionError, match="where filters partitions"):
        call(warehouse, where="k = 1")


@pytest.mark.parametrize(("idle", "kept"), [("1 d", 2), ("0 ms", 1)])
def test_partitions_that_rest(warehouse: str, idle: str, kept: int) -> None:
    partitioned(warehouse)
    time.sleep(0.01)
    call(warehouse, partition_idle_time=idle)
    assert files_per_partition(warehouse) == {"1": kept, "2": kept, "none": kept}
    with pytest.raises(InvalidOptionError, match="partition_idle_time cannot be 'soon'"):
        call(warehouse, partition_idle_time="soon")


def test_options_of_one_call(warehouse: str) -> None:
    table = stored.create_table(warehouse)
    for value in "ab":
        stored.insert(stored.open_table(warehouse), [(1, value)])
    call(warehouse, compact_strategy="minor")
    assert len(files(table)) == 2
    call(warehouse, compact_strategy="minor", options="compaction.min.file-num=2, file.compression=snappy")
    assert len(files(table)) == 1
    with pytest.raises(InvalidOptionError, match="options cannot be 'fast'"):
        call(warehouse, options="fast")


@pytest.mark.parametrize("column", ["k", "K"])
def test_sorting(warehouse: str, column: str) -> None:
    table = stored.create_table(warehouse)
    for rows in ([(3, "c"), (1, "a")], [(2, "b")]):
        stored.insert(stored.open_table(warehouse), rows)
    call(warehouse, order_strategy="ZORDER", order_by=column)
    (entry,) = files(table)
    assert (entry.file.row_count, entry.file.file_source) == (3, FileSource.COMPACT)
    batches = [b for s in table.plan(table.latest_snapshot()).splits for b in read_split(table.store, s, ["k"])]
    assert [k for b in batches for k in b.column("k").to_pylist()] == [1, 2, 3]
    snapshot = table.latest_snapshot()
    assert snapshot is not None and snapshot.commit_kind is CommitKind.OVERWRITE


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"order_strategy": "best", "order_by": "v"}, "order_strategy cannot be 'best'"),
        ({"order_by": "k"}, "order_by needs an order_strategy"),
        ({"order_strategy": "order"}, "needs order_by"),
        ({"order_strategy": "order", "order_by": "x"}, "x"),
        ({"order_strategy": "order", "order_by": "P"}, "order_by should not contain partition cols .p."),
        ({"order_strategy": "order", "order_by": "p"}, "order_by should not contain partition cols .p."),
        ({"order_strategy": "sort", "order_by": "p"}, "order_by should not contain partition cols .p."),
        ({"order_strategy": "sort", "order_by": "k", "partition_idle_time": "5 s"}, "leave partition_idle_time"),
    ],
)
def test_orders_that_make_no_sense(warehouse: str, arguments: dict[str, str], words: str) -> None:
    partitioned(warehouse)
    with pytest.raises(PaimonError, match=words):
        call(warehouse, **arguments)


def test_only_append_tables_without_buckets_are_sorted(warehouse: str) -> None:
    stored.insert(stored.create_table(warehouse, primary_key="k", bucket="1"), [(1, "a")])
    with pytest.raises(UnsupportedFeatureError, match="append tables with 'bucket' = '-1'"):
        call(warehouse, order_strategy="order", order_by="v")


def clustered_table(warehouse: str, **more: str) -> Table:
    options = {"clustering.incremental": "true", "clustering.columns": "k", "num-sorted-run.compaction-trigger": "3"}
    options |= {name.replace("__", ".").replace("_", "-"): value for name, value in more.items()}
    schema = new_table_schema(fields(k=INT, v=STRING), options=options)
    load_catalog({"warehouse": warehouse}).create_table(Identifier("default", "t"), schema)
    return stored.open_table(warehouse)


def keys_by_level(table: Table) -> dict[int, list[list[int]]]:
    found: dict[int, list[list[int]]] = {}
    for entry in live_files(table.store, table.latest_snapshot()).values():
        path = f"{table.store.bucket_dir(entry.partition, entry.bucket)}/{entry.file.file_name}"
        found.setdefault(entry.file.level, []).append(pq.read_table(path).column("k").to_pylist())
    return found


def test_clustering_sorts_level_by_level(warehouse: str) -> None:
    table = clustered_table(warehouse)
    for low in (0, 1, 2):
        stored.insert(table, [(k, "a") for k in range(low, 9, 3)])
        assert call(warehouse).descriptions == (["cluster default.t"] if low == 2 else [])
    assert keys_by_level(table) == {3: [list(range(9))]}
    stored.insert(table, [(4, "b")])
    assert call(warehouse).descriptions == []
    call(warehouse, compact_strategy="full")
    assert keys_by_level(table) == {3: [[0, 1, 2, 3, 4, 4, 5, 6, 7, 8]]}
    assert call(warehouse, compact_strategy="full").descriptions == []
    with pytest.raises(InvalidOptionError, match="has enabled incremental clustering"):
        call(warehouse, order_strategy="order", order_by="k")


def test_clustering_by_other_columns_begins_anew(warehouse: str) -> None:
    stored.insert(clustered_table(warehouse), [(2, "a"), (1, "b")])
    call(warehouse, compact_strategy="full")
    identifier = Identifier("default", "t")
    load_catalog({"warehouse": warehouse}).alter_table(identifier, [SetOption("clustering.columns", "v")])
    call(warehouse, compact_strategy="full")
    table = stored.open_table(warehouse)
    assert keys_by_level(table) == {3: [[2, 1]]}
    assert call(warehouse, compact_strategy="full").descriptions == []
    assert [clustering_curve(TableOptions({"clustering.columns": c})) for c in ("a", "a,b", "a,b,c,d,e")] == [
        Curve.ORDER,
        Curve.ZORDER,
        Curve.HILBERT,
    ]


def test_clustering_keeps_the_vectors_of_other_files(warehouse: str) -> None:
    table = clustered_table(warehouse, deletion_vectors__enabled="true", num_sorted_run__compaction_trigger="2")
    stored.insert(table, [(k, "a" * 50 + str(k)) for k in range(900)])
    call(warehouse, compact_strategy="full")
    stored.insert(table, [(1000, "b"), (1001, "b")])
    stored.insert(table, [(2000, "c")])
    live = live_files(table.store, table.latest_snapshot()).values()
    deleted = {e.file.file_name: np.array([0], np.uint32) for e in live if e.file.row_count > 1}
    bucket = next(iter(live)).partition, next(iter(live)).bucket
    stored.commit(table, delete_rows(table.store, table.latest_snapshot(), {bucket: deleted}), "deleter")
    before = stored.read(table)
    call(warehouse)
    assert stored.read(table) == before and len(before) == 901
    assert len(live_files(table.store, table.latest_snapshot())) == 2


def test_sorting_puts_no_default_into_rows_that_are_there(warehouse: str) -> None:
    stored.create_table(warehouse)
    stored.insert(stored.open_table(warehouse), [(1, "a"), (2, None)])  # type: ignore[list-item]
    change = UpdateColumnDefault(("v",), "'x'")
    load_catalog({"warehouse": warehouse}).alter_table(Identifier("default", "t"), [change])
    call(warehouse, order_strategy="order", order_by="k")
    assert stored.read(stored.open_table(warehouse)) == [(1, "a"), (2, None)]


def test_partitions_that_are_to_expire_are_left_alone_where_that_is_asked_for(warehouse: str) -> None:
    options = {"partition.expiration-time": "7 d", "partition.timestamp-formatter": "yyyyMMdd", "write-only": "true"}
    schema = new_table_schema(fields(p=INT, v=STRING), ["p"], options)
    load_catalog({"warehouse": warehouse}).create_table(Identifier("default", "t"), schema)
    for value in ("a", "b"):
        table = stored.open_table(warehouse)
        writer = open_writer(table.store, sequence_start=0)
        days = pa.array([20200101, 29990101], pa.int32())
        writer.write(pa.record_batch([days, pa.array([value] * 2)], names=["p", "v"]))
        table.commit(writer.finish(), CommitInfo(user="writer"))
    asked = "compaction.skip-expired-partitions=true"
    assert call(warehouse, options=f"{asked},partition.expiration-strategy=update-time").counts == [2]
    assert call(warehouse, options=asked, compact_strategy="full").counts == [1]
