"""Aggregates of parts of the rows, put together, are those of all rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.arrow.types import arrow_schema
from paimon_core.scan.aggregates import Aggregate
from paimon_core.scan.reduction import Reduction
from paimon_core.spec.types import BIGINT, DOUBLE, INT, STRING, CollectionType, Kind
from paimon_core.store.table_store import TableStore
from tests.support.data import make_batch, make_store

COUNT, SUM, LOW, HIGH = Aggregate("count"), Aggregate("sum", "n"), Aggregate("min", "s"), Aggregate("max", "s")
ROWS = [(1, "a", 2**40, 0.1), (2, "b", None, None), (3, None, -5, 0.2), (1, "c", 7, 0.3)]


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    return make_store(tmp_path, {"k": INT, "s": STRING, "n": BIGINT, "f": DOUBLE})


def reduced(store: TableStore, reduction: Reduction, *parts: list[Any]) -> list[tuple[Any, ...]]:
    assert reduction.is_possible(store.schema)
    batches = [make_batch(store, rows).select(list(reduction.columns(store.schema))) for rows in parts]
    result = list(reduction.apply(store, batches))
    assert all(b.schema.equals(arrow_schema(reduction.fields(store))) for b in result)
    return [tuple(row.values()) for b in result for row in b.to_pylist()]


def test_each_batch_becomes_one_row(store: TableStore) -> None:
    every = Reduction((), (COUNT, Aggregate("count", "n"), SUM, LOW, HIGH, Aggregate("sum", "k")))
    assert reduced(store, every, ROWS, ROWS[:1]) == [(4, 3, 2**40 + 2, "a", "c", 7), (1, 1, 2**40, "a", "a", 1)]
    assert reduced(store, every) == [(0, 0, None, None, None, None)]
    assert every.columns(store.schema) == ("n", "s", "k")
    assert Reduction((), (COUNT,)).columns(store.schema) == ("k",)
    assert every.describe() == "count(*), count(n), sum(n), min(s), max(s), sum(k)"


def test_numbers_are_added_in_their_order(store: TableStore) -> None:
    values = [0.1 * i for i in range(1000)] + [1e16, 1.0, -1e16]
    total = 0.0
    for value in values:
        total += value
    rows = [(0, "", 0, v) for v in values]
    assert reduced(store, Reduction((), (Aggregate("sum", "f"),)), rows) == [(total,)]
    assert reduced(store, Reduction(("k",), (Aggregate("sum", "f"),)), rows) == [(0, total)]


def test_groups(store: TableStore) -> None:
    by_key = Reduction(("k",), (COUNT, HIGH))
    assert sorted(reduced(store, by_key, ROWS * 5)) == [(1, 10, "c"), (2, 5, "b"), (3, 5, None)]
    assert reduced(store, by_key) == []
    assert sorted(reduced(store, Reduction(("k", "s"), ()), ROWS[:1] * 9), key=str) == [(1, "a")]


def test_where_groups_are_many_rows_go_on_as_they_are(store: TableStore) -> None:
    by_text = Reduction(("s",), (COUNT, Aggregate("count", "n"), SUM))
    once = [("a", 1, 1, 2**40), ("b", 1, 0, None), (None, 1, 1, -5), ("c", 1, 1, 7)]
    assert sorted(reduced(store, by_text, ROWS, ROWS), key=str) == sorted(once * 2, key=str)


def test_sums_that_no_number_may_hold_are_left_to_spark(store: TableStore) -> None:
    large = [(1, "a", 2**62, 0.0), (1, "b", 2**62, 0.0), (1, "c", None, 0.0)]
    assert reduced(store, Reduction((), (COUNT, SUM, LOW)), large) == [(1, 2**62, "a"), (1, 2**62, "b"), (1, None, "c")]
    least = [(1, "a", -(2**63), 0.0)]
    assert reduced(store, Reduction((), (SUM,)), least) == [(-(2**63),)]


def test_what_sql_compares_or_adds_otherwise_is_not_taken(tmp_path: Path) -> None:
    schema = make_store(tmp_path, {"f": DOUBLE, "l": CollectionType(Kind.ARRAY, element=INT), "s": STRING}).schema
    for asked in (Aggregate("max", "f"), Aggregate("min", "l"), Aggregate("sum", "s"), Aggregate("count", "nosuch")):
        assert not Reduction((), (asked,)).is_possible(schema)
    assert not Reduction(("f",), (COUNT,)).is_possible(schema)
    assert Reduction(("s",), (Aggregate("count", "l"), Aggregate("sum", "f"))).is_possible(schema)


def test_groups_of_one_row_are_not_made(tmp_path: Path) -> None:
    schema = make_store(tmp_path, {"p": INT, "k": INT}, keys=["p", "k"], partitions=["p"], bucket="1").schema
    assert [Reduction(g, (COUNT,)).is_possible(schema) for g in (("k",), ("k", "p"))] == [True, False]


def test_batches_without_their_own_types(store: TableStore) -> None:
    """NULL in all rows of a batch."""
    rows = [(1, None, None, None)] * 8
    assert reduced(store, Reduction((), (SUM, LOW, Aggregate("sum", "f"))), rows) == [(None, None, None)]
    assert pa.types.is_string(arrow_schema(Reduction((), (LOW,)).fields(store)).field(0).type)
