"""Read global index files: find the rows of a range of keys, without reading the whole file.

A query with a few keys should read a few blocks of an index over millions of rows. Both types of files make that
possible in the same way: keys ascend, in blocks of some 16 or 64 KB; a small index block has a key and the location of
each block; and a footer of fixed size at the end of the file has the location of the index block.

    btree     block: keys and the numbers of their rows. The index block has the last key of each block: a search begins
              with the first block that has a last key not below the range
    bitmap    dictionary block: keys, and the location of each key's bitmap. The index block has the first key of each
    multivalue    the same, of the elements of an ARRAY: a row has a key for each. The bitmaps of rows with and without
              a value are empty

A search reads the footer, the index block, blocks of the range, and for `bitmap` the bitmaps of its keys: one read of
the storage each. The footer and the index block are cached. If a `btree` file has a bloom filter, and it is smaller
than a few blocks, a search for one key begins with it. Keys are compared as Python values
(`keys.KeyFormat.read`); a binary search in a block decodes only the keys that it compares.

Rows are numbered from the first row that the index covers: the caller adds the id of this row. Every method raises
`CorruptFileError`, and the errors of reading. Source: `org.apache.paimon.globalindex`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from paimon_core.indexes.file_index.column_index import End
from paimon_core.indexes.file_index.keys import Key
from paimon_core.indexes.global_index import bitmap, btree
from paimon_core.indexes.global_index.block_codecs import Fetch, read_block, read_part
from paimon_core.indexes.global_index.blocks import BlockHandle, damaged
from paimon_core.indexes.global_index.bloom_filter import KeyFilter
from paimon_core.indexes.global_index.grouped_rows import RowIds, decode_row_ids, row_ids
from paimon_core.indexes.global_index.keys import KeyFormat
from paimon_core.lazy import cached_property
from paimon_core.spec.types import DataType, element_of

_LARGEST_FILTER = 2**18  # bytes; with a larger filter, reading a block takes less time


class GlobalIndexFile(Protocol):
    """One file of a global index."""

    def between(self, low: End | None, high: End | None) -> RowIds:
        """Return the rows with keys in a range. An end of None is open."""

    def values(self) -> RowIds:
        """Return the rows with a value."""

    def nulls(self) -> RowIds:
        """Return the rows without a value."""


class BTreeFile:
    """A `btree` file of `size` bytes."""

    def __init__(self, path: str, size: int, key_format: KeyFormat, fetch: Fetch) -> None:
        self._path, self._size, self._key_format, self._fetch = path, size, key_format, fetch
        self._known: dict[int, btree.BlockEntries] = {}

    def between(self, low: End | None, high: End | None) -> RowIds:
        if low is not None and low == high and not self._may_have(low.key):
            return RowIds()
        found = list(self._rows(low, high))
        return row_ids(np.concatenate(found)) if found else RowIds()

    def values(self) -> RowIds:
        return self.between(None, None)

    def nulls(self) -> RowIds:
        handle = self._footer.nulls
        if handle is None:
            return RowIds()
        whole = BlockHandle(handle.offset, handle.size + btree.CHECKSUM_SIZE)
        return btree.decode_nulls(self._path, read_part(self._path, self._fetch, whole))

    def blocks(self, *, descending: bool) -> Iterator[tuple[Key, Key, NDArray[np.int64]]]:
        """Yield the first key, the last key and the rows of each block in the order of the keys, or from the end."""
        handles = list(enumerate(self._index[1]))
        for number, handle in reversed(handles) if descending else handles:
            entries = self._block(number, handle)
            keys = _Keys(self._path, self._key_format, entries)
            if len(keys):
                ends = keys[0], keys[len(keys) - 1]
                first, last = ends[::-1] if descending else ends
                yield first, last, btree.rows_of(self._path, entries, 0, len(keys))

    def _may_have(self, key: Key) -> bool:
        """Return False if the bloom filter shows that the file does not have the key."""
        stored = self._key_format.stored(key)
        return stored is None or self._filter is None or self._filter.may_have(stored)

    @cached_property
    def _filter(self) -> KeyFilter | None:
        handle = self._footer.filter
        if handle is None or handle.size > _LARGEST_FILTER:
            return None
        return KeyFilter(read_part(self._path, self._fetch, handle), self._footer.filtered_keys)

    def _rows(self, low: End | None, high: End | None) -> Iterator[NDArray[np.int64]]:
        index, handles = self._index
        last_keys = _Keys(self._path, self._key_format, index)
        first = 0 if low is None else _first(last_keys, low)
        for i in range(first, len(handles)):
            entries = self._block(i, handles[i])
            keys = _Keys(self._path, self._key_format, entries)
            start = _first(keys, low) if i == first and low is not None else 0
            end = len(keys) if high is None else _behind(keys, high)
            yield btree.rows_of(self._path, entries, start, end)
            if end < len(keys):
                break

    def _block(self, number: int, handle: BlockHandle) -> btree.BlockEntries:
        if number not in self._known:
            content = read_block(self._path, self._fetch, handle)
            self._known[number] = btree.decode_entries(self._path, content)
        return self._known[number]

    @cached_property
    def _index(self) -> tuple[btree.BlockEntries, list[BlockHandle]]:
        entries = btree.decode_entries(self._path, read_block(self._path, self._fetch, self._footer.index))
        return entries, btree.decode_handles(self._path, entries)

    @cached_property
    def _footer(self) -> btree.BTreeFooter:
        return btree.decode_footer(self._path, _last_bytes(self._path, self._fetch, self._size, btree.FOOTER_SIZE))


class BitmapFile:
    """A `bitmap` file of `size` bytes."""

    def __init__(self, path: str, size: int, key_format: KeyFormat, fetch: Fetch) -> None:
        self._path, self._size, self._key_format, self._fetch = path, size, key_format, fetch
        self._known: dict[int, bitmap.Dictionary] = {}

    def between(self, low: End | None, high: End | None) -> RowIds:
        found = [self._bitmap(p) for p in self._handles(low, high)]
        return RowIds.union(RowIds(), *found)

    def values(self) -> RowIds:
        return self._bitmap(self._footer.values)

    def nulls(self) -> RowIds:
        return self._bitmap(self._footer.nulls)

    def _handles(self, low: End | None, high: End | None) -> Iterator[BlockHandle]:
        """Yield the locations of the bitmaps of the keys in a range."""
        index = self._dictionary(self._footer.index)
        first_keys = _Keys(self._path, self._key_format, index)
        first = 0 if low is None else max(bisect_right(first_keys, low.key) - 1, 0)
        if low is not None and first and first_keys[first] == low.key:
            first -= 1  # several keys may be looked up as one
        for handle in index.handles[first:]:
            block = self._dictionary(handle)
            keys = _Keys(self._path, self._key_format, block)
            start = 0 if low is None else _first(keys, low)
            end = len(keys) if high is None else _behind(keys, high)
            yield from block.handles[start:end]
            if end < len(keys):
                break

    def _dictionary(self, handle: BlockHandle) -> bitmap.Dictionary:
        if handle.offset not in self._known:
            content = read_block(self._path, self._fetch, handle)
            self._known[handle.offset] = bitmap.decode_dictionary(self._path, content)
        return self._known[handle.offset]

    def _bitmap(self, handle: BlockHandle) -> RowIds:
        return decode_row_ids(self._path, read_part(self._path, self._fetch, handle))

    @cached_property
    def _footer(self) -> bitmap.BitmapFooter:
        return bitmap.decode_footer(self._path, _last_bytes(self._path, self._fetch, self._size, bitmap.FOOTER_SIZE))


BTREE, BITMAP, MULTIVALUE = "btree", "bitmap", "multivalue"
GLOBAL_INDEX_FILES: Mapping[str, Callable[[str, int, KeyFormat, Fetch], GlobalIndexFile]] = MappingProxyType(
    {BTREE: BTreeFile, BITMAP: BitmapFile, MULTIVALUE: BitmapFile}
)


def key_type(index_type: str, data_type: DataType) -> DataType | None:
    """Return the type of the keys that an index of a column has, None if it cannot index such a column."""
    of = element_of(data_type) if index_type == MULTIVALUE else data_type
    return of if of is not None and KeyFormat.of(of) is not None else None


class _Keys(Sequence[Key]):
    """The keys of a block, decoded on access."""

    def __init__(self, path: str, key_format: KeyFormat, block: btree.BlockEntries | bitmap.Dictionary) -> None:
        self._path, self._key_format, self._block = path, key_format, block

    def __len__(self) -> int:
        return len(self._block)

    def __getitem__(self, index: int) -> Key:  # type: ignore[override]  # no slices
        return self._key_format.read(self._path, self._block.key(index))


def _first(keys: Sequence[Key], low: End) -> int:
    """Return the index of the first key that is not below an end."""
    return bisect_left(keys, low.key) if low.inclusive else bisect_right(keys, low.key)


def _behind(keys: Sequence[Key], high: End) -> int:
    """Return the index after the last key that is not above an end."""
    return bisect_right(keys, high.key) if high.inclusive else bisect_left(keys, high.key)


def _last_bytes(path: str, fetch: Fetch, size: int, count: int) -> bytes:
    if size < count:
        raise damaged(path, f"it has {size} bytes, fewer than a footer has")
    return read_part(path, fetch, BlockHandle(size - count, count))
