"""The file of a `bitmap` or `multivalue` global index: the set of rows of each key, and a dictionary of keys in blocks.

    file: bitmaps of keys, and dictionary blocks between them | bitmap of the rows without a value
        | bitmap of the rows with a value | index block | footer
    footer: 48 bytes, big endian: bitmap of rows without a value: int64 offset, int32 size | bitmap of rows with a
        value: the same | index block: the same | number of keys: int32 | version: int32, 1 | magic: "BGIX"
    content of a block: number of entries: varint | entries
    entry: size of the key: varint | key | offset: varint | size: varint        of the key's bitmap; in the index block
        the first key of a dictionary block, and the block's location

A bitmap is a Roaring bitmap of 64 bits in its portable format. A dictionary block ends before the entry that would make
it larger than `bitmap-index.dictionary-block-size`. Rows are counted from the first row that the index covers.
A `multivalue` index is the same file of the elements of an ARRAY, without NULL: a row is in the bitmap of each of its
elements, and the bitmaps of rows without and with a value are empty.
Source: documentation, "Bitmap Index", "Multivalue Index"; `org.apache.paimon.globalindex.bitmap`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnsupportedVersionError, is_later
from paimon_core.indexes.global_index.blocks import WITHOUT, BlockHandle, Compress, damaged, seal
from paimon_core.indexes.global_index.grouped_rows import GroupedRows, encode_row_ids, row_ids
from paimon_core.spec.encodings.varints import POSITIVE_BYTES, encode_varint, varint_at

FOOTER_SIZE = 48
_FOOTER = struct.Struct(">qiqiqiiii")
_MAGIC, _VERSION = 0x42474958, 1


@dataclass(frozen=True, slots=True)
class BitmapFooter:
    """The locations of the bitmaps of rows without and with a value, and of the index block."""

    nulls: BlockHandle
    values: BlockHandle
    index: BlockHandle


@dataclass(frozen=True, slots=True)
class Dictionary:
    """The keys, ascending, and the handle of each key's bitmap or block."""

    keys: tuple[bytes, ...]
    handles: tuple[BlockHandle, ...]

    def __len__(self) -> int:
        return len(self.keys)

    def key(self, index: int) -> bytes:
        return self.keys[index]


class _File:
    """A file that is built part by part."""

    def __init__(self) -> None:
        self.parts, self.size = list[bytes](), 0

    def add(self, part: bytes) -> BlockHandle:
        handle = BlockHandle(self.size, len(part))
        self.parts.append(part)
        self.size += len(part)
        return handle

    def add_block(self, entries: Sequence[bytes], compress: Compress) -> BlockHandle:
        codec, body = compress(encode_varint(len(entries)) + b"".join(entries))
        return BlockHandle(self.add(seal(codec, body)).offset, len(body))


def encode_bitmap_index(grouped: GroupedRows, block_size: int, compress: Compress) -> bytes:
    """Encode a file."""
    file, index = _File(), list[bytes]()
    block, block_bytes, first = list[bytes](), 0, b""

    def end_block() -> None:
        if block:
            index.append(_entry(first, file.add_block(block, compress)))
            block.clear()

    for i, (start, end) in enumerate(zip(grouped.starts[:-1].tolist(), grouped.starts[1:].tolist(), strict=True)):
        key = grouped.keys[i]
        entry = _entry(key, file.add(encode_row_ids(row_ids(grouped.rows[start:end]))))
        if block and len(encode_varint(len(block) + 1)) + block_bytes + len(entry) > block_size:
            end_block()
        if not block:
            first, block_bytes = key, 0
        block.append(entry)
        block_bytes += len(entry)
    end_block()
    nulls = file.add(encode_row_ids(row_ids(grouped.nulls)))
    values = file.add(encode_row_ids(row_ids(grouped.with_value)))
    dictionary = file.add_block(index, compress)
    numbers = nulls.offset, nulls.size, values.offset, values.size, dictionary.offset, dictionary.size
    file.add(_FOOTER.pack(*numbers, len(grouped.keys), _VERSION, _MAGIC))
    return b"".join(file.parts)


def decode_footer(path: str, data: bytes) -> BitmapFooter:
    """Decode the footer, from the last bytes of a file. Raises `CorruptFileError`."""
    if len(data) != FOOTER_SIZE:
        raise damaged(path, f"its footer has {len(data)} bytes instead of {FOOTER_SIZE}")
    *numbers, _, version, magic = _FOOTER.unpack(data)
    if magic != _MAGIC:
        raise damaged(path, f"it ends with {magic:08x}, and not with the magic number {_MAGIC:08x} of bitmap indexes")
    if is_later(version, _VERSION):
        raise UnsupportedVersionError(
            path, f"it is a global index of version {version}, only {_VERSION} is supported", WITHOUT
        )
    if version != _VERSION:
        raise damaged(path, f"it is of version {version}, only {_VERSION} is supported")
    nulls, values, index = (BlockHandle(start, size) for start, size in zip(numbers[::2], numbers[1::2], strict=True))
    return BitmapFooter(nulls, values, index)


def decode_dictionary(path: str, content: bytes) -> Dictionary:
    """Decode the entries of a block. Raises `CorruptFileError`."""
    keys, handles, at = list[bytes](), list[BlockHandle](), 0
    try:
        count, at = varint_at(content, at, POSITIVE_BYTES)
        for _ in range(count):
            size, at = varint_at(content, at, POSITIVE_BYTES)
            key = content[at : at + size]
            start, at = varint_at(content, at + size, POSITIVE_BYTES)
            length, at = varint_at(content, at, POSITIVE_BYTES)
            keys.append(key)
            handles.append(BlockHandle(start, length))
    except ValueError as e:
        raise damaged(path, f"a dictionary block does not decode: {e}") from e
    return Dictionary(tuple(keys), tuple(handles))


def _entry(key: bytes, handle: BlockHandle) -> bytes:
    return encode_varint(len(key)) + key + encode_varint(handle.offset) + encode_varint(handle.size)
