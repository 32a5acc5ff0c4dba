"""Offsets of nested values without entries.

A list or map of n entries has n + 1 offsets. Arrow for Java before 19, part of Spark 4.0 and 4.1, gives a column
without entries an empty buffer of offsets, as the format allows old writers. PyArrow still reads the first offset,
behind the buffer's end.
"""

from __future__ import annotations

import pyarrow as pa


def with_offsets(column: pa.Array) -> pa.Array:
    """Return the column with at least one offset in nested lists and maps. Return the column itself if it has them."""
    if not pa.types.is_nested(column.type):
        return column
    if len(column) == 0:
        return column if _has_offsets(column) else pa.array([], column.type)
    known, *content = column.buffers()[:2]
    if pa.types.is_struct(column.type):
        # `field` does not slice: children are as long as the parent's buffers.
        parts = [column.field(i) for i in range(column.type.num_fields)]
        sound = [with_offsets(part) for part in parts]
        if all(s is p for s, p in zip(sound, parts, strict=True)):
            return column
        return pa.Array.from_buffers(column.type, len(column), [known], offset=column.offset, children=sound)
    if not (pa.types.is_list(column.type) or pa.types.is_map(column.type)):
        return column
    inner = column.values
    sound_inner = with_offsets(inner)
    if sound_inner is inner:
        return column
    buffers = [known, content[0]]
    return pa.Array.from_buffers(column.type, len(column), buffers, offset=column.offset, children=[sound_inner])


def _has_offsets(column: pa.Array) -> bool:
    """Return whether all lists and maps of an array without entries have an offset."""
    if pa.types.is_struct(column.type):
        return all(_has_offsets(column.field(i)) for i in range(column.type.num_fields))
    if not (pa.types.is_list(column.type) or pa.types.is_map(column.type)):
        return True
    offsets = column.buffers()[1]
    return offsets is not None and offsets.size > 0 and _has_offsets(column.values)
