"""New row ids for the rows of partitions, which a commit writes into metadata only.

Rows get their ids in the order of commits. So the rows of a partition that many commits wrote have ids with gaps, and
a condition on ids, or a global index, covers rows of other partitions. Here the rows of each such partition get
consecutive new ids, in their order. The new ids follow all ids that the table has used: an old id then names no row.
Data files stay as they are, as their metadata has the id of their first row. Global indexes count from their first row,
so they move with the rows. An index that covers rows with gaps between them is dropped.
Source: `DataEvolutionRowIdReassigner` of Paimon.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from paimon_core.arrow.types import ROW_ID
from paimon_core.dataclass import dataclass
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.options import DATA_EVOLUTION, REASSIGN_SKIP_CONTIGUOUS, ROW_TRACKING
from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.index_manifest import IndexManifestEntry
from paimon_core.spec.manifest import DataFileMeta, ManifestEntry, ManifestFileMeta
from paimon_core.spec.row_ranges import row_ranges
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.stats import bound_order
from paimon_core.store.indexes.global_indexes import RowSpan, joined
from paimon_core.store.indexes.index_files import index_entries
from paimon_core.store.manifests import live_files, read_columns, write_manifests
from paimon_core.store.partitions import PartitionFilter, only_partitions
from paimon_core.store.table_store import TableStore


@dataclass(frozen=True, slots=True)
class MovedRows:
    """Ordered spans of old row ids without overlap, and the new id of the first row of each span."""

    spans: tuple[RowSpan, ...]
    new_starts: tuple[int, ...]

    def new_start(self, first: int, end: int) -> int | None:
        """Return the new id of row `first`, None if not all rows before `end` move together."""
        index = bisect_right(self.spans, first, key=lambda span: span[0]) - 1
        if index < 0 or end > self.spans[index][1]:
            return None
        return self.new_starts[index] + first - self.spans[index][0]

    def overlaps(self, first: int, end: int) -> bool:
        """Return whether any row from `first` to before `end` moves."""
        return any(low < end and first < high for low, high in self.spans)


@dataclass(frozen=True, slots=True, kw_only=True)
class Renumbering:
    """The new row ids, by partition: from `first` to before `next_row_id`. `files` are the live files that get them.

    `indexes` are the index files of the version with the new ids, None if they stay the same. `moved_indexes` of them
    have new ids, and `dropped_indexes` are the names of files that cannot have them.
    """

    first: int
    next_row_id: int
    moved: Mapping[bytes, MovedRows]
    files: tuple[ManifestEntry, ...] = ()
    indexes: tuple[IndexManifestEntry, ...] | None = None
    moved_indexes: int = 0
    dropped_indexes: tuple[str, ...] = ()

    def entry(self, entry: ManifestEntry) -> ManifestEntry:
        """Return an entry of a manifest with the new id of the file's first row."""
        moved, first = self.moved.get(entry.partition), entry.file.first_row_id
        new = None if moved is None or first is None else moved.new_start(first, first + entry.file.row_count)
        return entry if new is None else replace(entry, file=replace(entry.file, first_row_id=new))

    def index(self, entry: IndexManifestEntry) -> IndexManifestEntry | None:
        """Return an index file with the new ids of its rows; None if they are not consecutive."""
        meta, moved = entry.file.global_index, self.moved.get(entry.partition)
        if meta is None or meta.source_meta is not None or moved is None:
            return entry
        first, end = meta.row_range_start, meta.row_range_end + 1
        new = moved.new_start(first, end)
        if new is None:
            return None if moved.overlaps(first, end) else entry
        covers = replace(meta, row_range_start=new, row_range_end=new + end - first - 1)
        return replace(entry, file=replace(entry.file, global_index=covers))


def check_renumbers(store: TableStore) -> None:
    """Raise `UnsupportedFeatureError` if a table's rows cannot get new ids."""
    missing = [o.key for o in (ROW_TRACKING, DATA_EVOLUTION) if not store.options[o]]
    if missing:
        raise UnsupportedFeatureError(
            f"Table {store.name} must enable '{missing[0]}=true' before reassigning row IDs: both "
            f"'{ROW_TRACKING.key}' and '{DATA_EVOLUTION.key}' are set when a table is created."
        )


