"""Search for the nearest vectors by indexes: which files of a version's indexes a search reads, and what they find.

Rows without an index are compared one by one, or left out with `vector-index.search-mode` = `fast`. An index finds rows
by id, with their scores; the caller reads the rows. Deleted rows, and rows that do not satisfy the condition of the
search, are left out before the search in a file, so that the file gives as many rows as are wanted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.nearest import SEARCH_SCORE, Floats, VectorQuery, largest, nearest
from paimon_core.arrow.types import ROW_ID
from paimon_core.dataclass import dataclass
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.indexes.global_index.grouped_rows import RowIds, decode_row_ids, encode_row_ids
from paimon_core.indexes.vector_index.files import VectorIndexFile, open_vector_index
from paimon_core.indexes.vector_index.layout import VECTOR_INDEXES
from paimon_core.options import (
    DATA_EVOLUTION,
    GLOBAL_INDEX_ENABLED,
    GLOBAL_INDEX_SEARCH_MODE,
    VECTOR_SEARCH_MODE,
)
from paimon_core.scan.plan import Plan
from paimon_core.spec.index_manifest import INDEX_FILE_META, IndexFileMeta, IndexManifestEntry
from paimon_core.spec.records import Column, Record
from paimon_core.spec.row_ranges import row_ranges
from paimon_core.spec.split import DATA_SPLIT, DataSplit
from paimon_core.store.indexes.global_indexes import IndexInput, covered, kept_its_type, of_column
from paimon_core.store.indexes.index_files import index_entries, index_path, read_deletions
from paimon_core.store.table_store import TableStore

Rows = Callable[[DataSplit, Sequence[str]], Iterator[pa.RecordBatch]]
_FAST = "fast"


@dataclass(frozen=True, slots=True)
class IndexProbe:
    """A file of an index to search, its path, and the splits with the rows that it covers."""

    file: IndexFileMeta
    path: str
    splits: tuple[DataSplit, ...]

    @property
    def span(self) -> tuple[int, int]:
        """The rows that the file covers, from the first id to before the end."""
        covers = self.file.global_index
        assert covers is not None
        return covers.row_range_start, covers.row_range_end + 1


INDEX_PROBE = Record(
    "index probe",
    IndexProbe,
    (
        Column("file", "file", record=INDEX_FILE_META),
        Column("path", "path", "string"),
        Column("splits", "splits", record=DATA_SPLIT, repeated=True),
    ),
)


@dataclass(frozen=True, slots=True)
class FoundIds:
    """The ids and scores of found rows, as bytes of int64 and float32."""

    ids: bytes
    scores: bytes


FOUND_IDS = Record("found ids", FoundIds, (Column("ids", "ids", "bytes"), Column("scores", "scores", "bytes")))


@dataclass(frozen=True, slots=True)
class IndexedSearch:
    """A search in a version: the query with the metric that counts, the files of indexes to search, and the splits with
    rows that no index covers."""

    query: VectorQuery
    probes: tuple[IndexProbe, ...]
    rest: tuple[DataSplit, ...]

    def describe(self) -> str:
        """Return a text for EXPLAIN."""
        if not self.probes:
            return "no index"
        files = f"{len(self.probes)} files of the index {self.probes[0].file.index_type}"
        return f"{files}, {len(self.rest)} splits without"

    def chosen(self, found: Sequence[FoundIds]) -> tuple[NDArray[np.int64], Floats]:
        """Return the ids and scores of the nearest rows in the answers of all files."""
        ids = np.concatenate([np.frombuffer(f.ids, dtype=np.int64) for f in found] or [np.zeros(0, np.int64)])
        scores = np.concatenate([np.frombuffer(f.scores, dtype=np.float32) for f in found] or [np.zeros(0, np.float32)])
        best = largest(scores, self.query.limit)
        return ids[best], scores[best]

    def splits_of(self, ids: NDArray[np.int64]) -> tuple[DataSplit, ...]:
        """Return splits with the rows with these ids."""
        wanted = RowIds(ids)
        splits = (_within(s, lambda first, end: bool(wanted.range_cardinality(first, end))) for s in self._splits())
        return tuple(replace(s, row_ids=encode_row_ids(wanted)) for s in splits if s.files)

    def _splits(self) -> Iterator[DataSplit]:
        """Yield the splits of all probes, each file once."""
        known = set[str]()
        for split in (s for probe in self.probes for s in probe.splits):
            part = replace(split, files=tuple(f for f in split.files if f.file_name not in known))
            known |= {f.file_name for f in split.files}
            if part.files:
                yield part


def indexed_search(store: TableStore, plan: Plan, query: VectorQuery) -> IndexedSearch:
    """Divide the search in a plan between indexes of the column and the rows without an index.

    Raises `CorruptFileError`, `DataFileMissingError`, `StorageError`."""
    field = store.schema.field_by_name.get(query.column)
    usable = store.options[DATA_EVOLUTION] and store.options[GLOBAL_INDEX_ENABLED] and plan.snapshot is not None
    if not usable or field is None or not plan.splits or any(s.branch for s in plan.splits):
        return IndexedSearch(query, (), plan.splits)
    entries = of_column(index_entries(store, plan.snapshot), field.id, VECTOR_INDEXES)
    by_type: dict[str, list[IndexManifestEntry]] = defaultdict(list)
    for entry in entries:
        by_type[entry.file.index_type].append(entry)
    if not by_type or not kept_its_type(store, field):
        return IndexedSearch(query, (), plan.splits)
    chosen = max(by_type.values(), key=lambda of: sum(end - start for start, end in covered(e.file for e in of)))
    metric = _open(store, chosen[0].file, _path(store, chosen[0])).head.metric
    if query.by_index:
        query = replace(query, metric=metric)
    elif metric != query.metric:
        return IndexedSearch(query, (), plan.splits)
    probes = [IndexProbe(e.file, _path(store, e), ()) for e in chosen]
    probes = [replace(p, splits=_overlapping(plan.splits, p.span)) for p in probes]
    options = store.options
    is_fast = (options[VECTOR_SEARCH_MODE] or options[GLOBAL_INDEX_SEARCH_MODE]) == _FAST
    spans = covered(e.file for e in chosen)
    rest = () if is_fast else tuple(s for split in plan.splits for s in _outside(split, spans))
    return IndexedSearch(query, tuple(p for p in probes if p.splits), rest)


def with_scores(rows: pa.Table, ids: NDArray[np.int64], scores: Floats) -> pa.Table:
    """Return rows, which have their ids in a column, with the scores of these ids in a last column."""
    order = np.argsort(ids)
    at = order[np.searchsorted(ids[order], rows.column(ROW_ID).to_numpy())]
    score = pa.field(SEARCH_SCORE, pa.float32(), nullable=False)
    return rows.append_column(score, pa.array(scores[at], pa.float32()))


def search_file(store: TableStore, query: VectorQuery, rows: Rows, has_condition: bool, probe: IndexProbe) -> FoundIds:
    """Return the nearest rows that a file of an index covers.

    `rows` yields columns of the rows of a split that satisfy the condition of the search, if it has one. Where the file
    has another metric, or its library is missing, or the search asks to refine, vectors are compared. Raises
    `CorruptFileError`, `DataFileMissingError`, `StorageError`, `InvalidDataError`.
    """
    start, end = probe.span
    allowed = _allowed(store, rows, has_condition, probe)
    try:
        file = _open(store, probe.file, probe.path)
        if (file.head.metric, file.head.length) != (query.metric, len(query.vector)):
            return _compared(query, rows, probe.splits, RowIds(np.flatnonzero(allowed) + start))
        limit = query.limit * max(query.refine, 1)
        ids, scores = file.nearest(
            np.asarray(query.vector, dtype=np.float32), limit, query.width, None if allowed.all() else allowed
        )
    except UnsupportedFeatureError:  # the library is not installed here
        return _compared(query, rows, probe.splits, RowIds(np.flatnonzero(allowed) + start))
    if query.refine and len(ids):
        return _compared(query, rows, probe.splits, RowIds(ids + start))
    return FoundIds((ids + start).astype(np.int64).tobytes(), scores.astype(np.float32).tobytes())


def _path(store: TableStore, entry: IndexManifestEntry) -> str:
    return index_path(store, entry.partition, entry.bucket, entry.file)


def _open(store: TableStore, file: IndexFileMeta, path: str) -> VectorIndexFile:
    covers = file.global_index
    assert covers is not None
    rows = covers.row_range_end - covers.row_range_start + 1
    return open_vector_index(path, file.index_type, file.file_size, rows, IndexInput(store, path))


def _allowed(store: TableStore, rows: Rows, has_condition: bool, probe: IndexProbe) -> NDArray[np.bool_]:
    """Return which rows of a file the search may find: rows that exist, and satisfy the condition."""
    start, end = probe.span
    found = np.zeros(end - start, dtype=np.bool_)
    for split in probe.splits:
        if has_condition:
            for batch in rows(split, [ROW_ID]):
                ids = batch.column(0).to_numpy() - start
                found[ids[(ids >= 0) & (ids < len(found))]] = True
            continue
        kept = decode_row_ids("<split>", split.row_ids) if split.row_ids else None
        for of in row_ranges(split.files):
            known = np.ones(of.count, dtype=np.bool_)
            if kept is not None:
                known[:] = False
                known[np.asarray((kept & _span(of.first, of.first + of.count)).to_array(), np.int64) - of.first] = True
            deletion = split.deletions_by_file.get(of.anchor.file_name)
            if deletion is not None:
                known[read_deletions(store, deletion, of.count)] = False
            low, high = max(start, of.first), min(end, of.first + of.count)
            if low < high:
                found[low - start : high - start] = known[low - of.first : high - of.first]
    return found


def _span(start: int, end: int) -> RowIds:
    rows = RowIds()
    rows.add_range(start, end)
    return rows


def _compared(query: VectorQuery, rows: Rows, splits: Sequence[DataSplit], ids: RowIds) -> FoundIds:
    """Compare the vectors of rows."""
    names = [ROW_ID, query.column]
    within = [replace(s, row_ids=encode_row_ids(ids)) for s in splits] if ids else []
    batches = [b for split in within for b in rows(split, names)]
    if not batches:
        return FoundIds(b"", b"")
    found = nearest(batches, query, batches[0].schema)
    scores = found.column(SEARCH_SCORE).to_numpy()
    return FoundIds(found.column(ROW_ID).to_numpy().astype(np.int64).tobytes(), scores.astype(np.float32).tobytes())


def _overlapping(splits: Sequence[DataSplit], span: tuple[int, int]) -> tuple[DataSplit, ...]:
    start, end = span
    parts = (_within(s, lambda first, behind: first < end and start < behind) for s in splits)
    return tuple(p for p in parts if p.files)


def _within(split: DataSplit, keeps: Callable[[int, int], bool]) -> DataSplit:
    """Return the part of a split with some row ranges. `keeps` gets the first id of a range and the id after it."""
    kept = [r for r in row_ranges(split.files) if keeps(r.first, r.first + r.count)]
    anchors = {r.anchor.file_name for r in kept}
    deletions = tuple(d for d in split.deletions if d.vector.data_file in anchors)
    return replace(split, files=tuple(f for r in kept for f in r.all_files), deletions=deletions)


def _outside(split: DataSplit, spans: Sequence[tuple[int, int]]) -> Iterator[DataSplit]:
    """Yield the part of a split with rows outside of spans."""
    ids = decode_row_ids("<split>", split.row_ids) if split.row_ids else RowIds()
    if not split.row_ids:
        for of in row_ranges(split.files):
            ids.add_range(of.first, of.first + of.count)
    whole = len(ids)
    for start, end in spans:
        ids.remove_range(start, end)
    if len(ids) == whole:
        yield split
    elif ids:
        part = _within(split, lambda first, end: bool(ids.range_cardinality(first, end)))
        yield replace(part, row_ids=encode_row_ids(ids))
