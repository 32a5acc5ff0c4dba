"""Columns of vectors, decoded at the speed of memory: lists of floats that have one length, and no NULL.

A page of lists has levels for each element: they show whether the element begins a list, and whether it exists. For
vectors, these levels follow one pattern, and the bytes behind them are the floats themselves. So a chunk of such pages
is its floats, one page after the other. The levels of each distinct page are decoded once. Any other chunk is left to
the native reader: other encodings, lists of several lengths, NULL, damage. Source: parquet-format, "Nested Encoding",
"DataPageHeader", "RLE/Bit-Packing Hybrid".
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from paimon_core.formats.parquet.footer import bytes_at
from paimon_core.formats.parquet.page_checks import CheckedFooter, Chunk, check_chunk
from paimon_core.formats.parquet.thrift import Fields, checked_structure, decode_at
from paimon_core.spec.encodings.varints import varint_at

_MOST_BYTES = 2**27  # of a chunk: all its vectors are in memory at once
_FLOAT, _DOUBLE = 4, 5  # physical types
_Kind: TypeAlias = np.dtype[np.floating[Any]]
_TYPES: Mapping[int, _Kind] = {_FLOAT: np.dtype("<f4"), _DOUBLE: np.dtype("<f8")}
_ARROW = {_FLOAT: pa.float32(), _DOUBLE: pa.float64()}
_CODECS = {0: None, 1: "snappy", 6: "zstd", 7: "lz4_raw"}
_KIND, _UNPACKED, _PACKED, _CHECKSUM, _DATA = 1, 2, 3, 4, 5  # PageHeader
_VALUES, _ENCODING, _DEFINITIONS, _REPETITIONS = 1, 2, 3, 4  # DataPageHeader
_WANTED = {_KIND: None, _UNPACKED: None, _PACKED: None, _CHECKSUM: None, _DATA: dict.fromkeys((1, 2, 3, 4))}
_DATA_PAGE, _PLAIN, _RLE = 0, 0, 3
_HEADER = 2**8
_KEPT, _LONGEST_KEPT = 32, 2**18  # decoded levels, and bytes of one
_LEVELS = 3  # the highest definition level of a list of nullable elements that may be NULL itself


def vectors_of(
    near: CheckedFooter, schema: pq.ParquetSchema, column: tuple[int, str, int], *, verifies: bool
) -> pa.ListArray | None:
    """Return a column of a row group; None unless all its pages certainly consist of vectors. `column` has the number
    of the group, the name, and the number of rows. With `verifies`, checksums of pages are checked.
    """
    group, name, rows = column
    chunks = near.footer.groups[group].chunks
    found = [(i, c) for i, c in enumerate(chunks) if c.name == name]
    if len(found) != 1 or not rows:
        return None
    ((index, chunk),) = found
    leaf = schema.column(index)
    if not _is_list(leaf, chunk) or chunk.values % rows or not 0 < chunk.unpacked <= _MOST_BYTES:
        return None
    try:
        with checked_structure():
            check_chunk(near.source, chunk)
            length = chunk.values // rows
            values = _values(near, chunk, (length, leaf.max_definition_level, _TYPES[chunk.kind]), verifies=verifies)
    except (ValueError, pa.ArrowException):
        return None  # the native reader raises the error
    offsets = pa.py_buffer(np.arange(0, chunk.values + 1, length, dtype=np.int32))
    items = pa.Array.from_buffers(_ARROW[chunk.kind], len(values), [None, pa.py_buffer(values)])
    return pa.Array.from_buffers(pa.list_(pa.field("element", items.type)), rows, [None, offsets], children=[items])


def _is_list(leaf: pq.ColumnSchema, chunk: Chunk) -> bool:
    levels = leaf.max_repetition_level == 1 and 1 <= leaf.max_definition_level <= _LEVELS
    return bool(levels and chunk.kind in _TYPES and chunk.codec in _CODECS)


def _values(
    near: CheckedFooter, chunk: Chunk, form: tuple[int, int, _Kind], *, verifies: bool
) -> NDArray[np.floating[Any]]:
    """Return the elements of all vectors of a chunk. Raises `ValueError`."""
    *_, kind = form
    if chunk.values * kind.itemsize > chunk.unpacked:
        raise ValueError("another number of values")
    values, filled = np.empty(chunk.values, dtype=kind), 0
    for body, count in _pages(near, chunk, verifies=verifies):
        if not 0 <= count <= len(values) - filled:
            raise ValueError("another number of values")
        values[filled : filled + count] = _floats(body, count, *form)
        filled += count
    if filled < len(values):
        raise ValueError("another number of values")
    return values


def _pages(near: CheckedFooter, chunk: Chunk, *, verifies: bool) -> Iterator[tuple[memoryview, int]]:
    """Yield the content of each page, and its number of values. Raises `ValueError` for other pages.

    Pages are read one by one: memory of this size is used again, and stays in the processor's cache."""
    at, end = chunk.start, chunk.start + chunk.packed
    while at < end:
        header, size = _header(near.source, at, end)
        at += size
        packed, unpacked = header[_PACKED][1], header[_UNPACKED][1]
        page: Fields = header[_DATA][1]
        encodings = tuple(page[n][1] for n in (_ENCODING, _DEFINITIONS, _REPETITIONS))
        if header[_KIND][1] != _DATA_PAGE or encodings != (_PLAIN, _RLE, _RLE) or not 0 <= packed <= end - at:
            raise ValueError("another page")
        body = memoryview(bytes_at(near.source, at, packed))
        if verifies and _CHECKSUM in header and zlib.crc32(body) != header[_CHECKSUM][1] & 0xFFFFFFFF:
            raise ValueError("damage")
        if (codec := _CODECS[chunk.codec]) is not None:
            body = memoryview(pa.decompress(body, unpacked, codec))
        yield body, page[_VALUES][1]
        at += packed


