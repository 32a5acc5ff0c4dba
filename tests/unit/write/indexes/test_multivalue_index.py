"""Indexes of the elements of ARRAYs: made by the procedure and by compactions, used by plans, as the rows change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.expressions.predicate import And, Compare, HasAny, IsNull, Or, Predicate
from paimon_core.indexes.global_index.file_meta import decode_file_meta
from paimon_core.scan.read import read_split
from paimon_core.spec.index_manifest import IndexManifestEntry
from paimon_core.spec.message import written_messages
from paimon_core.store.indexes.index_files import index_entries
from paimon_core.store.partitions import PartitionFilter
from paimon_core.table import Table
from paimon_core.write.indexes.global_index import IndexBuild
from paimon_sql import open_catalog
from paimon_sql.python.table import PaimonTable
from tests.support.stored import compact

COLUMNS = pa.schema([("k", pa.int32()), ("tags", pa.list_(pa.string())), ("n", pa.int32())])
EVOLVING = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"}
KEYED = {"bucket": "1", "deletion-vectors.enabled": "true", "pk-multivalue.index.columns": "tags", "write-only": "true"}
RED, GOLD = HasAny("tags", ("red",)), HasAny("tags", ("gold", None))


def new_table(root: Path, options: dict[str, str], keys: tuple[str, ...] = ()) -> PaimonTable:
    return open_catalog(str(root)).create_table("default.t", COLUMNS, primary_key=keys, options=options)


def append(table: PaimonTable, *rows: tuple[int, list[str | None] | None]) -> None:
    table.append([{"k": k, "tags": tags, "n": 10 * k} for k, tags in rows])


def index(table: PaimonTable, column: str = "tags") -> None:
    inner, snapshot = table.inner, table.inner.latest_snapshot()
    assert snapshot is not None
    build = IndexBuild(inner.store, inner.schema.field_by_name[column], "multivalue", snapshot)
    build.check()
    inner.commit(written_messages(build.job(PartitionFilter(())).run_here()), CommitInfo(user="u"))


def indexes(table: PaimonTable) -> list[IndexManifestEntry]:
    found = index_entries(table.inner.store, table.inner.latest_snapshot())
    return [e for e in found if e.file.global_index is not None]


def found(table: Table, predicate: Predicate) -> tuple[int, list[int]]:
    """Return the number of files that a query reads, and the keys of its rows that satisfy the predicate."""
    plan = table.plan(table.latest_snapshot(), predicate)
    batches = [b for s in plan.splits for b in read_split(table.store, s, ["k", "tags", "n"], predicate)]
    return sum(len(s.files) for s in plan.splits), sorted(k for b in batches for k in b.column(0).to_pylist())


def test_an_index_with_data_evolution(tmp_path: Path) -> None:
    table = new_table(tmp_path, EVOLVING)
    append(table, (1, ["red", "blue"]), (2, ["red", "red"]), (3, None))
    append(table, (4, []), (5, [None]), (6, ["gold", None]))
    append(table, (7, ["blue"]), (8, ["green"]))
    index(table)
    (entry,) = indexes(table)
    covers = entry.file.global_index
    assert covers is not None and (entry.file.index_type, entry.file.row_count) == ("multivalue", 8)
    assert entry.file.file_name.startswith("multivalue-global-index-")
    assert (covers.row_range_start, covers.row_range_end) == (0, 7)
    meta = decode_file_meta("f", covers.index_meta)
    assert (meta.first, meta.last, meta.has_nulls) == (b"blue", b"red", False)

    scan = table.scan(["k"], where="arrays_overlap(tags, array('gold', NULL)) OR array_contains(tags, 'green')")
    assert (scan.to_arrow()["k"].to_pylist(), "files 2/3" in scan.explain()) == ([6, 8], True)
    assert "files 0/3" in table.scan(where="array_contains(tags, 'black')").explain()
    assert found(table.inner, RED) == (1, [1, 2])
    assert found(table.inner, GOLD) == (1, [6])
    assert found(table.inner, HasAny("tags", ("black", None))) == (0, [])
    assert found(table.inner, Or((RED, HasAny("tags", ("green",))))) == (2, [1, 2, 8])
    assert found(table.inner, And((RED, HasAny("tags", ("blue",))))) == (1, [1])
    assert found(table.inner, Or((RED, Compare("n", "=", 70))))[1] == [1, 2, 7]
    assert found(table.inner, IsNull("tags"))[1] == [3]
    off = table.inner.with_options({"global-index.enabled": "false"})
    assert found(off, GOLD) == (3, [6])

    # rows without an index are read, but for the mode `fast`
    append(table, (9, ["red"]))
    assert found(table.inner, RED) == (2, [1, 2, 9])
    fast = table.inner.with_options({"scalar-index.search-mode": "fast"})
    assert found(fast, RED) == (1, [1, 2])
    table.delete("k = 1")
    assert found(table.inner, RED) == (2, [2, 9])
    index(table)
    assert [e.file.row_count for e in indexes(table)] == [8, 1]
    table.update({"n": "k + 1"}, where="k = 2")
    assert found(table.inner, RED)[1] == [2, 9]
    with pytest.raises(UnsupportedFeatureError, match="globally indexed columns"):
        table.update({"tags": ["gold"]}, where="k = 2")
    compact(table.inner)
    assert found(table.inner, RED)[1] == [2, 9]
    assert found(table.inner, GOLD)[1] == [6]


def test_arrays_without_elements(tmp_path: Path) -> None:
    table = new_table(tmp_path, EVOLVING)
    append(table, (1, None), (2, []), (3, [None]))
    index(table)
    (entry,) = indexes(table)
    assert entry.file.row_count == 3
    assert found(table.inner, RED) == (0, [])
    assert found(table.inner, IsNull("tags")) == (1, [1])


def test_which_columns_can_have_one(tmp_path: Path) -> None:
    table = new_table(tmp_path, EVOLVING)
    append(table, (1, ["a"]))
    with pytest.raises(UnsupportedFeatureError, match="Column 'k' .* multivalue index: INT is not supported"):
        index(table, "k")


def test_compactions_of_keyed_tables_make_them(tmp_path: Path) -> None:
    table = new_table(tmp_path, KEYED, ("k",))
    table.upsert([{"k": 1, "tags": ["red", "blue"], "n": 1}, {"k": 2, "tags": None, "n": 2}])
    table.upsert([{"k": 3, "tags": ["blue", None], "n": 3}, {"k": 4, "tags": [], "n": 4}])
    assert indexes(table) == []
    compact(table.inner)
    (entry,) = indexes(table)
    covers = entry.file.global_index
    assert covers is not None and (entry.file.index_type, entry.file.row_count) == ("multivalue", 4)
    assert (covers.row_range_start, covers.row_range_end, covers.level) == (0, 3, 5)
    assert found(table.inner, RED) == (1, [1])
    assert found(table.inner, GOLD) == (0, [])
    table.upsert([{"k": 1, "tags": ["gold"], "n": 1}])
    compact(table.inner)
    assert found(table.inner, RED) == (0, [])
    assert found(table.inner, GOLD) == (1, [1])
    (after,) = indexes(table)
    assert after.file.file_name != entry.file.file_name
    table.delete("k = 1")
    compact(table.inner)
    assert found(table.inner, GOLD) == (0, [])
    assert found(table.inner, HasAny("tags", ("blue",))) == (1, [3])


def test_other_types_of_elements(tmp_path: Path) -> None:
    columns = pa.schema([("k", pa.int32()), ("a", pa.list_(pa.int64())), ("d", pa.list_(pa.float64()))])
    table = open_catalog(str(tmp_path)).create_table("default.t", columns, options=EVOLVING)
    rows: list[dict[str, Any]] = [{"k": i, "a": [i % 7, -i], "d": [i / 4, 0.0 if i % 2 else -0.0]} for i in range(40)]
    for start in (0, 20):
        table.append(rows[start : start + 20])
    index(table, "a")
    index(table, "d")
    inner = replace(table.inner)
    for predicate, wanted in (
        (HasAny("a", (-33,)), [33]),
        (HasAny("a", (6, -1)), [1, 6, 13, 20, 27, 34]),
        (HasAny("d", (2.5,)), [10]),
        (HasAny("d", (0.0,)), list(range(40))),
    ):
        plan = inner.plan(inner.latest_snapshot(), predicate)
        kept = [b for s in plan.splits for b in read_split(inner.store, s, ["k", "a", "d"], predicate)]
        assert sorted(k for b in kept for k in b.column(0).to_pylist()) == wanted
    assert sum(len(s.files) for s in inner.plan(inner.latest_snapshot(), HasAny("a", (-33,))).splits) == 1
