"""What `$files` prints of a column is what it prints of its values one by one."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.spec.binary_row import decode_row, encode_row
from paimon_core.spec.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    DataField,
    DataType,
    DecimalType,
    Kind,
    TimeType,
    parse_type,
)
from paimon_core.spec.value_texts import internal_text
from paimon_core.system_tables.file_texts import field_texts, texts_now
from tests.support.examples import examples

minutes = st.integers(-3, 3).map(lambda n: n * 60_000)
millis = st.integers(-(2**63), 2**63 - 1) | st.integers(-(10**13), 10**13) | minutes
fractions = st.sampled_from([0, 1, 1000, 999_999])
VALUES: list[tuple[DataType, st.SearchStrategy[Any]]] = [
    (DOUBLE, st.floats() | st.integers(-(10**16), 10**16).map(float)),
    (FLOAT, st.floats(width=32) | st.integers(-(10**6), 10**6).map(float)),
    (DecimalType(precision=18, scale=5), st.integers(-(10**18) + 1, 10**18 - 1).map(lambda n: Decimal(n).scaleb(-5))),
    (DecimalType(precision=9, scale=9), st.integers(-99, 99).map(lambda n: Decimal(n).scaleb(-9))),
    (DecimalType(precision=38), st.integers(-(10**38) + 1, 10**38 - 1).map(Decimal)),
    (DecimalType(precision=20, scale=2), st.integers(-(2**62), 2**62).map(lambda n: Decimal(n).scaleb(-2))),
    (TimeType(Kind.TIMESTAMP, precision=3), st.tuples(millis, st.just(0))),
    (TimeType(Kind.TIMESTAMP_LTZ, precision=9), st.tuples(millis, fractions)),
    (BOOLEAN, st.booleans()),
    (BYTES, st.binary(max_size=9)),
]


ONE_OF_EACH: dict[str, Any] = {
    "BOOLEAN": True,
    "INT": 3,
    "BIGINT": 2**40,
    "DOUBLE": 2.5,
    "DECIMAL(10, 2)": Decimal("1.25"),
    "STRING": "12:00:00",
    "CHAR(5)": "abc",
    "BYTES": b"ab",
    "DATE": 1,
    "TIME(3)": 1001,
    "TIMESTAMP(3)": (-1, 0),
    "TIMESTAMP(9)": (0, 1),
    "TIMESTAMP(6)": (-62_135_596_800_000, 0),
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": (5, 1000),
}
TIME, TIMESTAMP = TimeType(Kind.TIME, precision=3), TimeType(Kind.TIMESTAMP, precision=6)
NANOS = TimeType(Kind.TIMESTAMP, precision=9)


@pytest.mark.parametrize(("data_type", "values"), [pytest.param(*v, id=str(v[0])) for v in VALUES])
@settings(max_examples=examples(40))
@given(st.data())
def test_columns_print_as_values(data_type: DataType, values: st.SearchStrategy[Any], data: st.DataObject) -> None:
    fields = [DataField(id=0, name="a", type=INT), DataField(id=1, name="x", type=data_type)]
    asked = data.draw(st.lists(values | st.none(), max_size=5))
    rows = pa.array([encode_row([INT, data_type], [7, v]) for v in asked], pa.binary())
    assert field_texts(rows, fields, 1).to_pylist() == [
        "null" if v is None else internal_text(data_type, v) for v in asked
    ]


@pytest.mark.parametrize(
    ("then", "now", "value", "text"),
    [
        (INT, BIGINT, 7, "7"),
        (FLOAT, DOUBLE, 0.10000000149011612, "0.10000000149011612"),
        (DATE, TimeType(Kind.TIMESTAMP, precision=6), date(2024, 1, 1), "2024-01-01T00:00"),
        (TimeType(Kind.TIMESTAMP, precision=6), STRING, datetime(1960, 1, 2, 3, 4, 5), "1960-01-02 03:04:05.000000"),
        (DecimalType(precision=5, scale=1), DecimalType(precision=9, scale=3), Decimal("1.5"), "1.500"),
        (STRING, INT, "no number", "no number"),
        (STRING, TIME, "10:11:12.5", "36672500"),
        (TIMESTAMP, TIME, datetime(1970, 1, 1, 0, 0, 1), "1000"),
        (TIMESTAMP, NANOS, datetime(1000, 1, 1), "1000-01-01T00:00"),
    ],
)
def test_bounds_are_shown_in_the_type_that_a_column_has_now(
    then: DataType, now: DataType, value: Any, text: str
) -> None:
    old, new = DataField(id=0, name="x", type=then), DataField(id=0, name="y", type=now)
    values = [decode_row([then], encode_row([then], [v]))[0] for v in (value, None)]
    assert texts_now(new, old, values, UTC) == [text, "null"]


@pytest.mark.parametrize("then", ONE_OF_EACH)
def test_bounds_have_a_text_whatever_type_the_column_has_now(then: str) -> None:
    """Schemas of other writers may have type changes that are not allowed here."""
    old = DataField(id=0, name="x", type=parse_type(then))
    for now in ONE_OF_EACH:
        new = DataField(id=0, name="x", type=parse_type(now))
        (text, null) = texts_now(new, old, [ONE_OF_EACH[then], None], UTC)
        assert text and null == "null"
