"""Some pages of a row group as a small Parquet file in memory: a look-up of a key decodes a page, not the whole group.

Indexes in the file list the first row of each page, and its least and largest values. A cut needs columns with pages
that begin in the same rows. It has the dictionaries, the bytes of these pages, and a footer with one row group. Nested
columns have no cuts. Source: parquet-format, `parquet.thrift`, "ColumnIndex", "OffsetIndex", "PageIndex.md".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import pyarrow as pa

from paimon_core.dataclass import dataclass
from paimon_core.formats.parquet.footer import CHUNKS, GROUPS, MAGIC, META, SCHEMA, bytes_at, file_end
from paimon_core.formats.parquet.page_checks import CheckedFooter, Chunk, Footer, check_chunk
from paimon_core.formats.parquet.thrift import (
    BINARY,
    I32,
    I64,
    LIST,
    STRUCT,
    Fields,
    Items,
    checked_structure,
    decode,
)

_PLACES, _OFFSET, _SIZE, _FIRST_ROW = 1, 1, 2, 3  # OffsetIndex, PageLocation
_EMPTY, _LEAST, _MOST = 1, 2, 3  # ColumnIndex
_CHILDREN = 5  # SchemaElement
_INTEGERS = {1: 4, 2: 8}  # bytes of the physical types that are whole numbers
_BYTES = (6, 7)  # the physical types of texts, bytes and large decimals
_LARGEST, _KEPT, _LARGEST_KEPT = 2**20, 512, 2**11  # bytes of an index, indexes that are kept, and bytes of one of them


@dataclass(frozen=True, slots=True)
class PagesOfGroup:
    """The pages of a row group. `starts` has the first row of each page, and then the group's number of rows."""

    footer: CheckedFooter
    chunks: dict[str, Chunk]
    starts: tuple[int, ...]

    def runs(self, may_match: Callable[[int, int], bool]) -> list[tuple[int, int]]:
        """Return the runs of pages that may match, each with its first page and the page behind its last one.

        `may_match` gets the number of a page, and the number of its rows."""
        runs = list[tuple[int, int]]()
        for page, (start, end) in enumerate(zip(self.starts, self.starts[1:], strict=False)):
            if not may_match(page, end - start):
                continue
            if runs and runs[-1][1] == page:
                runs[-1] = runs[-1][0], page + 1
            else:
                runs.append((page, page + 1))
        return runs

    def rows(self, run: tuple[int, int]) -> int:
        """Return the number of rows in a run of pages."""
        return self.starts[run[1]] - self.starts[run[0]]

    def has_cuts(self, names: Sequence[str]) -> bool:
        """Return whether pages of these columns begin in the same rows. Raises `ValueError`."""
        with checked_structure():
            places = (_places(self.footer, self.chunks.get(name)) for name in names)
            return all(p is not None and p.starts == self.starts for p in places)

    def bounds(self, name: str) -> list[tuple[object, object]] | None:
        """Return the least and the largest value in each page of a column, or None for a page of NULLs.

        The values have the form of a footer's statistics. Return None if the column has no bounds, or has other pages.
        Raises `ValueError`."""
        chunk = self.chunks.get(name)
        if chunk is None or (chunk.kind not in _INTEGERS and chunk.kind not in _BYTES):
            return None
        if not 0 < chunk.bounds[1] <= _LARGEST:  # long values have long bounds
            return None
        with checked_structure():
            places = _places(self.footer, chunk)
            if places is None or places.starts != self.starts:
                return None
            index = decode(bytes_at(self.footer.source, *chunk.bounds))
            empty, least, most = (index[n][1].values for n in (_EMPTY, _LEAST, _MOST))
            if not len(empty) == len(least) == len(most) == len(self.starts) - 1:
                raise ValueError(f"the index of its column {name} has another number of pages")
            return [
                (None, None) if none == b"\x01" else (_value(chunk.kind, low), _value(chunk.kind, high))
                for none, low, high in zip(empty, least, most, strict=True)
            ]

    def cut(self, names: Sequence[str], run: tuple[int, int]) -> pa.Buffer | None:
        """Return a file with these columns and the rows of a run of pages.

        Return None if a column has no index, or if its pages begin in other rows. Raises `ValueError` for pages that
        differ from their index."""
        first, behind = run
        wanted = [end - start for start, end in zip(self.starts[first:behind], self.starts[first + 1 :], strict=False)]
        source, parts, size, chunks = self.footer.source, [MAGIC], len(MAGIC), list[_CutChunk]()
        with checked_structure():
            for name in names:
                places = _places(self.footer, self.chunks.get(name))
                if places is None or places.starts != self.starts:
                    return None
                chunk, start = self.chunks[name], size
                dictionary = places.offsets[0] - chunk.start
                begin, end = places.offsets[first] if first else chunk.start, places.offsets[behind]
                parts += [bytes_at(source, chunk.start, dictionary)] if first and dictionary else []
                parts.append(bytes_at(source, begin, end - begin))
                size += end - begin + (dictionary if first else 0)
                cut = replace(chunk, start=start, packed=size - start, values=sum(wanted))
                chunks.append(_CutChunk(cut, dictionary))
            data = pa.py_buffer(b"".join([*parts, file_end(_footer(self.footer.footer, chunks, sum(wanted)))]))
            for each in chunks:
                if check_chunk(pa.BufferReader(data), each.chunk) != wanted:
                    raise ValueError(f"the pages of its column {each.chunk.name} have other rows than their index")
        return data


