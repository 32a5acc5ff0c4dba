"""Columns as text: the rules of single values, and what is a value again."""

from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.arrow.casts import cast_column
from paimon_core.arrow.text_casts import to_text
from paimon_core.arrow.types import arrow_type
from paimon_core.spec.casts import can_cast
from paimon_core.spec.types import STRING, DataType, Kind, TimeType
from paimon_core.spec.value_texts import cast_text
from tests.support.examples import examples
from tests.support.strategies import KEY_TYPES, physical_values

TYPES = (
    *(t for t in KEY_TYPES if t.kind is not Kind.TIMESTAMP_LTZ),  # columns of these are cast in the process's zone
    TimeType(Kind.TIME, precision=0),
    TimeType(Kind.TIMESTAMP, precision=0),
    TimeType(Kind.TIMESTAMP, precision=1),
    TimeType(Kind.TIMESTAMP, precision=4),
    TimeType(Kind.TIMESTAMP, precision=8),
)
# CHAR and BINARY are padded
PARSED = [t for t in TYPES if t.kind not in (Kind.CHAR, Kind.BINARY) and can_cast(STRING, t)]
_UNITS = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}


def scalar(data_type: DataType, value: Any, unit: str) -> Any:
    """A value in the domain of `binary_row`, from what Arrow's builders take."""
    if isinstance(value, date):
        return (value - date(1970, 1, 1)).days
    if data_type.kind is Kind.TIMESTAMP:
        nanos = value * (10**9 // _UNITS[unit])
        return nanos // 10**6, nanos % 10**6
    return value


def held(data_type: DataType, value: Any, unit: str) -> Any:
    """The value with no more digits than its type has."""
    if data_type.kind is Kind.TIME and data_type.precision == 0:  # type: ignore[attr-defined]
        return value - value % 1000
    if data_type.kind is Kind.TIMESTAMP:
        surplus = max(1, _UNITS[unit] // 10**data_type.precision)  # type: ignore[attr-defined]
        return value - value % surplus
    return value


def physical(data_type: DataType) -> st.SearchStrategy[Any]:
    """Values as Arrow's builders take them; bytes that are text, since other bytes make a STRING that is none."""
    if data_type.kind in (Kind.BINARY, Kind.VARBINARY):
        return st.text(max_size=5).map(str.encode).filter(lambda b: data_type.kind is Kind.VARBINARY or len(b) <= 12)
    unit = getattr(arrow_type(data_type), "unit", "")
    return physical_values(data_type).map(lambda v: held(data_type, v, unit))


@pytest.mark.parametrize("data_type", TYPES, ids=str)
@settings(max_examples=examples(60))
@given(st.data())
def test_columns_are_cast_as_single_values(data_type: DataType, data: st.DataObject) -> None:
    arrow = arrow_type(data_type)
    made = data.draw(st.lists(physical(data_type), max_size=5))
    expected = [cast_text(data_type, scalar(data_type, v, getattr(arrow, "unit", ""))) for v in made]
    assert to_text(pa.array([*made, None], arrow), data_type).to_pylist() == [*expected, None]


@pytest.mark.parametrize("data_type", PARSED, ids=str)
@settings(max_examples=examples(40))
@given(st.data())
def test_texts_of_columns_mean_their_values(data_type: DataType, data: st.DataObject) -> None:
    arrow = arrow_type(data_type)
    years = 62_135_596_800 * _UNITS.get(getattr(arrow, "unit", ""), 1)  # before the year 1 texts do not parse
    values = physical(data_type).filter(lambda v: data_type.kind is not Kind.TIMESTAMP or v >= -years)
    column = pa.array([*data.draw(st.lists(values, max_size=5)), None], arrow)
    assert cast_column(to_text(column, data_type), STRING, data_type) == column
