"""Types and values as pyiceberg takes them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.conversions import from_bytes
from pyiceberg.schema import Schema
from pyiceberg.types import DecimalType as IcebergDecimal

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.formats.iceberg_types import iceberg_schema, single_value
from paimon_core.spec.types import DataField, DecimalType, parse_field, parse_type


def column(kind: Any) -> DataField:
    return parse_field({"id": 3, "name": "c", "type": kind})


@pytest.mark.parametrize(
    ("kind", "spelled"),
    [
        ("TINYINT", "optional int"),
        ("SMALLINT NOT NULL", "required int"),
        ("BIGINT", "optional long"),
        ("DECIMAL(9, 2)", "optional decimal(9, 2)"),
        ("CHAR(3)", "optional string"),
        ("BINARY(3)", "optional binary"),
        ("TIMESTAMP(3)", "optional timestamp"),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", "optional timestamptz"),
        ("TIME(3)", "optional time"),
        ({"type": "ARRAY", "element": "INT NOT NULL"}, "optional list<int>"),
        ({"type": "MAP", "key": "STRING", "value": "DATE"}, "optional map<string, date>"),
        ({"type": "MULTISET", "element": "STRING"}, "optional map<string, int>"),
    ],
)
def test_types(kind: Any, spelled: str) -> None:
    found = Schema.model_validate(iceberg_schema(0, [column(kind)]))
    assert str(found.find_field("c")).removeprefix("3: c: ") == spelled


def test_ids_are_those_of_data_files() -> None:
    inner = {"type": "ROW", "fields": [{"id": 7, "name": "x", "type": "INT"}]}
    node = iceberg_schema(0, [column({"type": "ARRAY", "element": {"type": "MAP", "key": "INT", "value": inner}})])
    elements = node["fields"][0]["type"]
    assert elements["element-id"] == 2**29 - 1 + 3 * 1024 + 1
    assert elements["element"]["key-id"] == 2**29 - 1 - 3 * 1024 - 2
    assert elements["element"]["value-id"] == 2**29 - 1 + 3 * 1024 + 2
    assert [f["id"] for f in elements["element"]["value"]["fields"]] == [7]


@pytest.mark.parametrize("kind", ["VARIANT", "TIMESTAMP(9)", "TIME(6)", {"type": "ARRAY", "element": "VARIANT"}])
def test_types_that_iceberg_has_not(kind: Any) -> None:
    with pytest.raises(UnsupportedFeatureError, match="column 'c' has type .* which Iceberg 2 cannot store"):
        iceberg_schema(0, [column(kind)])


@given(st.decimals(min_value=-(10**20), max_value=10**20, places=4))
def test_decimals(value: Decimal) -> None:
    kind = DecimalType(precision=38, scale=4)
    assert from_bytes(IcebergDecimal(38, 4), single_value(kind, value)) == value


@pytest.mark.parametrize(
    ("kind", "value", "meant"),
    [
        ("BOOLEAN", True, True),
        ("TINYINT", -3, -3),
        ("BIGINT", 2**40, 2**40),
        ("FLOAT", 1.5, 1.5),
        ("DOUBLE", -0.25, -0.25),
        ("DATE", 19000, (date(2022, 1, 8) - date(1970, 1, 1)).days),
        ("STRING", "ä€", "ä€"),
        ("BYTES", b"\0x", b"\0x"),
        ("TIMESTAMP(6)", (1_700_000_000_123, 456_000), 1_700_000_000_123_456),
        ("TIMESTAMP(3)", (-1, 0), -1000),
        ("TIME(3)", 1234, 1_234_000),
    ],
)
def test_single_values(kind: str, value: Any, meant: Any) -> None:
    found = Schema.model_validate(iceberg_schema(0, [column(kind)])).find_field("c").field_type
    assert from_bytes(found, single_value(parse_type(kind), value)) == meant  # type: ignore[arg-type]
