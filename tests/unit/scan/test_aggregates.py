from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.expressions.predicate import Compare
from paimon_core.scan.aggregates import Aggregate, aggregate, aggregate_rows, result_fields
from paimon_core.spec.stats import EMPTY_STATS, ColumnStats, encode_stats
from paimon_core.spec.types import INT
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from tests.support.tables import data_file, info, message, new_store

COUNT, LOW, HIGH = Aggregate("count"), Aggregate("min", "k"), Aggregate("max", "k")


def answer(store: TableStore, *aggregates: Aggregate, groups: tuple[str, ...] = (), **more: Any) -> Any:
    table = Table(store)
    found = aggregate(store, table.plan(table.latest_snapshot(), **more), groups, aggregates)
    return None if found is None else [tuple(row.values()) for row in found.to_pylist()]


def test_counts_and_bounds(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    assert answer(store, COUNT, LOW) == [(0, None)]
    nulls = data_file(store, 0, 0, rows=3, value_stats=encode_stats([INT], [ColumnStats(None, None, 3)]))
    Table(store).commit([message(store, data_file(store, 2, 8, rows=5), data_file(store, 5, 9), nulls)], info())
    assert answer(store, COUNT, Aggregate("count", "k"), LOW, HIGH) == [(9, 6, 2, 9)]
    assert [f.name for f in result_fields(store, ("p",), (COUNT, LOW))] == ["p", "count(*)", "min(k)"]
    assert answer(store, COUNT, predicate=Compare("k", ">", 3)) is None
    assert answer(store, COUNT, groups=("k",)) is None
    assert answer(store, Aggregate("max", "v")) is None
    assert answer(store, Aggregate("max", "nosuch")) is None


@pytest.mark.parametrize("missing", [{"value_stats": EMPTY_STATS}, {"value_stats_cols": ("v",)}])
def test_files_that_do_not_tell(tmp_path: Path, missing: dict[str, Any]) -> None:
    store = new_store(tmp_path)
    Table(store).commit([message(store, data_file(store, 2, 8), data_file(store, 1, 1, **missing))], info())
    assert answer(store, COUNT) == [(2,)]
    assert (answer(store, LOW), answer(store, Aggregate("count", "k"))) == (None, None)


def test_rows_to_be_merged_are_not_counted(tmp_path: Path) -> None:
    store = new_store(tmp_path, primary_key="k", bucket="1")
    table = Table(store)
    table.commit([message(store, data_file(store, 1, 5, rows=5))], info())
    assert answer(store, COUNT, HIGH) == [(5, 5)]
    table.commit([message(store, data_file(store, 5, 6, rows=2))], info())
    assert answer(store, COUNT) is None


@pytest.mark.parametrize("option", ["scan.ignore-lost-files", "scan.ignore-corrupt-files"])
def test_rows_that_may_be_lost_are_not_counted(tmp_path: Path, option: str) -> None:
    store = new_store(tmp_path, partition="p")
    Table(store).commit([message(store, data_file(store, 1, 5, rows=5), p=1)], info())
    asked = (COUNT, LOW, HIGH, Aggregate("max", "p"))
    assert answer(store, *asked) == [(5, 1, 5, 1)]
    lenient = store.with_options({option: "true"})
    assert [answer(lenient, one) for one in asked] == [None] * 4
    assert answer(lenient, groups=("p",)) is None


def test_rows_in_memory() -> None:
    content = pa.table({"k": [3, 1, None], "p": ["b", "a", "b"], "f": [1.0, 2.0, 3.0], "l": [[1], [2], None]})
    found = aggregate_rows(content, (), (COUNT, Aggregate("count", "k"), LOW, HIGH, Aggregate("max", "p")))
    assert found is not None and found.to_pylist() == [
        {"count(*)": 3, "count(k)": 2, "min(k)": 1, "max(k)": 3, "max(p)": "b"}
    ]
    grouped = aggregate_rows(content, ("p",), (HIGH, Aggregate("count", "l")))
    assert grouped is not None and sorted(map(str, grouped.to_pylist())) == [
        "{'p': 'a', 'max(k)': 1, 'count(l)': 1}",
        "{'p': 'b', 'max(k)': 3, 'count(l)': 1}",
    ]
    empty = aggregate_rows(content.slice(0, 0), (), (COUNT, LOW))
    assert empty is not None and empty.to_pylist() == [{"count(*)": 0, "min(k)": None}]
    assert aggregate_rows(content, (), (Aggregate("max", "f"),)) is None
    assert aggregate_rows(content, ("l",), (COUNT,)) is None
