"""CHAR values as Spark has them: as long as the type says, whatever is in the files."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from paimon_core.arrow.chars import has_chars, with_spaces
from paimon_core.arrow.types import arrow_type
from paimon_core.spec.types import INT, STRING, CollectionType, DataField, DataType, Kind, LengthType, MapType, RowType

CHAR = LengthType(Kind.CHAR, length=3)
ROW = RowType(fields=(DataField(id=1, name="c", type=CHAR), DataField(id=2, name="n", type=INT)))
NEVER_NULL = RowType(fields=(DataField(id=1, name="c", type=CHAR.with_nullable(False)),))


@pytest.mark.parametrize(
    ("data_type", "stored", "expected"),
    [
        (CHAR, ["a", None, "ab ", "äöü", ""], ["a  ", None, "ab ", "äöü", "   "]),
        (STRING, ["a", None], ["a", None]),
        (CollectionType(Kind.ARRAY, element=CHAR), [["a", None], None, [], ["b"]], [["a  ", None], None, [], ["b  "]]),
        (ROW, [{"c": "a", "n": 1}, None, {"c": None, "n": 2}], [{"c": "a  ", "n": 1}, None, {"c": None, "n": 2}]),
        (NEVER_NULL, [{"c": "a"}, {"c": ""}], [{"c": "a  "}, {"c": "   "}]),
        (MapType(key=CHAR, value=CHAR), [[("a", "b")], None, []], [[("a  ", "b  ")], None, []]),
        (MapType(key=INT, value=ROW), [[(1, {"c": "a", "n": 1})]], [[(1, {"c": "a  ", "n": 1})]]),
        (CollectionType(Kind.MULTISET, element=CHAR), [[("a", 2)], None], [[("a  ", 2)], None]),
    ],
)
def test_char_values_are_filled(data_type: DataType, stored: list[Any], expected: list[Any]) -> None:
    assert has_chars(data_type) == (data_type is not STRING)
    column = pa.array([*stored[:1], *stored], arrow_type(data_type))
    for part, values in ((column.slice(1), expected), (column.slice(1, 1), expected[:1])):
        filled = with_spaces(part, data_type)
        filled.validate(full=True)
        assert filled.type == column.type
        assert filled.to_pylist() == values
