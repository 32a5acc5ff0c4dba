"""Paimon's types as Iceberg's types, and values as Iceberg's metadata stores them.

Field ids are Paimon's own ids, which Paimon's data files have, too. So Iceberg finds renamed columns by their ids.
Source: Iceberg's table specification, version 2, "Schemas", appendix A (Avro) and appendix D (single values).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.spec.binary_row import shortest_bytes, unscaled_of
from paimon_core.spec.kinds import MOMENTS, KindColumn
from paimon_core.spec.types import (
    ELEMENT_ID_START,
    ELEMENT_IDS_PER_FIELD,
    INT,
    CollectionType,
    DataField,
    DataType,
    DecimalType,
    Kind,
    MapType,
    RowType,
    TimeType,
)

Node = dict[str, Any]

_NAMES: KindColumn[str] = KindColumn(
    {
        Kind.BOOLEAN: "boolean",
        Kind.TINYINT: "int",
        Kind.SMALLINT: "int",
        Kind.INT: "int",
        Kind.BIGINT: "long",
        Kind.FLOAT: "float",
        Kind.DOUBLE: "double",
        Kind.DATE: "date",
        Kind.TIME: "time",
        Kind.CHAR: "string",
        Kind.VARCHAR: "string",
        Kind.BINARY: "binary",
        Kind.VARBINARY: "binary",
        Kind.TIMESTAMP: "timestamp",
        Kind.TIMESTAMP_LTZ: "timestamptz",
    },
    others="DECIMAL BLOB ARRAY MAP MULTISET ROW VARIANT",
)
_MOST_DIGITS = {Kind.TIME: 3, Kind.TIMESTAMP: 6, Kind.TIMESTAMP_LTZ: 6}  # Iceberg 2 has no type for more digits
_PACKED = {"boolean": "<?", "int": "<i", "date": "<i", "long": "<q", "float": "<f", "double": "<d"}
_AVRO: dict[str, Any] = {
    "boolean": "boolean",
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "date": {"type": "int", "logicalType": "date"},
    "time": {"type": "long", "logicalType": "time-micros"},
    "string": "string",
    "binary": "bytes",
    "timestamp": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
    "timestamptz": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
}


def iceberg_schema(schema_id: int, fields: Iterable[DataField]) -> Node:
    """Return a schema in the form of Iceberg's metadata.

    Raises `UnsupportedFeatureError` for a column of another type.
    """
    return {"type": "struct", "schema-id": schema_id, "fields": [_field(f, f.name) for f in fields]}


def single_value(data_type: DataType, value: Any) -> bytes:
    """Return a value of `binary_row.decode_row` in the form of Iceberg's bounds."""
    return bound_of(data_type, partition_value(data_type, value))


def bound_of(data_type: DataType, value: Any) -> bytes:
    """Return a value of `partition_value` in the form of Iceberg's bounds."""
    if isinstance(data_type, DecimalType):
        return shortest_bytes(int.from_bytes(value, "big", signed=True))
    if data_type.kind in _MOST_DIGITS:
        return struct.pack("<q", value)
    if isinstance(value, str):
        return value.encode()
    return bytes(value) if isinstance(value, bytes | bytearray) else struct.pack(_PACKED[_NAMES[data_type.kind]], value)


def value_order(data_type: DataType, value: Any) -> Any:
    """Return a sort key for values of `partition_value`."""
    return int.from_bytes(value, "big", signed=True) if isinstance(data_type, DecimalType) else value


def partition_value(data_type: DataType, value: Any) -> Any:
    """Return a value of `binary_row.decode_row` in the form of its `avro_type`."""
    if value is None:
        return None
    if isinstance(data_type, DecimalType):
        return _decimal_bytes(data_type, value)
    if data_type.kind is Kind.TIME:
        return value * 1000
    if data_type.kind in MOMENTS:
        millis, nanos = value
        return millis * 1000 + nanos // 1000
    return value


def avro_type(data_type: DataType) -> Any:
    """Return the Avro type of a partition value."""
    if isinstance(data_type, DecimalType):
        digits = {"precision": data_type.precision, "scale": data_type.scale}
        size = _decimal_size(data_type.precision)
        name = f"decimal_{data_type.precision}_{data_type.scale}"
        return {"type": "fixed", "size": size, "logicalType": "decimal", "name": name, **digits}
    return _AVRO[_NAMES[data_type.kind]]


def has_bounds(data_type: DataType) -> bool:
    """Return whether metadata can have the smallest and the largest value of a column."""
    return data_type.kind in _NAMES or isinstance(data_type, DecimalType)


def _field(field: DataField, place: str) -> Node:
    node = {
        "id": field.id,
        "name": field.name,
        "required": not field.type.nullable,
        "type": _type(field.type, field.id, 0, place),
    }
    return node | ({"doc": field.description} if field.description else {})


def _type(data_type: DataType, column: int, depth: int, place: str) -> Any:
    match data_type:
        case DecimalType(precision=precision, scale=scale):
            return f"decimal({precision}, {scale})"
        case TimeType(kind=kind, precision=precision) if precision > _MOST_DIGITS[kind]:
            raise _unknown(place, data_type, f": Iceberg keeps at most {_MOST_DIGITS[kind]} digits of a second")
        case CollectionType(kind=Kind.ARRAY, element=element):
            inner = _type(element, column, depth + 1, place)
            identity = ELEMENT_ID_START + ELEMENT_IDS_PER_FIELD * column + depth + 1
            return {"type": "list", "element-id": identity, "element-required": not element.nullable, "element": inner}
        case CollectionType(element=element):  # a multiset is stored as a map from elements to counts
            return _map(element, INT.with_nullable(False), column, depth + 1, place)
        case MapType(key=key, value=value):
            return _map(key, value, column, depth + 1, place)
        case RowType(fields=fields):
            return {"type": "struct", "fields": [_field(f, f"{place}.{f.name}") for f in fields]}
        case _ if data_type.kind in _NAMES:
            return _NAMES[data_type.kind]
    raise _unknown(place, data_type)


def _map(key: DataType, value: DataType, column: int, depth: int, place: str) -> Node:
    return {
        "type": "map",
        "key-id": ELEMENT_ID_START - ELEMENT_IDS_PER_FIELD * column - depth,
        "key": _type(key, column, depth, place),
        "value-id": ELEMENT_ID_START + ELEMENT_IDS_PER_FIELD * column + depth,
        "value-required": not value.nullable,
        "value": _type(value, column, depth, place),
    }


def _unknown(place: str, data_type: DataType, more: str = "") -> UnsupportedFeatureError:
    return UnsupportedFeatureError(f"column {place!r} has type {data_type.sql()}, which Iceberg 2 cannot store{more}")


def _decimal_size(precision: int) -> int:
    return len(shortest_bytes(10**precision - 1))


def _decimal_bytes(data_type: DecimalType, value: Decimal) -> bytes:
    return unscaled_of(data_type, value).to_bytes(_decimal_size(data_type.precision), "big", signed=True)
