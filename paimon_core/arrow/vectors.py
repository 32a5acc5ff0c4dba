"""Values of VECTOR columns: lists of one length, without NULL among their elements."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.spec.types import CollectionType, DataType, MapType, RowType, VectorType, has_vector


def invalid_vector(column: pa.Array, data_type: DataType) -> str | None:
    """Return the fault of an invalid vector in a column or below it, or None if all vectors are valid.

    A NULL in place of a vector is valid."""
    if not has_vector(data_type):
        return None
    match data_type:
        case VectorType(length=length):
            return _fault(column, length)
        case CollectionType(element=element) if pa.types.is_list(column.type):
            return invalid_vector(column.flatten(), element)
        case MapType(key=key, value=value):
            parts = zip(_entries(column).flatten(), (key, value), strict=True)
        case RowType(fields=fields):
            parts = zip(column.flatten(), (f.type for f in fields), strict=True)
        case CollectionType(element=element):  # a MULTISET is stored as a map from elements to counts
            return invalid_vector(_entries(column).flatten()[0], element)
        case _:
            return None
    return next((fault for part, t in parts if (fault := invalid_vector(part, t)) is not None), None)


def _fault(column: pa.Array, length: int) -> str | None:
    lengths = pc.list_value_length(column)
    other = lengths.filter(pc.not_equal(lengths, length))
    if len(other):
        return f"a vector of {other[0].as_py()} elements instead of {length}"
    return "a vector with a NULL element" if column.flatten().null_count else None


def _entries(column: pa.MapArray) -> pa.StructArray:
    """Return the entries of maps that are not NULL."""
    entries = column.values
    return pa.Array.from_buffers(
        pa.list_(entries.type), len(column), column.buffers()[:2], offset=column.offset, children=[entries]
    ).flatten()
