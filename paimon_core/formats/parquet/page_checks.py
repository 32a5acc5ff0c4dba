"""Checks of the footer and the page headers of a Parquet file, before the native reader trusts them.

A header contains the decompressed size of its page, and the reader allocates this size before it decompresses the first
byte. So the headers of the chunks to read are checked from page to page. All pages of a chunk must not exceed the
chunk's size in the footer, and this size must be plausible for the compressed bytes. A footer with histograms that do
not match the schema's levels ends the process as soon as the chunk's metadata is accessed.
Source: parquet-format, `parquet.thrift`, "ColumnMetaData", "SizeStatistics", "PageHeader".
"""

from __future__ import annotations

import re
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
from paimon_core.formats.parquet.thrift import (
    I32,
    I64,
    STRUCT,
    WHOLE,
    Fields,
    Items,
    checked_structure,
    decode,
    decode_at,
)
from paimon_core.lazy import cached_property, regex
from paimon_core.spec.encodings.varints import unzigzag, varint_at

_TYPE, _PATH, _CODEC, _COUNT, _UNPACKED_TOTAL, _PACKED_TOTAL, _DATA, _DICTIONARY, _SIZES = (
    *(1, 3, 4, 5, 6, 7, 9, 11, 16),  # ColumnMetaData
)
_REPETITIONS, _DEFINITIONS = 2, 3  # SizeStatistics
_OF_CHUNK = dict.fromkeys((_TYPE, _PATH, _CODEC, _COUNT, _UNPACKED_TOTAL, _PACKED_TOTAL, _DATA, _DICTIONARY))
_INDEXES = (4, 5, 6, 7)  # ColumnChunk: the offset and the length of the index of pages, and of the index of values
_WRITER = 6  # FileMetaData
_NAME, _CHILDREN, _REPETITION, _REPEATED, _BELOW_ROOT = 4, 5, 3, 2, 2  # SchemaElement
_USED = {  # the fields of a footer
    SCHEMA: None,
    GROUPS: {WHOLE: None, CHUNKS: {META: {_SIZES: dict.fromkeys((_REPETITIONS, _DEFINITIONS))}}},
    _WRITER: None,
}
_OF_GROUP = {CHUNKS: {META: _OF_CHUNK, **dict.fromkeys(_INDEXES)}}
_UNPACKED, _PACKED = 2, 3  # PageHeader
_PAGES, _VALUES = (5, 7, 8), 1  # headers of data pages, of dictionaries, and of data pages of the second version
_DICTIONARY_PAGE = 7
_OF_HEADER = {_UNPACKED: None, _PACKED: None, **{page: {_VALUES: None} for page in _PAGES}}
# A header of a data page without statistics, as nearly all are: a match takes a fifth of the time of the decoder.
_NUMBER = rb"[\x80-\xff]{0,4}[\x00-\x7f]"
_USUAL = regex(
    rb"\x15%(n)b\x15(%(n)b)\x15(%(n)b)(?:\x2c|\x15%(n)b\x1c)\x15(%(n)b)(?:\x15%(n)b){3}\x00\x00" % {b"n": _NUMBER},
    re.DOTALL,
)
_USUAL_PAGE = 5
_HEADER, _LONGEST_HEADER = 2**8, 2**24  # bytes read at first, and at most: statistics hold whole values
_MOST_CHUNKS = 256  # with more, decoding the footer again takes longer than reading the file
_MOST_EMPTY = 16
_KEPT, _LARGEST_KEPT = 128, 2**17  # footers, and bytes of one: a service reads the same files again and again
_ANY_PAGES, _MOST_RATIO = 2**26, 2**16  # bytes, and ratio: a column of equal values compresses very well