@dataclass(frozen=True, slots=True)
class _CutChunk:
    """A column of a cut, and the bytes of its dictionary."""

    chunk: Chunk
    dictionary: int


@dataclass(frozen=True, slots=True)
class _Places:
    """The pages of a column in a row group: their offsets and first rows, and the ends of the last one."""

    offsets: tuple[int, ...]
    starts: tuple[int, ...]


def pages_of_group(footer: CheckedFooter, group: int, name: str) -> PagesOfGroup | None:
    """Return the pages of a row group by one of its columns; None if this column has no index, or only one page.

    Raises `ValueError` for a damaged index."""
    flat = footer.footer.flat
    chunks = {c.name: c for c in footer.footer.groups[group].chunks if c.path == c.name and c.name in flat}
    with checked_structure():
        places = _places(footer, chunks.get(name))
    return None if places is None or len(places.starts) <= 2 else PagesOfGroup(footer, chunks, places.starts)


def _places(footer: CheckedFooter, chunk: Chunk | None) -> _Places | None:
    """Return the pages of a column, or None if they cannot be cut: without an index, with gaps, or without rows.

    Raises `ValueError` for an index that differs from the column."""
    if chunk is None or not 0 < chunk.offsets[1] <= _LARGEST:
        return None
    index = bytes_at(footer.source, *chunk.offsets)
    locations = (_kept_locations if len(index) <= _LARGEST_KEPT else _locations)(index)
    offsets, sizes, starts = zip(*locations, strict=True)
    ends = (*(offset + size for offset, size in zip(offsets, sizes, strict=True)),)
    in_order = all(a <= b for a, b in zip(ends, offsets[1:], strict=False))
    in_chunk = chunk.start <= offsets[0] and ends[-1] <= chunk.start + chunk.packed
    rows = *starts, chunk.values
    if not in_order or not in_chunk or min(sizes) < 1 or rows[0] or any(a > b for a, b in pairwise(rows)):
        raise ValueError(f"the index of the pages of its column {chunk.name} differs from the column")
    if offsets[1:] != ends[:-1] or any(a == b for a, b in pairwise(rows)):
        return None  # gaps between pages, or pages without rows: the whole group is read
    return _Places((*offsets, ends[-1]), rows)


def _locations(index: bytes) -> tuple[tuple[int, int, int], ...]:
    """Return the offset, the size and the first row of each page."""
    found = decode(index)[_PLACES][1].values
    return tuple((place[_OFFSET][1], place[_SIZE][1], place[_FIRST_ROW][1]) for place in found)


_kept_locations = lru_cache(_KEPT)(_locations)


def _value(kind: int, stored: bytes) -> object:
    if kind in _BYTES:
        return stored
    return int.from_bytes(stored, "little", signed=True) if len(stored) == _INTEGERS[kind] else None


def _footer(footer: Footer, chunks: Sequence[_CutChunk], rows: int) -> Fields:
    columns = Items((STRUCT,), [{2: (I64, 0), META: (STRUCT, _metadata(c))} for c in chunks])
    total = sum(c.chunk.unpacked for c in chunks)
    group: Fields = {CHUNKS: (LIST, columns), 2: (I64, total), 3: (I64, rows)}
    root: Fields = {**footer.root, _CHILDREN: (I32, len(chunks))}
    return {
        1: (I32, 2),
        SCHEMA: (LIST, Items((STRUCT,), [root, *(footer.flat[c.chunk.name] for c in chunks)])),
        3: (I64, rows),
        GROUPS: (LIST, Items((STRUCT,), [group])),
        6: (BINARY, footer.writer),
    }


def _metadata(cut: _CutChunk) -> Fields:
    chunk = cut.chunk
    places: Fields = {9: (I64, chunk.start + cut.dictionary)}
    return {
        1: (I32, chunk.kind),
        2: (LIST, Items((I32,), [0])),  # readers use the encodings in the headers of pages
        3: (LIST, Items((BINARY,), [chunk.name.encode()])),
        4: (I32, chunk.codec),
        5: (I64, chunk.values),
        6: (I64, chunk.unpacked),
        7: (I64, chunk.packed),
        **(places | {11: (I64, chunk.start)} if cut.dictionary else places),
    }