def find_renumbering(store: TableStore, snapshot: Snapshot, chosen: PartitionFilter) -> Renumbering | None:
    """Return the new row ids of those chosen partitions of a version that have ids with gaps, None if none has.

    Rows with more consecutive ids than `data-evolution.reassign.skip-contiguous-row-count` keep them. Raises
    `UnsupportedFeatureError`, `UnfamiliarFormError`, `StorageError`.
    """
    if not store.schema.partition_keys:
        return None
    if snapshot.next_row_id is None:
        raise UnsupportedFeatureError(
            f"Snapshot {snapshot.id} of table {store.name} does not say which row ids are unused. Write to the table "
            "with row tracking, and call the procedure again."
        )
    files: dict[bytes, list[ManifestEntry]] = defaultdict(list)
    for entry in live_files(store, snapshot, chosen).values():
        files[entry.partition].append(entry)
    moved: dict[bytes, MovedRows] = {}
    next_row_id = snapshot.next_row_id
    for partition in _in_order(store, files):
        spans = _spans(store, [e.file for e in files[partition]])
        if len(spans) > 1:
            ends = next_row_id + np.cumsum([high - low for low, high in spans])
            moved[partition] = MovedRows(tuple(spans), (next_row_id, *ends[:-1].tolist()))
            next_row_id = int(ends[-1])
    if not moved:
        return None
    found = Renumbering(first=snapshot.next_row_id, next_row_id=next_row_id, moved=moved)
    found = replace(found, files=tuple(e for p in moved for e in files[p] if found.entry(e) is not e))
    return _with_indexes(found, index_entries(store, snapshot))


def renumbered_manifests(
    store: TableStore, manifests: Sequence[ManifestFileMeta], plan: Renumbering
) -> Iterator[ManifestFileMeta]:
    """Yield manifests of the same files with new row ids. Manifests without such files stay."""
    partitions = only_partitions(store.schema.partition_fields, plan.moved)
    for manifest in manifests:
        columns = read_columns(store, manifest.file_name) if partitions.may_hold(manifest) else None
        before = columns.entries(np.arange(len(columns))) if columns is not None else []
        after = [plan.entry(e) for e in before]
        if all(new is old for new, old in zip(after, before, strict=True)):
            yield manifest
        else:
            yield from write_manifests(store, after)


def _with_indexes(plan: Renumbering, before: Sequence[IndexManifestEntry]) -> Renumbering:
    after = [plan.index(e) for e in before]
    changed = [(old, new) for old, new in zip(before, after, strict=True) if new is not old]
    return replace(
        plan,
        indexes=tuple(e for e in after if e is not None) if changed else None,
        moved_indexes=sum(new is not None for _, new in changed),
        dropped_indexes=tuple(old.file.file_name for old, new in changed if new is None),
    )


def _in_order(store: TableStore, files: Mapping[bytes, Sequence[ManifestEntry]]) -> list[bytes]:
    """Return partitions ordered by their values, then by their first row."""
    types = store.schema.types(store.schema.partition_keys)

    def order(partition: bytes) -> tuple[list[object], int]:
        values = [bound_order(value) for value in decode_row(types, partition)]
        return values, min(e.file.first_row_id or 0 for e in files[partition])

    return sorted(files, key=order)


def _spans(store: TableStore, files: Sequence[DataFileMeta]) -> list[RowSpan]:
    """Return the row ids of a partition as ordered spans, without long ones that keep their ids."""
    stored = next((f for f in files if f.write_cols is not None and ROW_ID in f.write_cols), None)
    if stored is not None:
        raise UnsupportedFeatureError(
            f"Cannot reassign row IDs for file {stored.file_name} of table {store.name}: it stores the ids of its rows "
            "in a column. Choose other partitions."
        )
    spans = joined((r.first, r.first + r.count) for r in row_ranges(files))
    longest = store.options[REASSIGN_SKIP_CONTIGUOUS]
    return [s for s in spans if s[1] - s[0] <= longest] if longest else spans
