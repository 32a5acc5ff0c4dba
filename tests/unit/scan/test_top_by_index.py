"""The first rows in an order by a B-tree: the same rows as by sorting all of them, from fewer files and rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.commit.draft import CommitInfo
from paimon_core.indexes.global_index.arrow_keys import grouped_rows
from paimon_core.indexes.global_index.block_codecs import compression
from paimon_core.indexes.global_index.btree import encode_btree
from paimon_core.indexes.global_index.grouped_rows import decode_row_ids
from paimon_core.indexes.global_index.keys import KeyFormat
from paimon_core.scan.limits import Order
from paimon_core.scan.plan import Plan
from paimon_core.scan.read import read_split
from paimon_core.scan.top_by_index import top_by_index
from paimon_core.store.indexes.index_files import write_index_file
from paimon_core.table import Table
from tests.support.examples import examples
from tests.support.stored import insert
from tests.unit.row_level.test_column_updates import change, new_table
from tests.unit.write.indexes.test_global_index import index, made

SMALL_BLOCKS = {"btree-index.block-size": "64 b", "btree-index.compression": "none"}


def planned(table: Table, order: Order, count: int) -> Plan:
    return top_by_index(table.store, table.plan(table.latest_snapshot()), order, count)


def values(table: Table, plan: Plan, column: str) -> list[Any]:
    return [v for s in plan.splits for b in read_split(table.store, s, [column]) for v in b.column(0).to_pylist()]


def first(found: list[Any], order: Order, count: int) -> list[Any]:
    known = sorted((v for v in found if v is not None), reverse=order.descending)
    nulls = [v for v in found if v is None]
    return ([*nulls, *known] if order.nulls_first else [*known, *nulls])[:count]


def test_few_rows_of_few_files(tmp_path: Path) -> None:
    table = new_table(f"file:{tmp_path}").with_options(SMALL_BLOCKS)
    for low in (0, 100, 200):
        insert(table, [(low + i, f"v{(low + i) * 7 % 300:03}") for i in range(100)])
    index(table, "k")
    index(table, "v")
    plan = planned(table, Order("k"), 5)
    assert plan.files_kept == 1 and set(range(5)) <= set(values(table, plan, "k"))
    assert len(decode_row_ids("", plan.splits[0].row_ids)) < 40
    plan = planned(table, Order("v", descending=True), 3)
    assert first(values(table, plan, "v"), Order("v", descending=True), 3) == ["v299", "v298", "v297"]
    change(table, "k", {}, frozenset(range(30)))  # deleted rows do not count
    plan = planned(table, Order("k"), 5)
    assert set(range(30, 35)) <= set(values(table, plan, "k"))
    insert(table, [(-1, "w")])  # a row without an index
    assert first(values(table, planned(table, Order("k"), 2), "k"), Order("k"), 2) == [-1, 30]
    whole = table.plan(table.latest_snapshot())
    for other in (table.with_options({"global-index.enabled": "false"}), table):
        order, count = (Order("k"), 5) if other is not table else (Order("k"), 250)
        assert planned(other, order, count) == whole


def test_ties_at_the_end_are_kept(tmp_path: Path) -> None:
    table = new_table(f"file:{tmp_path}").with_options(SMALL_BLOCKS)
    insert(table, [(i // 40, f"v{i}") for i in range(400)])
    index(table, "k")
    plan = planned(table, Order("k"), 3)
    assert values(table, plan, "k").count(0) == 40


@pytest.mark.parametrize("descending", [False, True])
def test_several_files_with_the_keys_of_the_same_rows(tmp_path: Path, descending: bool) -> None:
    """Java sorts the rows of a range, and divides the keys among files that all have this range."""
    table = new_table(f"file:{tmp_path}").with_options(SMALL_BLOCKS)
    insert(table, [(i, f"v{i}") for i in range(100)])
    (message,) = made(table, "k", "btree")
    (whole,) = message.new_index_files
    store, field = table.store, table.schema.field_by_name["k"]
    keys, format_ = np.arange(100), KeyFormat.of(field.type)
    assert format_ is not None
    files = []
    for number in (0, 1):
        rows = np.flatnonzero(keys // 3 % 2 == number)
        column = pa.chunked_array([pa.array(keys[rows], pa.int32())])
        grouped = grouped_rows(column, field.type, format_, rows)
        data = encode_btree(grouped, 64, compression("btree-index.compression", "none", 1))
        file = replace(whole, file_name=f"{number}-{whole.file_name}", file_size=len(data), row_count=len(rows))
        files.append(write_index_file(store, (message.partition, message.bucket), file, data))
    table.commit([replace(message, new_index_files=tuple(files))], CommitInfo(user="u"))
    order = Order("k", descending=descending)
    found = first(values(table, planned(table, order, 5), "k"), order, 5)
    assert found == ([99, 98, 97, 96, 95] if descending else [0, 1, 2, 3, 4])


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=40), min_size=1, max_size=3),
    deleted=st.sets(st.integers(0, 20), max_size=8),
    count=st.integers(1, 12),
    order=st.builds(Order, st.just("v"), st.booleans(), st.booleans()),
)
def test_the_first_rows_are_those_of_a_sort(
    tmp_path_factory: pytest.TempPathFactory,
    parts: list[list[int]],
    deleted: set[int],
    count: int,
    order: Order,
) -> None:
    table = new_table(f"file:{tmp_path_factory.mktemp('w')}").with_options(SMALL_BLOCKS)
    for part in parts:
        insert(table, [(i, None if v > 30 else f"v{v:02}") for i, v in enumerate(part)])  # type: ignore[misc]
    index(table, "v")
    total = sum(map(len, parts))
    gone = frozenset(d for d in deleted if d < total - 1)
    if gone:
        change(table, "k", {}, gone)
    everything = values(table, table.plan(table.latest_snapshot()), "v")
    found = values(table, planned(table, order, count), "v")
    assert first(found, order, count) == first(everything, order, count)
