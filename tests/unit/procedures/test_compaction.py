from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidOptionError, TableNotFoundError, UnsupportedFeatureError
from paimon_core.spec.manifest import ManifestEntry
from paimon_core.spec.snapshot import CommitKind
from paimon_core.spec.types import INT, STRING
from paimon_core.store.manifests import live_files
from paimon_core.store.new_schema import new_table_schema
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.load import load_catalog
from paimon_sql.procedures import PROCEDURES, ProcedureContext
from tests.support import stored
from tests.support.tables import fields


class Tasks:
    """Runs tasks here, as if they had travelled; keeps what it was asked."""

    def __init__(self) -> None:
        self.counts: list[int] = []
        self.descriptions: list[str] = []

    def run(self, function: Callable[[str], str], items: Sequence[str], description: str) -> list[str]:
        self.counts.append(len(items))
        self.descriptions.append(description)
        travelled = pickle.loads(pickle.dumps(function))  # noqa: S301  our own bytes
        return [travelled(str(i)) for i in items]


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
    with pytest.raises(InvalidOptionError, match="compact_strategy cannot be 'most': it is one of full, minor"):
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
    for partitions in ("q=1", "p=x", ""):
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
    schema.write_text(text.replace('"options": {', '"options": {"changelog-producer": "lookup", '), encoding="utf-8")
    with pytest.raises(UnsupportedFeatureError, match="changelog-producer"):
        call(warehouse)
