"""What the footer and the page headers of a Parquet file claim, looked at before the native reader believes them.

A header says how large its page becomes when it is unpacked, and the reader allocates that before it unpacks the first
byte. So the headers of the chunks that are read are followed from page to page: pages may together be no more than the
footer says of their chunk, and the footer no more than bytes of that size can hold. A footer whose histograms have
another length than its schema's levels ends the process as soon as somebody looks at the chunk.
Source: parquet-format, `parquet.thrift`, "ColumnMetaData", "SizeStatistics", "PageHeader".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.formats.parquet.footer import bytes_at, chunk_metadata, column_chunks, read_footer, row_groups
from paimon_core.formats.parquet.thrift import I64, Fields, checked_structure, decode_at

_PATH, _COUNT, _UNPACKED_TOTAL, _PACKED_TOTAL, _DATA, _DICTIONARY, _SIZES = 3, 5, 6, 7, 9, 11, 16  # ColumnMetaData
_REPETITIONS, _DEFINITIONS = 2, 3  # SizeStatistics
_UNPACKED, _PACKED = 2, 3  # PageHeader
_PAGES, _VALUES = (5, 7, 8), 1  # headers of data pages, of dictionaries, and of data pages of the second version
_HEADER, _LONGEST_HEADER = 2**8, 2**24  # bytes read at first, and at most: statistics hold whole values
_MOST_CHUNKS = 256  # taking the footer apart again takes longer than reading the file where there are more
_MOST_EMPTY = 16
_ANY_PAGES, _MOST_RATIO = 2**26, 2**16  # runs of one value shrink to next to nothing


@dataclass(frozen=True, slots=True)
class CheckedFooter:
    """The chunks of each row group, each by the name of its column and its path, to check the pages of some of them."""

    source: pa.NativeFile
    groups: tuple[tuple[Fields, ...], ...]

    def check_pages(self, group: int, names: Collection[str]) -> None:
        """Raises `ValueError` where pages of the columns claim more than there can be."""
        with checked_structure():
            for chunk in self.groups[group]:
                if chunk[_PATH][1].values[0].decode() in names:
                    _check_chunk(self.source, chunk)


def checked_footer(source: pa.NativeFile, schema: pq.ParquetSchema, groups: int) -> CheckedFooter | None:
    """The footer of a file with that schema and number of row groups; None where it is too long to look at.

    Raises `ValueError` where looking at its chunks would end the process."""
    if len(schema) * groups > _MOST_CHUNKS:
        return None
    with checked_structure():
        footer, _ = read_footer(source)
        found = tuple(tuple(map(chunk_metadata, column_chunks(g))) for g in row_groups(footer))
        for chunks in found:
            if len(chunks) != len(schema):
                raise ValueError(f"a row group has {len(chunks)} columns, its schema {len(schema)}")
            for chunk, i in zip(chunks, range(len(schema)), strict=True):
                _check_histograms(chunk, schema.column(i))
    return CheckedFooter(source, found)


def _check_histograms(chunk: Fields, column: pq.ColumnSchema) -> None:
    sizes: Fields = chunk[_SIZES][1] if _SIZES in chunk else {}
    levels = (_REPETITIONS, column.max_repetition_level), (_DEFINITIONS, column.max_definition_level)
    for field, most in levels:
        if field in sizes and len(sizes[field][1].values) not in (0, most + 1):
            raise ValueError(f"a histogram of its column {column.path} has another length than its levels")


def _check_chunk(source: pa.NativeFile, chunk: Fields) -> None:
    name = b".".join(chunk[_PATH][1].values).decode()
    room, packed, values = (chunk[n][1] for n in (_UNPACKED_TOTAL, _PACKED_TOTAL, _COUNT))
    if room > _ANY_PAGES + _MOST_RATIO * max(0, packed):
        raise ValueError(f"its column {name} claims {room} bytes")
    starts = [chunk[n][1] for n in (_DICTIONARY, _DATA) if chunk.get(n, (I64, 0))[1]]  # without rows it has no data
    empty = 0
    for header in _headers(source, min(starts, default=0), packed):
        claimed = header[_UNPACKED][1]
        if not 0 <= claimed <= room:
            raise ValueError(f"a page of its column {name} claims {claimed} bytes, there are {room}")
        for page in (header[n][1] for n in _PAGES if n in header):
            if not 0 <= page[_VALUES][1] <= max(values, 8 * claimed):  # dictionaries may have more than the rows left
                raise ValueError(f"a page of its column {name} claims {page[_VALUES][1]} values")
        room, empty = room - claimed, empty + (claimed == 0)
        if empty > _MOST_EMPTY:
            raise ValueError(f"its column {name} has more than {_MOST_EMPTY} pages of nothing")


def _headers(source: pa.NativeFile, start: int, size: int) -> Iterator[Fields]:
    """The headers of the pages in a chunk. Raises `ValueError` where one leads out of it."""
    end = start + size
    while start < end:
        header, length = _header(source, start, end)
        packed = header[_PACKED][1]
        if not 0 <= packed <= end - start - length:
            raise ValueError("a page is longer than its column")
        yield header
        start += length + packed


def _header(source: pa.NativeFile, at: int, end: int) -> tuple[Fields, int]:
    """A header and its length."""
    length = min(_HEADER, end - at)
    while True:
        try:
            return decode_at(bytes_at(source, at, length))
        except ValueError:
            if length == min(end - at, _LONGEST_HEADER):
                raise
            length = min(16 * length, end - at, _LONGEST_HEADER)
