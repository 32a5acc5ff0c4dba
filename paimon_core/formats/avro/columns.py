"""Arrow columns as the plain values that Avro records hold, and back.

Plain values are numbers, texts, bytes, lists and records: a decimal is its unscaled number in big-endian bytes, a map a
list of records of key and value. Records have fields `f0`, `f1`, … by index, as `schema.plain_record` names them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.columns import byte_lengths, fixed_values, padded_bytes
from paimon_core.arrow.types import arrow_type
from paimon_core.formats.avro.schema import branch_of, map_types
from paimon_core.spec.types import CollectionType, DataType, DecimalType, Kind, RowType, TimeType

_DECIMAL_BYTES = 16
_DECIMAL = np.dtype((np.uint8, (_DECIMAL_BYTES,)))


def to_plain(column: pa.Array, data_type: DataType) -> pa.Array:
    """The plain values of a column."""
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


def plain_type(data_type: DataType, avro: Any) -> pa.DataType:
    """The Arrow type of plain values of a Paimon type, decoded by an Avro type.

    Raises `ValueError` where the Avro type does not hold values of the Paimon type."""
    avro, pair = branch_of(avro), map_types(data_type)
    if pair is not None:
        children = zip(pair, _entry(avro), strict=True)
        return pa.list_(pa.struct([(f"f{i}", plain_type(t, a)) for i, (t, a) in enumerate(children)]))
    match data_type:
        case DecimalType():
            return pa.binary()
        case CollectionType(element=element):
            return pa.list_(plain_type(element, _expect(avro, "array")["items"]))
        case RowType(fields=fields):
            indices = record_indices(_expect(avro, "record"))
            found = ((*indices[f.name], f.type) for f in fields if f.name in indices)
            return pa.struct([(f"f{index}", plain_type(t, a)) for index, a, t in found])
        case TimeType(kind=Kind.TIMESTAMP | Kind.TIMESTAMP_LTZ):
            logical = avro.get("logicalType", "") if isinstance(avro, dict) else ""
            default = arrow_type(data_type)
            unit = "ms" if logical.endswith("-millis") else "us" if logical.endswith("-micros") else default.unit
            return pa.timestamp(unit, default.tz)
    return arrow_type(data_type)


def from_plain(column: pa.Array, data_type: DataType, avro: Any, target: pa.DataType) -> pa.Array:
    """The column that plain values of `plain_type` stand for. Raises `pa.ArrowInvalid` for what is out of range."""
    avro, pair = branch_of(avro), map_types(data_type)
    nulls = column.is_null() if column.null_count else None
    if pair is not None:
        avros, records = _entry(avro), column.values
        keys = from_plain(records.field(0), pair[0], avros[0], target.key_type)
        items = from_plain(records.field(1), pair[1], avros[1], target.item_type)
        return pa.MapArray.from_arrays(column.offsets, keys, items, type=target, mask=nulls)
    match data_type:
        case DecimalType():
            return _decimals(column, target)
        case CollectionType(element=element):
            values = from_plain(column.values, element, avro["items"], target.value_type)
            return pa.ListArray.from_arrays(column.offsets, values, type=target, mask=nulls)
        case RowType():
            return row_from_plain(column, data_type, avro, target, nulls)
    return column if column.type.equals(target) else column.cast(target)


def row_from_plain(
    column: pa.StructArray, data_type: RowType, avro: Any, target: pa.StructType, nulls: pa.Array | None = None
) -> pa.StructArray:
    """As `from_plain`, of records; a field that they lack is NULL."""
    indices, children = record_indices(avro), []
    for field, arrow in zip(data_type.fields, target, strict=True):
        if field.name in indices:
            index, found = indices[field.name]
            children.append(from_plain(column.field(f"f{index}"), field.type, found, arrow.type))
        else:
            children.append(pa.nulls(len(column), arrow.type))
    return pa.StructArray.from_arrays(children, fields=list(target), mask=nulls)


def record_indices(avro: Any) -> dict[str, tuple[int, Any]]:
    """Index and Avro type of the fields of a record by name."""
    return {f["name"]: (i, f["type"]) for i, f in enumerate(avro["fields"])}


def struct_of(children: Sequence[pa.Array], rows: int, nulls: pa.Array | None = None) -> pa.StructArray:
    """Records of the columns."""
    if not children:
        return pa.array([{}] * rows, pa.struct([]))
    return pa.StructArray.from_arrays(list(children), names=[f"f{i}" for i in range(len(children))], mask=nulls)


def _list_like(column: pa.Array, values: pa.Array) -> pa.ListArray:
    offsets = pa.array(column.offsets.to_numpy(), pa.int32())  # those of a slice take no mask
    return pa.ListArray.from_arrays(offsets, values, mask=column.is_null() if column.null_count else None)


def _entry(avro: Any) -> tuple[Any, Any]:
    """Avro types of the keys and the values of a map."""
    if isinstance(avro, dict) and avro["type"] == "map":
        return "string", avro["values"]
    fields = _expect(_expect(avro, "array")["items"], "record")["fields"]
    if len(fields) != 2:
        raise ValueError("the entries of a map are no pairs")
    return fields[0]["type"], fields[1]["type"]


def _expect(avro: Any, kind: str) -> Any:
    if not isinstance(avro, dict) or avro["type"] != kind:
        raise ValueError(f"a column is no {kind}")
    return avro


def _decimals(column: pa.Array, target: pa.DataType) -> pa.Array:
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
    # a leading byte is superfluous where it repeats the sign that the next byte shows as well
    idle = (big[:, :-1] == sign) & ((big[:, 1:] & 0x80) == (sign & 0x80))
    leading = np.cumprod(idle, axis=1).sum(axis=1)
    content = np.ascontiguousarray(big[np.arange(_DECIMAL_BYTES) >= leading[:, None]])
    offsets = np.zeros(len(column) + 1, dtype=np.int32)
    np.cumsum(_DECIMAL_BYTES - leading, out=offsets[1:])
    valid = pc.is_valid(column).buffers()[1] if column.null_count else None
    return pa.Array.from_buffers(pa.binary(), len(column), [valid, pa.py_buffer(offsets), pa.py_buffer(content)])
