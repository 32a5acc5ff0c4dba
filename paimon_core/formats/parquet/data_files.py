"""Parquet data files: columns have field ids, and small decimals are integers, for fast scans in Spark."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_values, int64_array, rows_at, without_rows
from paimon_core.arrow.shredded_maps import SelectedKeys
from paimon_core.arrow.types import ROW_INDEX, arrow_schema
from paimon_core.dataclass import dataclass
from paimon_core.errors import CorruptFileError, UnfamiliarFormError
from paimon_core.expressions.arrow import to_arrow
from paimon_core.expressions.predicate import Compare, In, Predicate, conjuncts, only_on
from paimon_core.expressions.predicate import columns as columns_of
from paimon_core.expressions.prune import may_match
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.parquet.footer import file_end, read_footer, schema_elements
from paimon_core.formats.parquet.int96 import has_int96, int96_as_bytes
from paimon_core.formats.parquet.page_checks import CheckedFooter, checked_footer
from paimon_core.formats.parquet.page_cuts import PagesOfGroup, pages_of_group
from paimon_core.formats.parquet.settings import VERIFY_CHECKSUM
from paimon_core.formats.parquet.thrift import I32, Fields, checked_structure
from paimon_core.formats.parquet.unfamiliar import parquet_errors
from paimon_core.formats.reading import check_row_count, conform_batch, keys_to_read, request_sources
from paimon_core.formats.stats import chunk_stats, leaf_indices, page_stats
from paimon_core.formats.trusted_bounds import PARQUET_FOOTER
from paimon_core.io.file_io import FileIO
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import TableOptions
from paimon_core.spec.stats import UNKNOWN, ColumnStats
from paimon_core.spec.types import DataField

if TYPE_CHECKING:
    from paimon_core.arrow.shredded_variants import parts_to_read, with_variants
    from paimon_core.formats.output import OutputFile
    from paimon_core.formats.parquet.chunks_ahead import ChunksAhead, chunks_ahead
    from paimon_core.formats.parquet.file_writer import ParquetFileWriter, check_columns
    from paimon_core.formats.parquet.vector_pages import vectors_of
    from paimon_core.formats.replaced_footer import ReplacedFooterFile
else:
    chunks_ahead = ImportedOnCall("paimon_core.formats.parquet.chunks_ahead", "chunks_ahead")
    vectors_of = ImportedOnCall("paimon_core.formats.parquet.vector_pages", "vectors_of")
    ParquetFileWriter = ImportedOnCall("paimon_core.formats.parquet.file_writer", "ParquetFileWriter")
    check_columns = ImportedOnCall("paimon_core.formats.parquet.file_writer", "check_columns")
    with_variants = ImportedOnCall("paimon_core.arrow.shredded_variants", "with_variants")
    parts_to_read = ImportedOnCall("paimon_core.arrow.shredded_variants", "parts_to_read")
    OutputFile = ImportedOnCall("paimon_core.formats.output", "OutputFile")
    ReplacedFooterFile = ImportedOnCall("paimon_core.formats.replaced_footer", "ReplacedFooterFile")

_FEW_GROUPS, _FEW_ROWS = 2, 2**13


class ParquetFormat:
    """`file.format = parquet`."""

    extension = "parquet"

    def check(self, fields: Sequence[DataField], options: TableOptions) -> None:
        check_columns(fields, options)
        options[VERIFY_CHECKSUM]

    def open_writer(
        self, io: FileIO, path: str, fields: Sequence[DataField], options: TableOptions
    ) -> ParquetFileWriter:
        return ParquetFileWriter(OutputFile(io, path), fields, options)

    def read(self, io: FileIO, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        with parquet_errors(io, request.path), _open(io, request) as opened:
            sources = request_sources(list(opened.schema), request)
            file = opened.with_parts(request, sources)
            groups = _matching_groups(file.metadata, file.schema, request, sources)
            matches = _matches(file, request, groups, sources)
            found = _batches(file, request, groups, sources) if matches is None else matches
            for batch in found:
                yield conform_batch(batch, sources, request)

    def read_rows(self, io: FileIO, request: ReadRequest, rows: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
        """Read like `read`, but only the rows at ascending positions. Other row groups are not read."""
        with parquet_errors(io, request.path), _open(io, request) as opened:
            sources = request_sources(list(opened.schema), request)
            file = opened.with_parts(request, sources)
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
            ends = np.cumsum(np.array(sizes, dtype=np.int64))
            if len(rows) and (not len(ends) or rows[-1] >= ends[-1]):
                raise CorruptFileError(request.path, f"its index lists row {rows[-1]}, but it has {sum(sizes)} rows")
            group_of = np.searchsorted(ends, rows, side="right")
            groups = np.unique(group_of)
            # Positions count the rows of these groups only.
            left_out = (ends - np.array(sizes)) - (np.cumsum(np.isin(np.arange(len(sizes)), groups) * sizes) - sizes)
            for batch in rows_at(_batches(file, request, groups.tolist(), sources), rows - left_out[group_of]):
                yield conform_batch(batch, sources, request)

    def read_others(self, io: FileIO, request: ReadRequest, rows: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
        """Read like `read`, but without the rows at ascending positions."""
        with parquet_errors(io, request.path), _open(io, request) as opened:
            sources = request_sources(list(opened.schema), request)
            file = opened.with_parts(request, sources)
            groups = _matching_groups(file.metadata, file.schema, request, sources)
            sizes = np.array(
                [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)], np.int64
            )
            read = np.isin(np.arange(len(sizes)), groups)
            group_of = np.searchsorted(np.cumsum(sizes), rows, side="right")
            # Positions count the rows of the groups that are read.
            inside = np.append(read, False)[group_of]
            left_out = np.cumsum(np.where(read, 0, sizes))
            others = rows[inside] - left_out[group_of[inside]]
            for batch in without_rows(_batches(file, request, groups, sources), others):
                yield conform_batch(batch, sources, request)


def read_groups(io: FileIO, request: ReadRequest) -> Generator[Iterator[pa.RecordBatch], None, None]:
    """Yield the rows of each row group, one group after another, in the form of `ParquetFormat.read`."""
    with parquet_errors(io, request.path), _open(io, request) as file:
        sources = request_sources(list(file.schema), request)
        for group in range(file.metadata.num_row_groups):
            yield (conform_batch(b, sources, request) for b in _batches(file, request, [group], sources))


@dataclass(frozen=True, slots=True)
class _Opened:
    """An open file. If the file is near, so that checking each page is cheap, it has its checked footer.

    `has_own_types`: the columns have the types of the file's own footer: neither Arrow's metadata nor a changed footer
    gives them others. `verifies`: the checksums of pages are checked. `parts` are the paths to read of VARIANTs and
    MAPs, by column. `keys` are the keys of these MAPs.
    """

    file: pq.ParquetFile
    near: CheckedFooter | None = None
    has_own_types: bool = False
    verifies: bool = False
    parts: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    keys: Mapping[str, SelectedKeys] = dataclasses.field(default_factory=dict)
    ahead: ChunksAhead | None = None

    @property
    def metadata(self) -> pq.FileMetaData:
        return self.file.metadata

    @property
    def schema(self) -> pa.Schema:
        return self.file.schema_arrow

    def batches(self, size: int, groups: Sequence[int], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if self.near is not None:
            for group in groups:
                self.near.check_pages(group, {*names} - self.parts.keys(), self._paths(self.parts))
        wanted = self._paths(names)
        if self.near is not None and any(_may_be_vectors(self.schema.field(name).type) for name in names):
            for group in groups:
                yield from self._group(size, group, names)
            return
        windows = [list(groups)] if self.ahead is None else self.ahead.windows(self.metadata, groups, wanted)
        for window in windows:
            for batch in self.file.iter_batches(size, row_groups=window, columns=wanted, use_threads=False):
                yield self._whole(batch)

    def _group(self, size: int, group: int, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield a row group. Its columns of vectors are decoded here."""
        assert self.near is not None
        rows, fields = self.metadata.row_group(group).num_rows, {n: self.schema.field(n) for n in names}
        candidates = [n for n, f in fields.items() if _may_be_vectors(f.type) and n not in self.parts]
        found = {
            n: vectors_of(self.near, self.file.schema, (group, n, rows), verifies=self.verifies) for n in candidates
        }
        known = {n: column.cast(fields[n].type) for n, column in found.items() if column is not None}
        others = [n for n in fields if n not in known]
        wanted = self._paths(others)
        if not others:
            vectors = pa.RecordBatch.from_arrays([known[n] for n in fields], schema=pa.schema(list(fields.values())))
            yield from (vectors.slice(start, size) for start in range(0, rows, size))
            return
        start = 0
        for batch in self.file.iter_batches(size, row_groups=[group], columns=wanted, use_threads=False):
            whole = self._whole(batch)
            columns = {n: known[n].slice(start, len(batch)) if n in known else whole.column(n) for n in fields}
            yield pa.RecordBatch.from_arrays(
                list(columns.values()), schema=pa.schema([fields[n].with_type(c.type) for n, c in columns.items()])
            )
            start += len(batch)

    def with_parts(self, request: ReadRequest, sources: Sequence[str | None]) -> _Opened:
        """Return the file for a reader that needs parts of its VARIANTs and MAPs only."""
        if not request.variant_paths and not request.map_keys:
            return self
        parts, selected = dict[str, Sequence[str]](), dict[str, SelectedKeys]()
        for field, source in zip(request.fields, sources, strict=True):
            if source is None:
                continue
            found = self.schema.field(source)
            if (paths := request.variant_paths.get(field.id)) is not None:
                if (read := parts_to_read(found.type, paths, source)) is not None:
                    parts[source] = read
            elif (keys := keys_to_read(found, field, request)) is not None:
                parts[source], selected[source] = keys.parts(source), keys
        return replace(self, parts=parts, keys=selected)

    def _paths(self, names: Iterable[str]) -> list[str]:
        return [part for name in names for part in self.parts.get(name, (name,))]

    def _whole(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows with VARIANTs of the parts that were read, and MAPs of the keys."""
        if not self.parts:
            return batch
        for name, keys in self.keys.items():
            if (index := batch.schema.get_field_index(name)) >= 0:
                maps = keys.maps(batch.column(index))
                batch = batch.set_column(index, batch.schema.field(index).with_type(maps.type), maps)
        variants = self.parts.keys() - self.keys.keys()
        return with_variants(batch, variants) if variants else batch


def _may_be_vectors(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_list(arrow) and pa.types.is_floating(arrow.value_type))


@contextmanager
def _open(io: FileIO, request: ReadRequest) -> Iterator[_Opened]:
    """Open the file and read its footer.

    Raises `UnfamiliarFormError`, and `CorruptFileError` for another table's file.
    """
    # Read a local file as batches need it, without a memory map: if a mapped file shrinks, the process ends.
    verify = request.options[VERIFY_CHECKSUM]
    with ExitStack() as opened:
        source, ahead = _source(io, request)
        opened.enter_context(source)
        pre_buffer = not io.is_near and ahead is None
        has_maps = has_other_types = False
        try:
            file = opened.enter_context(
                pq.ParquetFile(source, pre_buffer=pre_buffer, page_checksum_verification=verify)
            )
        except pa.ArrowInvalid:
            changed, has_maps = _with_other_types(source, int96=False, maps=True)
            if not has_maps:
                raise
            has_other_types = True
            file = opened.enter_context(pq.ParquetFile(changed, page_checksum_verification=verify))
        if has_int96(file):
            has_other_types = True
            changed, _ = _with_other_types(source, int96=True, maps=has_maps)
            file = opened.enter_context(pq.ParquetFile(changed, page_checksum_verification=verify))
        if missing := request.unread.difference(file.schema_arrow.names):
            raise UnfamiliarFormError(
                request.path, f"its column {min(missing)} is missing", writer=file.metadata.created_by or ""
            )
        check_row_count(request, file.metadata.num_rows)
        found = checked_footer(source, file.schema, file.metadata.num_row_groups) if io.is_near else None
        has_other_types = has_other_types or b"ARROW:schema" in (file.metadata.metadata or {})
        yield _Opened(file, found, has_own_types=not has_other_types, verifies=verify, ahead=ahead)


def _source(io: FileIO, request: ReadRequest) -> tuple[pa.NativeFile, ChunksAhead | None]:
    """Open a file. The chunks of a large file on a remote storage are requested ahead."""
    source = io.open_input(request.path, request.size)
    ahead = None if io.requests_at_once < 2 or io.is_near else chunks_ahead(io, request.path, source)
    return (source, None) if ahead is None else (ahead.source, ahead)


def _with_other_types(source: pa.NativeFile, *, int96: bool, maps: bool) -> tuple[ReplacedFooterFile, bool]:
    """Return the file with INT96 as bytes, or MAPs as lists of entries, and whether it has such MAPs.

    Raises `ValueError`."""
    footer, start = read_footer(source)
    with checked_structure():
        has_maps = maps and maps_as_lists(footer)
        if int96:
            int96_as_bytes(footer)
    return ReplacedFooterFile(source, start, file_end(footer)), has_maps


def _batches(
    file: _Opened, request: ReadRequest, groups: list[int], sources: Sequence[str | None], most: int | None = None
) -> Iterator[pa.RecordBatch]:
    names = [s for s in sources if s is not None]
    size = min(_batch_rows(file.metadata, request), most or request.max_rows)
    yield from file.batches(size, groups, names)


def _matching_groups(
    footer: pq.FileMetaData, found: pa.Schema, request: ReadRequest, sources: Sequence[str | None]
) -> list[int]:
    every = list(range(footer.num_row_groups))
    if request.predicate is None:
        return every
    indices, fields = leaf_indices(footer), {f.name: f for f in request.fields}
    usable = {n: (indices[s], fields[n]) for n, s in _comparable(found, request, sources).items() if s in indices}
    parts = [p for p in conjuncts(request.predicate) if columns_of(p) <= usable.keys()]

    def matches(index: int) -> bool:
        group = footer.row_group(index)

        def stats(name: str) -> ColumnStats:
            leaf, field = usable[name]
            return PARQUET_FOOTER.bounds(field.type, chunk_stats(field.type, group.column(leaf)))

        return all(may_match(p, stats, group.num_rows) for p in parts)

    return [i for i in every if matches(i)]


def _matches(
    file: _Opened, request: ReadRequest, groups: list[int], sources: Sequence[str | None]
) -> Iterator[pa.RecordBatch] | None:
    """Return the rows of a few groups that have one of the values in the predicate, or None if it does not list values.

    A group without such a value is not decoded. A group with such values is decoded up to the last row that has one."""
    usable = _comparable(file.schema, request, sources)
    known = None if request.predicate is None else only_on(request.predicate, usable)
    if known is None or len(groups) > _FEW_GROUPS or not any(map(_asks_for_values, conjuncts(known))):
        return None
    condition = to_arrow(known, arrow_schema(request.fields))
    if condition is None:
        return None
    names = list(columns_of(known))

    def positions(part: _Part) -> NDArray[np.int64]:
        keys, group, start = part.of([usable[n] for n in names], request)
        rows = keys.batches(_batch_rows(file.metadata, request), [group], [usable[n] for n in names])
        found = pa.Table.from_batches(rows, pa.schema([file.schema.field(usable[n]) for n in names]))
        numbers = int64_array(np.arange(-start, found.num_rows - start))
        columns = [*(found.column(usable[n]) for n in names), numbers]
        kept = condition.filter(pa.Table.from_arrays(columns, names=[*names, ROW_INDEX]))
        chunks = (fixed_values(c, np.int64) for c in kept.column(ROW_INDEX).chunks)
        matching = np.concatenate([np.empty(0, np.int64), *chunks])
        return matching if part.pages is None else matching[(matching >= 0) & (matching < part.pages.rows(part.run))]

    def rows_of(part: _Part) -> Iterator[pa.RecordBatch]:
        if len(rows := positions(part)):
            values, group, start = part.of([s for s in sources if s is not None], request)
            yield from rows_at(_batches(values, request, [group], sources, _FEW_ROWS), rows + start)

    read = [*(usable[n] for n in names), *(s for s in sources if s is not None)]
    parts = (part for index in groups for part in _parts(file, request, index, known, usable, read))
    return chain.from_iterable(map(rows_of, parts))


@dataclass(frozen=True, slots=True)
class _Part:
    """A row group of a file, or with `pages` a run of pages of it."""

    file: _Opened
    group: int
    pages: PagesOfGroup | None = None
    run: tuple[int, int] = (0, 0)

    def of(self, names: Sequence[str], request: ReadRequest) -> tuple[_Opened, int, int]:
        """Return a file with the named columns of this part, the number of a row group in that file, and the part's
        first row in the group.
        """
        if self.pages is None:
            return self.file, self.group, 0
        data = self.pages.cut(names, self.run)
        if data is None:
            return self.file, self.group, self.pages.starts[self.run[0]]
        cut = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=request.options[VERIFY_CHECKSUM])
        return _Opened(cut), 0, 0


def _parts(
    file: _Opened, request: ReadRequest, index: int, known: Predicate, usable: Mapping[str, str], read: Sequence[str]
) -> Iterator[_Part]:
    """Yield the parts of a row group that may have matching rows: runs of pages if the file has an index of pages.

    If some of the columns to `read` cannot be cut, each run would decode the group again, so several runs are one part.
    """
    names = sorted(columns_of(known))
    has_pages = file.near is not None and file.has_own_types
    pages = pages_of_group(file.near, index, usable[names[0]]) if file.near is not None and has_pages else None
    if pages is None:
        yield _Part(file, index)
        return
    types = {f.name: f.type for f in request.fields}
    bounds = {n: pages.bounds(usable[n]) for n in names}

    def stats(name: str, page: int) -> ColumnStats:
        found = bounds[name]
        return UNKNOWN if found is None else PARQUET_FOOTER.bounds(types[name], page_stats(types[name], *found[page]))

    def matches(page: int, rows: int) -> bool:
        return all(may_match(p, partial(stats, page=page), rows) for p in conjuncts(known))

    runs = pages.runs(matches)
    if len(runs) > 1 and not pages.has_cuts(read):
        yield _Part(file, index)
        return
    for run in runs:
        yield _Part(file, index, pages, run)


def _asks_for_values(predicate: Predicate) -> bool:
    return isinstance(predicate, In) or (isinstance(predicate, Compare) and predicate.op == "=")


def _comparable(found: pa.Schema, request: ReadRequest, sources: Sequence[str | None]) -> dict[str, str]:
    """Return the file's names of columns that have the requested types in the file."""
    target = arrow_schema(request.fields)
    pairs = zip(request.fields, sources, strict=True)
    return {f.name: s for f, s in pairs if s is not None and found.field(s).type.equals(target.field(f.name).type)}


def _batch_rows(footer: pq.FileMetaData, request: ReadRequest) -> int:
    """Return the rows per batch, so that a batch of long values stays within bounds."""
    size = sum(footer.row_group(i).total_byte_size for i in range(footer.num_row_groups))
    per_row = max(size // max(footer.num_rows, 1), 1)
    return int(max(1, min(request.max_rows, request.max_bytes // per_row)))


_REPETITION, _CHILDREN, _CONVERTED, _LOGICAL = 3, 5, 6, 10  # SchemaElement
_OPTIONAL, _REPEATED = 1, 2
_MAPS, _LIST = (1, 2), (I32, 3)  # converted types
_LOGICAL_MAP = 2


# Paimon 0.4 to 0.6 declared keys of MAPs as optional, and pyarrow refuses such files. Such a MAP is read as a list of
# its entries: both types are a group around a repeated group of keys and values, so only the annotation changes, not
# the levels in the pages. `arrow.evolution` turns the entries into MAPs again. Source: parquet-format, "LogicalTypes"
def maps_as_lists(file: Fields) -> bool:
    """Annotate MAPs with optional keys as lists, and return whether there are any."""
    elements, found = schema_elements(file), False
    for group, repeated, key in _maps(elements):
        if repeated[_REPETITION][1] == _REPEATED and key[_REPETITION][1] == _OPTIONAL:
            for element in (group, repeated):
                element.pop(_LOGICAL, None)
                element.pop(_CONVERTED, None)
            group[_CONVERTED] = _LIST
            found = True
    return found


def _maps(elements: list[Fields]) -> Iterator[tuple[Fields, Fields, Fields]]:
    """Yield the groups that are MAPs, their repeated groups, and their keys, which follow one another."""
    for group, repeated, key in zip(elements, elements[1:], elements[2:], strict=False):
        is_map = group.get(_CONVERTED, (I32, -1))[1] in _MAPS or _LOGICAL_MAP in group.get(_LOGICAL, (I32, {}))[1]
        if is_map and group.get(_CHILDREN, (I32, 0))[1] == 1 and repeated.get(_CHILDREN, (I32, 0))[1] == 2:
            yield group, repeated, key
