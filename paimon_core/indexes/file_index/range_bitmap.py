"""`range-bitmap`: a sorted dictionary of the values, and the bit slices of their numbers in it.

    size of the rest of the head: int32 | version: 1 byte, 1 | rows: int32 | values: int32
    if there are values: smallest key | largest key
    size of the dictionary: int32 | dictionary | slices

    dictionary: size of the rest of the head: int32, 13 | version: 1 byte, 1 | chunks: int32 | size of starts: int32
                size of chunks: int32 | per chunk: its start: int32 | chunks | keys
    chunk: version: 1 byte, 1 | first key | its number: int32 | start of its other keys: int32 | their count: int32
           fixed width: size of these: int32 | width: int32            the keys follow each other
           else: size of their starts: int32 | size of these: int32    per key its start: int32, then the keys
    slices: size of the rest of the head: int32 | version: 1 byte, 1 | slices: 1 byte | size of `rows`: int32
            size of what follows: int32 | per slice: start: int32 | size: int32
            rows that have a value: bitmap | per slice: bitmap

The other keys of a chunk, and their starts, have at most `chunk-size` bytes each. Big endian; Roaring bitmaps in their
portable format. Source: specification, "File Index", "Range Bitmap".
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from paimon_core.dataclass import dataclass
from paimon_core.indexes.file_index.bit_slices import BitSlices, slices_of
from paimon_core.indexes.file_index.column_index import UnknownIndex
from paimon_core.indexes.file_index.cursor import ByteCursor, Rows, encode_bitmap, int32
from paimon_core.indexes.file_index.keys import ByteKeys, Key, Keys, KeyType, join_entries, slice_keys
from paimon_core.lazy import cached_property

VERSION = 1
CHUNK_SIZE = 16 * 2**10


def encode_range_bitmap(key_type: KeyType, keys: Keys, codes: NDArray[np.int32], chunk_size: int) -> bytes:
    """Encode the index of a column.

    `keys` are distinct and ascend; `codes` have the index of each row's key, -1 for NULL.
    """
    ends = [_spelled(key_type, keys, 0), _spelled(key_type, keys, len(keys) - 1)] if len(keys) else []
    dictionary = _encode_dictionary(key_type, keys, chunk_size)
    head = [bytes([VERSION]), int32(len(codes)), int32(len(keys)), *ends, int32(len(dictionary))]
    rows = np.flatnonzero(codes >= 0)
    count = max((len(keys) - 1).bit_length(), 1) if len(keys) else 64  # without keys, the number of the last key is -1
    there = encode_bitmap(BitMap(rows.astype(np.uint32)))
    slices = [encode_bitmap(s) for s in slices_of(rows, codes[rows].astype(np.int64), count)]
    sizes = [len(s) for s in slices]
    index = b"".join(int32(sum(sizes[:i])) + int32(size) for i, size in enumerate(sizes))
    slice_head = bytes([VERSION, count]) + int32(len(there)) + int32(len(index)) + index
    return b"".join([_sized(b"".join(head)), dictionary, _sized(slice_head), there, *slices])


def _encode_dictionary(key_type: KeyType, keys: Keys, chunk_size: int) -> bytes:
    sizes = key_type.sizes(keys)
    ends = np.cumsum(sizes)
    most = len(keys) if key_type.width else chunk_size // 4
    chunks, bodies, first, start = list[bytes](), list[bytes](), 0, 0
    while first < len(keys):
        fits = int(np.searchsorted(ends, ends[first] + chunk_size, side="right"))
        end = min(max(fits, first + 1), first + 1 + most)
        others = slice_keys(keys, first + 1, end)
        starts = b"" if key_type.width else (ends[first : end - 1] - ends[first]).astype(">i4").tobytes()
        body = join_entries(key_type, others) if len(others) else b""
        numbers = (first, start, end - first - 1, *((len(body), key_type.width) if key_type.width else ()))
        numbers += () if key_type.width else (len(starts), len(body))
        chunks.append(bytes([VERSION]) + _spelled(key_type, keys, first) + b"".join(map(int32, numbers)))
        bodies.append(starts + body)
        first, start = end, start + len(starts) + len(body)
    offsets = np.cumsum([0, *map(len, chunks)])[:-1].astype(">i4").tobytes()
    size = sum(map(len, chunks))
    head = bytes([VERSION]) + int32(len(chunks)) + int32(len(offsets)) + int32(size)
    return b"".join([_sized(head), offsets, *chunks, *bodies])


def _spelled(key_type: KeyType, keys: Keys, index: int) -> bytes:
    return key_type.spell(keys[index] if isinstance(keys, ByteKeys) else int(keys[index]))


def _sized(head: bytes) -> bytes:
    return int32(len(head)) + head


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A part of the dictionary. Its first key has the number `code`, and `size` other keys follow."""

    key: Key
    code: int
    size: int
    offsets: int  # of the starts of the other keys, for keys of variable width
    keys: int


