"""Paimon types as Arrow types, and the columns of data files with their `PARQUET:field_id`.

A nested element has an id derived from its column's: ARRAY elements and MAP values count up, MAP keys count down from
`ELEMENT_ID_START`, 1024 per column and one per depth. Source: specification, "DataFile", and the files themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import pyarrow as pa

from paimon_core.spec.kinds import KindColumn
from paimon_core.spec.schema import KEY_FIELD_ID_START, SYSTEM_FIELD_ID_START
from paimon_core.spec.types import (
    BIGINT,
    ELEMENT_ID_START,
    ELEMENT_IDS_PER_FIELD,
    INT,
    TINYINT,
    CollectionType,
    DataField,
    DataType,
    DecimalType,
    Kind,
    MapType,
    RowType,
    StoredTimeType,
    TimeType,
)

FIELD_ID = b"PARQUET:field_id"
ORC_FIELD_ID = b"paimon.id"
KEY_PREFIX = "_KEY_"
SEQUENCE_NUMBER = "_SEQUENCE_NUMBER"
VALUE_KIND = "_VALUE_KIND"
VALUE_COUNT = "_VALUE_COUNT"
ROW_ID = "_ROW_ID"
FILE_PATH, ROW_INDEX = "__paimon_file_path", "__paimon_row_index"  # the location of a row
STORED_TIME = pa.binary(12)
DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}  # of a second, by the unit of a timestamp
_BIGINT_NOT_NULL = DataType(Kind.BIGINT, nullable=False)
# More columns of tables with row tracking. They are NULL in a file if metadata has the values.
TRACKING_FIELDS = (
    DataField(id=SYSTEM_FIELD_ID_START - 5, name=ROW_ID, type=BIGINT),
    DataField(id=SYSTEM_FIELD_ID_START - 1, name=SEQUENCE_NUMBER, type=BIGINT),
)
TRACKING_NAMES = tuple(f.name for f in TRACKING_FIELDS)

_ATOMIC: KindColumn[pa.DataType] = KindColumn(
    {
        Kind.BOOLEAN: pa.bool_(),
        Kind.TINYINT: pa.int8(),
        Kind.SMALLINT: pa.int16(),
        Kind.INT: pa.int32(),
        Kind.BIGINT: pa.int64(),
        Kind.FLOAT: pa.float32(),
        Kind.DOUBLE: pa.float64(),
        Kind.DATE: pa.date32(),
        Kind.TIME: pa.time32("ms"),
        Kind.CHAR: pa.string(),
        Kind.VARCHAR: pa.string(),
        Kind.BINARY: pa.binary(),
        Kind.VARBINARY: pa.binary(),
        Kind.BLOB: pa.binary(),
        Kind.VARIANT: pa.struct(
            [pa.field("value", pa.binary(), nullable=False), pa.field("metadata", pa.binary(), nullable=False)]
        ),
    },
    others="DECIMAL TIMESTAMP TIMESTAMP_LTZ ARRAY MAP MULTISET ROW",
)


def arrow_type(data_type: DataType) -> pa.DataType:
    """Return the Arrow type for values of a Paimon type, without field ids."""
    return _arrow_type(data_type, None, 0)


@lru_cache(maxsize=4096)  # called for each batch
def arrow_field(field: DataField) -> pa.Field:
    """Return a column of a data file: name, type, nullability and field ids."""
    return _field(field.name, field.type, field.id, _arrow_type(field.type, field.id, 0))


def arrow_schema(fields: Sequence[DataField]) -> pa.Schema:
    """Return the columns of a data file of an append table."""
    return pa.schema([arrow_field(f) for f in fields])


def key_value_fields(fields: Sequence[DataField], key_fields: Sequence[DataField]) -> tuple[DataField, ...]:
    """Return the columns of a data file of a primary-key table: keys, sequence number, row kind, then all columns."""
    keys = (
        DataField(id=KEY_FIELD_ID_START + f.id, name=KEY_PREFIX + f.name, type=f.type.with_nullable(False))
        for f in key_fields
    )
    sequence = DataField(id=SYSTEM_FIELD_ID_START - 1, name=SEQUENCE_NUMBER, type=_BIGINT_NOT_NULL)
    kind = DataField(id=SYSTEM_FIELD_ID_START - 2, name=VALUE_KIND, type=TINYINT.with_nullable(False))
    return (*keys, sequence, kind, *fields)


def counted_row_fields(fields: Sequence[DataField]) -> tuple[DataField, ...]:
    """Return the columns of a data file that counts equal rows: the row, sequence number, row kind, then the count."""
    count = DataField(id=SYSTEM_FIELD_ID_START - 3, name=VALUE_COUNT, type=_BIGINT_NOT_NULL)
    return (*fields, *key_value_fields((), ()), count)


def field_id(field: pa.Field) -> int | None:
    """Return the field id of an Arrow field from a Parquet or ORC file, or None."""
    metadata = field.metadata or {}
    text = metadata.get(FIELD_ID, metadata.get(ORC_FIELD_ID))
    return int(text) if text is not None and text.lstrip(b"-").isdigit() else None


def without_ids(arrow: pa.DataType) -> pa.DataType:
    """Return the type without field ids, for columns that are found by their names."""

    def plain(field: pa.Field) -> pa.Field:
        return field.with_type(without_ids(field.type)).remove_metadata()

    if pa.types.is_struct(arrow):
        return pa.struct([plain(f) for f in arrow])
    if pa.types.is_map(arrow):
        return pa.map_(plain(arrow.key_field), plain(arrow.item_field))
    return pa.list_(plain(arrow.value_field)) if pa.types.is_list(arrow) else arrow


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema without field ids, as callers outside of files see it."""
    return pa.schema([pa.field(f.name, without_ids(f.type), nullable=f.nullable) for f in schema])


