"""Values as text: what Java prints and casts, and folders, statistics and arguments of procedures made of it."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from paimon_core.spec.binary_row import EMPTY_ROW, encode_row
from paimon_core.spec.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    DataField,
    DataType,
    DecimalType,
    Kind,
    TimeType,
)
from paimon_core.spec.value_texts import (
    bound_text,
    cast_text,
    internal_text,
    partition_spec,
    shown_partition,
    sql_bound,
    value_of_text,
)


def column(data_type: DataType, name: str = "p") -> DataField:
    return DataField(id=0, name=name, type=data_type)


@pytest.mark.parametrize(
    ("data_type", "value", "text"),
    [
        (INT, -5, "-5"),
        (BIGINT, 2**63 - 1, "9223372036854775807"),
        (BOOLEAN, True, "true"),
        (BOOLEAN, False, "false"),
        (DATE, 19_723, "19723"),
        (STRING, "a/b", "a/b"),
        (DecimalType(precision=10, scale=2), Decimal("1.50"), "1.50"),
        (DecimalType(precision=38, scale=38), Decimal("1E-38"), "0." + "0" * 37 + "1"),
        (TimeType(Kind.TIME, precision=3), 3_600_000, "3600000"),
        (TimeType(Kind.TIMESTAMP, precision=0), (0, 0), "1970-01-01T00:00"),
        (TimeType(Kind.TIMESTAMP, precision=3), (-1, 0), "1969-12-31T23:59:59.999"),
        (TimeType(Kind.TIMESTAMP, precision=3), (60_000 - 1000, 0), "1970-01-01T00:00:59"),
        (TimeType(Kind.TIMESTAMP, precision=6), (1_709_210_096_000, 1000), "2024-02-29T12:34:56.000001"),
        (TimeType(Kind.TIMESTAMP_LTZ, precision=9), (5, 1), "1970-01-01T00:00:00.005000001"),
        (TimeType(Kind.TIMESTAMP, precision=3), (-62_135_596_800_000, 0), "0001-01-01T00:00"),
        (TimeType(Kind.TIMESTAMP, precision=3), (-62_167_219_200_001, 0), "-0001-12-31T23:59:59.999"),
        (TimeType(Kind.TIMESTAMP, precision=3), (253_402_300_800_000, 0), "+10000-01-01T00:00"),
        (FLOAT, 0.10000000149011612, "0.1"),
        (FLOAT, 16_777_216.0, "1.6777216E7"),
        (DOUBLE, 1.0, "1.0"),
        (DOUBLE, 0.001, "0.001"),
        (DOUBLE, 0.0001, "1.0E-4"),
        (DOUBLE, 9_999_999.0, "9999999.0"),
        (DOUBLE, -1e7, "-1.0E7"),
        (DOUBLE, -0.0, "-0.0"),
        (DOUBLE, 1.7976931348623157e308, "1.7976931348623157E308"),
        (DOUBLE, 5e-324, "4.9E-324"),
        (DOUBLE, float("nan"), "NaN"),
        (DOUBLE, float("inf"), "Infinity"),
        (FLOAT, float("-inf"), "-Infinity"),
    ],
)
def test_values_as_folders_spell_them(data_type: DataType, value: Any, text: str) -> None:
    assert internal_text(data_type, value) == text


def test_bytes_are_text_where_names_are_not_legacy() -> None:
    row = encode_row([BYTES], [b"2021"])
    assert partition_spec([column(BYTES)], row, "none", legacy=False) == {"p": "2021"}


@pytest.mark.parametrize(("value", "text"), [(b"ab", "b'ab'"), (b"", "b''"), (b"\xff\x00'", 'b"\\xff\\x00\'"')])
def test_bytes_have_the_text_of_python_in_legacy_names(value: bytes, text: str) -> None:
    """Java refuses such tables; pypaimon writes them."""
    assert partition_spec([column(BYTES)], encode_row([BYTES], [value]), "none") == {"p": text}


@pytest.mark.parametrize("blank", [None, "", " ", "\t\n", "\u2003", "\x1f"])
def test_null_and_blanks_have_one_folder(blank: str | None) -> None:
    assert partition_spec([column(STRING)], encode_row([STRING], [blank]), "none") == {"p": "none"}


@pytest.mark.parametrize("text", ["a ", "\xa0", "\u2007", "\u202f", "\x85", "\u200b", "none"])
def test_what_is_no_blank_keeps_its_folder(text: str) -> None:
    assert partition_spec([column(STRING)], encode_row([STRING], [text]), "none") == {"p": text}


def test_a_partition_of_several_columns() -> None:
    fields = [column(STRING, "a"), column(INT, "b"), column(DATE, "c")]
    row = encode_row([f.type for f in fields], ["x", None, 5])
    assert partition_spec(fields, row, "none") == {"a": "x", "b": "none", "c": "5"}
    assert partition_spec(fields, row, "none", legacy=False) == {"a": "x", "b": "none", "c": "1970-01-06"}
    assert partition_spec([], EMPTY_ROW, "none") == {}
    with pytest.raises(ValueError, match="0 fields, 3 expected"):
        partition_spec(fields, EMPTY_ROW, "none")


@pytest.mark.parametrize(
    ("kind", "value", "internal", "cast"),
    [
        (INT, 5, "5", "5"),
        (DATE, 19_782, "19782", "2024-02-29"),
        (DOUBLE, 1e7, "1.0E7", "1.0E7"),
        (DOUBLE, 0.001, "0.001", "0.001"),
        (DOUBLE, -1.5e-5, "-1.5E-5", "-1.5E-5"),
        (DOUBLE, 123456.789, "123456.789", "123456.789"),
        (DOUBLE, float("nan"), "NaN", "NaN"),
        (DOUBLE, float("-inf"), "-Infinity", "-Infinity"),
        (DOUBLE, -0.0, "-0.0", "-0.0"),
        (DOUBLE, 5e-324, "4.9E-324", "4.9E-324"),
        (DOUBLE, 2e-323, "2.0E-323", "2.0E-323"),
        (FLOAT, 0.1, "0.1", "0.1"),
        (FLOAT, 1.4e-45, "1.4E-45", "1.4E-45"),
        (DecimalType(precision=5, scale=2), Decimal("-1.50"), "-1.50", "-1.50"),
        (TimeType(Kind.TIMESTAMP, True, 6), (0, 0), "1970-01-01T00:00", "1970-01-01 00:00:00.000000"),
        (TimeType(Kind.TIMESTAMP, True, 0), (5000, 0), "1970-01-01T00:00:05", "1970-01-01 00:00:05"),
        (TimeType(Kind.TIMESTAMP, True, 3), (100, 0), "1970-01-01T00:00:00.100", "1970-01-01 00:00:00.100"),
        (DATE, -719_164, "-719164", "0000-12-30"),
        (TimeType(Kind.TIMESTAMP, True, 6), (1, 500_000), "1970-01-01T00:00:00.001500", "1970-01-01 00:00:00.001500"),
    ],
)
def test_values_as_text(kind: Any, value: Any, internal: str, cast: str) -> None:
    assert (internal_text(kind, value), cast_text(kind, value)) == (internal, cast)


@pytest.mark.parametrize(
    ("kind", "text", "kept"),
    [
        (Kind.DATE, "1969-12-31", "-1"),
        (Kind.TIMESTAMP_LTZ, "2024-01-31 12:00:00.250000", "2024-01-31 12:00:00.250000"),
        (Kind.DOUBLE, "-1.5E10", "-1.5E10"),
        (Kind.DECIMAL, "0E-10", "0E-10"),
        (Kind.BOOLEAN, "true", "true"),
    ],
)
def test_bounds_both_ways(kind: Kind, text: str, kept: str) -> None:
    assert bound_text(kind, text) == kept
    assert sql_bound(kind, kept) == text


def test_bounds_that_are_none() -> None:
    assert sql_bound(Kind.TIMESTAMP, "2024-01-31 12:00:00") == "2024-01-31 12:00:00.000000"
    damaged = [(Kind.INT, "1; DROP"), (Kind.DATE, "9" * 30), (Kind.TIMESTAMP, "today"), (Kind.BOOLEAN, "1")]
    damaged += [(Kind.INT, 5), (Kind.DOUBLE, "1_0"), (Kind.VARCHAR, "a"), (Kind.DECIMAL, "NaN")]
    assert [sql_bound(kind, text) for kind, text in damaged] == [None] * len(damaged)


@pytest.mark.parametrize(
    ("precision", "millis", "text"),
    [
        (0, 45_296_789, "12:34:56"),
        (3, 45_296_789, "12:34:56.789"),
        (3, 450, "00:00:00.45"),
        (3, 5, "00:00:00.005"),
        (6, 0, "00:00:00.0"),
        (2, 405, "00:00:00.40"),
        (3, -1, "23:59:59.999"),
    ],
)
def test_times_of_the_day(precision: int, millis: int, text: str) -> None:
    """As Java's `DateTimeUtils.formatTimestampMillis`."""
    assert cast_text(TimeType(Kind.TIME, precision=precision), millis) == text
    assert internal_text(TimeType(Kind.TIME, precision=precision), millis) == str(millis)