class _Dictionary:
    """The keys and their numbers. A search decodes only the keys that it needs."""

    def __init__(self, cursor: ByteCursor, key_type: KeyType):
        self._path, self._data, self._key_type = cursor.path, cursor.data, key_type
        end = cursor.position + 4 + cursor.count()
        cursor.version(VERSION)
        self._count, offsets, chunks = cursor.number(4), cursor.number(4), cursor.number(4)
        self._offsets, self._chunks = end, end + offsets
        self._keys = self._chunks + chunks
        if self._count * 4 != offsets or chunks < 0 or self._keys > len(cursor.data):
            raise cursor.corrupt(f"it has a dictionary of {self._count} chunks in {chunks} bytes")

    def find(self, key: Key) -> tuple[int, bool]:
        """Return the number of a key and True, or the number of the next larger key and False."""
        after = bisect_right(range(self._count), key, key=lambda i: self._chunk(i).key)
        if not after:
            return 0, False
        chunk = self._chunk(after - 1)
        within = bisect_right(range(chunk.size), key, key=lambda i: self._key(chunk, i))
        last = self._key(chunk, within - 1) if within else chunk.key
        return (chunk.code + within, True) if last == key else (chunk.code + within + 1, False)

    def _chunk(self, index: int) -> _Chunk:
        start = ByteCursor(self._path, self._data, self._offsets + 4 * index).number(4)
        cursor = ByteCursor(self._path, self._data, self._chunks + start)
        cursor.version(VERSION)
        key, code = self._key_type.read(cursor), cursor.number(4)
        offset, size, first = self._keys + cursor.number(4), cursor.count(0), cursor.number(4)
        return _Chunk(key, code, size, offset, offset if self._key_type.width else offset + first)

    def _key(self, chunk: _Chunk, index: int) -> Key:
        width = self._key_type.width
        start = index * width if width else ByteCursor(self._path, self._data, chunk.offsets + 4 * index).number(4)
        return self._key_type.read(ByteCursor(self._path, self._data, chunk.keys + start))


class RangeBitmapIndex(UnknownIndex):
    """A `ColumnIndex` that finds the rows of each value and of ranges."""

    def __init__(self, cursor: ByteCursor, key_type: KeyType, row_count: int):
        self._cursor, self._key_type = cursor, key_type
        end = cursor.position + 4 + cursor.count()
        cursor.version(VERSION)
        self._rows, self._values = cursor.number(4), cursor.number(4)
        if self._rows != row_count:
            raise cursor.corrupt(f"it covers {self._rows} rows, but the file has {row_count}")
        if self._values > 0:
            key_type.read(cursor)
            key_type.read(cursor)
        size = cursor.number(4)
        self._dictionary_start, self._slices_start = end, end + size

    def equal(self, keys: Sequence[Key]) -> Rows | None:
        if not self._values:
            return BitMap()
        found = [self._dictionary.find(k) for k in keys]
        return BitMap.union(BitMap(), *(self._slices.equal(code) for code, there in found if there))

    def not_equal(self, keys: Sequence[Key]) -> Rows | None:
        return self._all() - (self.equal(keys) or BitMap())

    def less(self, key: Key, or_equal: bool) -> Rows | None:
        if not self._values:
            return BitMap()
        code, there = self._dictionary.find(key)
        return self._slices.less(code, or_equal and there)

    def greater(self, key: Key, or_equal: bool) -> Rows | None:
        if not self._values:
            return BitMap()
        code, there = self._dictionary.find(key)
        return self._slices.greater(code, or_equal or not there)

    def is_null(self) -> Rows | None:
        return self._all().flip(0, self._rows)

    def is_not_null(self) -> Rows | None:
        return self._all()

    def _all(self) -> Rows:
        return self._slices.rows.copy() if self._values else BitMap()

    @cached_property
    def _dictionary(self) -> _Dictionary:
        return _Dictionary(ByteCursor(self._cursor.path, self._cursor.data, self._dictionary_start), self._key_type)

    @cached_property
    def _slices(self) -> BitSlices:
        cursor = ByteCursor(self._cursor.path, self._cursor.data, self._slices_start)
        end = cursor.position + 4 + cursor.count()
        cursor.version(VERSION)
        count, there, _ = cursor.take(1)[0], cursor.number(4), cursor.number(4)
        slices = [(cursor.number(4), cursor.number(4)) for _ in range(count)]
        rows = ByteCursor(cursor.path, cursor.data, end).bitmap(there)
        start = end + there
        return BitSlices(rows, [ByteCursor(cursor.path, cursor.data, start + at).bitmap(size) for at, size in slices])
