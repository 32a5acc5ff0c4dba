from __future__ import annotations

import struct
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from paimon_core.errors import UnfamiliarFormError, UnsupportedFeatureError
from paimon_core.spec.binary_row import (
    EMPTY_ROW,
    decode_body,
    decode_hints,
    decode_row,
    encode_body,
    encode_row,
    header_size,
    is_stored_inline,
)
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
    VARIANT,
    CollectionType,
    DataType,
    DecimalType,
    Kind,
    LengthType,
    MapType,
    RowType,
    TimeType,
)
from tests.support.examples import examples
from tests.support.golden_files import entries
from tests.support.strategies import KEY_TYPES, physical_values

EPOCH_DAY = date(1970, 1, 1)
TIMESTAMPS = tuple(TimeType(k, precision=p) for k in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ) for p in range(10))
DECIMALS = tuple(DecimalType(precision=p, scale=s) for p, s in ((1, 0), (18, 18), (19, 0), (19, 19), (38, 0), (38, 38)))
TYPES = tuple(dict.fromkeys((*KEY_TYPES, *TIMESTAMPS, *DECIMALS)))


def values_of(data_type: DataType) -> st.SearchStrategy[Any]:
    """Values as `decode_row` gives them."""
    if data_type.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ):
        nanos = st.just(0) if is_stored_inline(data_type) else st.integers(0, 999_999)
        return st.tuples(st.integers(-(2**63), 2**63 - 1), nanos)
    if data_type is DATE:
        return st.integers(-(2**31), 2**31 - 1)
    if data_type.kind is Kind.VARCHAR:
        return st.text(max_size=30)
    return physical_values(data_type)


def rows(max_size: int = 8) -> st.SearchStrategy[tuple[tuple[DataType, ...], tuple[Any, ...]]]:
    field = st.sampled_from(TYPES).flatmap(lambda t: st.tuples(st.just(t), st.none() | values_of(t)))
    return st.lists(field, max_size=max_size).map(lambda fs: (tuple(t for t, _ in fs), tuple(v for _, v in fs)))


# one field: the slot, then the variable part, in hex
LAYOUTS: list[tuple[DataType, Any, str]] = [
    (BOOLEAN, True, "0100000000000000"),
    (TINYINT, -2, "fe00000000000000"),
    (SMALLINT, -2, "feff000000000000"),
    (INT, 1, "0100000000000000"),
    (INT, -1, "ffffffff00000000"),
    (BIGINT, -(2**63), "0000000000000080"),
    (FLOAT, 1.0, "0000803f00000000"),
    (DOUBLE, -0.0, "0000000000000080"),
    (DATE, date(1969, 12, 31), "ffffffff00000000"),
    (TimeType(Kind.TIME, precision=3), 1, "0100000000000000"),
    (STRING, "", "0000000000000080"),
    (STRING, "abc", "6162630000000083"),
    (STRING, "abcdefg", "6162636465666787"),
    (STRING, "abcdefgh", "0800000010000000" + "6162636465666768"),
    (STRING, "日本語", "0900000010000000" + "e697a5e69cace8aa9e00000000000000"),
    (LengthType(Kind.CHAR, length=3), "a", "6100000000000081"),
    (BYTES, b"\xff", "ff00000000000081"),
    (DecimalType(precision=18, scale=2), Decimal("-1.23"), "85ffffffffffffff"),
    (DecimalType(precision=19, scale=0), Decimal(-1), "0100000010000000" + "ff" + 15 * "00"),
    (DecimalType(precision=20, scale=2), Decimal("2.55"), "0200000010000000" + "00ff" + 14 * "00"),
    (DecimalType(precision=38, scale=0), Decimal(1 - 10**38), "1000000010000000" + "b4c4b357a5793b85f675ddc000000001"),
    (DecimalType(precision=38, scale=0), None, "0000000010000000" + 16 * "00"),
    (TimeType(Kind.TIMESTAMP, precision=3), datetime(1970, 1, 1, 0, 0, 1), "e803000000000000"),
    (TimeType(Kind.TIMESTAMP, precision=0), datetime(1969, 12, 31, 23, 59, 59), "18fcffffffffffff"),
    (TimeType(Kind.TIMESTAMP), datetime(1970, 1, 1, 0, 0, 0, 1001), "e803000010000000" + "0100000000000000"),
    (TimeType(Kind.TIMESTAMP_LTZ, precision=9), (-1, 999_999), "3f420f0010000000" + "ffffffffffffffff"),
    (TimeType(Kind.TIMESTAMP, precision=6), None, "0000000010000000" + 8 * "00"),
    (TimeType(Kind.TIMESTAMP, precision=3), None, 8 * "00"),
    (STRING, None, 8 * "00"),
    (INT, None, 8 * "00"),
]