@pytest.mark.parametrize(
    ("data_type", "value"),
    [
        (INT, -5),
        (BIGINT, 2**63 - 1),
        (BOOLEAN, True),
        (DATE, 19_723),
        (STRING, "a/b"),
        (DOUBLE, 1.5e-5),
        (FLOAT, 0.5),
        (DecimalType(precision=10, scale=2), Decimal("-1.50")),
        (TimeType(Kind.TIMESTAMP), (1_709_210_096_000, 1000)),
        (TimeType(Kind.TIME, precision=3), 45_296_789),
        (TimeType(Kind.TIME, precision=3), 45_296_500),
        (TimeType(Kind.TIME, precision=0), 45_296_000),
    ],
    ids=str,
)
def test_texts_mean_their_values(data_type: DataType, value: Any) -> None:
    assert value_of_text(data_type, cast_text(data_type, value), UTC) == value


@pytest.mark.parametrize(
    ("data_type", "text"),
    [
        (TINYINT, "x"),
        (SMALLINT, ""),
        (BOOLEAN, "yes"),
        (DATE, "today"),
        (DATE, "2024-02-30"),
        (TINYINT, "128"),
        (INT, "3000000000"),
        (INT, "1_0"),
        (INT, "\u0661"),
        (BIGINT, "9223372036854775808"),
        (TimeType(Kind.TIME), "24:00:00"),
        (TimeType(Kind.TIME), "12:34:60"),
        (DecimalType(), "NaN"),
        (DecimalType(), "1x"),
        (TimeType(Kind.TIMESTAMP_LTZ), "0001-01-01T00:00:00+14:00"),
    ],
    ids=str,
)
def test_texts_of_no_value(data_type: DataType, text: str) -> None:
    with pytest.raises(ValueError):
        value_of_text(data_type, text, UTC)


