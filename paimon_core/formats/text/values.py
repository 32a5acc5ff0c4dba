"""Convert values to the texts in CSV and JSON files, and back: dates and times as in SQL literals, bytes in base64.

Times with a local time zone are written in UTC. If another writer, such as Spark, adds the offset of its zone, the
offset counts.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow import int96
from paimon_core.arrow.types import DIGITS, arrow_type
from paimon_core.errors import InvalidDataError
from paimon_core.formats.avro.schema import map_types
from paimon_core.spec.kinds import BINARIES, FLOATS
from paimon_core.spec.types import CollectionType, DataType, Kind, RowType, StoredTimeType

_LAST_YEAR = 9999
_OFFSET = "(?:Z|[+-][0-9]{2}:?[0-9]{2})"
_SPECIAL_FLOATS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def to_text(column: pa.Array, data_type: DataType) -> pa.Array:
    """Convert a column to texts. A nested column keeps its shape, with texts as leaves."""
    pair, nulls = map_types(data_type), column.is_null() if column.null_count else None
    if pair is not None:
        keys, items = to_text(column.keys, pair[0]), to_text(column.items, pair[1])
        return pa.MapArray.from_arrays(_offsets(column), keys, items, mask=nulls)
    match data_type:
        case CollectionType(element=element):
            return pa.ListArray.from_arrays(_offsets(column), to_text(column.values, element), mask=nulls)
        case RowType(fields=fields):
            children = [to_text(column.field(i), f.type) for i, f in enumerate(fields)]
            return pa.StructArray.from_arrays(children, names=[f.name for f in fields], mask=nulls)
    if data_type.kind in BINARIES:
        return pa.array([None if v is None else b64encode(v).decode() for v in column.to_pylist()], pa.string())
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = column.cast(pa.timestamp(column.type.unit))
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        years = pc.min_max(pc.year(column)).as_py()
        if years["min"] is not None and not 0 <= years["min"] <= years["max"] <= _LAST_YEAR:
            raise InvalidDataError(
                f"A {data_type} outside of the years 0 to {_LAST_YEAR} cannot be written as text. Use Parquet or ORC."
            )
    text = column.cast(pa.string())
    if data_type.kind in FLOATS:
        for ours, theirs in _SPECIAL_FLOATS.items():
            text = pc.if_else(pc.equal(text, ours), theirs, text)
    return text


def text_type(data_type: DataType) -> pa.DataType:
    """Return the Arrow type of a column's texts."""
    pair = map_types(data_type)
    if pair is not None:
        return pa.map_(text_type(pair[0]), text_type(pair[1]))
    match data_type:
        case CollectionType(element=element):
            return pa.list_(text_type(element))
        case RowType(fields=fields):
            return pa.struct([(f.name, text_type(f.type)) for f in fields])
    return pa.string()


def from_text(
    column: pa.Array,
    data_type: DataType,
    target: pa.DataType,
    parse: Callable[[pa.Array, DataType, pa.DataType], pa.Array] | None = None,
) -> pa.Array:
    """Convert texts of `text_type` to a column. `parse` may return NULL for texts that `value_of_text` refuses."""
    pair, nulls = map_types(data_type), column.is_null() if column.null_count else None
    if pair is not None:
        keys = from_text(column.keys, pair[0], target.key_type, parse)
        items = from_text(column.items, pair[1], target.item_type, parse)
        offsets = _offsets(column)
        if keys.null_count:  # entries without a key are dropped
            known = keys.is_valid()
            before = np.append(0, np.cumsum(known.to_numpy(zero_copy_only=False)))
            keys, items, offsets = keys.filter(known), items.filter(known), pa.array(before[offsets], pa.int32())
        return pa.MapArray.from_arrays(offsets, keys, items, type=target, mask=nulls)
    match data_type:
        case CollectionType(element=element):
            values = from_text(column.values, element, target.value_type, parse)
            return pa.ListArray.from_arrays(_offsets(column), values, type=target, mask=nulls)
        case RowType(fields=fields):
            typed = zip(fields, target, strict=True)
            # A field of a NULL struct may contain any text.
            children = [from_text(c, f.type, t.type, parse) for c, (f, t) in zip(column.flatten(), typed, strict=True)]
            return pa.StructArray.from_arrays(children, fields=list(target), mask=nulls)
    return (parse or value_of_text)(column, data_type, target)


def value_of_text(column: pa.Array, data_type: DataType, target: pa.DataType) -> pa.Array:
    """Convert texts like `from_text`, for a type that is not nested.

    Raises `pa.ArrowInvalid`, `ValueError` for invalid texts.
    """
    if data_type.kind in BINARIES:
        return pa.array([None if v is None else b64decode(v, validate=True) for v in column.to_pylist()], target)
    if isinstance(data_type, StoredTimeType):
        try:
            return int96.stored(_moments(column, data_type, "ns"))
        except pa.ArrowInvalid:  # years outside of the range of nanoseconds
            return int96.stored(_moments(column, data_type, "us"))
    if pa.types.is_timestamp(target):
        return _moments(column, data_type, target.unit).cast(arrow_type(data_type))
    if data_type.kind is Kind.TIME:
        moment = pc.binary_join_element_wise("1970-01-01", column, " ").cast(pa.timestamp("ms"))
        return moment.cast(pa.int64()).cast(pa.int32()).view(target)
    return column.cast(target)


def _moments(column: pa.Array, data_type: DataType, unit: str) -> pa.Array:
    """Cast times to a unit. Further digits are cut off. A moment without an offset is in UTC."""
    kind = pa.timestamp(unit)
    if data_type.kind is Kind.TIMESTAMP_LTZ:
        has_offset = pc.fill_null(pc.match_substring_regex(column, rf":[0-9]{{2}}[^:]*{_OFFSET}$"), False)
        if pc.any(has_offset).as_py():
            in_utc = pc.binary_join_element_wise(column, "Z", "")
            column, kind = pc.if_else(has_offset, column, in_utc), pa.timestamp(unit, "UTC")
    try:
        found = column.cast(kind)
    except pa.ArrowInvalid:
        surplus = rf"(\.[0-9]{{{DIGITS[unit]}}})[0-9]+({_OFFSET})?$"
        found = pc.replace_substring_regex(column, surplus, r"\1\2").cast(kind)
    return found.cast(pa.timestamp(unit))


def _offsets(column: pa.Array) -> pa.Array:
    return pa.array(column.offsets.to_numpy(), pa.int32())  # Arrow accepts no mask with the offsets of a slice
