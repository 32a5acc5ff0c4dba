"""Vectors of the wrong length, or with NULL among their elements, wherever they are in a column."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.arrow.types import arrow_type
from paimon_core.arrow.vectors import invalid_vector
from paimon_core.spec.types import FLOAT, INT, STRING, CollectionType, DataField, DataType, Kind, MapType, RowType
from paimon_core.spec.types import VectorType as Vector

PAIR = Vector(Kind.ARRAY, element=FLOAT, length=2)
ROW = RowType(fields=(DataField(id=1, name="n", type=INT), DataField(id=2, name="v", type=PAIR)))
VALUES = st.none() | st.lists(st.none() | st.floats(width=32), max_size=3)
# types that contain the vector, with a function that puts it there
PLACES: dict[str, tuple[DataType, Any]] = {
    "column": (PAIR, lambda v: v),
    "array": (CollectionType(Kind.ARRAY, element=PAIR), lambda v: [v]),
    "row": (ROW, lambda v: {"n": 1, "v": v}),
    "map value": (MapType(key=STRING, value=PAIR), lambda v: [("k", v)]),
    "rows in maps": (MapType(key=INT, value=ROW), lambda v: [(1, {"n": None, "v": v})]),
}


def is_valid(value: list[float | None] | None) -> bool:
    return value is None or (len(value) == 2 and None not in value)


@pytest.mark.parametrize("place", PLACES)
@given(values=st.lists(st.tuples(st.booleans(), VALUES), max_size=5), start=st.integers(0, 2))
def test_a_fault_is_found_in_every_place(place: str, values: list[tuple[bool, Any]], start: int) -> None:
    data_type, put = PLACES[place]
    rows = [put(v) if present else None for present, v in values]
    column = pa.array(rows, arrow_type(data_type)).slice(start)
    fault = invalid_vector(column, data_type)
    assert (fault is None) == all(is_valid(v) for present, v in values[start:] if present)


def test_faults_are_named() -> None:
    assert invalid_vector(pa.array([[1.0, 2.0], None, [3.0]]), PAIR) == "a vector of 1 elements instead of 2"
    assert invalid_vector(pa.array([[1.0, None]]), PAIR) == "a vector with a NULL element"


def test_other_values_under_null_do_not_count() -> None:
    values = pa.array([1.0, 2.0, 3.0], pa.float32())
    column = pa.ListArray.from_arrays(pa.array([0, 1, 3], pa.int32()), values, mask=pa.array([True, False]))
    assert invalid_vector(column, PAIR) is None
