from __future__ import annotations

from datetime import UTC
from decimal import Decimal
from typing import Any

import pytest

from paimon_core.errors import InvalidOptionError, InvalidSchemaError
from paimon_core.expressions.predicate import And, Compare, IsNull, Or
from paimon_core.spec.binary_row import decode_row, encode_row
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
    LengthType,
    TimeType,
)
from paimon_core.store.partitions import PartitionFilter
from paimon_sql.procedures.arguments import call_options, columns_named, partition_specs

NTZ, LTZ = TimeType(Kind.TIMESTAMP, precision=6), TimeType(Kind.TIMESTAMP_LTZ, precision=6)
FIELDS = (DataField(id=0, name="dt", type=DATE), DataField(id=1, name="hh", type=INT))


def holds(text: str, data_type: DataType, value: Any) -> bool:
    """Whether a partition of one column is meant."""
    fields = (DataField(id=0, name="p", type=data_type),)
    meant = PartitionFilter(fields, predicate=partition_specs(f"p={text}", fields, "none", UTC))
    return meant.holds(encode_row([data_type], [value]))


def test_partitions_and_their_columns() -> None:
    assert partition_specs("dt=2024-01-01,hh=10;dt=1969-12-31", FIELDS, "none", UTC) == Or(
        (
            And((Compare("dt", "=", 19_723), Compare("hh", "=", 10))),
            And((Compare("dt", "=", -1),)),
        )
    )
    assert partition_specs(" hh = 1 ; ; ", FIELDS, "none", UTC) == Or((And((Compare("hh", "=", 1),)),))
    assert partition_specs("hh=none,dt=none", FIELDS, "none", UTC) == Or((And((IsNull("hh"), IsNull("dt"))),))


@pytest.mark.parametrize(
    ("data_type", "text", "value", "other"),
    [
        (TINYINT, "-128", -128, 127),
        (SMALLINT, "5", 5, 6),
        (INT, "+5", 5, -5),
        (BIGINT, "9223372036854775807", 2**63 - 1, 2**63 - 2),
        (FLOAT, "0.1", 0.10000000149011612, 0.2),
        (DOUBLE, "1e300", 1e300, 1e299),
        (DOUBLE, "NaN", float("nan"), 1.0),
        (BOOLEAN, "True", True, False),
        (STRING, "a=b c", "a=b c", "a=b"),
        (STRING, "", "", "x"),
        (LengthType(Kind.CHAR, length=2), "ä日", "ä日", "ä"),
        (DecimalType(precision=10, scale=2), "1.5", Decimal("1.50"), Decimal("1.51")),
        (DATE, "1969-12-31", -1, 0),
        (TimeType(Kind.TIME, precision=3), "3600000", 3_600_000, 0),
        (NTZ, "2024-02-29T12:34:56.000001", (1_709_210_096_000, 1000), (1_709_210_096_000, 0)),
        (NTZ, "1969-12-31 23:59:59.999999", (-1, 999_000), (-1, 0)),
        (LTZ, "1970-01-01", (0, 0), (1, 0)),
        (LTZ, "1970-01-01T02:00:00+02:00", (0, 0), (7_200_000, 0)),
        (LTZ, "1970-01-01T00:00:00.001Z", (1, 0), (0, 0)),
        (LTZ, "1970-01-01 00%3A00%3A01", (1000, 0), (0, 0)),
        (STRING, "a%3Ab", "a%3Ab", "a:b"),
    ],
)
def test_values_of_each_type(data_type: DataType, text: str, value: Any, other: Any) -> None:
    assert holds(text, data_type, value)
    assert not holds(text, data_type, other)
    assert not holds(text, data_type, None)
    assert holds("none", data_type, None)
    assert not holds("none", data_type, value)
    assert decode_row([data_type], encode_row([data_type], [value])) != ()


@pytest.mark.parametrize(
    ("data_type", "text"),
    [
        (INT, ""),
        (INT, "x"),
        (INT, "1.5"),
        (BIGINT, "9" * 5000),
        (DOUBLE, "1.5.0"),
        (FLOAT, "x"),
        (BOOLEAN, "yes"),
        (DecimalType(precision=10, scale=2), "x"),
        (DecimalType(precision=10, scale=2), "NaN"),
        (DecimalType(precision=10, scale=2), "Infinity"),
        (DATE, "2024-13-01"),
        (DATE, "yesterday"),
        (DATE, "19723"),
        (NTZ, "2024-01-01T25:00"),
        (LTZ, "0001-01-01T00:00:00+02:00"),
    ],
)
def test_values_that_are_none_are_named(data_type: DataType, text: str) -> None:
    fields = (DataField(id=0, name="p", type=data_type),)
    with pytest.raises(InvalidOptionError) as caught:
        partition_specs(f"p={text}", fields, "none", UTC)
    assert str(caught.value) == f"partitions has p={text}: the value is not a valid {data_type.sql()}."