@dataclass(frozen=True, slots=True)
class Chunk:
    """The pages of a column in a row group, as a footer describes them.

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


@dataclass(frozen=True)
class RowGroup:
    """A row group, encoded as in the footer. A look-up uses the chunks of few groups."""

    encoded: bytes

    @cached_property
    def chunks(self) -> tuple[Chunk, ...]:
        """The chunks of all columns. Raises `ValueError` if one lacks a part."""
        with checked_structure():
            return tuple(map(_chunk, column_chunks(decode(self.encoded, _OF_GROUP))))


@dataclass(frozen=True, slots=True)
class Footer:
    """The row groups, and the root of the schema with its columns of one value per row, by name.

    `widths` are the numbers of columns of row groups. `histograms` are the lengths of histograms of repetition and
    definition levels, each with the number of its column."""

    groups: tuple[RowGroup, ...]
    widths: frozenset[int]
    histograms: frozenset[tuple[int, int, int]]
    root: Fields
    flat: Mapping[str, Fields]
    writer: bytes


@dataclass(frozen=True, slots=True)
class CheckedFooter:
    """The footer of a file. It can check the pages of chunks."""

    source: pa.NativeFile
    footer: Footer

    def check_pages(self, group: int, names: Collection[str], parts: Collection[str] = ()) -> None:
        """Raise `ValueError` for pages of the columns, or of the paths `parts`, with impossible sizes."""
        below = tuple(f"{part}." for part in parts)
        with checked_structure():
            for chunk in self.footer.groups[group].chunks:
                if chunk.name in names or f"{chunk.path}.".startswith(below):
                    check_chunk(self.source, chunk)


def checked_footer(source: pa.NativeFile, schema: pq.ParquetSchema, groups: int) -> CheckedFooter | None:
    """Return the footer of a file with that schema and number of row groups, or None if it is too long to check.

    Raises `ValueError` if access to its chunks would end the process."""
    if len(schema) * groups > _MOST_CHUNKS:
        return None
    footer = footer_bytes(source)[0]
    found = (_kept_chunks if len(footer) <= _LARGEST_KEPT else _chunks)(footer)
    for count in found.widths - {len(schema)}:
        raise ValueError(f"a row group has {count} columns, the file's schema {len(schema)}")
    for column, repetitions, definitions in found.histograms:
        _check_histograms(schema.column(column), repetitions, definitions)
    return CheckedFooter(source, found)


def _chunks(footer: bytes) -> Footer:
    """Return the chunks of each row group. Raises `ValueError`."""
    with checked_structure():
        found = decode(footer, _USED)
        groups = row_groups(found)
        widths = frozenset(len(column_chunks(g)) for g in groups)
        histograms = frozenset(lengths for g in groups for lengths in _histograms(column_chunks(g)))
        elements = schema_elements(found)
        writer = bytes(found.get(_WRITER, (0, b""))[1])
        return Footer(
            tuple(RowGroup(g[WHOLE][1]) for g in groups),
            widths,
            histograms,
            elements[0],
            _flat_columns(elements),
            writer,
        )


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
    )


def _histograms(chunks: Sequence[Fields]) -> Iterator[tuple[int, int, int]]:
    """Yield the lengths of the histograms of a row group, as `Footer` has them."""
    for i, chunk in enumerate(chunks):
        if (sizes := chunk_metadata(chunk).get(_SIZES)) is not None:
            repetitions, definitions = (sizes[1].get(n, (0, Items((), [])))[1] for n in (_REPETITIONS, _DEFINITIONS))
            yield i, len(repetitions.values), len(definitions.values)


def _check_histograms(column: pq.ColumnSchema, repetitions: int, definitions: int) -> None:
    levels = (repetitions, column.max_repetition_level), (definitions, column.max_definition_level)
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
        found = bytes_at(source, at, length)
        if usual := _USUAL.match(found):
            unpacked, packed, values = (unzigzag(varint_at(g, 0)[0]) for g in usual.groups())
            page: Fields = {_VALUES: (I32, values)}
            return {_UNPACKED: (I32, unpacked), _PACKED: (I32, packed), _USUAL_PAGE: (STRUCT, page)}, usual.end()
        try:
            return decode_at(found, _OF_HEADER)
        except ValueError:
            if length == min(end - at, _LONGEST_HEADER):
                raise
            length = min(16 * length, end - at, _LONGEST_HEADER)
