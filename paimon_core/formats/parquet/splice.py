"""Parquet files with new values in some columns: the other columns are copied, byte for byte.

Otherwise an UPDATE of one column would decode and encode all columns. That is not necessary: a column of a row group is
a chunk, a sequence of pages that do not contain their own offset. Only two structures contain offsets, the footer and
the index of a chunk's pages (OffsetIndex).

So a new file is put together from chunks, in the order of the schema. The changed columns of each row group are written
as a small Parquet file in memory (`_Part`), and their chunks are copied from there. The chunks of the other columns are
copied from the old file. Each chunk moves by a step, new offset less old, which is added to every offset in its
metadata and its index (`_add_chunk`, `_moved_pages`). Footers are Thrift trees in which only these numbers change
(`thrift`), so that fields of later versions survive. Indexes are written after all row groups, as Parquet requires.

This works only if nothing else in the file contains offsets. `_is_plain` checks it: no encryption, no bloom filters, no
index pages. And the new columns of every row group must be columns of the file, with its types (`_is_alike`): a part
may shred its VARIANTs in another way than the file does. A part must not need metadata of its own: MAPs with a column
per key have the names of keys there.
Source: parquet-format, `parquet.thrift`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import field
from itertools import accumulate, chain
from typing import Any

import pyarrow as pa

from paimon_core.arrow.types import arrow_schema
from paimon_core.dataclass import dataclass
from paimon_core.errors import InternalError
from paimon_core.formats.file_format import ReadRequest, WrittenFile
from paimon_core.formats.output import MemoryOutput, OutputFile
from paimon_core.formats.parquet.data_files import read_groups
from paimon_core.formats.parquet.file_writer import ParquetFileWriter
from paimon_core.formats.parquet.footer import (
    CHUNKS,
    MAGIC,
    META,
    bytes_at,
    chunk_metadata,
    column_chunks,
    file_end,
    read_footer,
    row_groups,
    schema_elements,
)
from paimon_core.formats.parquet.thrift import I32, I64, LIST, STRUCT, Fields, Items, checked_structure, decode, encode
from paimon_core.formats.reading import read_errors
from paimon_core.formats.stats import merge_stats
from paimon_core.io.failure import on_failure
from paimon_core.io.file_io import FileIO, storage_errors

Change = Callable[[int, Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
_Path = tuple[bytes, ...]
_PIECE = 8 * 2**20  # bytes copied at once

# fields of parquet.thrift
_PAIRS, _ENCRYPTION = 5, 8  # FileMetaData
_NAME, _CHILDREN, _CONVERTED, _LOGICAL = 4, 5, 6, 10  # SchemaElement
_GROUP_BYTES, _ROWS, _SORTED, _GROUP_START, _GROUP_STORED = 2, 3, 4, 5, 6  # RowGroup
_CHUNK_START, _CRYPTO = 2, 8  # ColumnChunk
_OFFSET_INDEX, _COLUMN_INDEX = (4, 5), (6, 7)  # ColumnChunk: its offset, and its length
_PATH, _BYTES, _STORED, _DATA_PAGE, _INDEX_PAGE, _DICTIONARY, _BLOOM = 3, 6, 7, 9, 10, 11, 14  # ColumnMetaData
_PAGES, _PAGE_OFFSET = 1, 1  # OffsetIndex, PageLocation


def replace_columns(io: FileIO, request: ReadRequest, target: str, change: Change) -> WrittenFile | None:
    """Write the file of a request to `target`, with the request's columns changed by `change`.

    `change` is called for each row group, with the position of its first row, and must return as many rows as it gets.
    The result has statistics of the changed columns.

    Return None, and leave no file, if the bytes of the file cannot be copied: its types differ from the types in new
    files, it has bloom filters or encryption, or a changed MAP has a column per key. Raises `CorruptFileError`,
    `StorageError`, `FileNotFoundError`.
    """
    with (
        read_errors("Parquet", request.path),
        io.open_input(request.path, request.size) as source,
        closing(read_groups(io, request)) as old_groups,  # it opens the file again, and is not read to its end
        checked_structure(),
    ):
        file, _ = read_footer(source)
        if not row_groups(file) or _ENCRYPTION in file or not all(map(_is_plain, row_groups(file))):
            return None
        starts = accumulate((g[_ROWS][1] for g in row_groups(file)), initial=0)
        groups = zip(starts, old_groups, strict=False)
        parts = (_new_part(change(start, rows), request) for start, rows in groups)
        first = next(parts)
        if not _is_alike(file, row_groups(file)[0], first):
            return None
        with storage_errors("write", target):
            return _write(OutputFile(io, target), _Source(request.path, source), file, chain([first], parts))


@dataclass(frozen=True, slots=True)
class _Part:
    """The new columns of a row group, as a file of their own."""

    content: pa.Buffer
    footer: Fields
    written: WrittenFile


def _new_part(rows: Iterator[pa.RecordBatch], request: ReadRequest) -> _Part:
    output = MemoryOutput()
    writer = ParquetFileWriter(output, request.fields, request.options)
    writer.write(pa.Table.from_batches(rows, arrow_schema(request.fields)))
    written = writer.close()
    footer, _ = read_footer(pa.BufferReader(output.content))
    return _Part(output.content, footer, written)


@dataclass(frozen=True, slots=True)
class _Source:
    """A file from which chunks are copied."""

    path: str
    file: pa.NativeFile

    def bytes_at(self, start: int, length: int) -> bytes:
        with read_errors("Parquet", self.path):  # errors of the file that is written name that file
            return bytes_at(self.file, start, length)


def _write(output: OutputFile, source: _Source, file: Fields, parts: Iterator[_Part]) -> WrittenFile | None:
    with on_failure(output.abort):
        splice = _Splice(output.sink)
        written = []
        for group, part in zip(row_groups(file), parts, strict=True):
            if not _is_alike(file, group, part):
                output.abort()
                return None
            splice.add_group(group, source, part)
            written.append(part.written)
        splice.finish(file)
        size = output.finish()
    names = written[0].stats
    stats = {n: merge_stats((w.stats[n], w.row_count) for w in written) for n in names}
    return WrittenFile(output.path, size, sum(w.row_count for w in written), stats)


@dataclass(slots=True)
class _Splice:
    """A file that is assembled from the chunks of other files."""

    sink: pa.NativeFile
    offset: int = 0
    indexes: list[tuple[Fields, tuple[int, int], bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._add(MAGIC)

    def add_group(self, group: Fields, source: _Source, part: _Part) -> None:
        """Add a row group: the chunks of the part, and the source's chunks of the other columns."""
        of_part = _Source(source.path, pa.BufferReader(part.content))
        added = column_chunks(row_groups(part.footer)[0])
        names = {_path(c)[0] for c in added}
        new = {_path(c): c for c in added}
        replaced = [_path(c) for c in column_chunks(group) if _path(c)[0] in names]
        if sorted(replaced) != sorted(map(_path, added)) or len(new) < len(added):
            raise InternalError("a row group would get other columns than it has")
        start, chunks = self.offset, []
        for chunk in column_chunks(group):
            is_new = _path(chunk)[0] in names
            chunks.append(new[_path(chunk)] if is_new else chunk)
            self._add_chunk(of_part if is_new else source, chunks[-1])
        metas = [chunk_metadata(c) for c in chunks]
        group[CHUNKS] = LIST, Items((STRUCT,), chunks)
        group[_GROUP_BYTES] = I64, sum(m[_BYTES][1] for m in metas)
        group[_GROUP_STORED] = I64, sum(m[_STORED][1] for m in metas)
        group[_GROUP_START] = I64, start
        group.pop(_SORTED, None)

    def finish(self, footer: Fields) -> None:
        """Write the indexes of pages and the footer."""
        for kind in (_COLUMN_INDEX, _OFFSET_INDEX):
            for chunk, kept_kind, content in self.indexes:
                if kept_kind == kind:
                    chunk[kind[0]] = I64, self.offset
                    chunk[kind[1]] = I32, len(content)
                    self._add(content)
        self._add(file_end(footer))

    def _add_chunk(self, source: _Source, chunk: Fields) -> None:
        start, end = _extent(chunk_metadata(chunk))
        step = self.offset - start
        for kind in (_COLUMN_INDEX, _OFFSET_INDEX):
            if kind[0] in chunk:
                content = source.bytes_at(chunk[kind[0]][1], chunk[kind[1]][1])
                self.indexes.append((chunk, kind, _moved_pages(content, step) if kind == _OFFSET_INDEX else content))
        for offset in range(start, end, _PIECE):
            self._add(source.bytes_at(offset, min(_PIECE, end - offset)))
        meta = chunk_metadata(chunk)
        for fields, key in ((chunk, _CHUNK_START), (meta, _DATA_PAGE), (meta, _DICTIONARY)):
            if key in fields and fields[key][1]:  # 0 means no offset
                fields[key] = I64, fields[key][1] + step

    def _add(self, content: bytes) -> None:
        self.sink.write(content)
        self.offset += len(content)