@pytest.mark.parametrize(("data_type", "value", "body"), LAYOUTS, ids=[f"{t} {v}" for t, v, _ in LAYOUTS])
def test_the_layout_of_a_field(data_type: DataType, value: Any, body: str) -> None:
    header = "0001000000000000" if value is None else 8 * "00"
    assert encode_body([data_type], [value]).hex() == header + body
    assert encode_row([data_type], [value]).hex() == "00000001" + header + body


def test_the_layout_of_a_row() -> None:
    types = (STRING, INT, STRING, DecimalType(precision=20))
    assert encode_row(types, ("a long text", None, "another one", Decimal(5))).hex() == (
        "00000004"
        "0002000000000000"  # field 1 is NULL
        "0b00000028000000"
        "0000000000000000"
        "0b00000038000000"
        "0100000048000000"
        + (b"a long text".ljust(16, b"\0") + b"another one".ljust(16, b"\0") + b"\5".ljust(16, b"\0")).hex()
    )
    assert EMPTY_ROW.hex() == "00000000" + 8 * "00"
    assert decode_row((), EMPTY_ROW) == ()


@pytest.mark.parametrize(("arity", "size"), [(0, 8), (1, 8), (56, 8), (57, 16), (120, 16), (121, 24)])
def test_the_null_bits_take_whole_words(arity: int, size: int) -> None:
    assert header_size(arity) == size
    body = encode_body([INT] * arity, [None] * arity)
    assert body[:size] == b"\0" + (2**arity - 1).to_bytes(size - 1, "little")
    assert decode_body([INT] * arity, body) == (None,) * arity


@given(st.lists(st.none() | st.integers(-128, 127), min_size=60, max_size=200))
def test_wide_rows(values: list[int | None]) -> None:
    types = [TINYINT] * len(values)
    assert decode_row(types, encode_row(types, values)) == tuple(values)


@given(rows())
def test_what_is_written_is_read(row: tuple[tuple[DataType, ...], tuple[Any, ...]]) -> None:
    types, values = row
    data = encode_row(types, values)
    assert decode_row(types, data) == values
    assert decode_body(types, data[4:]) == values
    assert len(data) % 8 == 4


@pytest.mark.parametrize("data_type", TYPES, ids=str)
@settings(max_examples=examples(30))
@given(st.data())
def test_each_type_both_ways(data_type: DataType, data: st.DataObject) -> None:
    value = data.draw(st.none() | values_of(data_type))
    (read,) = decode_row([data_type], encode_row([data_type], [value]))
    assert (type(read), read) == (type(value), value)


@pytest.mark.parametrize("size", [6, 7, 8, 9, 15, 16, 17, 100_000])
def test_strings_by_their_length(size: int) -> None:
    assert decode_row([STRING, BYTES], encode_row([STRING, BYTES], ["x" * size, b"\xff" * size])) == (
        "x" * size,
        b"\xff" * size,
    )