@pytest.mark.parametrize(
    "text", ["2024-01-31", "2024-1-31", " 2024-01-31 ", "2024-01-31 23:59:59", "2024-01-31T01:00Z"]
)
def test_a_date_is_spelled_as_in_a_cast(text: str) -> None:
    assert value_of_text(DATE, text, timezone(timedelta(hours=8))) == 19_753


def test_a_time_may_be_its_milliseconds() -> None:
    assert value_of_text(TimeType(Kind.TIME, precision=3), "45296789", UTC) == 45_296_789


def test_moments_are_shown_and_read_in_a_zone() -> None:
    shanghai, moment = timezone(timedelta(hours=8)), (1_717_200_000_123, 456_000)
    with_zone, without = TimeType(Kind.TIMESTAMP_LTZ, precision=6), TimeType(Kind.TIMESTAMP, precision=6)
    assert cast_text(with_zone, moment, shanghai) == "2024-06-01 08:00:00.123456"
    assert value_of_text(with_zone, "2024-06-01 08:00:00.123456", shanghai) == moment
    assert value_of_text(with_zone, "2024-06-01 08:00:00.123456+07:00", shanghai) == (1_717_203_600_123, 456_000)
    assert cast_text(without, moment, shanghai) == "2024-06-01 00:00:00.123456"
    assert value_of_text(without, "2024-06-01 00:00:00.123456", shanghai) == moment
    assert value_of_text(without, "2024-06-01 00:00:00.123456+07:00", shanghai) == moment  # as CAST in SQL


def test_folders_have_the_same_names_in_every_zone() -> None:
    fields = [DataField(id=0, name="p", type=TimeType(Kind.TIMESTAMP_LTZ, precision=6))]
    row = encode_row([f.type for f in fields], [(1_717_200_000_000, 0)])
    assert partition_spec(fields, row, "none") == {"p": "2024-06-01T00:00"}
    assert shown_partition(fields, row, "none", timezone(timedelta(hours=8))) == {"p": "2024-06-01 08:00:00.000000"}