def _moved_pages(offset_index: bytes, step: int) -> bytes:
    index = decode(offset_index)
    for page in index[_PAGES][1].values:
        page[_PAGE_OFFSET] = I64, page[_PAGE_OFFSET][1] + step
    return encode(index)


def _path(chunk: Fields) -> _Path:
    return tuple(chunk_metadata(chunk)[_PATH][1].values)


def _is_plain(group: Fields) -> bool:
    """Return whether a row group has rows, and its chunks consist only of pages."""
    chunks = column_chunks(group)
    whole = all(META in c and _CRYPTO not in c and not chunk_metadata(c).keys() & {_BLOOM, _INDEX_PAGE} for c in chunks)
    return whole and bool(group[_ROWS][1])


def _extent(meta: Fields) -> tuple[int, int]:
    """Return the offsets at which the pages of a chunk begin and end."""
    first_data: int = meta[_DATA_PAGE][1]
    dictionary = meta[_DICTIONARY][1] if _DICTIONARY in meta else 0
    start = min(dictionary or first_data, first_data)  # old writers write 0 for none
    return start, start + meta[_STORED][1]


def _is_alike(file: Fields, group: Fields, part: _Part) -> bool:
    """Return whether a part has the rows of a row group, in columns that the file has with the same types, and is read
    without metadata of its own.
    """
    if _PAIRS in part.footer:
        return False
    old, new = _columns(file), _columns(part.footer)
    same = all(name in old and list(map(_type, old[name])) == list(map(_type, new[name])) for name in new)
    groups = row_groups(part.footer)
    if not same or len(groups) != 1 or groups[0][_ROWS] != group[_ROWS] or not _is_plain(groups[0]):
        return False
    return _has_columns_of(file, group) and _has_columns_of(part.footer, groups[0])


