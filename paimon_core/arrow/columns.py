"""Arrow columns as numpy arrays: fixed-width values, validity, and strings as zero-padded byte matrices.

A list or map of n entries has n + 1 offsets. Arrow for Java before 19, part of Spark 4.0 and 4.1, gives a column
without entries an empty buffer of offsets, as the format allows old writers. PyArrow still reads the first offset,
behind the buffer's end; `with_offsets` mends such columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core import compute as pc

# For nullable columns of these fixed-width types, numpy takes values faster than Arrow.
_WIDTHS = {
    t.id: f"i{t.bit_width // 8}"
    for t in (
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
        *(pa.date32(), pa.time32("ms"), pa.time64("us"), pa.timestamp("us")),
    )
}
_LOW_BYTES = np.array([(1 << (8 * n)) - 1 for n in range(9)], dtype=np.uint64)


def validity(column: pa.Array) -> NDArray[np.bool_]:
    """Return a mask of the rows with a value, shape (rows,)."""
    if column.null_count == 0:
        return np.ones(len(column), dtype=np.bool_)
    bits = column.buffers()[0]
    if bits is None:  # a column of the type of NULL
        valid: NDArray[np.bool_] = pc.is_valid(column).to_numpy(zero_copy_only=False)
        return valid
    first, rest = divmod(column.offset, 8)
    window = np.frombuffer(bits, dtype=np.uint8)[first:]
    return np.unpackbits(window, count=rest + len(column), bitorder="little")[rest:].view(np.bool_)


def fixed_values(column: pa.Array, dtype: Any) -> NDArray[Any]:
    """Return the values of a fixed-width column, read as `dtype` of the same width.

    NULL becomes zero; shape (rows, …).
    """
    if pa.types.is_boolean(column.type):
        column = pc.cast(column, pa.uint8())
    data = column.buffers()[1]
    wanted = np.dtype(dtype)
    if data is None or len(column) == 0:
        return np.zeros((len(column), *wanted.shape), dtype=wanted.base)
    values = _stored(column, wanted)
    if column.null_count:
        values = values.copy()
        values[~validity(column)] = 0
    return values


def taken(column: pa.Array, rows: NDArray[np.int64], valid: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return the values of these rows, NULL for rows that are not `valid`."""
    width = _WIDTHS.get(column.type.id)
    if width is None or not len(column) or (valid is None and not column.null_count):
        return pc.take(column, int64_array(rows, valid))
    known = validity(column).take(rows, mode="clip") if column.null_count else np.ones(len(rows), dtype=np.bool_)
    values = _stored(column, width).take(rows, mode="clip")
    return fixed_array(values, column.type, known if valid is None else known & valid)


def byte_lengths(column: pa.Array) -> NDArray[np.int64]:
    """Return the number of bytes of each string or binary value, 0 for NULL; shape (rows,)."""
    if len(column) == 0:
        return np.zeros(0, dtype=np.int64)
    return np.where(validity(column), np.diff(_offsets(column)), 0).astype(np.int64)