@pytest.mark.parametrize("text", ["x=1", "dt", "=1", "dt=2024-01-01,", "dt=2024-01-01,hh", "D=2024-01-01"])
def test_what_names_no_partition_column(text: str) -> None:
    with pytest.raises(InvalidOptionError, match="write column=value; the partition columns are dt, hh"):
        partition_specs(text, FIELDS, "none", UTC)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("p='a,b';q=\"x;y\"", [{"p": "a,b"}, {"q": "x;y"}]),
        ("p='a,q=1', q = 'it''s' ;p=\"\"", [{"p": "a,q=1", "q": "it's"}, {"p": ""}]),
        ("p=it's,q=x='y;p=a", [{"p": "it's", "q": "x='y"}, {"p": "a"}]),
        ("p='a'b,q='", [{"p": "'a'b", "q": "'"}]),
    ],
)
def test_separators_in_quotes_belong_to_the_value(text: str, values: list[dict[str, str]]) -> None:
    fields = tuple(DataField(id=n, name=name, type=STRING) for n, name in enumerate("pq"))
    expected = Or(tuple(And(tuple(Compare(k, "=", v) for k, v in spec.items())) for spec in values))
    assert partition_specs(text, fields, "none", UTC) == expected


def test_columns_in_another_case() -> None:
    assert partition_specs("HH=1", FIELDS, "none", UTC) == Or((And((Compare("hh", "=", 1),)),))
    assert partition_specs("Hh=none", FIELDS, "none", UTC) == Or((And((IsNull("hh"),)),))
    with pytest.raises(InvalidOptionError, match="the partition columns are dt, hh"):
        partition_specs("HH=1", FIELDS, "none", UTC, case_sensitive=True)


@pytest.mark.parametrize("text", ["", " ", ";", " ; ; "])
def test_no_partition_at_all(text: str) -> None:
    with pytest.raises(InvalidOptionError, match="partitions is empty: write it as"):
        partition_specs(text, FIELDS, "none", UTC)


def test_a_table_without_partitions() -> None:
    with pytest.raises(InvalidOptionError, match="none: the table is not partitioned"):
        partition_specs("dt=2024-01-01", (), "none", UTC)


def test_bytes_are_named_by_their_text_and_no_other_partition_is_meant() -> None:
    raw = (DataField(id=0, name="p", type=BYTES),)
    meant = PartitionFilter(raw, predicate=partition_specs("p='ab'", raw, "none", UTC))
    found = [
        value
        for value in (b"ab", b"\xff\x00", b"a value of many bytes", None)
        if meant.holds(encode_row([BYTES], [value]))
    ]
    assert found == [b"ab"]


ABC = tuple(DataField(id=i, name=n, type=INT) for i, n in enumerate(("a", "Bee", "x", "X")))


@pytest.mark.parametrize("given", ["a,Bee", "A, bee", " A ,BEE,", "a,bEE"])
def test_columns_are_found_in_any_case(given: str) -> None:
    found = columns_named("order_by", given, ABC, "d.t", case_sensitive=False)
    assert [f.name for f in found] == ["a", "Bee"]


def test_columns_that_differ_only_in_case_are_named_exactly() -> None:
    for exact in (False, True):
        found = columns_named("order_by", "x,X", ABC, "d.t", case_sensitive=exact)
        assert [f.name for f in found] == ["x", "X"]
    ambiguous = (DataField(id=0, name="Ab", type=INT), DataField(id=1, name="aB", type=INT))
    with pytest.raises(InvalidSchemaError, match="order_by cannot be 'AB' for table d.t: 'AB' could be Ab or aB"):
        columns_named("order_by", "AB", ambiguous, "d.t", case_sensitive=False)


@pytest.mark.parametrize(("given", "exact"), [("A", True), ("bee", True), ("nope", False)])
def test_other_columns_do_not_exist(given: str, exact: bool) -> None:
    with pytest.raises(
        InvalidSchemaError, match=f"index_column cannot be '{given}' for table d.t: it has no column '{given}'"
    ):
        columns_named("index_column", given, ABC, "d.t", case_sensitive=exact)


def test_options_of_a_call_take_any_case() -> None:
    assert call_options("Write-Only=true, MY.key=V") == {"write-only": "true", "MY.key": "V"}
    assert call_options(None) == {}
