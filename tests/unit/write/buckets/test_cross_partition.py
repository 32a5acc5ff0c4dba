"""Keys that may be in any partition: there is one row per key, in the partition it was last written to."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import CommitConflictError, InvalidDataError
from paimon_core.expressions.predicate import Compare
from paimon_core.scan.read import read_split
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.types import INT, STRING, DataType, Kind
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.manifests import live_files
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.load import load_catalog
from tests.support.examples import examples
from tests.support.stored import T, compact, open_table
from tests.support.tables import fields

Row = tuple[str | int | None, int, str | None]


def moving_table(root: Path, p: DataType = STRING, **more: str) -> Table:
    options = {"primary-key": "k", "partition": "p", "bucket": "-1", **more}
    schema = new_table_schema(fields(p=p, k=INT, v=STRING), options=options)
    load_catalog({"warehouse": str(root)}).create_table(T, schema)
    return open_table(str(root))


def write(
    table: Table,
    rows: Sequence[Row],
    tasks: int = 1,
    kinds: list[int] | None = None,
    overwrite: Overwrite | None = None,
) -> list[CommitMessage]:
    base, start, messages = table.assignment_base(tasks, overwrite), table.max_sequence_number() + 1, []
    for task in range(tasks):
        share = [(*r, kind) for r, kind in zip(rows, kinds or [0] * len(rows), strict=True) if r[1] % tasks == task]
        writer = open_writer(table.store, sequence_start=start, base=base)
        for p, k, v, kind in share:
            columns: list[Any] = [[p], [k], [v], [kind]]
            partition = pa.int32() if table.schema.fields[0].type.kind is Kind.INT else pa.string()
            types = [partition, pa.int32(), pa.string(), pa.int8()]
            arrays = [pa.array(c, t) for c, t in zip(columns, types, strict=True)]
            writer.write(pa.record_batch(arrays, names=["p", "k", "v", "_VALUE_KIND"]))
        messages += writer.finish()
    return messages


def commit(table: Table, messages: list[CommitMessage], overwrite: Overwrite | None = None) -> None:
    table.commit(messages, CommitInfo(user="tester"), overwrite)


def read(table: Table) -> list[Any]:
    splits = table.plan(table.latest_snapshot()).splits
    batches = [b for s in splits for b in read_split(table.store, s, ["p", "k", "v"])]
    return sorted((tuple(r.values()) for b in batches for r in b.to_pylist()), key=lambda r: r[1])


rows_of = st.lists(
    st.tuples(st.sampled_from(["a", "b", "a longer partition", None]), st.integers(0, 25), st.sampled_from([0, 0, 3])),
    max_size=25,
)


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(rows_of, st.integers(1, 3), st.booleans()), max_size=5), st.sampled_from(["1 b", "64 mb"]))
def test_any_history_against_a_model(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[list[Any], int, bool]], buffer: str
) -> None:
    options = {"write-buffer-size": buffer, "dynamic-bucket.target-row-num": "5"}
    table = moving_table(tmp_path_factory.mktemp("moving"), **options)
    model: dict[int, tuple[str | None, str]] = {}
    for number, (changes, tasks, compacts) in enumerate(history):
        rows = [(p, k, f"v{number}.{i}") for i, (p, k, _) in enumerate(changes)]
        commit(table, write(table, rows, tasks, [kind for _, _, kind in changes]))
        for (p, k, v), (_, _, kind) in zip(rows, changes, strict=True):
            model.pop(k, None)
            if kind == 0:
                model[k] = (p, v)
        if compacts:
            compact(table)
        assert read(table) == [(p, k, v) for k, (p, v) in sorted(model.items())]


MERGES: dict[str, Callable[[str | None, str | None], str | None]] = {
    "aggregation": lambda old, new: ",".join(v for v in (old, new) if v is not None) or None,
    "partial-update": lambda old, new: old if new is None else new,
    "first-row": lambda old, new: old,
}
ENGINES = {
    "aggregation": {"fields.default-aggregate-function": "sum", "fields.v.aggregate-function": "listagg"},
    "partial-update": {},
    "first-row": {"changelog-producer": "lookup"},
}


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=examples(8), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(rows_of, st.integers(1, 3), st.booleans()), max_size=4), st.sampled_from(["1 b", "64 mb"]))
def test_keys_stay_where_they_are_with_other_engines(
    tmp_path_factory: pytest.TempPathFactory, engine: str, history: list[tuple[list[Any], int, bool]], buffer: str
) -> None:
    options = {"write-buffer-size": buffer, "merge-engine": engine, **ENGINES[engine]}
    table = moving_table(tmp_path_factory.mktemp("staying"), p=INT, **options)
    model: dict[int, tuple[int | None, str | None]] = {}
    for number, (changes, tasks, compacts) in enumerate(history):
        rows = [
            (None if p is None else len(p), k, None if i % 3 == 1 else f"v{number}.{i}")
            for i, (p, k, _) in enumerate(changes)
        ]
        commit(table, write(table, rows, tasks))
        for p, k, v in rows:
            model[k] = (model[k][0], MERGES[engine](model[k][1], v)) if k in model else (p, v)
        if compacts or engine == "first-row":  # whose rows show once they are compacted
            compact(table)
        assert read(table) == [(p, k, v) for k, (p, v) in sorted(model.items())]


def test_a_moved_row_leaves_a_delete_with_its_new_values(tmp_path: Path) -> None:
    table = moving_table(tmp_path)
    commit(table, write(table, [("a", 1, "old"), ("a", 2, "old")]))
    commit(table, write(table, [("b", 1, "new"), ("a", 2, "new")]))
    live = live_files(table.store, table.latest_snapshot()).values()
    found = sorted(
        (table.store.partition_spec(e.partition)["p"], e.file.row_count, e.file.delete_row_count) for e in live
    )
    assert found == [("a", 2, 0), ("a", 2, 1), ("b", 1, 0)]
    assert read(table) == [("b", 1, "new"), ("a", 2, "new")]


def test_buckets_fill_one_after_the_other(tmp_path: Path) -> None:
    table = moving_table(tmp_path, **{"dynamic-bucket.target-row-num": "3"})
    commit(table, write(table, [("a", k, "v") for k in range(5)]))
    commit(table, write(table, [("a", 3, "w"), ("a", 7, "w"), ("a", 8, "w"), ("b", 0, "w")]))
    live = live_files(table.store, table.latest_snapshot()).values()
    buckets = {(table.store.partition_spec(e.partition)["p"], e.bucket) for e in live}
    assert buckets == {("a", 0), ("a", 1), ("a", 2), ("b", 0)}


def test_of_two_writers_one_fails(tmp_path: Path) -> None:
    table = moving_table(tmp_path)
    commit(table, write(table, [("a", 1, "v")]))
    late = write(table, [("b", 1, "late")])
    commit(table, write(table, [("c", 1, "w")]))
    with pytest.raises(CommitConflictError, match="snapshot 2 wrote rows since"):
        commit(table, late)
    late = write(table, [("b", 1, "late")])
    assert compact(table) is not None
    commit(table, late)
    assert read(table) == [("b", 1, "late")]


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update"])
def test_overwrites_of_partitions(tmp_path: Path, engine: str) -> None:
    table = moving_table(tmp_path, **{"merge-engine": engine, "dynamic-bucket.target-row-num": "1"})
    commit(table, write(table, [("a", 1, "v"), ("a", 2, "v"), ("b", 3, "v")]))
    for part in (Overwrite(predicate=Compare("p", "=", "a")), Overwrite(dynamic=True)):
        commit(table, write(table, [("a", 1, "w"), ("a", 4, "w")], tasks=2, overwrite=part), part)
        assert read(table) == [("a", 1, "w"), ("b", 3, "v"), ("a", 4, "w")]
        with pytest.raises(InvalidDataError, match=r"{'k': 3} .* in partition {'p': 'b'}, which this overwrite keeps"):
            write(table, [("a", 3, "x")], overwrite=part)
        late = write(table, [("a", 5, "late")], overwrite=part)
        commit(table, write(table, [("b", 3, "v")]))
        with pytest.raises(CommitConflictError, match="wrote rows since"):
            commit(table, late, part)
    everything = Overwrite()
    commit(table, write(table, [("a", 3, "x"), ("a", 3, "y")], overwrite=everything), everything)
    assert read(table) == [("a", 3, "y")]


def test_old_keys_are_forgotten_where_that_is_asked_for(tmp_path: Path) -> None:
    table = moving_table(tmp_path, **{"cross-partition-upsert.index-ttl": "0 ms"})
    commit(table, write(table, [("a", 1, "v")]))
    time.sleep(0.01)
    commit(table, write(table, [("b", 1, "w")]))
    assert read(table) == [("a", 1, "v"), ("b", 1, "w")]


def test_changes_are_told_where_rows_went(tmp_path: Path) -> None:
    table = moving_table(tmp_path, **{"changelog-producer": "input"})
    commit(table, write(table, [("a", 1, "v"), ("a", 2, "v")]))
    messages = write(table, [("b", 1, "w"), ("a", 2, "w")])
    counts = [(f.row_count, f.delete_row_count) for m in messages for f in m.new_changelog]
    assert sorted(counts) == [(1, 0), (2, 1)]


def test_without_dynamic_buckets_nothing_looks_a_key_up(tmp_path: Path) -> None:
    table = moving_table(tmp_path, bucket="2")
    commit(table, write(table, [("a", 1, "v"), ("b", 1, "w")]))
    assert sorted(read(table)) == [("a", 1, "v"), ("b", 1, "w")]
