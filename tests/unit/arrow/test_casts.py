"""Values whose column got another type. The values expected are what Paimon's Java readers show."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.arrow.casts import cast_column, local_zone
from paimon_core.arrow.types import arrow_type
from paimon_core.errors import InvalidDataError
from paimon_core.spec.casts import can_cast
from paimon_core.spec.types import DataType, DecimalType, Kind, parse_type
from paimon_core.time_zones import time_zone
from tests.support.examples import examples
from tests.support.strategies import KEY_TYPES

MOMENT = datetime(2024, 1, 2, 3, 4, 5, 678900)
TO_MILLIS = MOMENT.replace(microsecond=678000)
BEFORE = datetime(1969, 12, 31, 23, 59, 59, 999999)
LTZ = "TIMESTAMP(6) WITH LOCAL TIME ZONE"

CASES: list[tuple[str, str, list[Any], list[Any]]] = [
    ("INT", "BIGINT", [1, -2], [1, -2]),
    ("INT", "TINYINT", [300, -129], [44, 127]),
    ("INT", "STRING", [1, -300], ["1", "-300"]),
    ("INT", "VARCHAR(2)", [1, -300], ["1", "-3"]),
    ("INT", "BOOLEAN", [1, 0, -5], [True, False, True]),
    ("INT", "DECIMAL(3, 1)", [1, -300], [Decimal("1.0"), None]),
    ("INT", "TIMESTAMP(6)", [1], [datetime(1970, 1, 1, 0, 0, 1)]),
    ("DOUBLE", "INT", [3.9, -3.9, 1e20, float("nan")], [3, -3, 2**31 - 1, 0]),
    ("DOUBLE", "BIGINT", [1e20, -1e20], [2**63 - 1, -(2**63)]),
    ("DOUBLE", "TINYINT", [1e20, 300.0], [-1, 44]),
    ("DOUBLE", "DECIMAL(10, 2)", [1.005, 0.125, 1e20, 1e-7], [Decimal("1.01"), Decimal("0.13"), None, Decimal(0)]),
    ("DOUBLE", "STRING", [1.0, 1e7, 1.5e-5, 123.25, -0.0], ["1.0", "1.0E7", "1.5E-5", "123.25", "-0.0"]),
    ("DOUBLE", "STRING", [float("nan"), float("-inf"), 9999999.0], ["NaN", "-Infinity", "9999999.0"]),
    ("FLOAT", "STRING", [0.5, 1.2345679e17], ["0.5", "1.2345679E17"]),
    ("DECIMAL(10, 3)", "DECIMAL(4, 2)", [Decimal("1.005"), Decimal("99.995")], [Decimal("1.01"), None]),
    ("DECIMAL(10, 3)", "INT", [Decimal("1.905"), Decimal("-1.905")], [1, -1]),
    ("DECIMAL(10, 3)", "STRING", [Decimal("-0.005"), Decimal("12.345")], ["-0.005", "12.345"]),
    ("DECIMAL(38, 12)", "STRING", [Decimal("1E-12")], ["0.000000000001"]),
    ("BOOLEAN", "STRING", [True, False], ["true", "false"]),
    ("BOOLEAN", "DECIMAL(3, 1)", [True], [Decimal("1.0")]),
    (
        "TIMESTAMP(6)",
        "TIMESTAMP(3)",
        [MOMENT, BEFORE],
        [MOMENT.replace(microsecond=678000), BEFORE.replace(microsecond=999000)],
    ),
    ("TIMESTAMP(6)", "TIMESTAMP(1)", [MOMENT], [MOMENT.replace(microsecond=600000)]),
    ("TIMESTAMP(6)", "DATE", [MOMENT, BEFORE], [date(2024, 1, 2), date(1969, 12, 31)]),
    ("TIMESTAMP(6)", "TIME(3)", [MOMENT, BEFORE], [time(3, 4, 5, 678000), time(23, 59, 59, 999000)]),
    ("TIMESTAMP(6)", "BIGINT", [MOMENT], [1704164645]),
    ("TIMESTAMP(6)", "STRING", [MOMENT], ["2024-01-02 03:04:05.678900"]),
    ("TIMESTAMP(0)", "STRING", [MOMENT.replace(microsecond=0)], ["2024-01-02 03:04:05"]),
    ("DATE", "TIMESTAMP(3)", [date(2024, 1, 2)], [datetime(2024, 1, 2)]),
    ("DATE", "STRING", [date(2024, 1, 2), date(1, 1, 1)], ["2024-01-02", "0001-01-01"]),
    ("TIME(3)", "STRING", [time(1, 2, 3), time(1, 2, 3, 450000)], ["01:02:03.0", "01:02:03.45"]),
    ("TIME(0)", "TIMESTAMP(6)", [time(1, 2, 3)], [datetime(1970, 1, 1, 1, 2, 3)]),
    ("STRING", "INT", ["1", "+2", "3.9", "-4"], [1, 2, 3, -4]),
    ("STRING", "BOOLEAN", ["T", "no", "1"], [True, False, True]),
    ("STRING", "DECIMAL(5, 2)", ["1.005", "1e2", "12345"], [Decimal("1.01"), Decimal(100), None]),
    ("STRING", "DATE", ["2024-01-02", "2024-1-2", "1"], [date(2024, 1, 2), date(2024, 1, 2), date(1970, 1, 2)]),
    (
        "STRING",
        "TIMESTAMP(3)",
        ["2024-01-02 03:04:05.6789", "1000"],
        [MOMENT.replace(microsecond=678000), datetime(1970, 1, 1, 0, 0, 1)],
    ),
    ("STRING", "TIME(0)", ["01:02:03"], [time(1, 2, 3)]),
    ("STRING", "CHAR(3)", ["a", "abcd"], ["a  ", "abc"]),
    ("STRING", "BINARY(3)", ["é"], [b"\xc3\xa9\x00"]),
    ("BYTES", "VARBINARY(2)", [b"abc"], [b"ab"]),
    ("BYTES", "STRING", [b"ab"], ["ab"]),
]


def cast(source: str, target: str, values: list[Any]) -> pa.Array:
    then, now = parse_type(source), parse_type(target)
    return cast_column(pa.array(values, arrow_type(then)), then, now)


@pytest.mark.parametrize(("source", "target", "values", "expected"), CASES)
def test_values_are_converted(source: str, target: str, values: list[Any], expected: list[Any]) -> None:
    assert can_cast(parse_type(source), parse_type(target))
    found = cast(source, target, [*values, None])
    assert found.type == arrow_type(parse_type(target))
    assert found.to_pylist() == [*expected, None]


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("INT", "x"),
        ("TINYINT", "300"),
        ("BOOLEAN", "maybe"),
        ("DOUBLE", "one"),
        ("DATE", "today"),
        ("DECIMAL(3, 0)", ""),
    ],
)
def test_text_that_does_not_parse_is_an_error(target: str, text: str) -> None:
    with pytest.raises(InvalidDataError):
        cast("STRING", target, [text])


def test_instants_turn_local_in_the_zone_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert local_zone() == "Asia/Tokyo"
    noon = datetime(2024, 1, 2, 12, tzinfo=UTC)
    assert cast(LTZ, "TIMESTAMP(6)", [noon]).to_pylist() == [datetime(2024, 1, 2, 21)]
    assert cast("TIMESTAMP(6)", LTZ, [datetime(2024, 1, 2, 21)]).to_pylist() == [noon]
    assert cast("DATE", LTZ, [date(2024, 1, 2)]).to_pylist() == [datetime(2024, 1, 1, 15, tzinfo=UTC)]
    assert cast(LTZ, "STRING", [noon]).to_pylist() == ["2024-01-02 21:00:00.000000"]
    assert cast(LTZ, "DATE", [noon.replace(hour=20)]).to_pylist() == [date(2024, 1, 3)]


ZONES = [
    "UTC",
    "Asia/Shanghai",
    "America/New_York",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "+08:00",
    "-03:30:15",
    "PST",
]
moments = st.datetimes(datetime(1901, 1, 2), datetime(2037, 12, 30)) | st.sampled_from(
    [datetime(2024, 3, 10, h, m) for h in (1, 2, 3, 6, 7) for m in (0, 30)]
    + [datetime(2024, 11, 3, h, m) for h in (0, 1, 2, 5, 6) for m in (0, 30)]
    + [datetime(2024, 4, 6, 14, 30), datetime(2024, 4, 7, 1, 45), datetime(2024, 10, 6, 2, 15)]
)


@pytest.mark.parametrize("name", ZONES)
@given(st.lists(moments, min_size=1))
def test_instants_turn_local_in_the_zone_given(name: str, values: list[datetime]) -> None:
    """What skips or repeats an hour is read as Python's `zoneinfo` and Java's `ZonedDateTime` read it."""
    zone, there = time_zone(name), [v.replace(tzinfo=UTC) for v in values]
    local, instant = parse_type("TIMESTAMP(6)"), parse_type(LTZ)
    walls = cast_column(pa.array([*there, None], arrow_type(instant)), instant, local, zone)
    assert walls.to_pylist() == [*(v.astimezone(zone).replace(tzinfo=None) for v in there), None]
    instants = cast_column(pa.array([*values, None], arrow_type(local)), local, instant, zone)
    assert instants.to_pylist() == [*(v.replace(tzinfo=zone).astimezone(UTC) for v in values), None]


@pytest.mark.parametrize("source", KEY_TYPES, ids=str)
@pytest.mark.parametrize("target", KEY_TYPES, ids=str)
def test_every_pair_that_is_allowed_is_read(source: DataType, target: DataType) -> None:
    """None of them fails for its type only."""
    if not can_cast(source, target):
        return
    values = ["1", None] if source.kind in (Kind.CHAR, Kind.VARCHAR) else [None, None]
    if target.kind is Kind.TIME and values[0]:
        values = ["01:02:03", None]
    found = cast_column(pa.array(values, arrow_type(source)), source, target)
    assert (found.type, len(found), found[1].is_valid) == (arrow_type(target), 2, False)


@settings(max_examples=examples(200))
@given(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(0, 38), st.integers(1, 38), st.data())
def test_decimals_round_half_up_and_overflow_to_null(digits: int, scale: int, precision: int, data: Any) -> None:
    target = DecimalType(precision=precision, scale=data.draw(st.integers(0, precision)))
    source = DecimalType(precision=38, scale=scale)
    context = Context(prec=200, rounding=ROUND_HALF_UP)
    value = Decimal(digits).scaleb(-scale, context)
    expected = value.quantize(Decimal(1).scaleb(-target.scale), context=context)
    found = cast_column(pa.array([value], arrow_type(source)), source, target)[0].as_py()
    fits = expected.copy_abs() < Decimal(10) ** (target.precision - target.scale)
    assert found == (expected if fits else None)


@settings(max_examples=examples(300))
@given(st.floats())
def test_numbers_as_text_are_the_same_numbers(value: float) -> None:
    (text,) = cast("DOUBLE", "STRING", [value]).to_pylist()
    (back,) = cast("STRING", "DOUBLE", [text]).to_pylist()
    assert back == value or (back != back and value != value)
    if value == value and abs(value) != float("inf") and value != 0:
        assert ("E" in text) == (not 1e-3 <= abs(value) < 1e7)
