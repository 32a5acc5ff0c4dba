"""`bitmap`: a bitmap of rows per value.

    version: 1 byte, 1 or 2 | rows: int32 | values: int32 | has NULLs: 1 byte
    if it has NULLs: offset of the NULLs: int32 | in version 2 size of their bitmap: int32
    version 1   per value: key | offset: int32
    version 2   blocks: int32 | per block: its first key | start: int32, among the blocks; size of all blocks: int32
                per block: entries: int32 | per entry, keys ascending: key | offset: int32 | size of the bitmap: int32
    bitmaps

An offset counts from the first bitmap; `-1 - row` stands for a bitmap of that one row. A block has at most
`index-block-size` bytes. Big endian; Roaring bitmaps in their portable format.
Source: specification, "File Index", "Bitmap".
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from paimon_core.errors import InvalidOptionError
from paimon_core.indexes.file_index.column_index import UnknownIndex
from paimon_core.indexes.file_index.cursor import ByteCursor, Rows, encode_bitmap, int32
from paimon_core.indexes.file_index.keys import ByteKeys, Key, Keys, KeyType, join_entries, slice_keys
from paimon_core.lazy import cached_property

VERSIONS = (1, 2)
BLOCK_SIZE = 16 * 2**10
_UNKNOWN_SIZE = -1


def encode_bitmap_index(
    key_type: KeyType, keys: Keys, codes: NDArray[np.int32], *, version: int = 2, block_size: int = BLOCK_SIZE
) -> bytes:
    """Encode the index of a column.

    `keys` are distinct and ascend; `codes` have the index of each row's key, -1 for NULL. Raises `InvalidOptionError`
    for keys that are larger than a block.
    """
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes + 1, minlength=len(keys) + 1))
    starts = np.append(0, ends[:-1])
    counts = ends - starts
    nulls, null_offset = encode_bitmap(BitMap(order[: ends[0]].astype(np.uint32))), 0
    content = [nulls] if counts[0] > 1 else []
    if counts[0] == 1:
        null_offset = -1 - int(order[0])
    offsets, sizes = np.zeros(len(keys), dtype=np.int64), np.full(len(keys), _UNKNOWN_SIZE, dtype=np.int64)
    single = counts[1:] == 1
    offsets[single] = -1 - order[starts[1:][single]]
    several = np.flatnonzero(~single)
    bitmaps = [encode_bitmap(BitMap(order[starts[i + 1] : ends[i + 1]].astype(np.uint32))) for i in several.tolist()]
    sizes[several] = [len(b) for b in bitmaps]
    offsets[several] = np.cumsum(sizes[several]) - sizes[several] + sum(map(len, content))
    head = [bytes([version]), int32(len(codes)), int32(len(keys)), bytes([int(counts[0] > 0)])]
    if counts[0]:
        head.append(int32(null_offset) + (int32(len(nulls)) if version > 1 else b""))
    if version == 1:
        head.append(join_entries(key_type, keys, offsets))
    else:
        head += _blocks(key_type, keys, offsets, sizes, block_size)
    return b"".join([*head, *content, *bitmaps])


def _blocks(
    key_type: KeyType, keys: Keys, offsets: NDArray[np.int64], sizes: NDArray[np.int64], block_size: int
) -> Iterator[bytes]:
    ends = np.cumsum(key_type.sizes(keys) + 8)
    firsts, start, before = list[int](), 0, 0
    while start < len(keys):
        firsts.append(start)
        start = int(np.searchsorted(ends, before + block_size - 4, side="right"))
        if start == firsts[-1]:
            raise InvalidOptionError(
                f"'index-block-size' of a bitmap index cannot be {block_size} bytes: a value of {ends[start] - before} "
                "bytes does not fit into a block. Raise it."
            )
        before = int(ends[start - 1])
    limits = [*firsts, len(keys)]
    blocks = [
        int32(end - first) + join_entries(key_type, slice_keys(keys, first, end), offsets[first:end], sizes[first:end])
        for first, end in zip(limits, limits[1:], strict=False)
    ]
    yield int32(len(blocks))
    offset = 0
    for first, block in zip(firsts, blocks, strict=True):
        yield key_type.spell(keys[first] if isinstance(keys, ByteKeys) else int(keys[first])) + int32(offset)
        offset += len(block)
    yield int32(offset)
    yield from blocks


class BitmapIndex(UnknownIndex):
    """A `ColumnIndex` that finds the rows of each value."""

    def __init__(self, cursor: ByteCursor, key_type: KeyType, row_count: int):
        self._cursor, self._key_type = cursor, key_type
        self._version, self._rows = cursor.version(*VERSIONS), cursor.number(4)
        if self._rows != row_count:
            raise cursor.corrupt(f"it covers {self._rows} rows, but the file has {row_count}")
        self._values, has_nulls = cursor.count(), cursor.number(1)
        self._null_offset = (cursor.number(4), _UNKNOWN_SIZE) if has_nulls else None
        if has_nulls and self._version > 1:
            cursor.number(4)
        self._after_head = cursor.position

    def equal(self, keys: Sequence[Key]) -> Rows | None:
        return BitMap.union(BitMap(), *(self._bitmap(self._find(k)) for k in keys))

    def not_equal(self, keys: Sequence[Key]) -> Rows | None:
        others = [self._bitmap(self._find(k)) for k in keys]
        return BitMap.union(self._bitmap(self._null_offset), *others).flip(0, self._rows)

    def is_null(self) -> Rows | None:
        return self._bitmap(self._null_offset)

    def is_not_null(self) -> Rows | None:
        return self._bitmap(self._null_offset).flip(0, self._rows)

    def _bitmap(self, entry: tuple[int, int] | None) -> Rows:
        if entry is None:
            return BitMap()
        start, size = entry
        if start < 0:
            return BitMap([-1 - start])
        cursor = ByteCursor(self._cursor.path, self._cursor.data, self._bodies + start)
        return cursor.bitmap(None if size == _UNKNOWN_SIZE else size)

    def _find(self, key: Key) -> tuple[int, int] | None:
        return self._dictionary[0].get(key) if self._version == 1 else self._find_in_blocks(key)

    @property
    def _bodies(self) -> int:
        return self._dictionary[1] if self._version == 1 else self._block_index[2]

    @cached_property
    def _dictionary(self) -> tuple[dict[Key, tuple[int, int]], int]:
        """Return the offsets of all keys, and the end of the dictionary."""
        cursor = ByteCursor(self._cursor.path, self._cursor.data, self._after_head)
        found = {self._key_type.read(cursor): (cursor.number(4), _UNKNOWN_SIZE) for _ in range(self._values)}
        return found, cursor.position

    @cached_property
    def _block_index(self) -> tuple[list[Key], list[int], int]:
        """Return the first keys of the blocks, the start of each block, and the end of the last block."""
        cursor = ByteCursor(self._cursor.path, self._cursor.data, self._after_head)
        firsts, starts = list[Key](), list[int]()
        for _ in range(cursor.count(least_bytes=5)):
            firsts.append(self._key_type.read(cursor))
            starts.append(cursor.number(4))
        size = cursor.number(4)
        return firsts, [cursor.position + s for s in starts], cursor.position + size

    def _find_in_blocks(self, key: Key) -> tuple[int, int] | None:
        firsts, starts, _ = self._block_index
        block = bisect_right(firsts, key) - 1
        if block < 0:
            return None
        cursor = ByteCursor(self._cursor.path, self._cursor.data, starts[block])
        for _ in range(cursor.count(least_bytes=9)):
            found, entry = self._key_type.read(cursor), (cursor.number(4), cursor.number(4))
            if found == key:
                return entry
        return None
