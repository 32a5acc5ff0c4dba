"""Convert Arrow columns to keys of file indexes: numbers, or the distinct byte strings in order and their number per
row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.arrow.columns import byte_lengths, byte_words, fixed_values, int64_array, validity
from paimon_core.dataclass import dataclass
from paimon_core.indexes.file_index.bloom_filter import Hashes, number_hashes
from paimon_core.indexes.file_index.keys import ByteKeys, Keys, KeyType, float_keys
from paimon_core.spec.hashing.hash64 import xxh64
from paimon_core.spec.kinds import FLOATS
from paimon_core.spec.types import DataType, DecimalType, Kind, TimeType

_DECIMAL = np.dtype((np.int64, (2,)))
_SIGNED = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


@dataclass(frozen=True, slots=True)
class ColumnKeys:
    """The distinct keys of a column, ascending, and for each row the index of its key, -1 for NULL."""

    keys: Keys
    codes: NDArray[np.int32]


def number_keys(column: pa.Array, data_type: DataType) -> NDArray[np.int64]:
    """Return the keys of a fixed-width column, any number for NULL; shape (rows,).

    Raises `OverflowError` for decimals that do not fit into a key."""
    if isinstance(data_type, DecimalType):
        halves = fixed_values(column, _DECIMAL)  # little endian
        if (halves[:, 1] != halves[:, 0] >> 63).any():
            raise OverflowError("a number of more than 64 bits")
        return np.ascontiguousarray(halves[:, 0])
    if data_type.kind in FLOATS:
        return float_keys(fixed_values(column, np.float32 if data_type.kind is Kind.FLOAT else np.float64))
    width = 1 if data_type.kind is Kind.BOOLEAN else column.type.bit_width // 8
    values = fixed_values(column, _SIGNED[width]).astype(np.int64)
    if isinstance(data_type, TimeType) and data_type.kind is not Kind.TIME and column.type.unit == "ns":
        return values // 1000
    return values


def keyed_rows(column: pa.ChunkedArray, data_type: DataType) -> ColumnKeys:
    """Return a column with its distinct keys in order. Raises `OverflowError` like `number_keys`."""
    key_type = KeyType.of(data_type)
    if key_type is not None and key_type.width:
        whole = _one_chunk(column)
        return ColumnKeys(*distinct(number_keys(whole, data_type), validity(whole)))
    values, codes = sorted_values(column.cast(pa.large_binary()))
    return ColumnKeys(_byte_keys(values), codes)


def distinct(values: NDArray[np.int64], valid: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the distinct valid numbers in order, and the index of each row's number, -1 if it is not valid."""
    keys, inverse = np.unique(values[valid], return_inverse=True)
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[valid] = inverse
    return keys, codes


def sorted_values(column: pa.ChunkedArray) -> tuple[pa.Array, NDArray[np.int32]]:
    """Return the distinct values of a column in order, and for each row the index of its value, -1 for NULL."""
    if not len(column):  # Arrow has no empty dictionaries of decimals
        return pa.nulls(0, column.type), np.zeros(0, dtype=np.int32)
    encoded = _one_chunk(column.dictionary_encode().unify_dictionaries())
    order = pc.sort_indices(encoded.dictionary)
    ranks = np.empty(len(order) + 1, dtype=np.int32)
    ranks[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    ranks[-1] = -1
    indexes = fixed_values(encoded.indices, np.int32)
    codes = ranks[np.where(validity(encoded.indices), indexes, len(order))]
    return encoded.dictionary.take(order), codes


def hashes(column: pa.Array, data_type: DataType) -> Hashes:
    """Return the 64-bit hashes of the distinct values of a column, without NULL."""
    key_type = KeyType.of(data_type)
    if key_type is not None and key_type.width:
        return number_hashes(number_keys(pc.unique(column).drop_null(), data_type), key_type)
    values = pc.unique(column.cast(pa.large_binary())).drop_null()
    lengths = byte_lengths(values)
    # Hash values by size class, so that one long value does not widen the words of all values.
    classes = np.ceil(np.log2(np.maximum(lengths, 8))).astype(np.int8)
    parts = []
    for size in np.unique(classes):
        members = np.flatnonzero(classes == size)
        words = byte_words(values.take(int64_array(members)), (int(lengths[members].max()) + 7) // 8)
        parts.append(xxh64(words, lengths[members]))
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint64)


def map_values(column: pa.Array, key: str) -> pa.Array:
    """Return the value of a key in each row of a MAP with string keys, NULL if the row does not have the key."""
    return pc.map_lookup(column, key, "last")


def _one_chunk(column: pa.ChunkedArray) -> Any:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _byte_keys(values: pa.Array) -> ByteKeys:
    offsets = np.frombuffer(values.buffers()[1], dtype=np.int64)[values.offset : values.offset + len(values) + 1]
    data = np.frombuffer(values.buffers()[2], dtype=np.uint8) if values.buffers()[2] else np.zeros(0, dtype=np.uint8)
    return ByteKeys(data, offsets)
