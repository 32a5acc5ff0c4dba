"""`bsi`: the bit slices of numbers, separately for negative numbers.

    version: 1 byte, 1 | rows: int32
    has numbers of 0 and more: 1 byte | if it has: slices
    has negative numbers: 1 byte | if it has: slices of their absolute values

    slices: version: 1 byte, 1 | smallest: int64 | largest: int64 | rows with a number: bitmap
            slices: int32 | per slice: bitmap

Slices have the numbers less the smallest, which writers set to 0. Big endian; Roaring bitmaps in their portable format,
without their size. Source: specification, "File Index", "Bit-Slice Index Bitmap".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from paimon_core.dataclass import dataclass
from paimon_core.indexes.file_index.bit_slices import BitSlices, slices_of
from paimon_core.indexes.file_index.column_index import UnknownIndex
from paimon_core.indexes.file_index.cursor import ByteCursor, Rows, encode_bitmap, int32
from paimon_core.indexes.file_index.keys import Key, KeyType

VERSION = 1
_LEAST = -(2**63)


def encode_bsi(numbers: NDArray[np.int64], valid: NDArray[np.bool_]) -> bytes | None:
    """Encode the index of a column; arrays have shape (rows,).

    Return None if the smallest number has no absolute value.
    """
    if (numbers[valid] == _LEAST).any():
        return None
    parts = [bytes([VERSION]), int32(len(numbers))]
    for sign in (numbers >= 0, numbers < 0):
        rows = np.flatnonzero(valid & sign)
        parts.append(bytes([len(rows) > 0]))
        if len(rows):
            parts += _encode_half(rows, np.abs(numbers[rows]))
    return b"".join(parts)


def _encode_half(rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> list[bytes]:
    largest = int(numbers.max())
    slices = slices_of(rows, numbers, largest.bit_length())
    head = bytes([VERSION]) + (0).to_bytes(8, "big") + largest.to_bytes(8, "big")
    there = encode_bitmap(BitMap(rows.astype(np.uint32)))
    return [head, there, int32(len(slices)), *map(encode_bitmap, slices)]


@dataclass(frozen=True, slots=True)
class _Half:
    """The numbers of one sign."""

    smallest: int = 0
    slices: BitSlices = BitSlices(BitMap(), ())

    @staticmethod
    def read(cursor: ByteCursor) -> _Half:
        if not cursor.number(1):
            return _Half()
        cursor.version(VERSION)
        smallest, _ = cursor.number(8), cursor.number(8)
        rows = cursor.bitmap()
        return _Half(smallest, BitSlices(rows, [cursor.bitmap() for _ in range(cursor.count(least_bytes=8))]))

    def equal(self, number: int) -> Rows:
        return self.slices.equal(number - self.smallest)

    def less(self, number: int, or_equal: bool) -> Rows:
        return self.slices.less(number - self.smallest, or_equal)

    def greater(self, number: int, or_equal: bool) -> Rows:
        return self.slices.greater(number - self.smallest, or_equal)


class BsiIndex(UnknownIndex):
    """A `ColumnIndex` that finds the rows of each number and of ranges."""

    def __init__(self, cursor: ByteCursor, key_type: KeyType, row_count: int):
        cursor.version(VERSION)
        self._rows = cursor.number(4)
        if self._rows != row_count:
            raise cursor.corrupt(f"it covers {self._rows} rows, but the file has {row_count}")
        self._positive, self._negative = _Half.read(cursor), _Half.read(cursor)

    def equal(self, keys: Sequence[Key]) -> Rows | None:
        numbers = [int(k) for k in keys]
        return BitMap.union(
            BitMap(), *(self._negative.equal(-n) if n < 0 else self._positive.equal(n) for n in numbers)
        )

    def not_equal(self, keys: Sequence[Key]) -> Rows | None:
        return self._all() - (self.equal(keys) or BitMap())

    def less(self, key: Key, or_equal: bool) -> Rows | None:
        number = int(key)
        if number < 0:
            return self._negative.greater(-number, or_equal)
        return self._positive.less(number, or_equal) | self._negative.slices.rows

    def greater(self, key: Key, or_equal: bool) -> Rows | None:
        number = int(key)
        if number < 0:
            return self._negative.less(-number, or_equal) | self._positive.slices.rows
        return self._positive.greater(number, or_equal)

    def is_null(self) -> Rows | None:
        return self._all().flip(0, self._rows)

    def is_not_null(self) -> Rows | None:
        return self._all()

    def _all(self) -> Rows:
        return self._positive.slices.rows | self._negative.slices.rows