def _header(source: pa.NativeFile, at: int, end: int) -> tuple[Fields, int]:
    try:
        return decode_at(bytes_at(source, at, min(_HEADER, end - at)), _WANTED)
    except ValueError:
        return decode_at(bytes_at(source, at, min(64 * _HEADER, end - at)), _WANTED)


def _floats(body: memoryview, count: int, length: int, most: int, kind: _Kind) -> NDArray[np.floating[Any]]:
    begins, at = _levels(body, 0)
    there, at = _levels(body, at)
    if _list_length(begins, count) != length or not _are_all(there, count, most):
        raise ValueError("other lists")
    if len(body) - at != count * kind.itemsize:
        raise ValueError("another number of values")
    return np.frombuffer(body, dtype=kind, count=count, offset=at)


def _levels(body: memoryview, at: int) -> tuple[bytes, int]:
    """Return the bytes of levels, and where they end."""
    size = int.from_bytes(body[at : at + 4], "little")
    if not 0 < size <= min(len(body) - at - 4, _LONGEST_KEPT):
        raise ValueError("other levels")
    return bytes(body[at + 4 : at + 4 + size]), at + 4 + size


@lru_cache(_KEPT)
def _list_length(levels: bytes, count: int) -> int:
    """Return the number of elements of each list of a page. Raises `ValueError` if they differ."""
    decoded = _decoded(levels, count, 1)
    starts = np.flatnonzero(decoded == 0)
    length = count // max(len(starts), 1)
    if not len(starts) or not np.array_equal(starts, np.arange(0, count, length)):
        raise ValueError("other lists")
    return length


@lru_cache(_KEPT)
def _are_all(levels: bytes, count: int, level: int) -> bool:
    return bool((_decoded(levels, count, level.bit_length()) == level).all())


def _decoded(levels: bytes, count: int, width: int) -> NDArray[np.uint8]:
    """Return numbers of some bits each, in runs of one number or of packed bits. Raises `ValueError`."""
    parts, left, at = list[NDArray[np.uint8]](), count, 0
    while left > 0:
        run, at = varint_at(levels, at)
        if run & 1:
            size = (run >> 1) * width
            bits = np.unpackbits(np.frombuffer(levels[at : at + size], np.uint8), bitorder="little")
            if not size or len(bits) != 8 * size:
                raise ValueError("levels are cut off")
            part = bits.reshape(-1, width) @ (1 << np.arange(width, dtype=np.uint8))
        else:
            size = 1
            if not 0 < run >> 1 <= left or at >= len(levels):
                raise ValueError("levels are cut off")
            part = np.full(run >> 1, levels[at], dtype=np.uint8)
        at += size
        parts.append(part[:left])
        left -= len(parts[-1])
    return np.concatenate(parts) if parts else np.empty(0, np.uint8)
