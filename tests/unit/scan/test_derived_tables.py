"""$audit_log, $binlog and $ro of a split."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.expressions.predicate import Compare
from paimon_core.scan.derived_tables import DerivedTable, derived_fields, read_derived
from paimon_core.spec.binary_row import EMPTY_ROW
from paimon_core.spec.split import DataSplit, SplitKind
from paimon_core.spec.types import INT, STRING
from paimon_core.store.table_store import TableStore
from paimon_core.write.writer import open_writer
from tests.support.data import make_batch, make_store
from tests.support.examples import examples

KINDS = ("+I", "-U", "+U", "-D")


def keyed(root: Path, **options: str) -> TableStore:
    return make_store(root, {"k": INT, "v": STRING}, keys=["k"], bucket="1", **options)


def split_of(store: TableStore, *commits: list[tuple[int, str, int]], kind: SplitKind = SplitKind.ROWS) -> DataSplit:
    """A split with a file per commit of rows (k, v, kind)."""
    files = []
    for number, rows in enumerate(commits):
        writer = open_writer(store, sequence_start=100 * number)
        batch = make_batch(store, [r[:2] for r in rows])
        if store.has_primary_key:
            batch = batch.append_column("_VALUE_KIND", pa.array([r[2] for r in rows], pa.int8()))
        writer.write(batch)
        (message,) = writer.finish()
        files += message.new_changelog if kind is SplitKind.CHANGES else message.new_files
    return DataSplit(
        partition=EMPTY_ROW,
        bucket=0,
        bucket_dir=store.bucket_dir(EMPTY_ROW, 0),
        files=tuple(files),
        needs_merge=True,
        kind=kind,
    )


def rows(store: TableStore, derived: DerivedTable, split: DataSplit, *columns: str, **more: Any) -> list[Any]:
    return [tuple(r.values()) for b in read_derived(store, derived, split, columns, **more) for r in b.to_pylist()]


def test_columns(tmp_path: Path) -> None:
    store = keyed(tmp_path)
    assert [(f.name, f.type.sql()) for f in derived_fields(store, DerivedTable.AUDIT_LOG)] == [
        ("rowkind", "STRING"),
        ("k", "INT"),
        ("v", "STRING"),
    ]
    assert [f.type.sql() for f in derived_fields(store, DerivedTable.BINLOG)] == [
        "STRING",
        "ARRAY<INT>",
        "ARRAY<STRING>",
    ]
    assert derived_fields(store, DerivedTable.READ_OPTIMIZED) == store.schema.fields
    numbered = store.with_options({"table-read.sequence-number.enabled": "true"})
    assert [f.name for f in derived_fields(numbered, DerivedTable.AUDIT_LOG)] == [
        "rowkind",
        "_SEQUENCE_NUMBER",
        "k",
        "v",
    ]


def test_a_version_keeps_its_deletes(tmp_path: Path) -> None:
    store = keyed(tmp_path)
    split = split_of(store, [(1, "a", 0), (2, "b", 0)], [(1, "c", 0), (2, "b", 3)])
    assert rows(store, DerivedTable.AUDIT_LOG, split, "v", "rowkind", "k") == [("c", "+I", 1), ("b", "-D", 2)]
    assert rows(store, DerivedTable.AUDIT_LOG, split, "_SEQUENCE_NUMBER", "k") == [(100, 1), (101, 2)]
    assert rows(store, DerivedTable.AUDIT_LOG, split, "k", "rowkind", predicate=Compare("k", "=", 2)) == [(2, "-D")]
    assert rows(store, DerivedTable.BINLOG, split, "rowkind", "k", "v") == [("+I", [1], ["c"]), ("-D", [2], ["b"])]
    assert rows(store, DerivedTable.READ_OPTIMIZED, split, "k", "v") == [(1, "c")]


def test_append_tables_have_inserts_only(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"k": INT, "v": STRING})
    split = replace(split_of(store, [(1, "a", 0)], [(1, "b", 0)]), needs_merge=False)
    assert rows(store, DerivedTable.AUDIT_LOG, split, "rowkind", "k", "v") == [("+I", 1, "a"), ("+I", 1, "b")]
    assert rows(store, DerivedTable.BINLOG, split, "rowkind", "v") == [("+I", ["a"]), ("+I", ["b"])]


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.sampled_from(["+I", "-D", "-U +U"]), min_size=1, max_size=5), min_size=1, max_size=3))
def test_updates_are_packed(tmp_path: Path, files: list[list[str]]) -> None:
    store = keyed(tmp_path, changelog_producer="input")
    commits = [
        [(k, f"{kind}{k}", KINDS.index(kind)) for k, change in enumerate(changes) for kind in change.split()]
        for changes in files
    ]
    split = split_of(store, *commits, kind=SplitKind.CHANGES)
    expected = []
    for changes in files:
        for k, change in enumerate(changes):
            kinds = change.split()
            expected.append((kinds[-1], [k] * len(kinds), [f"{kind}{k}" for kind in kinds]))
    assert rows(store, DerivedTable.BINLOG, split, "rowkind", "k", "v") == expected


def test_half_an_update_is_a_row(tmp_path: Path) -> None:
    store = keyed(tmp_path, changelog_producer="input")
    split = split_of(store, [(1, "a", 1)], kind=SplitKind.CHANGES)
    assert rows(store, DerivedTable.BINLOG, split, "rowkind", "k") == [("-U", [1])]
    assert rows(store, DerivedTable.ROWS, split, "k") == []


@pytest.mark.parametrize("derived", [DerivedTable.AUDIT_LOG, DerivedTable.BINLOG])
def test_only_row_kinds(tmp_path: Path, derived: DerivedTable) -> None:
    store = keyed(tmp_path)
    split = split_of(store, [(1, "a", 0), (2, "b", 3)])
    assert rows(store, derived, split, "rowkind") == [("+I",), ("-D",)]
