"""CHAR values as Spark has them: filled with spaces up to the length of the type, also within nested values.

The values in a file have all of these spaces, some or none, depending on the writer and the format.
"""

from __future__ import annotations

import pyarrow as pa

from paimon_core import compute as pc
from paimon_core.spec.types import INT, CollectionType, DataType, Kind, LengthType, MapType, RowType, nested_types


def has_chars(data_type: DataType) -> bool:
    """Return whether a type is CHAR, or contains one."""
    return any(t.kind is Kind.CHAR for t in nested_types(data_type))


def with_spaces(column: pa.Array, data_type: DataType) -> pa.Array:
    """Return the column with CHAR values that are filled with spaces."""
    if not has_chars(data_type):
        return column
    if isinstance(data_type, LengthType):
        return pc.utf8_rpad(column, data_type.length)
    if isinstance(data_type, RowType):
        types, fields = [f.type for f in data_type.fields], list(column.type)
        return _struct(column, fields, types)
    if isinstance(data_type, MapType):
        entries = _struct(column.values, list(column.values.type), [data_type.key, data_type.value])
        return _with_values(column, entries)
    assert isinstance(data_type, CollectionType)
    if data_type.kind is Kind.MULTISET:  # a map from elements to their counts
        return _with_values(column, _struct(column.values, list(column.values.type), [data_type.element, INT]))
    return _with_values(column, with_spaces(column.values, data_type.element))


def _struct(column: pa.StructArray, fields: list[pa.Field], types: list[DataType]) -> pa.StructArray:
    parts = [with_spaces(column.field(i), t) for i, t in enumerate(types)]
    mask = column.is_null() if column.null_count else None
    return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)


def _with_values(column: pa.Array, values: pa.Array) -> pa.Array:
    known, offsets, *_ = column.buffers()
    return pa.Array.from_buffers(column.type, len(column), [known, offsets], offset=column.offset, children=[values])
