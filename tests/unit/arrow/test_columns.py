"""Arrow columns as numpy arrays, also of slices and with NULLs, against Arrow."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.arrow.columns import taken, validity

COLUMNS: dict[str, tuple[list[Any], pa.DataType]] = {
    "tinyint": ([None, 1, -2, None, 5, 6, 7, None, 9, 10], pa.int8()),
    "bigint": ([2**62, None, -(2**62), 4], pa.int64()),
    "float": ([1.5, None, float("inf"), -0.0], pa.float32()),
    "date": ([datetime.date(2024, 1, 2), None, None, datetime.date(1, 1, 1)], pa.date32()),
    "zoned": ([datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC), None, None], pa.timestamp("us", "UTC")),
    "nanos": ([1, None, 3], pa.timestamp("ns")),
    "boolean": ([True, None, False, True], pa.bool_()),
    "decimal": ([decimal.Decimal("1.25"), None, decimal.Decimal("-3.50")], pa.decimal128(10, 2)),
    "text": (["a", None, "", "long text"], pa.string()),
    "list": ([[1], None, [], [2, None]], pa.list_(pa.int32())),
    "row": ([{"a": 1}, None, {"a": None}], pa.struct({"a": pa.int32()})),
    "nulls": ([None, None, None], pa.null()),
    "no nulls": ([1, 2, 3], pa.int32()),
    "only nulls": ([None] * 12, pa.int32()),
}


@pytest.mark.parametrize("values, arrow", COLUMNS.values(), ids=COLUMNS)
def test_rows_are_taken_as_arrow_takes_them(values: list[Any], arrow: pa.DataType) -> None:
    whole = pa.array(values * 5, arrow)
    for start in (0, 1, 9):
        column = whole.slice(start, len(whole) - start - 1)
        assert validity(column).tolist() == column.is_valid().to_pylist()
        rows = np.random.default_rng(start).integers(0, len(column), 2 * len(column))
        assert taken(column, rows).equals(column.take(pa.array(rows)))
        valid = rows % 3 > 0
        assert taken(column, rows, valid).equals(column.take(pa.array(rows, mask=~valid)))


def test_nothing_is_taken_from_an_empty_column() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    assert taken(pa.array([], pa.int32()), nothing).equals(pa.array([], pa.int32()))
    missing = taken(pa.array([], pa.int32()), np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.bool_))
    assert missing.to_pylist() == [None, None]