@given(st.datetimes(timezones=st.just(UTC)))
@example(datetime(1, 1, 1, tzinfo=UTC))
@example(datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))
def test_moments_may_be_given_as_datetimes(moment: datetime) -> None:
    micros = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    expected = micros // 1000, micros % 1000 * 1000
    data_type = TimeType(Kind.TIMESTAMP_LTZ, precision=6)
    east = moment.replace(tzinfo=None) if moment.year in (1, 9999) else moment.astimezone(timezone(timedelta(hours=9)))
    for value in (moment, moment.replace(tzinfo=None), east, expected):
        assert decode_row([data_type], encode_row([data_type], [value])) == (expected,)


@given(st.dates())
def test_dates_may_be_given_as_dates(day: date) -> None:
    assert decode_row([DATE], encode_row([DATE], [day])) == ((day - EPOCH_DAY).days,)


def test_golden_partitions_and_keys_both_ways() -> None:
    checked = 0
    for table, schema, e in entries():
        types = schema.types(schema.partition_keys)
        assert encode_row(types, decode_row(types, e.partition)) == e.partition, table
        if schema.primary_keys and "clustering.columns" not in schema.options:
            types = schema.types(schema.trimmed_primary_keys)
            for key in (e.file.min_key, e.file.max_key):
                assert encode_row(types, decode_row(types, key)) == key, table
                checked += 1
    assert checked > 300


@pytest.mark.parametrize(
    "data_type", [VARIANT, CollectionType(Kind.ARRAY), MapType(), RowType(), CollectionType(Kind.MULTISET)], ids=str
)
def test_nested_values_have_no_order(data_type: DataType) -> None:
    with pytest.raises(UnsupportedFeatureError, match="cannot be a key, a partition or a statistic"):
        encode_row([data_type], [{}])
    assert decode_row([data_type], encode_row([data_type], [None])) == (None,)  # a statistic that is not known
    with pytest.raises(ValueError, match="cannot be decoded"):
        decode_body([data_type], bytes(16))


def test_the_field_count_must_be_that_of_the_types() -> None:
    with pytest.raises(ValueError, match="has 1 fields, 2 expected"):
        decode_row([INT, INT], encode_row([INT], [1]))
    with pytest.raises(ValueError, match="at least 4 bytes, not 3"):
        decode_row([], b"\0\0\0")
    with pytest.raises(ValueError):
        encode_row([INT], [1, 2])


@given(rows(max_size=5))
@example(((DecimalType(precision=38), TimeType(Kind.TIMESTAMP, precision=9), STRING), (Decimal(1), (1, 1), "x" * 9)))
def test_every_truncation_is_a_value_error(row: tuple[tuple[DataType, ...], tuple[Any, ...]]) -> None:
    types, values = row
    data = encode_row(types, values)
    for size in range(len(data)):
        try:
            read = decode_row(types, data[:size])
        except ValueError:
            continue
        assert read == values  # what was cut off only filled up the last word


@settings(max_examples=examples(300))
@given(st.lists(st.sampled_from(TYPES), max_size=4), st.binary(max_size=80))
def test_any_bytes_are_values_or_a_value_error(types: list[DataType], body: bytes) -> None:
    for data in (body, body.ljust(header_size(len(types)) + 8 * len(types) + 8, b"\0")):
        try:
            assert len(decode_body(types, data)) == len(types)
        except (ValueError, UnfamiliarFormError):
            continue


def of_slots(types: list[DataType], values: list[Any]) -> bytes:
    """A row as pypaimon 1.3.2 writes it: wide decimals and timestamps are numbers in their slots."""
    wide = [t.kind in (Kind.DECIMAL, Kind.TIMESTAMP) for t in types]
    loose = [BIGINT if w else t for t, w in zip(types, wide, strict=True)]
    return encode_row(loose, values)


WIDE, FINE = DecimalType(precision=30, scale=5), TimeType(Kind.TIMESTAMP, precision=6)


@pytest.mark.parametrize("number", [0, 5, -5, 123_456_789_012_345, -(2**63), 2**63 - 1, (40 << 32) + 17])
@pytest.mark.parametrize("text", ["", "short", "a text of its own part", None])
def test_a_wide_decimal_in_its_slot_is_recovered(number: int, text: str | None) -> None:
    types = [STRING, WIDE, INT, WIDE]
    found = decode_row(types, of_slots(types, [text, number, 7, None]))
    assert found == (text, Decimal(number).scaleb(-5), 7, None)


