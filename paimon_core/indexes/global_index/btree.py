"""The file of a `btree` global index: keys in order with their rows, in blocks, and an index of the blocks.

    file: data blocks | bitmap of the rows without a value, CRC-32 of it: 4 bytes; missing without such rows
        | bloom filter; missing unless an option asks for it | index block | footer
    footer: 52 bytes: bloom filter: int64 offset, int32 size, int64 keys, all 0 without one | index block: int64 offset,
        int32 size | bitmap: the same, 0 without one | version: int32, 1 | magic: "ITBP"
    content of a block: entries | (unless they are all of the same size) the offset of each: int32
        | the size of all, or else their number: int32 | 1 byte: 0, of the same size; 1, not
    entry: size of the key: varint | key | size of the value: varint | value
    value in a data block: number of rows: varint | rows: varints
    entry of the index block: the last key of a data block | its offset: varint | its size: varint

All little endian; sizes and offsets in bytes. A data block ends with the entry that makes it larger than
`btree-index.block-size`. Rows are counted from the first that the index covers.
Source: documentation, "BTree Index"; `org.apache.paimon.globalindex.btree`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnsupportedVersionError, is_later
from paimon_core.indexes.file_index.keys import ByteKeys
from paimon_core.indexes.global_index.blocks import WITHOUT, BlockHandle, Compress, damaged, seal
from paimon_core.indexes.global_index.bloom_filter import filter_of
from paimon_core.indexes.global_index.grouped_rows import GroupedRows, RowIds, decode_row_ids, encode_row_ids, row_ids
from paimon_core.spec.encodings.varints import decode_varints, put_varints, varint_sizes, varints_at

FOOTER_SIZE = 52
CHECKSUM_SIZE = 4
_MAGIC, _VERSION = 0x50425449, 1
_FOOTER = struct.Struct("<qiqqiqiii")
_TAIL = 5  # the fewest bytes after the entries of a block
_EQUAL, _DIFFERENT = 0, 1


@dataclass(frozen=True, slots=True)
class BTreeFooter:
    """The locations of the index block, of the bitmap of rows without a value (None if all rows have a value), and of
    the bloom filter (None without one), which is for a number of keys.
    """

    index: BlockHandle
    nulls: BlockHandle | None
    filter: BlockHandle | None = None
    filtered_keys: int = 0


@dataclass(frozen=True, slots=True)
class BlockEntries:
    """The entries of a block: its content, and the starts and sizes of keys and values in the content."""

    data: NDArray[np.uint8]
    keys: tuple[NDArray[np.int64], NDArray[np.int64]]
    values: tuple[NDArray[np.int64], NDArray[np.int64]]

    def __len__(self) -> int:
        return len(self.keys[0])

    def key(self, index: int) -> bytes:
        return self._bytes(self.keys, index)

    def value(self, index: int) -> bytes:
        return self._bytes(self.values, index)

    def _bytes(self, of: tuple[NDArray[np.int64], NDArray[np.int64]], index: int) -> bytes:
        start, size = int(of[0][index]), int(of[1][index])
        return self.data[start : start + size].tobytes()


def encode_btree(grouped: GroupedRows, block_size: int, compress: Compress, *, has_filter: bool = False) -> bytes:
    """Encode a file, with a bloom filter if it `has_filter`."""
    values, starts = _values(grouped)
    entries, offsets = _entries(grouped.keys, ByteKeys(values, starts))
    parts, size = list[bytes](), 0

    def add(block: bytes) -> BlockHandle:
        nonlocal size
        handle = BlockHandle(size, len(block))
        parts.append(block)
        size += len(block)
        return handle

    def add_block(content: bytes) -> BlockHandle:
        codec, body = compress(content)
        handle = add(seal(codec, body))
        return BlockHandle(handle.offset, len(body))

    last, handles = list[bytes](), list[tuple[int, int]]()
    for first, end in _blocks(offsets, block_size):
        handle = add_block(_block(entries[offsets[first] : offsets[end]], offsets[first : end + 1] - offsets[first]))
        handles.append((handle.offset, handle.size))
        last.append(grouped.keys[end - 1])
    nulls = None
    if len(grouped.nulls):
        bitmap = encode_row_ids(row_ids(grouped.nulls))
        handle = add(bitmap + struct.pack("<I", crc32(bitmap)))
        nulls = BlockHandle(handle.offset, len(bitmap))
    found = filter_of(grouped.keys) if has_filter else None
    of_filter = None if found is None else add(found.data)
    index, offsets = _entries(ByteKeys.of(last), _handles(handles))
    footer = BTreeFooter(add_block(_block(index, offsets)), nulls, of_filter, 0 if found is None else found.keys)
    add(_encode_footer(footer))
    return b"".join(parts)


def decode_footer(path: str, data: bytes) -> BTreeFooter:
    """Decode the footer, from the last bytes of a file. Raises `CorruptFileError`."""
    if len(data) != FOOTER_SIZE:
        raise damaged(path, f"its footer has {len(data)} bytes instead of {FOOTER_SIZE}")
    filter_start, filter_size, keys, start, size, nulls_start, nulls_size, version, magic = _FOOTER.unpack(data)
    if magic != _MAGIC:
        raise damaged(path, f"it ends with {magic:08x}, and not with the magic number {_MAGIC:08x} of btree indexes")
    if is_later(version, _VERSION):
        raise UnsupportedVersionError(
            path, f"it is a global index of version {version}, only {_VERSION} is supported", WITHOUT
        )
    if version != _VERSION:
        raise damaged(path, f"it is of version {version}, only {_VERSION} is supported")
    nulls = BlockHandle(nulls_start, nulls_size) if nulls_start or nulls_size else None
    if not (filter_start or filter_size or keys):
        return BTreeFooter(BlockHandle(start, size), nulls)
    if filter_size <= 0 or keys <= 0:
        raise damaged(path, f"it has a bloom filter of {filter_size} bytes for {keys} keys")
    return BTreeFooter(BlockHandle(start, size), nulls, BlockHandle(filter_start, filter_size), keys)


def decode_nulls(path: str, data: bytes) -> RowIds:
    """Return the rows without a value, from a bitmap and its checksum. Raises `CorruptFileError`."""
    bitmap = data[:-CHECKSUM_SIZE]
    if len(data) < CHECKSUM_SIZE or struct.unpack("<I", data[-CHECKSUM_SIZE:])[0] != crc32(bitmap):
        raise damaged(path, "the rows without a value do not match their checksum")
    return decode_row_ids(path, bitmap)


def decode_entries(path: str, content: bytes) -> BlockEntries:
    """Decode the entries of a block. Raises `CorruptFileError`."""
    try:
        if len(content) < _TAIL:
            raise ValueError("it has no tail")
        data = np.frombuffer(content, dtype=np.uint8)
        number, layout = struct.unpack("<iB", content[-_TAIL:])
        starts, end = _starts(content, number, layout)
        sizes, key_starts = varints_at(data[:end], starts)
        value_sizes, value_starts = varints_at(data[:end], key_starts + sizes)
        if len(starts) and int((value_starts + value_sizes).max()) > end:
            raise ValueError("an entry lies outside of its block")
    except ValueError as e:
        raise damaged(path, f"a block does not decode: {e}") from e
    return BlockEntries(data, (key_starts, sizes), (value_starts, value_sizes))


def decode_handles(path: str, entries: BlockEntries) -> list[BlockHandle]:
    """Return the data blocks to which the entries of an index block refer. Raises `CorruptFileError`."""
    try:
        found, ends = _gathered(entries, 0, len(entries))
        numbers = decode_varints(found).reshape(-1, 2)
    except ValueError as e:
        raise damaged(path, f"its index does not decode: {e}") from e
    if len(numbers) != len(ends):
        raise damaged(path, "its index does not decode")
    return [BlockHandle(start, size) for start, size in numbers.tolist()]


def rows_of(path: str, entries: BlockEntries, first: int, end: int) -> NDArray[np.int64]:
    """Return the rows of the entries `first` to before `end` of a data block. Raises `CorruptFileError`."""
    if first >= end:
        return np.zeros(0, dtype=np.int64)
    try:
        data, ends = _gathered(entries, first, end)
        numbers = decode_varints(data)
        # The first number of each value is the count of the numbers after it.
        last = np.searchsorted(np.flatnonzero(data < 0x80), ends - 1, side="right")
        firsts, following = np.append(0, last[:-1]), np.diff(last, prepend=0) - 1
        if (following < 0).any() or not np.array_equal(numbers[firsts], following):
            raise ValueError("a value does not have the length it announces")
    except ValueError as e:
        raise damaged(path, f"the rows of a key do not decode: {e}") from e
    return np.delete(numbers, firsts)


def _encode_footer(footer: BTreeFooter) -> bytes:
    nulls = footer.nulls or BlockHandle(0, 0)
    handles = footer.index.offset, footer.index.size, nulls.offset, nulls.size
    filtered = footer.filter or BlockHandle(0, 0)
    return _FOOTER.pack(filtered.offset, filtered.size, footer.filtered_keys, *handles, _VERSION, _MAGIC)


def _values(grouped: GroupedRows) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the encoded values of all keys, adjacent, and the start of each."""
    counts = np.diff(grouped.starts)
    numbers = np.insert(grouped.rows, grouped.starts[:-1], counts)
    offsets = np.append(0, np.cumsum(varint_sizes(numbers)))
    data = np.empty(offsets[-1], dtype=np.uint8)
    put_varints(data, offsets[:-1], numbers)
    starts: NDArray[np.int64] = offsets[np.append(0, np.cumsum(counts + 1))]
    return data, starts


