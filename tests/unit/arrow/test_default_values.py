from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.arrow.default_values import default_value, fill_default
from paimon_core.arrow.types import arrow_type
from paimon_core.errors import InvalidSchemaError
from paimon_core.spec.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TINYINT,
    VARIANT,
    CollectionType,
    DataField,
    DataType,
    Kind,
    MapType,
    RowType,
    TimeType,
)
from paimon_core.time_zones import time_zone

ROW = RowType(fields=(DataField(id=1, name="e", type=BOOLEAN), DataField(id=2, name="t", type=STRING)))
INTS = CollectionType(Kind.ARRAY, element=INT)
TEXTS = CollectionType(Kind.ARRAY, element=STRING)
MAP = MapType(key=STRING, value=DOUBLE)

GOOD: list[tuple[DataType, str, Any]] = [
    (INT, "5", 5),
    (STRING, "'x, y'", "x, y"),
    (STRING, "plain", "plain"),
    (STRING, '"it\'s"', "it's"),
    (DATE, "'2024-01-02'", date(2024, 1, 2)),
    (DOUBLE, "99.99D", 99.99),
    (INT, "null", None),
    (INTS, "ARRAY(1, 2, null)", [1, 2, None]),
    (INTS, "[1,2]", [1, 2]),
    (TEXTS, "array()", []),
    (TEXTS, "array('a,b', 'c')", ["a,b", "c"]),
    (MAP, "map('k', 1.5, 'l', 2)", [("k", 1.5), ("l", 2.0)]),
    (MAP, 'map("k", 1.5)', [("k", 1.5)]),
    (MAP, "{k -> 1.5, l->2}", [("k", 1.5), ("l", 2.0)]),
    (ROW, "STRUCT(true, 'x')", {"e": True, "t": "x"}),
    (ROW, "{false, y}", {"e": False, "t": "y"}),
    (CollectionType(Kind.ARRAY, element=ROW), "ARRAY(STRUCT(true, 'a'), null)", [{"e": True, "t": "a"}, None]),
]
BAD: list[tuple[DataType, str]] = [
    (INT, "1 + 1"),
    (TINYINT, "300"),
    (TimeType(Kind.TIMESTAMP_LTZ), "current_timestamp()"),
    (DATE, "current_date()"),
    (INTS, "1, 2"),
    (INTS, "ARRAY(1, 'x')"),
    (MAP, "map('k')"),
    (ROW, "STRUCT(true)"),
    (VARIANT, "'{}'"),
]


def column(data_type: DataType, text: str | None) -> DataField:
    return DataField(id=0, name="c", type=data_type, default=text)


@pytest.mark.parametrize(("data_type", "text", "value"), GOOD)
def test_text_is_a_value(data_type: DataType, text: str, value: Any) -> None:
    found = default_value(column(data_type, text))
    assert (found.type, found.to_pylist()) == (arrow_type(data_type), [value])


@pytest.mark.parametrize(("data_type", "text"), BAD)
def test_what_is_no_constant_is_refused_by_name(data_type: DataType, text: str) -> None:
    with pytest.raises(InvalidSchemaError, match=r"Column 'c' of type .* default value"):
        default_value(column(data_type, text))


def test_an_instant_is_in_the_zone_given() -> None:
    instant = TimeType(Kind.TIMESTAMP_LTZ, precision=6)
    expected = [datetime(2024, 6, 1, tzinfo=UTC)]
    assert default_value(column(instant, "2024-06-01 08:00:00"), time_zone("+08:00")).to_pylist() == expected
    array = CollectionType(Kind.ARRAY, element=instant)
    nested = default_value(column(array, "[2024-06-01 08:00:00]"), time_zone("+08:00"))
    assert nested.to_pylist() == [expected]


@pytest.mark.parametrize(
    ("data_type", "text", "rows", "filled"),
    [
        (INT, "7", [1, None, 2, None], [1, 7, 2, 7]),
        (INTS, "ARRAY(7)", [[1], None, [], None], [[1], [7], [], [7]]),
        (ROW, "{true, d}", [None, {"e": None, "t": None}], [{"e": True, "t": "d"}, {"e": None, "t": None}]),
        (INT, None, [None, 1], [None, 1]),
        (INTS, "NULL", [[1], None], [[1], None]),
    ],
)
def test_null_becomes_the_default(data_type: DataType, text: str | None, rows: list[Any], filled: list[Any]) -> None:
    given = pa.array(rows, arrow_type(data_type))
    assert fill_default(given, column(data_type, text)).to_pylist() == filled
    assert fill_default(given.slice(1), column(data_type, text)).to_pylist() == filled[1:]
