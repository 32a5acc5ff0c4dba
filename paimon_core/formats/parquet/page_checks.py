"""Checks of the footer and the page headers of a Parquet file, before the native reader trusts them.

A header contains the decompressed size of its page, and the reader allocates this size before it decompresses the first
byte. So the headers of the chunks to read are checked from page to page. All pages of a chunk must not exceed the
chunk's size in the footer, and this size must be plausible for the compressed bytes. A footer with histograms that do
not match the schema's levels ends the process as soon as the chunk's metadata is accessed.
Source: parquet-format, `parquet.thrift`, "ColumnMetaData", "SizeStatistics", "PageHeader".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.dataclass import dataclass
from paimon_core.formats.parquet.footer import (
    CHUNKS,
    GROUPS,
    META,
    SCHEMA,
    bytes_at,
    chunk_metadata,
    column_chunks,
    footer_bytes,
    row_groups,
    schema_elements,
)
from paimon_core.formats.parquet.thrift import I32, I64, Fields, checked_structure, decode, decode_at

_TYPE, _PATH, _CODEC, _COUNT, _UNPACKED_TOTAL, _PACKED_TOTAL, _DATA, _DICTIONARY, _SIZES = (
    *(1, 3, 4, 5, 6, 7, 9, 11, 16),  # ColumnMetaData
)
_REPETITIONS, _DEFINITIONS = 2, 3  # SizeStatistics
_OF_CHUNK = {
    **dict.fromkeys((_TYPE, _PATH, _CODEC, _COUNT, _UNPACKED_TOTAL, _PACKED_TOTAL, _DATA, _DICTIONARY)),
    _SIZES: dict.fromkeys((_REPETITIONS, _DEFINITIONS)),
}
_INDEXES = (4, 5, 6, 7)  # ColumnChunk: the offset and the length of the index of pages, and of the index of values
_WRITER = 6  # FileMetaData
_NAME, _CHILDREN, _REPETITION, _REPEATED, _BELOW_ROOT = 4, 5, 3, 2, 2  # SchemaElement
_USED = {  # the fields of a footer
    SCHEMA: None,
    GROUPS: {CHUNKS: {META: _OF_CHUNK, **dict.fromkeys(_INDEXES)}},
    _WRITER: None,
}
_UNPACKED, _PACKED = 2, 3  # PageHeader
_PAGES, _VALUES = (5, 7, 8), 1  # headers of data pages, of dictionaries, and of data pages of the second version
_DICTIONARY_PAGE = 7
_OF_HEADER = {_UNPACKED: None, _PACKED: None, **{page: {_VALUES: None} for page in _PAGES}}
_HEADER, _LONGEST_HEADER = 2**8, 2**24  # bytes read at first, and at most: statistics hold whole values
_MOST_CHUNKS = 256  # with more, decoding the footer again takes longer than reading the file
_MOST_EMPTY = 16
_KEPT, _LARGEST_KEPT = 128, 2**17  # footers, and bytes of one: a service reads the same files again and again
_ANY_PAGES, _MOST_RATIO = 2**26, 2**16  # runs of one value shrink to next to nothing


@dataclass(frozen=True, slots=True)
class Chunk:
    """The pages of a column in a row group, as a footer describes them, and the lengths of its histograms.

    `kind` and `codec` are numbers of Parquet's. `offsets` and `bounds` are the places of the indexes of its pages: the
    offset and the length, 0 if there is none."""

    name: str
    path: str
    start: int
    packed: int
    unpacked: int
    values: int
    kind: int
    codec: int
    offsets: tuple[int, int]
    bounds: tuple[int, int]
    repetitions: int | None
    definitions: int | None


@dataclass(frozen=True, slots=True)
class Footer:
    """The chunks of each row group, and the root of the schema with its columns of one value per row, by name."""

    groups: tuple[tuple[Chunk, ...], ...]
    root: Fields
    flat: Mapping[str, Fields]
    writer: bytes


@dataclass(frozen=True, slots=True)
class CheckedFooter:
    """The footer of a file. It can check the pages of chunks."""

    source: pa.NativeFile
    footer: Footer

    def check_pages(self, group: int, names: Collection[str]) -> None:
        """Raise `ValueError` for pages of the columns with impossible sizes."""
        with checked_structure():
            for chunk in self.footer.groups[group]:
                if chunk.name in names:
                    check_chunk(self.source, chunk)


def checked_footer(source: pa.NativeFile, schema: pq.ParquetSchema, groups: int) -> CheckedFooter | None:
    """Return the footer of a file with that schema and number of row groups, or None if it is too long to check.

    Raises `ValueError` if access to its chunks would end the process."""
    if len(schema) * groups > _MOST_CHUNKS:
        return None
    footer = footer_bytes(source)[0]
    found = (_kept_chunks if len(footer) <= _LARGEST_KEPT else _chunks)(footer)
    for chunks in found.groups:
        if len(chunks) != len(schema):
            raise ValueError(f"a row group has {len(chunks)} columns, the file's schema {len(schema)}")
        for i, chunk in enumerate(chunks):
            if chunk.repetitions or chunk.definitions:
                _check_histograms(chunk, schema.column(i))
    return CheckedFooter(source, found)


def _chunks(footer: bytes) -> Footer:
    """Return the chunks of each row group. Raises `ValueError`."""
    with checked_structure():
        found = decode(footer, _USED)
        groups = tuple(tuple(map(_chunk, column_chunks(g))) for g in row_groups(found))
        elements = schema_elements(found)
        return Footer(groups, elements[0], _flat_columns(elements), bytes(found.get(_WRITER, (0, b""))[1]))


_kept_chunks = lru_cache(_KEPT)(_chunks)


def _flat_columns(elements: Sequence[Fields]) -> dict[str, Fields]:
    """Return the elements below the root of a schema that are columns of one value per row, by name."""
    found, left = dict[str, Fields](), [1]  # how many elements are left to come on each level
    for element in elements:
        while not left[-1]:
            left.pop()
        left[-1] -= 1
        children = element.get(_CHILDREN, (I32, 0))[1]
        if len(left) == _BELOW_ROOT and not children and element.get(_REPETITION, (I32, 0))[1] != _REPEATED:
            found[element[_NAME][1].decode()] = element
        if children:
            left.append(children)
    return found


def _chunk(chunk: Fields) -> Chunk:
    meta = chunk_metadata(chunk)
    offsets, offsets_size, bounds, bounds_size = (chunk.get(n, (I64, 0))[1] for n in _INDEXES)
    path = meta[_PATH][1].values
    starts = [meta[n][1] for n in (_DICTIONARY, _DATA) if meta.get(n, (I64, 0))[1]]  # without rows: no data page
    sizes: Fields = meta[_SIZES][1] if _SIZES in meta else {}
    repetitions, definitions = (len(sizes[n][1].values) if n in sizes else None for n in (_REPETITIONS, _DEFINITIONS))
    return Chunk(
        path[0].decode(),
        b".".join(path).decode(),
        min(starts, default=0),
        meta[_PACKED_TOTAL][1],
        meta[_UNPACKED_TOTAL][1],
        meta[_COUNT][1],
        meta[_TYPE][1],
        meta[_CODEC][1],
        (offsets, offsets_size),
        (bounds, bounds_size),
        repetitions,
        definitions,
    )


def _check_histograms(chunk: Chunk, column: pq.ColumnSchema) -> None:
    levels = (chunk.repetitions, column.max_repetition_level), (chunk.definitions, column.max_definition_level)
    if any(found and found != most + 1 for found, most in levels):
        raise ValueError(f"the length of a histogram of column {column.path} does not match the column's levels")


def check_chunk(source: pa.NativeFile, chunk: Chunk) -> list[int]:
    """Raise `ValueError` for pages with impossible sizes. Return the number of values in each page of data."""
    name, room, packed, values = chunk.path, chunk.unpacked, chunk.packed, chunk.values
    if room > _ANY_PAGES + _MOST_RATIO * max(0, packed):
        raise ValueError(f"its column {name} claims {room} bytes")
    empty, counts = 0, list[int]()
    for header in _headers(source, chunk.start, packed):
        claimed = header[_UNPACKED][1]
        if not 0 <= claimed <= room:
            raise ValueError(f"a page of its column {name} claims {claimed} bytes, but only {room} are left")
        for page in (header[n][1] for n in _PAGES if n in header):
            if not 0 <= page[_VALUES][1] <= max(values, 8 * claimed):  # dictionaries may have more than the rows left
                raise ValueError(f"a page of its column {name} claims {page[_VALUES][1]} values")
        counts += [header[n][1][_VALUES][1] for n in _PAGES if n in header and n != _DICTIONARY_PAGE]
        room, empty = room - claimed, empty + (claimed == 0)
        if empty > _MOST_EMPTY:
            raise ValueError(f"its column {name} has more than {_MOST_EMPTY} empty pages")
    return counts


def _headers(source: pa.NativeFile, start: int, size: int) -> Iterator[Fields]:
    """Yield the headers of the pages in a chunk. Raises `ValueError` for a page that ends after the chunk."""
    end = start + size
    while start < end:
        header, length = _header(source, start, end)
        packed = header[_PACKED][1]
        if not 0 <= packed <= end - start - length:
            raise ValueError("a page is longer than its column")
        yield header
        start += length + packed


def _header(source: pa.NativeFile, at: int, end: int) -> tuple[Fields, int]:
    """Return a header and its length."""
    length = min(_HEADER, end - at)
    while True:
        try:
            return decode_at(bytes_at(source, at, length), _OF_HEADER)
        except ValueError:
            if length == min(end - at, _LONGEST_HEADER):
                raise
            length = min(16 * length, end - at, _LONGEST_HEADER)
