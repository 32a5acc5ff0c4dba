"""Constants are the values that `pyarrow` itself makes, for types that are made without it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.expressions.constants import array_of, scalar_of


@pytest.mark.parametrize(
    ("value", "arrow"),
    [
        (None, pa.int32()),
        (-5, pa.int8()),
        (2**63 - 1, pa.int64()),
        ("ä", pa.string()),
        (b"\x00\xff", pa.binary()),
        (True, pa.bool_()),
        (False, pa.bool_()),
        (0.1, pa.float64()),
        (0.1, pa.float32()),
        (1e300, pa.float64()),
        (Decimal("-1.50"), pa.decimal128(9, 2)),
        (Decimal("1E+3"), pa.decimal128(9, 2)),
        (Decimal(10**37), pa.decimal128(38, 0)),
        (Decimal(10**50), pa.decimal256(76, 10)),
    ],
)
def test_a_scalar_is_pyarrows(value: Any, arrow: pa.DataType) -> None:
    assert scalar_of(value, arrow).equals(pa.scalar(value, arrow))


@pytest.mark.parametrize(
    ("value", "arrow"),
    [
        (2**31, pa.int32()),
        (-1, pa.uint8()),
        ("1", pa.int32()),
        (Decimal("1.555"), pa.decimal128(9, 2)),
        (Decimal(10**7), pa.decimal128(9, 2)),
        (Decimal("NaN"), pa.decimal128(9, 2)),
    ],
)
def test_a_value_that_the_type_lacks_is_an_error(value: Any, arrow: pa.DataType) -> None:
    with pytest.raises((pa.ArrowException, OverflowError, TypeError, ValueError)):
        scalar_of(value, arrow)


@pytest.mark.parametrize(
    ("values", "arrow"),
    [
        ([], pa.int64()),
        ([1, None, -3], pa.int16()),
        (["a", None, "", "ö"], pa.string()),
        ([None], pa.string()),
        ([b"a", None, b"", b"\xff"], pa.binary()),
        ([], pa.binary()),
        ([1.5, None], pa.float64()),
        ([True, None], pa.bool_()),
    ],
)
def test_a_column_is_pyarrows(values: list[Any], arrow: pa.DataType) -> None:
    found = array_of(values, arrow)
    found.validate(full=True)
    assert found.equals(pa.array(values, arrow))
