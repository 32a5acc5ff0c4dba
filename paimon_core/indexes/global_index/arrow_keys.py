"""Convert Arrow columns to keys of global indexes, with the rows of each key."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_values, validity
from paimon_core.indexes.file_index.arrow_keys import distinct, keyed_rows, sorted_values
from paimon_core.indexes.file_index.keys import ByteKeys, KeyType
from paimon_core.indexes.global_index.grouped_rows import GroupedRows
from paimon_core.indexes.global_index.keys import KeyFormat
from paimon_core.spec.encodings.varints import put_varints, varint_sizes
from paimon_core.spec.types import DataType, Kind

_DECIMAL_BYTES = 16
_PER_MILLI = {"us": 1000, "ns": 1_000_000}
_NANOS_PER_MILLI = 1_000_000


def grouped_rows(
    column: pa.ChunkedArray, data_type: DataType, key_format: KeyFormat, rows: NDArray[np.int64]
) -> GroupedRows:
    """Return the rows, numbered by `rows`, grouped by their value in a column."""
    keys, codes = _stored_keys(column, data_type, key_format)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(keys) + 1))
    ordered = rows[order]
    return GroupedRows(keys, starts - starts[0], ordered[starts[0] :], ordered[: starts[0]])


def rows_of_elements(
    column: pa.ChunkedArray, element: DataType, key_format: KeyFormat, rows: NDArray[np.int64]
) -> GroupedRows:
    """Return the rows, numbered by `rows`, by the elements of their ARRAYs. NULL is not an element."""
    arrays = column.combine_chunks()
    keys, codes = _stored_keys(pa.chunked_array([pc.list_flatten(arrays)]), element, key_format)
    owners = np.repeat(rows, np.asarray(pc.fill_null(pc.list_value_length(arrays), 0)))
    pairs = np.unique(np.stack((codes, owners), axis=1)[codes >= 0], axis=0)
    starts = np.searchsorted(pairs[:, 0], np.arange(len(keys) + 1))
    return GroupedRows(keys, starts, np.ascontiguousarray(pairs[:, 1]), np.zeros(0, np.int64), arrays=len(arrays))


def _stored_keys(
    column: pa.ChunkedArray, data_type: DataType, key_format: KeyFormat
) -> tuple[ByteKeys, NDArray[np.int32]]:
    """Return the distinct stored keys in order, and for each row the index of its key, -1 for NULL."""
    if key_format.of_moment:
        moments = column.combine_chunks()
        values, codes = distinct(fixed_values(moments, np.int64), validity(moments))
        return _moments(values, _PER_MILLI[column.type.unit]), codes
    if data_type.kind is Kind.DECIMAL and not key_format.width:
        decimals, codes = sorted_values(column)
        return _shortest(fixed_values(decimals, np.dtype((np.uint8, _DECIMAL_BYTES)))[:, ::-1]), codes
    found = keyed_rows(column, data_type)
    if isinstance(found.keys, ByteKeys):
        return found.keys, found.codes
    numbers = (
        KeyType(key_format.width, key_format.floating).bits(found.keys).astype("<i8").view(np.uint8).reshape(-1, 8)
    )
    offsets = np.arange(len(numbers) + 1, dtype=np.int64) * key_format.width
    return ByteKeys(numbers[:, : key_format.width].reshape(-1), offsets), found.codes


def _moments(values: NDArray[np.int64], per_milli: int) -> ByteKeys:
    """Encode moments: milliseconds, and the nanoseconds of the millisecond."""
    millis, rest = np.divmod(values, per_milli)
    nanos = rest * (_NANOS_PER_MILLI // per_milli)
    offsets = np.append(0, np.cumsum(varint_sizes(nanos) + 8))
    data = np.empty(offsets[-1], dtype=np.uint8)
    data[offsets[:-1, None] + np.arange(8)] = millis.astype("<i8").view(np.uint8).reshape(-1, 8)
    put_varints(data, offsets[:-1] + 8, nanos)
    return ByteKeys(data, offsets)


def _shortest(numbers: NDArray[np.uint8]) -> ByteKeys:
    """Encode signed numbers, big endian, each in the fewest bytes. The input has shape (numbers, bytes)."""
    sign = numbers[:, :1] >> 7
    spare = (numbers[:, :-1] == sign * 0xFF) & (numbers[:, 1:] >> 7 == sign)
    kept = np.ones(numbers.shape, dtype=np.bool_)
    kept[:, :-1] = ~np.logical_and.accumulate(spare, axis=1)
    return ByteKeys(numbers[kept], np.append(0, np.cumsum(kept.sum(axis=1))))
