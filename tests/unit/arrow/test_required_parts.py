"""NULLs of nested values whose parts are never NULL."""

from __future__ import annotations

import pyarrow as pa
import pytest

from paimon_core.arrow.required_parts import check_required_parts, has_required_parts, null_part, with_required_parts
from paimon_core.arrow.types import arrow_type
from paimon_core.errors import NullValueError
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


WANTED = pa.struct([pa.field("n", pa.int64(), nullable=False), pa.field("s", pa.string())])
GIVEN = pa.struct([pa.field("n", pa.int32()), pa.field("s", pa.string())])
SWAPPED = pa.struct([pa.field("s", pa.string()), pa.field("n", pa.int32())])
ELEMENTS = pa.list_(pa.field("element", pa.int32(), nullable=False))


@pytest.mark.parametrize(
    ("rows", "given", "wanted", "below"),
    [
        ([{"n": 1, "s": None}, None], GIVEN, WANTED, None),
        ([{"n": 1, "s": None}, {"n": None, "s": "x"}], GIVEN, WANTED, "n"),
        ([{"s": None, "n": 1}, None], SWAPPED, WANTED, None),
        ([{"s": "x", "n": None}], SWAPPED, WANTED, "n"),
        ([[1], [], None], pa.list_(pa.int32()), ELEMENTS, None),
        ([[1], [2, None]], pa.list_(pa.int32()), ELEMENTS, "element"),
        ([[{"n": None, "s": None}]], pa.list_(GIVEN), pa.list_(pa.field("element", WANTED)), "element.n"),
        ([[None], None], pa.list_(GIVEN), pa.list_(WANTED), None),
        (
            [[("k", 1)], [("l", None)]],
            pa.map_(pa.string(), pa.int32()),
            pa.map_(pa.string(), pa.field("value", pa.int32(), nullable=False)),
            "value",
        ),
        ([[("k", {"n": None, "s": None})]], pa.map_(pa.string(), GIVEN), pa.map_(pa.string(), WANTED), "value.n"),
        ([{"r": {"n": None, "s": None}}], pa.struct([("r", GIVEN)]), pa.struct([("r", WANTED)]), "r.n"),
        ([ROW, {"n": 1, "s": None, "v": None}, None], STRICT, STRICT, None),
    ],
)
def test_values_without_a_part_that_is_not_null(
    rows: list[object], given: pa.DataType, wanted: pa.DataType, below: str | None
) -> None:
    for column in (pa.array(rows, given), noted(rows, given), pa.array([rows[-1], *rows], given).slice(1)):
        assert null_part(column, wanted) == below
        if below is None:
            fixed = with_required_parts(column, wanted).cast(wanted)
            fixed.validate(full=True)
            assert (fixed.type, fixed.to_pylist()) == (wanted, rows)
        else:
            with pytest.raises(NullValueError, match=f"'c.{below}' is NOT NULL and cannot hold NULL"):
                check_required_parts("c", column, wanted)
    whole = pa.array([rows[0], rows[-1]], given).slice(0, 0)
    assert null_part(whole, wanted) is None
