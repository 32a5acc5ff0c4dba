"""Arrow columns as the plain values that Avro records hold, and back.

Plain values are numbers, texts, bytes, lists and records: a decimal is its unscaled number in big-endian bytes, a map a
list of records of key and value. Records have fields `f0`, `f1`, … by index, as `schema.plain_record` names them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.columns import byte_lengths, fixed_values, padded_bytes
from paimon_core.arrow.types import DIGITS, arrow_type
from paimon_core.formats.avro.schema import map_types
from paimon_core.spec.avro_types import AvroType, UnfamiliarSchemaError
from paimon_core.spec.kinds import FLOATS, INTEGERS, MOMENTS, TEXTS, KindColumn
from paimon_core.spec.types import CollectionType, DataField, DataType, DecimalType, Kind, RowType, TimeType

_DECIMAL_BYTES, _MOST_DIGITS, _PAIR = 16, 38, 2
_INTEGERS, _TEXTS = frozenset(("int", "long")), frozenset(("string", "bytes"))
_NUMBERS = _INTEGERS | {"float", "double"}
_STORED_AS: KindColumn[frozenset[str]] = KindColumn(
    {
        Kind.BOOLEAN: frozenset(("boolean",)),
        **dict.fromkeys(INTEGERS, _INTEGERS),
        **dict.fromkeys(FLOATS, _NUMBERS),
        Kind.DATE: frozenset(("int",)),
        **dict.fromkeys((Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ), _INTEGERS),
        Kind.DECIMAL: frozenset(("bytes", "fixed")),
        **dict.fromkeys(TEXTS, _TEXTS),
        **dict.fromkeys((Kind.BINARY, Kind.VARBINARY, Kind.BLOB), _TEXTS | {"fixed"}),
        Kind.ARRAY: frozenset(("array",)),
        **dict.fromkeys((Kind.MAP, Kind.MULTISET), frozenset(("map", "array"))),
        Kind.ROW: frozenset(("record",)),
    },
    others="VARIANT",
)
_MOMENTS = frozenset(f"{local}timestamp-{unit}" for local in ("", "local-") for unit in ("millis", "micros", "nanos"))
_STRANGE: Mapping[Kind, frozenset[str]] = MappingProxyType(  # logical types of other values, in as many bytes
    {
        Kind.DATE: _MOMENTS | {"time-millis", "time-micros"},
        Kind.TIME: _MOMENTS | {"date"},
        **dict.fromkeys(MOMENTS, frozenset(("date", "time-millis", "time-micros"))),
    }
)
_UNITS = MappingProxyType({"millis": "ms", "micros": "us", "nanos": "ns"})
_UNIT_NAMES = MappingProxyType({"s": "second", "ms": "millisecond", "us": "microsecond", "ns": "nanosecond"})
_ATOMIC = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "fixed": pa.binary(),
}
_DECIMAL = np.dtype((np.uint8, (_DECIMAL_BYTES,)))


def to_plain(column: pa.Array, data_type: DataType) -> pa.Array:
    """Convert a column to plain values."""
    pair = map_types(data_type)
    if pair is not None:
        records = struct_of([to_plain(column.keys, pair[0]), to_plain(column.items, pair[1])], len(column.keys))
        return _list_like(column, records)
    match data_type:
        case DecimalType():
            return _unscaled_bytes(column)
        case CollectionType(element=element):
            return _list_like(column, to_plain(column.values, element))
        case RowType(fields=fields):
            children = [to_plain(column.field(i), f.type) for i, f in enumerate(fields)]
            return struct_of(children, len(column), column.is_null() if column.null_count else None)
        case TimeType(kind=kind):
            return column.view(pa.int32() if kind is Kind.TIME else pa.int64())
    return column.view(pa.int32()) if data_type.kind is Kind.DATE else column


def plain_type(data_type: DataType, avro: AvroType) -> pa.DataType:
    """Return the Arrow type of values of a Paimon type, decoded by an Avro type.

    Raises `UnfamiliarSchemaError` if the Avro type does not resolve to the Paimon type."""
    avro, pair = stored_type(data_type, avro), map_types(data_type)
    if pair is not None:
        children = zip(pair, _entry(avro), strict=True)
        return pa.list_(pa.struct([(f"f{i}", plain_type(t, a)) for i, (t, a) in enumerate(children)]))
    match data_type:
        case CollectionType(element=element):
            return pa.list_(plain_type(element, avro.parts[0]))
        case RowType(fields=fields):
            return plain_fields(fields, avro)
    return _plain_atomic(data_type, avro)


def plain_fields(fields: Sequence[DataField], avro: AvroType) -> pa.StructType:
    """Return the Arrow type of a record's fields, like `plain_type`.

    Raises `UnfamiliarSchemaError` naming the column.
    """
    indices, found = record_indices(avro), list[tuple[str, pa.DataType]]()
    for field in fields:
        if field.name in indices:
            index, part = indices[field.name]
            try:
                found.append((f"f{index}", plain_type(field.type, part)))
            except UnfamiliarSchemaError as e:
                raise UnfamiliarSchemaError(f"column {field.name}: {e}") from e
    return pa.struct(found)


def stored_type(data_type: DataType, avro: AvroType) -> AvroType:
    """Return the type of the values that are not NULL. For a union of numbers or of texts, return a type for all of
    them.

    Raises `UnfamiliarSchemaError` if the type does not resolve to the Paimon type."""
    others = [t for t in avro.branches if t.kind != "null"]
    kinds = {t.kind for t in others}
    strange = _STRANGE.get(data_type.kind, frozenset())
    if not kinds <= _STORED_AS.get(data_type.kind, frozenset()) or any(t.logical in strange for t in others):
        raise UnfamiliarSchemaError(f"it is stored as {avro}, which cannot be read as {data_type.sql()}")
    if len(others) == 1:
        return others[0]
    if not others:
        return avro
    if kinds <= _NUMBERS:
        return AvroType("double" if kinds & {"float", "double"} else "long")
    if kinds <= _TEXTS:
        return AvroType("bytes")
    raise UnfamiliarSchemaError(f"it is stored as {avro}, a union of several types")


def _plain_atomic(data_type: DataType, avro: AvroType) -> pa.DataType:
    if avro.kind == "null":
        return arrow_type(data_type)
    match data_type:
        case DecimalType():
            return pa.binary()
        case TimeType(kind=Kind.TIMESTAMP | Kind.TIMESTAMP_LTZ):
            unit, default = _UNITS.get(avro.logical.rpartition("-")[2]), arrow_type(data_type)
            return pa.timestamp(unit or default.unit, default.tz)
        case TimeType():
            return pa.time64("us") if avro.kind == "long" else pa.time32("ms")
    return pa.date32() if data_type.kind is Kind.DATE else _ATOMIC[avro.kind]


def from_plain(column: pa.Array, data_type: DataType, avro: AvroType, target: pa.DataType) -> pa.Array:
    """Convert plain values of `plain_type` to a column. Raises `pa.ArrowInvalid` for values out of range."""
    avro, pair = stored_type(data_type, avro), map_types(data_type)
    nulls = column.is_null() if column.null_count else None
    if avro.kind == "null":
        return pa.nulls(len(column), target)
    if pair is not None:
        avros, records = _entry(avro), column.values
        keys = from_plain(records.field(0), pair[0], avros[0], target.key_type)
        items = from_plain(records.field(1), pair[1], avros[1], target.item_type)
        return pa.MapArray.from_arrays(column.offsets, keys, items, type=target, mask=nulls)
    match data_type:
        case DecimalType():
            return _decimals(column, avro, target)
        case CollectionType(element=element):
            values = from_plain(column.values, element, avro.parts[0], target.value_type)
            return pa.ListArray.from_arrays(column.offsets, values, type=target, mask=nulls)
        case RowType():
            return row_from_plain(column, data_type, avro, target, nulls)
    return _cast(column, target)


def row_from_plain(
    column: pa.StructArray, data_type: RowType, avro: AvroType, target: pa.StructType, nulls: pa.Array | None = None
) -> pa.StructArray:
    """Convert records like `from_plain`. Fields that the records do not have are NULL."""
    indices, children = record_indices(avro), []
    for field, arrow in zip(data_type.fields, target, strict=True):
        if field.name in indices:
            index, found = indices[field.name]
            try:
                children.append(from_plain(column.field(f"f{index}"), field.type, found, arrow.type))
            except UnfamiliarSchemaError as e:
                raise UnfamiliarSchemaError(f"column {field.name}: {e}") from e
        else:
            children.append(pa.nulls(len(column), arrow.type))
    return pa.StructArray.from_arrays(children, fields=list(target), mask=nulls)


def record_indices(avro: AvroType) -> dict[str, tuple[int, AvroType]]:
    """Return the index and Avro type of each field of a record, by name."""
    return {name: (i, part) for i, (name, part) in enumerate(zip(avro.names, avro.parts, strict=True))}


def struct_of(children: Sequence[pa.Array], rows: int, nulls: pa.Array | None = None) -> pa.StructArray:
    """Return records made of the columns."""
    if not children:
        return pa.array([{}] * rows, pa.struct([]))
    return pa.StructArray.from_arrays(list(children), names=[f"f{i}" for i in range(len(children))], mask=nulls)


def _list_like(column: pa.Array, values: pa.Array) -> pa.ListArray:
    offsets = pa.array(column.offsets.to_numpy(), pa.int32())  # Arrow accepts no mask with the offsets of a slice
    return pa.ListArray.from_arrays(offsets, values, mask=column.is_null() if column.null_count else None)


def _entry(avro: AvroType) -> tuple[AvroType, AvroType]:
    """Return the Avro types of the keys and the values of a map, which may be an array of pairs."""
    if avro.kind == "map":
        return AvroType("string"), avro.parts[0]
    pair = avro.parts[0].branches if avro.kind == "array" else ()
    records = [t for t in pair if t.kind == "record"]
    if len(records) != 1 or len(records[0].parts) != _PAIR:
        raise UnfamiliarSchemaError(f"it is stored as {avro}, with entries that are not pairs")
    return records[0].parts[0], records[0].parts[1]


def _cast(column: pa.Array, target: pa.DataType) -> pa.Array:
    """Cast values of the file's type to the wanted type, by Avro's promotions."""
    if column.type.equals(target):
        return column
    if pa.types.is_timestamp(column.type) and DIGITS[column.type.unit] > DIGITS[target.unit]:
        column = pc.floor_temporal(column, unit=_UNIT_NAMES[target.unit])
    # A promoted number may lose its last digits, and a time may lose digits that the column's type does not have.
    safe = not pa.types.is_floating(target) and not pa.types.is_time(target)
    try:
        return column.cast(target, safe=safe)
    except pa.ArrowInvalid as e:
        raise UnfamiliarSchemaError(f"it is stored as {column.type}, with values that are not {target} ({e})") from e


def _decimals(column: pa.Array, avro: AvroType, target: pa.DataType) -> pa.Array:
    """Convert decimals from the scale in the file's schema, if the schema has one, to the wanted scale."""
    scale = avro.digits[1] if avro.logical == "decimal" and avro.digits else target.scale
    if scale == target.scale:
        return _scaled_decimals(column, target)
    return _scaled_decimals(column, pa.decimal128(_MOST_DIGITS, scale)).cast(target)


