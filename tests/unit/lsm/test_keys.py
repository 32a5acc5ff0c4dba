"""Words order rows as keys do, across batches of different width."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.arrow.binary_rows import row_values
from paimon_core.lsm.keys import bounded, flatten, fold, key_words, last_row, upper_bound, widths
from paimon_core.lsm.runs import key_order
from paimon_core.spec.types import DataField, DataType, Kind
from tests.support.strategies import KEY_TYPES, column, columns_of, physical_values


def python_key(types: tuple[DataType, ...], columns: list[pa.Array], row: int) -> tuple[Any, ...]:
    fields = [DataField(id=i, name=str(i), type=t) for i, t in enumerate(types)]
    batch = pa.RecordBatch.from_arrays(columns, names=[f.name for f in fields])
    return key_order(row_values(batch, row, fields))


@given(st.data())
def test_folded_words_order_rows_as_keys_do(data: st.DataObject) -> None:
    choice = st.sampled_from(KEY_TYPES).map(lambda t: t.with_nullable(False))
    types = tuple(data.draw(st.lists(choice, min_size=1, max_size=3)))
    columns = data.draw(columns_of(types))
    key = key_words(columns)
    folded = fold(flatten(key, widths([key])))
    expected = [python_key(types, columns, i) for i in range(len(columns[0]))]
    for i, a in enumerate(expected):
        for j, b in enumerate(expected):
            assert (a < b, a == b) == (folded[i] < folded[j], folded[i] == folded[j])


@pytest.mark.parametrize("data_type", [t for t in KEY_TYPES if t.kind in (Kind.VARCHAR, Kind.BIGINT, Kind.DOUBLE)])
@given(st.data())
def test_upper_bound_counts_rows_up_to_a_key_of_another_batch(data_type: DataType, data: st.DataObject) -> None:
    values = physical_values(data_type)
    ordered = sorted(data.draw(st.lists(values, min_size=1)))
    bound = data.draw(values)
    keys = [key_words([column(data_type, v)]) for v in (ordered, [bound])]
    columns = widths(keys)
    target = last_row(flatten(keys[1], columns))
    found = upper_bound(flatten(keys[0], columns), target)
    order = [key_order([v]) for v in ordered]
    words = flatten(keys[0], columns)
    sorted_rows = np.lexsort(words[::-1])
    if list(sorted_rows) == list(range(len(ordered))):  # -0.0 and 0.0 are one value to Python's sort
        assert found == sum(o <= key_order([bound]) for o in order)


def test_null_is_the_smallest() -> None:
    key = key_words([pa.array([0, None, -5], pa.int64())])
    folded = fold(flatten(key, widths([key])))
    assert folded[1] < folded[2] < folded[0]


def test_extremes_do_not_overflow() -> None:
    extremes = pa.array([2**63 - 1, -(2**63), 0, -(2**63)], pa.int64())
    key = key_words([extremes, extremes])
    folded = fold(flatten(key, widths([key])))
    assert np.argsort(folded, kind="stable").tolist() == [1, 3, 2, 0]


def test_long_keys_cut_batches() -> None:
    batch = pa.record_batch({"k": ["x" * 2**22] * 20})
    assert [b.num_rows for b in bounded(iter([batch, batch.slice(0, 0)]), ["k"])] == [8, 8, 4]
