"""Avro schemas of data files: Paimon types as Avro types, and the plain schema that codes a file's records.

| Paimon | Avro |
|---|---|
| TINYINT, SMALLINT, INT | int |
| TIMESTAMP(p) | long, `timestamp-millis` (p <= 3) or `timestamp-micros` (p <= 6) |
| TIMESTAMP_LTZ(p) | long, `local-timestamp-millis` or `local-timestamp-micros` |
| DATE, TIME(p <= 3) | int, `date`, `time-millis` |
| DECIMAL | bytes, `decimal`: the unscaled number, big endian, as short as it can be |
| MAP, MULTISET with text keys | map; with other keys an array of records (key, value), logical type `map` |
| ROW | record, named after the path to it |

Types that admit NULL are a union with null first. Source: specification, "File Format", and the files themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.spec.avro_types import parse_type, plain_schema
from paimon_core.spec.kinds import TEXTS, KindColumn
from paimon_core.spec.types import (
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

RECORD_NAME = "org.apache.paimon.avro.generated.record"
_MILLIS, _MICROS = 3, 6
_PLAIN: KindColumn[Any] = KindColumn(
    {
        Kind.BOOLEAN: "boolean",
        Kind.TINYINT: "int",
        Kind.SMALLINT: "int",
        Kind.INT: "int",
        Kind.BIGINT: "long",
        Kind.FLOAT: "float",
        Kind.DOUBLE: "double",
        Kind.CHAR: "string",
        Kind.VARCHAR: "string",
        Kind.BINARY: "bytes",
        Kind.VARBINARY: "bytes",
        Kind.BLOB: "bytes",
        Kind.DATE: {"type": "int", "logicalType": "date"},
    },
    others="DECIMAL TIME TIMESTAMP TIMESTAMP_LTZ ARRAY MAP MULTISET ROW VARIANT",
)


def record_schema(fields: Sequence[DataField]) -> dict[str, Any]:
    """Return the Avro schema of a data file.

    Raises `UnsupportedFeatureError` for types that Avro files cannot store.
    """
    return _record(fields, RECORD_NAME)


def map_types(data_type: DataType) -> tuple[DataType, DataType] | None:
    """Return the key and value type of a MAP or MULTISET, or None for another type."""
    if isinstance(data_type, MapType):
        return data_type.key.with_nullable(False), data_type.value
    if isinstance(data_type, CollectionType) and data_type.kind is Kind.MULTISET:
        return data_type.element.with_nullable(False), INT.with_nullable(False)
    return None


def plain_record(avro: Any) -> Any:
    """Return the schema that decodes the same bytes without logical types; see `spec.avro_types.plain_schema`."""
    return plain_schema(parse_type(avro))


def _record(fields: Sequence[DataField], name: str) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [_field(f, f"{name}_{f.name}") for f in fields]}


def _field(field: DataField, path: str) -> dict[str, Any]:
    avro = _avro_type(field.type, path)
    return {"name": field.name, "type": avro, "default": None} if field.type.nullable else _named(field.name, avro)


def _named(name: str, avro: Any) -> dict[str, Any]:
    return {"name": name, "type": avro}


def _avro_type(data_type: DataType, path: str) -> Any:
    avro = _not_null_type(data_type, path)
    return ["null", avro] if data_type.nullable else avro


def _not_null_type(data_type: DataType, path: str) -> Any:
    pair = map_types(data_type)
    if pair is not None:
        return _map_type(*pair, path, value_nullable=isinstance(data_type, CollectionType))
    match data_type:
        case DecimalType(precision=precision, scale=scale):
            return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        case TimeType():
            return _time_type(data_type)
        case CollectionType(element=element):
            return {"type": "array", "items": _avro_type(element, path)}
        case RowType(fields=fields):
            return _record(fields, path)
    if data_type.kind not in _PLAIN:
        raise UnsupportedFeatureError(f"Avro files cannot hold {data_type.kind.value}; use Parquet.")
    return _PLAIN[data_type.kind]


def _map_type(key: DataType, value: DataType, path: str, *, value_nullable: bool) -> dict[str, Any]:
    value = value.with_nullable(True) if value_nullable else value
    if key.kind in TEXTS:
        return {"type": "map", "values": _avro_type(value, path)}
    pair = (DataField(id=0, name="key", type=key), DataField(id=1, name="value", type=value))
    return {"type": "array", "logicalType": "map", "items": _record(pair, path)}


def _time_type(data_type: TimeType) -> dict[str, Any]:
    most = _MILLIS if data_type.kind is Kind.TIME else _MICROS
    if data_type.precision > most:
        raise UnsupportedFeatureError(f"Avro files cannot hold {data_type}, only {most} digits; use Parquet.")
    if data_type.kind is Kind.TIME:
        return {"type": "int", "logicalType": "time-millis"}
    local = "local-" if data_type.kind is Kind.TIMESTAMP_LTZ else ""
    unit = "millis" if data_type.precision <= _MILLIS else "micros"
    return {"type": "long", "logicalType": f"{local}timestamp-{unit}"}