def stored_bytes(column: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return all bytes of string or binary values, and the offsets of the values, with the end of the last one."""
    data = column.buffers()[2]
    if data is None or len(column) == 0:
        return np.zeros(0, dtype=np.uint8), np.zeros(len(column) + 1, dtype=np.int64)
    ends = _offsets(column).astype(np.int64)
    return np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]], ends - ends[0]


def byte_words(column: pa.Array, count: int) -> NDArray[np.uint64]:
    """Return the first `8 * count` bytes of each string or binary value, zero-padded, as little-endian words.

    Shape (rows, count)."""
    result = np.zeros((len(column), count), dtype="<u8")
    data = column.buffers()[2]
    if data is None or data.size == 0 or result.size == 0:
        return result
    offsets, lengths = _offsets(column), byte_lengths(column)
    first, last = int(offsets[0]), int(offsets[-1])
    content = np.zeros(last - first + 8, dtype=np.uint8)
    content[:-8] = np.frombuffer(data, dtype=np.uint8)[first:last]
    # The array has a word at every byte, so one gather reads eight bytes.
    words = np.ndarray((last - first + 1,), dtype="<u8", buffer=content.data, strides=(1,))
    starts = offsets[:-1].astype(np.int64) - first
    for i in range(count):
        used = np.clip(lengths - 8 * i, 0, 8)
        result[:, i] = words[np.minimum(starts + 8 * i, last - first)] & _LOW_BYTES[used]
    return result


def padded_bytes(column: pa.Array, width: int) -> NDArray[np.uint8]:
    """Return the first `width` bytes of each string or binary value, zero-padded; shape (rows, width)."""
    return byte_words(column, (width + 7) // 8).view(np.uint8)[:, :width]


def int64_array(values: NDArray[np.int64], valid: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return the numbers as an Arrow column, without copying (and without `pa.array`, which imports pandas)."""
    return fixed_array(np.ascontiguousarray(values, dtype=np.int64), pa.int64(), valid)


def fixed_array(values: NDArray[Any], arrow: pa.DataType, valid: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return a fixed-width column from values in Arrow's form, booleans as 0 and 1.

    Values that are not `valid` are NULL.
    """
    data = np.packbits(values.astype(np.bool_), bitorder="little") if pa.types.is_boolean(arrow) else values
    return pa.Array.from_buffers(arrow, len(values), [_bits(valid), pa.py_buffer(np.ascontiguousarray(data))])


def binary_array(values: Sequence[bytes | None]) -> pa.Array:
    """Return values as a column of bytes (without `pa.array`, which imports pandas)."""
    known = [b"" if v is None else v for v in values]
    offsets = np.cumsum([0, *map(len, known)], dtype=np.int32)
    bits = _bits(np.array([v is not None for v in values], dtype=np.bool_))
    return pa.Array.from_buffers(pa.binary(), len(known), [bits, pa.py_buffer(offsets), pa.py_buffer(b"".join(known))])


def _bits(valid: NDArray[np.bool_] | None) -> pa.Buffer | None:
    return None if valid is None or valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


def rows_at(batches: Iterator[pa.RecordBatch], rows: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    """Yield the rows at ascending positions, counted over all batches. Batches after the last of them are not read."""
    start = 0
    for batch in batches:
        low, high = np.searchsorted(rows, (start, start + batch.num_rows))
        if low < high:
            yield pc.take(batch, int64_array(rows[low:high] - start))
        if high == len(rows):
            return
        start += batch.num_rows


def _stored(column: pa.Array, dtype: Any) -> NDArray[Any]:
    """Return the values of a fixed-width column in memory, arbitrary for NULL."""
    return np.frombuffer(column.buffers()[1], dtype=dtype)[column.offset : column.offset + len(column)]


def _offsets(column: pa.Array) -> NDArray[Any]:
    width = np.int64 if pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type) else np.int32
    return np.frombuffer(column.buffers()[1], dtype=width)[column.offset : column.offset + len(column) + 1]


def without_rows(batches: Iterator[pa.RecordBatch], deleted: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file (`batches`, in order) without the rows at the ascending positions `deleted`."""
    start = 0
    for batch in batches:
        low, high = np.searchsorted(deleted, (start, start + batch.num_rows))
        if low < high:
            kept = np.ones(batch.num_rows, dtype=np.bool_)
            kept[deleted[low:high] - start] = False
            yield pc.take(batch, int64_array(np.flatnonzero(kept)))
        else:
            yield batch
        start += batch.num_rows


def with_values(
    batches: Iterator[pa.RecordBatch], rows: NDArray[np.int64], values: pa.RecordBatch, start: int = 0
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file with new values at ascending positions, in the columns of `values`.

    `batches` are the file's rows from position `start` on, in order."""
    for batch in batches:
        low, high = np.searchsorted(rows, (start, start + batch.num_rows))
        if low < high:
            picked = np.arange(batch.num_rows, dtype=np.int64)
            picked[rows[low:high] - start] = batch.num_rows + np.arange(high - low)
            for name in values.schema.names:
                index = batch.schema.get_field_index(name)
                both = pa.concat_arrays([batch.column(index), values.column(name).slice(low, high - low)])
                batch = batch.set_column(index, batch.schema.field(index), taken(both, picked))
        yield batch
        start += batch.num_rows


def with_offsets(column: pa.Array) -> pa.Array:
    """Return the column with an offset in each empty nested list and map, which Arrow may leave out. Return the column
    itself if nothing is left out.
    """
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
