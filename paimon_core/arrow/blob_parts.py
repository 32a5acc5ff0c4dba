"""The BLOB values in a column: the column itself, the elements of arrays, or the values of maps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds
from numpy.typing import NDArray

from paimon_core.arrow.columns import validity


def blob_parts(column: pa.Array) -> tuple[pa.Array, Callable[[pa.Array], pa.Array]]:
    """Return the BLOB values of a column, and a function that returns the column with other values."""
    if not _is_nested(column):
        return column, lambda values: values
    offsets, parts = _offsets(column), column.values
    below = parts.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    if kinds.is_map(column.type):
        kind = column.type
        struct = [kind.key_field, kind.item_field]

        def mapped(values: pa.Array) -> pa.Array:
            return _nested(column, pa.StructArray.from_arrays([below.field(0), values], fields=struct))

        return below.field(1), mapped
    return below, lambda values: _nested(column, values)


def entry_bounds(column: pa.Array) -> NDArray[np.int64]:
    """Return where the parts of each row of arrays or maps begin in `blob_parts`, with the end of the last row."""
    offsets = _offsets(column)
    bounds: NDArray[np.int64] = offsets - offsets[0]
    return bounds


def map_keys(column: pa.MapArray) -> pa.Array:
    """Return the keys of maps, in the order of `blob_parts`."""
    offsets = _offsets(column)
    return column.keys.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))


def row_sums(column: pa.Array, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add up sizes of BLOB values, in the order of `blob_parts`, for each row of a column."""
    if not _is_nested(column):
        return sizes
    offsets, ends = _offsets(column), np.append(0, np.cumsum(sizes))
    sums: NDArray[np.int64] = ends[offsets[1:] - offsets[0]] - ends[offsets[:-1] - offsets[0]]
    return sums


def without_nulls(column: pa.Array) -> pa.Array:
    """Return a column with no bytes, or empty arrays and maps, instead of NULL."""
    if not column.null_count:
        return column
    if not _is_nested(column):
        return column.fill_null(b"")
    buffers = [None, *column.buffers()[1:2]]
    return pa.Array.from_buffers(column.type, len(column), buffers, 0, column.offset, [column.values])


def _is_nested(column: pa.Array) -> bool:
    return bool(kinds.is_list(column.type) or kinds.is_map(column.type))


def _offsets(column: pa.Array) -> NDArray[np.int64]:
    offsets: NDArray[np.int64] = column.offsets.to_numpy().astype(np.int64)
    return offsets


def _nested(like: pa.Array, values: pa.Array) -> pa.Array:
    """Return arrays or maps of the same shape with other parts."""
    offsets = _offsets(like)
    bounds = pa.py_buffer((offsets - offsets[0]).astype(np.int32))
    mask = pa.array(validity(like)).buffers()[1] if like.null_count else None
    return pa.Array.from_buffers(like.type, len(like), [mask, bounds], like.null_count, 0, [values])
