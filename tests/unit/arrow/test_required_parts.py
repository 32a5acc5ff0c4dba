"""NULLs of nested values whose parts are never NULL."""

from __future__ import annotations

import pyarrow as pa
import pytest

from paimon_core.arrow.required_parts import has_required_parts, with_required_parts
from paimon_core.arrow.types import arrow_type
from paimon_core.spec.types import VARIANT

V = arrow_type(VARIANT)
STRICT = pa.struct([pa.field("n", pa.int32(), nullable=False), pa.field("s", pa.string()), pa.field("v", V)])
ONE = {"value": b"x", "metadata": b"y"}
ROW = {"n": 1, "s": None, "v": ONE}


def noted(rows: list[object], data_type: pa.DataType) -> pa.Array:
    """The rows, NULLs noted for the parts of NULL as well, in a slice."""
    indices = [None, *(None if r is None else i for i, r in enumerate(rows))]
    return pa.array(rows, data_type).take(pa.array(indices, pa.int64())).slice(1)


@pytest.mark.parametrize(
    ("rows", "data_type"),
    [
        ([ONE, None, ONE], V),
        ([None, ROW, {"n": 2, "s": "b", "v": None}], STRICT),
        ([[ONE, None], None, []], pa.list_(V)),
        ([[("k", ONE), ("l", None)], None], pa.map_(pa.string(), V)),
    ],
)
def test_nulls_of_the_whole_leave_the_parts_alone(rows: list[object], data_type: pa.DataType) -> None:
    assert has_required_parts(data_type)
    fixed = with_required_parts(noted(rows, data_type))
    fixed.validate(full=True)
    assert fixed.type == data_type
    assert fixed.to_pylist() == rows
    assert fixed.cast(data_type).to_pylist() == rows


def test_other_columns_are_what_they_are() -> None:
    for data_type in (pa.int32(), pa.map_(pa.string(), pa.int32()), pa.struct([pa.field("n", pa.int32())])):
        column = pa.nulls(2, data_type)
        assert with_required_parts(column) is column