def _handles(handles: list[tuple[int, int]]) -> ByteKeys:
    numbers = np.array(handles, dtype=np.int64).reshape(-1)
    offsets = np.append(0, np.cumsum(varint_sizes(numbers)))
    data = np.empty(offsets[-1], dtype=np.uint8)
    put_varints(data, offsets[:-1], numbers)
    return ByteKeys(data, offsets[::2])


def _entries(keys: ByteKeys, values: ByteKeys) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return adjacent entries, and the start of each. The last offset is the end."""
    key_sizes, value_sizes = np.diff(keys.offsets), np.diff(values.offsets)
    key_heads, value_heads = varint_sizes(key_sizes), varint_sizes(value_sizes)
    offsets = np.append(0, np.cumsum(key_heads + key_sizes + value_heads + value_sizes))
    data = np.empty(offsets[-1], dtype=np.uint8)
    for sizes, heads, of, starts in (
        (key_sizes, key_heads, keys, offsets[:-1]),
        (value_sizes, value_heads, values, offsets[:-1] + key_heads + key_sizes),
    ):
        put_varints(data, starts, sizes)
        content = of.data[of.offsets[0] : of.offsets[-1]]
        data[np.arange(len(content)) + np.repeat(starts + heads - (of.offsets[:-1] - of.offsets[0]), sizes)] = content
    return data, offsets


def _blocks(offsets: NDArray[np.int64], block_size: int) -> Iterator[tuple[int, int]]:
    """Yield the entries of each data block: the index of the first entry, and the index after the last."""
    count = len(offsets) - 1
    sizes = np.diff(offsets)
    changes = np.append(np.flatnonzero(np.diff(sizes)) + 1, count)  # where the size of entries changes
    with_offsets = offsets + 4 * np.arange(count + 1)
    first = 0
    while first < count:
        same = int(changes[np.searchsorted(changes, first, side="right")])
        end = first + max(block_size - _TAIL, 0) // int(sizes[first]) + 1
        if end > same:
            bound = block_size - _TAIL + with_offsets[first]
            end = max(int(np.searchsorted(with_offsets, bound, side="right")), same + 1)
        end = min(end, count)
        yield first, end
        first = end


def _block(entries: NDArray[np.uint8], offsets: NDArray[np.int64]) -> bytes:
    """Return the content of a block. The last offset is the end of its entries."""
    sizes = np.diff(offsets)
    if len(sizes) and (sizes == sizes[0]).all():
        return entries.tobytes() + struct.pack("<iB", sizes[0], _EQUAL)
    return entries.tobytes() + offsets[:-1].astype("<i4").tobytes() + struct.pack("<iB", len(sizes), _DIFFERENT)


def _starts(content: bytes, number: int, layout: int) -> tuple[NDArray[np.int64], int]:
    """Return the starts of the entries of a block, and the end of the last entry."""
    end = len(content) - _TAIL
    if layout == _EQUAL:
        if number <= 0 or end % number:
            raise ValueError(f"{end} bytes cannot be entries of {number} bytes each")
        return np.arange(0, end, number, dtype=np.int64), end
    if layout != _DIFFERENT or not 0 <= 4 * number <= end:
        raise ValueError(f"it announces {number} entries of layout {layout}")
    return np.frombuffer(content, "<i4", number, end - 4 * number).astype(np.int64), end - 4 * number


def _gathered(entries: BlockEntries, first: int, end: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the adjacent values of some entries, and the end of each."""
    starts, sizes = entries.values[0][first:end], entries.values[1][first:end]
    ends = np.cumsum(sizes)
    return entries.data[np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes)], ends