def _field(name: str, data_type: DataType, identity: int | None, arrow: pa.DataType) -> pa.Field:
    metadata = None if identity is None else {FIELD_ID: str(identity).encode()}
    return pa.field(name, arrow, nullable=data_type.nullable, metadata=metadata)


def _element_id(column: int | None, depth: int, sign: int = 1) -> int | None:
    return None if column is None else ELEMENT_ID_START + sign * (ELEMENT_IDS_PER_FIELD * column + depth)


def _arrow_type(data_type: DataType, column: int | None, depth: int) -> pa.DataType:
    """Return the Arrow type. Elements derive their ids from `column`, None for types without ids."""
    match data_type:
        case DecimalType(precision=precision, scale=scale):
            return pa.decimal128(precision, scale)
        case StoredTimeType():
            return STORED_TIME
        case TimeType(kind=Kind.TIMESTAMP | Kind.TIMESTAMP_LTZ as kind, precision=precision):
            unit = "ms" if precision <= 3 else "us" if precision <= 6 else "ns"
            return pa.timestamp(unit, tz="UTC" if kind is Kind.TIMESTAMP_LTZ else None)
        case CollectionType(kind=Kind.ARRAY, element=element):
            inner = _arrow_type(element, column, depth + 1)
            return pa.list_(_field("element", element, _element_id(column, depth + 1), inner))
        case CollectionType(element=element):
            return _map_type(element, INT.with_nullable(False), column, depth + 1)
        case MapType(key=key, value=value):
            return _map_type(key, value, column, depth + 1)
        case RowType(fields=fields):
            ids = [None if column is None else f.id for f in fields]
            nested = zip(fields, ids, strict=True)
            return pa.struct([_field(f.name, f.type, i, _arrow_type(f.type, i, 0)) for f, i in nested])
        case _:
            return _ATOMIC[data_type.kind]


def _map_type(key: DataType, value: DataType, column: int | None, depth: int) -> pa.DataType:
    key = key.with_nullable(False)
    return pa.map_(
        _field("key", key, _element_id(column, depth, -1), _arrow_type(key, column, depth)),
        _field("value", value, _element_id(column, depth), _arrow_type(value, column, depth)),
    )
