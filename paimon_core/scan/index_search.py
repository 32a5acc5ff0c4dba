"""The parts that searches by indexes share: the files to search, their answers as row ids with scores, and the rows.

An index finds rows by id, with their scores; the caller reads the rows. Deleted rows, and rows that do not satisfy the
condition of the search, are left out before the search in a file. So the search still finds as many rows as are wanted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.nearest import SEARCH_SCORE, Floats, largest
from paimon_core.arrow.types import ROW_ID
from paimon_core.dataclass import dataclass
from paimon_core.indexes.global_index.grouped_rows import RowIds, decode_row_ids, encode_row_ids
from paimon_core.scan.plan import Plan
from paimon_core.spec.index_manifest import INDEX_FILE_META, IndexFileMeta, IndexManifestEntry
from paimon_core.spec.records import Column, Record
from paimon_core.spec.row_ranges import row_ranges
from paimon_core.spec.split import DATA_SPLIT, DataSplit
from paimon_core.spec.types import DataField
from paimon_core.store.indexes.global_indexes import RowSpan, covered, kept_its_type, of_column
from paimon_core.store.indexes.index_files import index_entries, index_path, read_deletions
from paimon_core.store.table_store import TableStore

FAST = "fast"  # the search mode that leaves out rows without an index
Rows = Callable[[DataSplit, Sequence[str]], Iterator[pa.RecordBatch]]


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


class Limited(Protocol):
    """A query with the number of rows to return."""

    @property
    def limit(self) -> int: ...


QueryT = TypeVar("QueryT", bound=Limited)


@dataclass(frozen=True, slots=True)
class IndexedSearch(Generic[QueryT]):
    """A search in a version: the query with the settings that apply, the index files to search, and the splits with
    rows that no index covers.
    """

    query: QueryT
    probes: tuple[IndexProbe, ...]
    rest: tuple[DataSplit, ...]

    def describe(self) -> str:
        """Return a text for EXPLAIN."""
        if not self.probes:
            return "no index"
        files = f"{len(self.probes)} files of the index {self.probes[0].file.index_type}"
        return f"{files}, {len(self.rest)} splits without"

    def chosen(self, found: Sequence[FoundIds]) -> tuple[NDArray[np.int64], Floats]:
        """Return the ids and scores of the best rows in the answers of all files."""
        return best(found, self.query.limit)

    def splits_of(self, ids: NDArray[np.int64]) -> tuple[DataSplit, ...]:
        """Return splits with the rows with these ids."""
        return splits_with([s for probe in self.probes for s in probe.splits], ids)


@dataclass(frozen=True, slots=True)
class FoundIds:
    """The ids and scores of found rows, as bytes of int64 and float32."""

    ids: bytes
    scores: bytes

    @staticmethod
    def of(ids: NDArray[np.int64], scores: Floats) -> FoundIds:
        return FoundIds(ids.astype(np.int64).tobytes(), scores.astype(np.float32).tobytes())


FOUND_IDS = Record("found ids", FoundIds, (Column("ids", "ids", "bytes"), Column("scores", "scores", "bytes")))


def best(found: Sequence[FoundIds], limit: int) -> tuple[NDArray[np.int64], Floats]:
    """Return the ids and scores of the rows with the largest scores in several answers, the largest first.

    Files of indexes may cover the same rows: a row that they find twice counts once, with its largest score.
    """
    ids = np.concatenate([np.frombuffer(f.ids, dtype=np.int64) for f in found] or [np.zeros(0, np.int64)])
    scores = np.concatenate([np.frombuffer(f.scores, dtype=np.float32) for f in found] or [np.zeros(0, np.float32)])
    order = np.lexsort((-scores, ids))
    order = np.sort(order[np.diff(ids[order], prepend=-1) != 0])  # the first answer of each row
    chosen = order[largest(scores[order], limit)]
    return ids[chosen], scores[chosen]


def splits_with(splits: Sequence[DataSplit], ids: NDArray[np.int64]) -> tuple[DataSplit, ...]:
    """Return the parts of splits that have the rows with these ids, each file once."""
    wanted, known = RowIds(ids), set[str]()
    found = []
    for split in splits:
        part = replace(split, files=tuple(f for f in split.files if f.file_name not in known))
        known |= {f.file_name for f in split.files}
        part = within(part, lambda first, end: bool(wanted.range_cardinality(first, end)))
        if part.files:
            found.append(replace(part, row_ids=encode_row_ids(wanted)))
    return tuple(found)


def entries_by_type(
    store: TableStore, plan: Plan, field: DataField, types: Sequence[str]
) -> dict[str, list[IndexManifestEntry]]:
    """Return the index files of some types of a column that a search in a plan can use, by their type."""
    by_type: dict[str, list[IndexManifestEntry]] = defaultdict(list)
    for entry in of_column(index_entries(store, plan.snapshot), field.id, types):
        by_type[entry.file.index_type].append(entry)
    return by_type if by_type and kept_its_type(store, field) else {}


def path_of(store: TableStore, entry: IndexManifestEntry) -> str:
    """Return the path of an index file."""
    return index_path(store, entry.partition, entry.bucket, entry.file)


def probes_of(
    store: TableStore, splits: Sequence[DataSplit], entries: Sequence[IndexManifestEntry]
) -> tuple[IndexProbe, ...]:
    """Return the index files to search, with their splits."""
    probes = [IndexProbe(e.file, path_of(store, e), ()) for e in entries]
    probes = [replace(p, splits=_overlapping(splits, p.span)) for p in probes]
    return tuple(p for p in probes if p.splits)


def not_covered(splits: Sequence[DataSplit], entries: Sequence[IndexManifestEntry]) -> tuple[DataSplit, ...]:
    """Return the parts of splits with rows that no index file covers."""
    spans: Sequence[RowSpan] = covered(e.file for e in entries)
    return tuple(s for split in splits for s in _outside(split, spans))


def with_scores(rows: pa.Table, ids: NDArray[np.int64], scores: Floats) -> pa.Table:
    """Return rows, which have their ids in a column, with the scores of these ids in a last column."""
    order = np.argsort(ids)
    at = order[np.searchsorted(ids[order], rows.column(ROW_ID).to_numpy())]
    score = pa.field(SEARCH_SCORE, pa.float32(), nullable=False)
    return rows.append_column(score, pa.array(scores[at], pa.float32()))


def allowed_rows(store: TableStore, rows: Rows, has_condition: bool, probe: IndexProbe) -> NDArray[np.bool_]:
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


def _overlapping(splits: Sequence[DataSplit], span: tuple[int, int]) -> tuple[DataSplit, ...]:
    start, end = span
    parts = (within(s, lambda first, behind: first < end and start < behind) for s in splits)
    return tuple(p for p in parts if p.files)


def within(split: DataSplit, keeps: Callable[[int, int], bool]) -> DataSplit:
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
        part = within(split, lambda first, end: bool(ids.range_cardinality(first, end)))
        yield replace(part, row_ids=encode_row_ids(ids))
