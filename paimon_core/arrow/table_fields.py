"""Convert an Arrow schema to the columns of a table definition: the reverse of `paimon_core.arrow.types`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pyarrow as pa

from paimon_core.errors import UnsupportedFeatureError
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
    CollectionType,
    DataField,
    DataType,
    DecimalType,
    Kind,
    LengthType,
    MapType,
    RowType,
    TimeType,
)

_COMMENT = b"comment"
_PRECISIONS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_SIMPLE: dict[pa.DataType, DataType] = {
    pa.bool_(): BOOLEAN,
    pa.int8(): TINYINT,
    pa.int16(): SMALLINT,
    pa.int32(): INT,
    pa.int64(): BIGINT,
    pa.uint8(): SMALLINT,
    pa.uint16(): INT,
    pa.uint32(): BIGINT,
    pa.uint64(): DecimalType(precision=20, scale=0),
    pa.float16(): FLOAT,
    pa.float32(): FLOAT,
    pa.float64(): DOUBLE,
    pa.date32(): DATE,
    pa.date64(): DATE,
    pa.string(): STRING,
    pa.large_string(): STRING,
    pa.string_view(): STRING,
    pa.binary(): BYTES,
    pa.large_binary(): BYTES,
    pa.binary_view(): BYTES,
    pa.time32("s"): TimeType(Kind.TIME, precision=0),
    pa.time32("ms"): TimeType(Kind.TIME, precision=3),
}
_LISTS: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)


def table_fields(schema: pa.Schema) -> tuple[DataField, ...]:
    """Return the columns of a table for rows of an Arrow schema. Ids count from 0 in reading order.

    Each column has the smallest type that can represent every value. The metadata `comment` of a field is the comment
    of the column. Raises `UnsupportedFeatureError` with the name of a column if a table cannot have the column's type.
    """
    ids = count()
    return tuple(_field(f, ids, f.name) for f in schema)


def table_type(arrow: pa.DataType, column: str) -> DataType:
    """Return the type of a column for an Arrow type. Raises the same errors as `table_fields`."""
    return _type(arrow, count(), column)


def _field(field: pa.Field, ids: Iterator[int], path: str) -> DataField:
    comment = (field.metadata or {}).get(_COMMENT)
    number = next(ids)
    return DataField(
        id=number,
        name=field.name,
        type=_type(field.type, ids, path).with_nullable(field.nullable),
        description=None if comment is None else comment.decode(errors="replace"),
    )


def _type(arrow: pa.DataType, ids: Iterator[int], path: str) -> DataType:
    found = _SIMPLE.get(arrow)
    if found is not None:
        return found
    if pa.types.is_decimal(arrow) and arrow.precision <= DecimalType.MAX_PRECISION and arrow.scale >= 0:
        return DecimalType(precision=arrow.precision, scale=arrow.scale)
    if pa.types.is_timestamp(arrow):
        return TimeType(Kind.TIMESTAMP if arrow.tz is None else Kind.TIMESTAMP_LTZ, precision=_PRECISIONS[arrow.unit])
    if pa.types.is_fixed_size_binary(arrow):
        return LengthType(Kind.BINARY, length=arrow.byte_width)
    if pa.types.is_dictionary(arrow):
        return _type(arrow.value_type, ids, path)
    if any(is_list(arrow) for is_list in _LISTS):
        element = _type(arrow.value_type, ids, f"{path}.element").with_nullable(arrow.value_field.nullable)
        return CollectionType(Kind.ARRAY, element=element)
    if pa.types.is_map(arrow):
        key = _type(arrow.key_type, ids, f"{path}.key").with_nullable(False)
        value = _type(arrow.item_type, ids, f"{path}.value").with_nullable(arrow.item_field.nullable)
        return MapType(key=key, value=value)
    if pa.types.is_struct(arrow):
        return RowType(fields=tuple(_field(f, ids, f"{path}.{f.name}") for f in arrow))
    raise UnsupportedFeatureError(
        f"Column {path!r} cannot have the Arrow type {arrow}: Paimon has no type for its values. Cast the column "
        "to another type first."
    )
