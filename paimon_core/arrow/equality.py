"""Whether values of two columns are the same, row by row, for every type; NULL is the same as NULL, NaN as NaN."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.arrow.columns import int64_array, validity

Flags = NDArray[np.bool_]


def rows_equal(one: pa.RecordBatch, other: pa.RecordBatch, names: tuple[str, ...]) -> Flags:
    """Where the named columns of two batches of the same schema and length are all the same; shape (rows,)."""
    same = np.ones(one.num_rows, dtype=np.bool_)
    for name in names:
        same &= values_equal(one.column(name), other.column(name))
    return same


def values_equal(one: pa.Array, other: pa.Array) -> Flags:
    """Where two columns of the same type and length have the same value; shape (rows,)."""
    here, there = validity(one), validity(other)
    both = here & there
    same: Flags = (here == there) & (~both | _present_equal(one, other))
    return same


def _present_equal(one: pa.Array, other: pa.Array) -> Flags:
    """As `values_equal` where both have a value; meaningless elsewhere."""
    if pa.types.is_struct(one.type):
        same = np.ones(len(one), dtype=np.bool_)
        for left, right in zip(one.flatten(), other.flatten(), strict=True):
            same &= values_equal(left, right)
        return same
    if pa.types.is_map(one.type) or pa.types.is_list(one.type):
        return _lists_equal(one, other)
    same = _flags(pc.equal(one, other))
    if pa.types.is_floating(one.type):
        same |= _flags(pc.is_nan(one)) & _flags(pc.is_nan(other))
    return same


def _lists_equal(one: pa.Array, other: pa.Array) -> Flags:
    left, right = _spans(one), _spans(other)
    same: Flags = left[1] == right[1]
    chosen = np.flatnonzero(same & (left[1] > 0) & validity(one) & validity(other))
    if len(chosen):
        elements = values_equal(_elements(one, left, chosen), _elements(other, right, chosen))
        firsts = np.cumsum(left[1][chosen]) - left[1][chosen]
        same[chosen] = np.logical_and.reduceat(elements, firsts)
    return same


def _spans(column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each list begins among the elements, and its length."""
    offsets = np.frombuffer(column.buffers()[1], dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    return offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64)


def _elements(
    column: pa.Array, spans: tuple[NDArray[np.int64], NDArray[np.int64]], chosen: NDArray[np.int64]
) -> pa.Array:
    """The elements of the chosen lists, one list after the other."""
    starts, lengths = spans[0][chosen], spans[1][chosen]
    before = np.cumsum(lengths) - lengths
    indices = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
    if pa.types.is_map(column.type):
        elements = pa.StructArray.from_arrays([column.keys, column.items], ["key", "value"])
    else:
        elements = column.values
    return elements.take(int64_array(indices))


def _flags(column: pa.Array) -> Flags:
    flags: Flags = column.fill_null(False).to_numpy(zero_copy_only=False)
    return flags