@pytest.mark.parametrize("millis", [0, -1, 1_700_000_000_123])
def test_a_timestamp_that_is_cut_to_an_unknown_zone_is_an_unfamiliar_form(millis: int) -> None:
    data = of_slots([INT, FINE], [1, millis])
    with pytest.raises(UnfamiliarFormError, match=r"TIMESTAMP\(6\).*unknown time zone \(written by pypaimon 1\.3\)"):
        decode_row([INT, FINE], data)
    assert decode_row([INT, FINE], of_slots([INT, FINE], [1, None])) == (1, None)


def slot(length: int, offset: int) -> bytes:
    return bytes(8) + struct.pack("<ii", length, offset) + bytes(24)


@pytest.mark.parametrize(
    ("data_type", "body"),
    [
        (STRING, slot(8, 33)),
        (STRING, slot(8, -1)),
        (STRING, slot(2**31 - 1, 2**31 // 4)),
        (BYTES, bytes(8) + bytes(7) + b"\x88"),  # 8 bytes in a slot
        (BYTES, bytes(8) + bytes(7) + b"\xff" + bytes(200)),
        (STRING, bytes(8) + b"\xff" + bytes(6) + b"\x81"),  # no UTF-8
        (DecimalType(precision=19), slot(17, 16)),  # more digits than any DECIMAL
        (DecimalType(precision=19), slot(-1, 16)),
        (DecimalType(precision=38), slot(16, 25)),
        (DecimalType(precision=38), bytes(8) + struct.pack("<ii", 2**20, 16) + b"\x7f" * 2**20),
        (TimeType(Kind.TIMESTAMP, precision=9), slot(0, 33)),
        (TimeType(Kind.TIMESTAMP, precision=9), slot(0, -8)),
    ],
    ids=range(12),
)
def test_offsets_and_lengths_that_lie(data_type: DataType, body: bytes) -> None:
    with pytest.raises(ValueError):
        decode_body([data_type], body)
    assert decode_hints([data_type], bytes([0, 0, 0, 1]) + body) == (None,)


@given(rows(max_size=5))
def test_hints_are_the_values_of_rows_in_the_layout_of_java(row: tuple[tuple[DataType, ...], tuple[Any, ...]]) -> None:
    types, values = row
    assert decode_hints(types, encode_row(types, values)) == decode_row(types, encode_row(types, values))


@settings(max_examples=examples(300))
@given(st.lists(st.sampled_from(TYPES), max_size=4), st.binary(max_size=80))
def test_any_bytes_are_hints(types: list[DataType], body: bytes) -> None:
    for arity in (len(types), 7):
        assert len(decode_hints(types, struct.pack(">i", arity) + body)) == len(types)
    assert decode_hints(types, body[:3]) == (None,) * len(types)


@pytest.mark.parametrize(
    ("data_type", "slot"),
    [
        (TimeType(Kind.TIMESTAMP, precision=6), 1_700_000_000_123),
        (TimeType(Kind.TIMESTAMP, precision=6), 16 << 32),  # an offset into the slots
        (TimeType(Kind.TIMESTAMP, precision=6), (24 << 32) + 1_000_000),  # nanoseconds of two milliseconds
        (DecimalType(precision=30, scale=5), 123_456_789_012_345),
        (DecimalType(precision=30, scale=5), 5),
        (DecimalType(precision=30, scale=5), -5),
        (STRING, 3 << 32 | 4),
        (BYTES, 0),
    ],
)
def test_a_value_in_the_slot_of_an_offset_is_no_hint(data_type: DataType, slot: int) -> None:
    """As pypaimon 1.3.2 writes them, among rows that are long enough for the offset that they look like."""
    data = struct.pack(">i", 2) + bytes(8) + struct.pack("<qq", slot, 9) + bytes(400)
    assert decode_hints([data_type, BIGINT], data) == (None, 9)