def _scaled_decimals(column: pa.Array, target: pa.DataType) -> pa.Array:
    lengths = byte_lengths(column)
    if lengths.max(initial=0) > _DECIMAL_BYTES:
        raise pa.ArrowInvalid("a decimal has more than 16 bytes")
    padded = padded_bytes(column, _DECIMAL_BYTES)
    sign = np.where(padded[:, :1] >= 0x80, 0xFF, 0).astype(np.uint8)
    sources = np.arange(_DECIMAL_BYTES) - (_DECIMAL_BYTES - lengths[:, None])
    big = np.where(sources >= 0, np.take_along_axis(padded, np.maximum(sources, 0), axis=1), sign)
    little = np.ascontiguousarray(big[:, ::-1])
    valid = pc.is_valid(column).buffers()[1] if column.null_count else None
    decimals = pa.Array.from_buffers(target, len(column), [valid, pa.py_buffer(little)])
    decimals.validate(full=True)
    return decimals


def _unscaled_bytes(column: pa.Array) -> pa.Array:
    big = fixed_values(column, _DECIMAL)[:, ::-1]
    sign = np.where(big[:, :1] >= 0x80, 0xFF, 0).astype(np.uint8)
    # A leading byte is superfluous if it only repeats the sign of the next byte.
    idle = (big[:, :-1] == sign) & ((big[:, 1:] & 0x80) == (sign & 0x80))
    leading = np.cumprod(idle, axis=1).sum(axis=1)
    content = np.ascontiguousarray(big[np.arange(_DECIMAL_BYTES) >= leading[:, None]])
    offsets = np.zeros(len(column) + 1, dtype=np.int32)
    np.cumsum(_DECIMAL_BYTES - leading, out=offsets[1:])
    valid = pc.is_valid(column).buffers()[1] if column.null_count else None
    return pa.Array.from_buffers(pa.binary(), len(column), [valid, pa.py_buffer(offsets), pa.py_buffer(content)])
