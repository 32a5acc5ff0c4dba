from __future__ import annotations

import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest

from paimon_sql.values import as_json, as_text, is_number
from tests.unit.shell.fakes import kind


class Row(tuple):
    """As PySpark's Row: a tuple that knows its names."""

    __fields__ = ("a", "b")


VALUES = [
    (None, "NULL", None),
    (True, "true", True),
    (0, "0", 0),
    (1.5, "1.5", 1.5),
    (float("nan"), "NaN", "NaN"),
    (float("-inf"), "-Infinity", "-Infinity"),
    (Decimal("1.50"), "1.50", "1.50"),
    (Decimal("1E+3"), "1000", "1000"),
    ("", "", ""),
    ("NULL", "NULL", "NULL"),
    (date(2024, 1, 2), "2024-01-02", "2024-01-02"),
    (time(1, 2, 3), "01:02:03", "01:02:03"),
    (datetime(2024, 1, 2, 3, 4, 5), "2024-01-02 03:04:05", "2024-01-02 03:04:05"),
    (datetime(2024, 1, 2, 3, 4, 5, 120000), "2024-01-02 03:04:05.12", "2024-01-02 03:04:05.12"),
    (timedelta(days=1, hours=2), "1 day, 2:00:00", "1 day, 2:00:00"),
    (b"\x01\xab", "X'01AB'", "01ab"),
    (bytearray(), "X''", ""),
    ([1, None, "x"], "[1, NULL, x]", [1, None, "x"]),
    ({"k": 1.0, 2: None}, "{k: 1.0, 2: NULL}", {"k": 1.0, "2": None}),
    (Row((1, [b"\x00"])), "{a: 1, b: [X'00']}", {"a": 1, "b": ["00"]}),
]


@pytest.mark.parametrize(("value", "text", "in_json"), VALUES)
def test_text_and_json_of_a_value(value, text, in_json):
    assert as_text(value) == text
    assert as_json(value) == in_json
    json.dumps(as_json(value), allow_nan=False)


def test_instants_are_shown_in_the_zone_of_the_session_wherever_they_are():
    instant = datetime(2024, 1, 1, 0, 0).astimezone(ZoneInfo("UTC")).astimezone().replace(tzinfo=None)
    expected = instant.astimezone(ZoneInfo("Asia/Tokyo")).strftime("%Y-%m-%d %H:%M:%S")
    timestamp = kind("timestamp")
    fields = [SimpleNamespace(dataType=timestamp), SimpleNamespace(dataType=kind("array", elementType=timestamp))]
    nested = kind("struct", fields=fields)
    by_key = kind("map", keyType=kind("string"), valueType=timestamp)
    tokyo = ZoneInfo("Asia/Tokyo")
    assert as_text(instant, timestamp, tokyo) == expected
    assert as_text(Row((instant, [instant])), nested, tokyo) == f"{{a: {expected}, b: [{expected}]}}"
    assert as_json({"k": instant}, by_key, tokyo) == {"k": expected}


def test_timestamps_without_a_zone_are_not_moved():
    value = datetime(2024, 1, 1)
    assert as_text(value, kind("timestamp_ntz"), ZoneInfo("Asia/Tokyo")) == "2024-01-01 00:00:00"


def test_numbers():
    assert [name for name in ("long", "decimal(10,2)", "double", "string", "boolean") if is_number(kind(name))] == [
        "long",
        "decimal(10,2)",
        "double",
    ]
    assert not is_number(None)
