"""Hashing columns gives what hashing each row's BinaryRow gives."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.arrow.binary_rows import hash_rows, row_bytes, row_values
from paimon_core.arrow.types import arrow_field
from paimon_core.spec.binary_row import decode_row, encode_body
from paimon_core.spec.hashing.murmur import murmur3_row
from paimon_core.spec.types import BIGINT, STRING, DataField, DataType
from tests.support.strategies import KEY_TYPES, columns_of


def check(types: tuple[DataType, ...], columns: list[pa.Array]) -> None:
    fields = [DataField(id=i, name=f"c{i}", type=t) for i, t in enumerate(types)]
    batch = pa.RecordBatch.from_arrays(columns, schema=pa.schema([arrow_field(f) for f in fields]))
    expected = [murmur3_row(encode_body(types, row_values(batch, i, fields))) for i in range(batch.num_rows)]
    assert hash_rows(columns, types).tolist() == expected
    for i in range(batch.num_rows):
        assert decode_row(types, row_bytes(batch, i, fields)) == row_values(batch, i, fields)


@pytest.mark.parametrize("data_type", KEY_TYPES, ids=str)
@given(st.data())
def test_one_column(data_type: DataType, data: st.DataObject) -> None:
    check((data_type,), data.draw(columns_of((data_type,))))


@given(st.data())
def test_several_columns(data: st.DataObject) -> None:
    types = tuple(data.draw(st.lists(st.sampled_from(KEY_TYPES), min_size=2, max_size=5)))
    check(types, data.draw(columns_of(types)))


def test_slices_and_values_of_very_different_length() -> None:
    texts = pa.array(["a" * n for n in (0, 7, 8, 9, 5000, 3, 100_000, 64)] + [None])
    check((STRING, BIGINT), [texts.slice(2), pa.array(range(9)).slice(2)])


def test_no_rows() -> None:
    assert hash_rows([pa.array([], pa.string())], (STRING,)).shape == (0,)
    assert hash_rows([pa.array([], pa.int64())], (BIGINT,)).dtype == np.int32
