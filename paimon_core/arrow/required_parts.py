"""Parts of nested values that are never NULL: fields that are NOT NULL, and the parts of a VARIANT.

If the whole value is NULL, Arrow sometimes also marks its parts as NULL. With these marks, it neither casts such a
column nor writes it to Parquet. Without them it does both.
"""

from __future__ import annotations

import pyarrow as pa


def has_required_parts(data_type: pa.DataType) -> bool:
    """Return whether a type has required parts. Keys of maps do not count: Arrow handles them correctly."""
    if pa.types.is_map(data_type):
        return has_required_parts(data_type.key_type) or has_required_parts(data_type.item_type)
    if pa.types.is_struct(data_type):
        return any(not f.nullable or has_required_parts(f.type) for f in data_type.fields)
    return pa.types.is_list(data_type) and has_required_parts(data_type.value_type)


def with_required_parts(column: pa.Array) -> pa.Array:
    """Return the column without NULLs in its required parts."""
    return _part(column, nullable=True) if has_required_parts(column.type) else column


def _part(part: pa.Array, *, nullable: bool) -> pa.Array:
    known, *content = part.buffers()
    if not nullable:
        known = None
    if pa.types.is_struct(part.type):
        parts = [_part(part.field(i), nullable=f.nullable) for i, f in enumerate(part.type.fields)]
        mask = part.is_null() if nullable and part.null_count else None
        return pa.StructArray.from_arrays(parts, fields=part.type.fields, mask=mask)
    if pa.types.is_list(part.type) or pa.types.is_map(part.type):
        inner = [_part(part.values, nullable=True)]
        return pa.Array.from_buffers(part.type, len(part), [known, content[0]], offset=part.offset, children=inner)
    if nullable or not part.null_count:
        return part
    return pa.Array.from_buffers(part.type, len(part), [known, *content], offset=part.offset)
