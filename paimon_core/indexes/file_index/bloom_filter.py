"""`bloom-filter`: bits set by hashes of the values. If one bit of a value is not set, no row has the value.

    hash functions: int32, big endian | bits, the lowest of a byte first

Hash `i` of a value, from 1, is `low + i * high` of the halves of its 64-bit hash, in 32 bits. If it is negative, all
bits are flipped. The bit is the hash modulo the number of bits. Numbers are hashed by Thomas Wang's function, bytes by
xxHash64.
Source: specification, "File Index", "BloomFilter".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from paimon_core.errors import InvalidOptionError
from paimon_core.indexes.file_index.column_index import UnknownIndex
from paimon_core.indexes.file_index.cursor import ByteCursor, Rows, int32
from paimon_core.indexes.file_index.keys import Key, KeyType
from paimon_core.spec.hashing.hash64 import wang_hash, xxh64

_MOST_FUNCTIONS = 10_000
_MOST_BITS = 2**31 - 8

Hashes = NDArray[np.uint64]


def bits_of_filter(items: int, fpp: float) -> int:
    """Return the size of a filter in bits. Raises `InvalidOptionError` for a filter that is not possible."""
    if items < 1 or not 0 < fpp < 1:
        raise InvalidOptionError(
            f"A bloom filter of {items} items with fpp {fpp} is not possible: 'items' must be at least 1, and "
            "'fpp' between 0 and 1."
        )
    wanted = int(-items * math.log(fpp) / math.log(2) ** 2)
    size = wanted + 8 - wanted % 8
    if size > _MOST_BITS:
        raise InvalidOptionError(
            f"A bloom filter of {items} items with fpp {fpp} needs {size} bits, which are too many: lower 'items' "
            "or raise 'fpp'."
        )
    return size


class BloomFilter:
    """A filter for `items` distinct values. A share `fpp` of other values also passes it."""

    def __init__(self, items: int, fpp: float):
        size = bits_of_filter(items, fpp)
        self._functions = max(1, math.floor(size / items * math.log(2) + 0.5))
        self._size = size
        self._bits = np.zeros(size // 8, dtype=np.uint8)

    def add(self, hashes: Hashes) -> None:
        """Add values by their hashes, shape (values,)."""
        for i in range(1, self._functions + 1):
            bits = _bit_numbers(hashes, i, self._size)
            np.bitwise_or.at(self._bits, bits >> 3, np.left_shift(1, bits & 7).astype(np.uint8))

    def encode(self) -> bytes:
        return int32(self._functions) + self._bits.tobytes()


class BloomFilterIndex(UnknownIndex):
    """A `ColumnIndex` that only finds out which values may exist."""

    def __init__(self, cursor: ByteCursor, key_type: KeyType, row_count: int):
        self._key_type = key_type
        self._functions = cursor.number(4)
        self._bits = np.frombuffer(cursor.take(len(cursor.data) - cursor.position), dtype=np.uint8)
        if not (1 <= self._functions <= _MOST_FUNCTIONS and len(self._bits)):
            raise cursor.corrupt(f"it has {self._functions} hash functions and {len(self._bits)} bytes")

    def equal(self, keys: Sequence[Key]) -> Rows | None:
        return None if keys and self._may_hold(_hashes(keys, self._key_type)).any() else BitMap()

    def _may_hold(self, hashes: Hashes) -> NDArray[np.bool_]:
        found = np.ones(len(hashes), dtype=np.bool_)
        for i in range(1, self._functions + 1):
            bits = _bit_numbers(hashes, i, 8 * len(self._bits))
            found &= (self._bits[bits >> 3] >> (bits & 7).astype(np.uint8) & 1).astype(np.bool_)
        return found


def number_hashes(keys: NDArray[np.int64], key_type: KeyType) -> Hashes:
    """Return the hashes of keys that are numbers."""
    return wang_hash(key_type.bits(keys))


def _hashes(keys: Sequence[Key], key_type: KeyType) -> Hashes:
    if key_type.width:
        return number_hashes(np.array(keys, dtype=np.int64), key_type)
    texts: list[Any] = list(keys)
    lengths = np.array([len(t) for t in texts], dtype=np.int64)
    width = (int(lengths.max()) + 7) // 8 * 8
    words = np.frombuffer(b"".join(t.ljust(width, b"\0") for t in texts), dtype="<u8").reshape(len(texts), -1)
    return xxh64(words, lengths)


def _bit_numbers(hashes: Hashes, function: int, size: int) -> NDArray[np.int64]:
    low, high = hashes.astype(np.uint32), (hashes >> np.uint64(32)).astype(np.uint32)
    combined = (low + np.uint32(function) * high).view(np.int32)
    return np.where(combined < 0, ~combined, combined).astype(np.int64) % size
