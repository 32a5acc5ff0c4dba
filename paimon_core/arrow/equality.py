"""Compare values of two columns row by row, for every type. NULL equals NULL, NaN equals NaN, and two MAPs are equal if
they have the same entries in any order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core import compute as pc
from paimon_core.arrow.columns import int64_array, validity

Flags = NDArray[np.bool_]


def rows_equal(one: pa.RecordBatch, other: pa.RecordBatch, names: tuple[str, ...]) -> Flags:
    """Return which rows of two batches have equal values in all named columns; shape (rows,).

    The batches must have the same schema and length."""
    same = np.ones(one.num_rows, dtype=np.bool_)
    for name in names:
        same &= values_equal(one.column(name), other.column(name))
    return same


def value_codes(column: pa.Array) -> NDArray[np.int64]:
    """Return a number per row, shape (rows,). Two numbers are equal exactly if the values are equal."""
    arrow, valid = column.type, validity(column)
    if pa.types.is_struct(arrow):
        parts = [value_codes(column.field(i)) for i in range(arrow.num_fields)]
        return _codes_of_tuples([valid.astype(np.int64), *(np.where(valid, part, 0) for part in parts)])
    if not pa.types.is_nested(arrow):
        plain = pc.add(column, pa.scalar(0, arrow)) if pa.types.is_floating(arrow) else column  # -0.0 is 0.0
        numbers: NDArray[np.int64] = plain.dictionary_encode().indices.fill_null(-1).to_numpy().astype(np.int64)
        return numbers
    starts, lengths = _spans(column)
    lengths = np.where(valid, lengths, 0)
    indices = _indices(starts, lengths)
    if pa.types.is_map(arrow):
        taken = [part.take(int64_array(indices)) for part in (column.keys, column.items)]
        elements = _codes_of_tuples([value_codes(part) for part in taken])
        elements = elements[np.lexsort((elements, np.repeat(np.arange(len(lengths)), lengths)))]
    else:
        elements = value_codes(column.values.take(int64_array(indices)))
    return _codes_of_lists(elements, lengths, valid)


def row_codes(rows: pa.RecordBatch, names: Sequence[str]) -> NDArray[np.int64]:
    """Return a number per row for the named columns together, like `value_codes`."""
    return _codes_of_tuples([value_codes(rows.column(n)) for n in names])


def values_equal(one: pa.Array, other: pa.Array) -> Flags:
    """Return which rows of two columns of the same type and length have the same value; shape (rows,)."""
    if _has_maps(one.type):
        codes = value_codes(pa.concat_arrays([one, other]))
        alike: Flags = codes[: len(one)] == codes[len(one) :]
        return alike
    here, there = validity(one), validity(other)
    both = here & there
    same: Flags = (here == there) & (~both | _present_equal(one, other))
    return same


def _present_equal(one: pa.Array, other: pa.Array) -> Flags:
    """Compare rows with two values like `values_equal`. The result for rows with a NULL is arbitrary."""
    if pa.types.is_struct(one.type):
        same = np.ones(len(one), dtype=np.bool_)
        for left, right in zip(one.flatten(), other.flatten(), strict=True):
            same &= values_equal(left, right)
        return same
    if pa.types.is_list(one.type):
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
    """Return the first element and the length of each list."""
    offsets = np.frombuffer(column.buffers()[1], dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    return offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64)


def _elements(
    column: pa.Array, spans: tuple[NDArray[np.int64], NDArray[np.int64]], chosen: NDArray[np.int64]
) -> pa.Array:
    """Return the elements of the chosen lists, one list after another."""
    return column.values.take(int64_array(_indices(spans[0][chosen], spans[1][chosen])))


def _flags(column: pa.Array) -> Flags:
    flags: Flags = column.fill_null(False).to_numpy(zero_copy_only=False)
    return flags


def _indices(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions of all elements of some lists, one list after another."""
    before = np.cumsum(lengths) - lengths
    indices: NDArray[np.int64] = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
    return indices


def _has_maps(arrow: pa.DataType) -> bool:
    if pa.types.is_struct(arrow):
        return any(_has_maps(f.type) for f in arrow)
    return pa.types.is_map(arrow) or (pa.types.is_list(arrow) and _has_maps(arrow.value_type))


def _codes_of_tuples(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return _codes_of_lists(np.stack(parts, axis=1).ravel(), np.full(len(parts[0]), len(parts)), None)


def _codes_of_lists(elements: NDArray[np.int64], lengths: NDArray[np.int64], valid: Flags | None) -> NDArray[np.int64]:
    """Return a number per list: each list becomes a text of 8 bytes per element, and Arrow numbers the texts."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths * 8, out=offsets[1:])
    data = pa.py_buffer(np.ascontiguousarray(elements, dtype=np.int64))
    texts = pa.Array.from_buffers(pa.large_binary(), len(lengths), [None, pa.py_buffer(offsets), data])
    codes = texts.dictionary_encode().indices.to_numpy().astype(np.int64)
    return codes if valid is None else np.where(valid, codes, -1)