def _has_columns_of(file: Fields, group: Fields) -> bool:
    """Return whether a row group has one chunk for each column of the schema."""
    leaves = _leaves(file)
    return len(set(leaves)) == len(leaves) and list(map(_path, column_chunks(group))) == leaves


def _leaves(file: Fields) -> list[_Path]:
    """Return the paths of the columns with values. pyarrow has read the schema before: it is not hostile."""
    root, *elements = schema_elements(file)
    leaves, parents = list[_Path](), [_Path()] * _children(root)
    for element in elements:
        path = (*parents.pop(), element[_NAME][1])
        parents += [path] * _children(element)
        if not _children(element):
            leaves.append(path)
    return leaves


def _columns(file: Fields) -> dict[bytes, list[Fields]]:
    """Return the schema elements of each column."""
    elements = iter(schema_elements(file))
    root = next(elements)
    columns: dict[bytes, list[Fields]] = {}
    for _ in range(root[_CHILDREN][1]):
        first = next(elements)
        columns[first[_NAME][1]] = own = [first]
        missing = _children(first)
        while missing:
            own.append(next(elements))
            missing += _children(own[-1]) - 1
    return columns


def _children(element: Fields) -> int:
    return element[_CHILDREN][1] if _CHILDREN in element else 0


def _type(element: Fields) -> dict[int, Any]:
    """Return an element without the older one of two equivalent annotations."""
    return {n: v for n, v in element.items() if n != _CONVERTED or _LOGICAL not in element}
