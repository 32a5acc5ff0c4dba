"""Global indexes never lose a row that matches, of any type of column, and are exact where they cover all rows."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.expressions.predicate import And, Compare, IsNull, Predicate
from paimon_core.indexes.global_index.arrow_keys import grouped_rows
from paimon_core.indexes.global_index.bitmap import encode_bitmap_index
from paimon_core.indexes.global_index.block_codecs import compression
from paimon_core.indexes.global_index.btree import encode_btree
from paimon_core.indexes.global_index.grouped_rows import RowIds
from paimon_core.indexes.global_index.keys import KeyFormat
from paimon_core.indexes.global_index.reader import GLOBAL_INDEX_FILES
from paimon_core.indexes.matching_rows import IndexedColumn, matching_rows
from paimon_core.scan.pruning.by_global_index import GlobalIndex, IndexedRows
from paimon_core.spec.types import INT, STRING, DataType
from tests.support.examples import examples
from tests.support.file_indexes import column_of
from tests.unit.expressions.test_prune import evaluate
from tests.unit.indexes.file_index.test_matching_rows import COLUMNS, compound, leaves

ENCODE = {"btree": encode_btree, "bitmap": encode_bitmap_index}
POOL = ThreadPoolExecutor(1)
TYPES = [name for name, (data_type, _) in COLUMNS.items() if KeyFormat.of(data_type) is not None]


def part(kind: str, values: Sequence[Any], data_type: DataType, first: int, block_size: int = 50) -> IndexedRows:
    """A file of the rows from id `first` on."""
    key_format = KeyFormat.of(data_type)
    assert key_format is not None
    column = pa.chunked_array([column_of(values, data_type)])
    grouped = grouped_rows(column, data_type, key_format, np.arange(len(values), dtype=np.int64))
    content = ENCODE[kind](grouped, block_size, compression("o", "none", 1))
    opened = GLOBAL_INDEX_FILES[kind]("f", len(content), key_format, lambda start, size: content[start : start + size])
    meta = grouped.meta
    keys = None if meta.first is None else (key_format.read("f", meta.first), key_format.read("f", meta.last or b""))
    return IndexedRows(opened, first, len(content), keys, meta.has_nulls)


def column(data_type: DataType, *parts: IndexedRows, others: Sequence[int] = (), scan: int = 2**20) -> IndexedColumn:
    return IndexedColumn(data_type, [GlobalIndex(parts, RowIds(others), scan, POOL)])


@pytest.mark.parametrize("kind", ENCODE)
@pytest.mark.parametrize("of", TYPES)
@settings(max_examples=examples(12))
@given(data=st.data())
def test_no_matching_row_is_lost(of: str, kind: str, data: st.DataObject) -> None:
    data_type, domain = COLUMNS[of]
    values = data.draw(st.lists(st.none() | domain, min_size=2, max_size=12))
    predicate = data.draw(compound(leaves("c", of)))
    cut, block_size = data.draw(st.integers(1, len(values) - 1)), data.draw(st.sampled_from([1, 40, 2**16]))
    first, last = (part(kind, v, data_type, i, block_size) for v, i in ((values[:cut], 0), (values[cut:], cut)))
    matching = {i for i, v in enumerate(values) if evaluate(predicate, {"c": v})}
    whole = column(data_type, first, last)
    rows = matching_rows(predicate, {"c": whole}.get)
    assert rows is None or matching <= set(rows) <= set(range(len(values)))
    partly = column(data_type, first, others=range(cut, len(values)))
    rows = matching_rows(predicate, {"c": partly}.get)
    assert rows is None or matching <= set(rows) <= set(range(len(values)))


@pytest.mark.parametrize("kind", ENCODE)
@settings(max_examples=examples(60))
@given(data=st.data())
def test_simple_types_are_exact(kind: str, data: st.DataObject) -> None:
    of = data.draw(st.sampled_from(["int", "string", "double", "boolean", "micros", "long decimal"]))
    data_type, domain = COLUMNS[of]
    values = data.draw(st.lists(st.none() | domain, min_size=1, max_size=20))
    value = data.draw(domain)
    for predicate in [Compare("c", op, value) for op in ("=", "!=", "<", "<=", ">", ">=", "<=>")] + [IsNull("c")]:
        rows = matching_rows(predicate, {"c": column(data_type, part(kind, values, data_type, 0))}.get)
        matching = {i for i, v in enumerate(values) if evaluate(predicate, {"c": v})}
        assert set(rows or ()) == matching


def test_ranges_are_looked_up_in_files_of_a_bounded_size() -> None:
    small, large = part("btree", [1, 2, 3], INT, 0), part("btree", [7, 8, 9, None], INT, 3)

    def rows(predicate: Predicate, scan: int) -> list[int] | None:
        found = matching_rows(predicate, {"c": column(INT, small, large, scan=scan)}.get)
        return None if found is None else list(found)

    assert rows(Compare("c", "<", 3), small.size) == [0, 1]
    assert rows(Compare("c", ">", 1), small.size) is None
    assert rows(And((Compare("c", ">", 1), Compare("c", "<=", 3))), small.size) == [1, 2]
    assert rows(Compare("c", "=", 8), 0) == [4]
    assert rows(Compare("c", "!=", 8), 0) == [0, 1, 2, 3, 5]
    assert rows(IsNull("c"), 0) == [6]


def test_files_without_the_key_are_not_read() -> None:
    key_format = KeyFormat.of(STRING)
    assert key_format is not None

    def fail(start: int, size: int) -> bytes:
        raise AssertionError("read")

    files = [
        IndexedRows(GLOBAL_INDEX_FILES["btree"]("f", 100, key_format, fail), 0, 100, (b"k", b"m"), False),
        IndexedRows(GLOBAL_INDEX_FILES["bitmap"]("f", 100, key_format, fail), 9, 100, None, True),
    ]
    for predicate in (Compare("c", "=", "a"), Compare("c", "<", "k"), Compare("c", ">=", "n")):
        rows = matching_rows(predicate, {"c": column(STRING, *files, others=[50])}.get)
        assert rows is not None and list(rows) == [50]
