"""What a change means for global indexes: pure decisions.

1. A new index file covers rows that are there, and no rows that another file of the same type and column covers.
2. Nobody has written the column of these rows since the version that the index was made of.
3. Where the column of rows that are there is written, the indexes of the partition are out of date.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from paimon_core.spec.index_manifest import GlobalIndexMeta, IndexManifestEntry
from paimon_core.spec.manifest import DataFileMeta, FileIdentifier, FileKind, FileSource, ManifestEntry
from paimon_core.spec.row_ranges import is_blob
from paimon_core.store.indexes.global_indexes import RowSpan, joined, without

WrittenIds = Callable[[DataFileMeta], frozenset[int]]  # the ids of the columns of which a file has new values


def stale_indexes(
    before: Iterable[IndexManifestEntry], entries: Iterable[ManifestEntry], written: WrittenIds
) -> list[IndexManifestEntry]:
    """The index files of columns that `entries` write, in the partitions where they do."""
    updated: dict[bytes, set[int]] = defaultdict(set)
    for entry in entries:
        if entry.kind is FileKind.ADD and _updates(entry.file):
            updated[entry.partition] |= written(entry.file)
    return [
        e
        for e in before
        if e.partition in updated
        and e.file.global_index is not None
        and not updated[e.partition].isdisjoint(e.file.global_index.field_ids)
    ]


def find_global_index_conflict(
    before: Iterable[IndexManifestEntry],
    delta: Sequence[IndexManifestEntry],
    live: Mapping[FileIdentifier, ManifestEntry],
    base: int | None,
    written: WrittenIds,
) -> str | None:
    """What makes the index files that `delta` adds impossible on top of `before` and the `live` data files of their
    partitions; `base` is the snapshot that the index was made of."""
    added = [(e, m) for e in delta if e.kind is FileKind.ADD and (m := e.file.global_index) is not None]
    added = [(e, m) for e, m in added if m.source_meta is None]
    if not added:
        return None
    deleted = {e.file.file_name for e in delta if e.kind is FileKind.DELETE}
    kept = [e for e in before if e.file.file_name not in deleted]
    files: dict[bytes, list[DataFileMeta]] = defaultdict(list)
    for data in live.values():
        if data.file.first_row_id is not None and not is_blob(data.file):
            files[data.partition].append(data.file)
    there = {partition: joined(map(_rows, of)) for partition, of in files.items()}
    newer = {p: [f for f in of if base is not None and f.max_sequence_number > base] for p, of in files.items()}
    for entry, meta in added:
        problem = _covered_twice(entry, meta, kept) or _without_rows(entry, meta, there.get(entry.partition, []))
        problem = problem or _written_since(meta, newer.get(entry.partition, []), written)
        if problem is not None:
            return problem
    return None


def _covered_twice(added: IndexManifestEntry, meta: GlobalIndexMeta, kept: Iterable[IndexManifestEntry]) -> str | None:
    for entry in kept:
        other = entry.file.global_index
        if other is None or other.source_meta is not None or entry.file.index_type != added.file.index_type:
            continue
        overlaps = other.row_range_start <= meta.row_range_end and meta.row_range_start <= other.row_range_end
        if other.index_field_id == meta.index_field_id and (overlaps or other.field_ids != meta.field_ids):
            return (
                f"rows {meta.row_range_start} to {meta.row_range_end} would get a second {entry.file.index_type} index "
                f"of column {meta.index_field_id}: {entry.file.file_name} is there already"
            )
    return None


def _without_rows(added: IndexManifestEntry, meta: GlobalIndexMeta, there: Sequence[RowSpan]) -> str | None:
    missing = without([_span(meta)], there)
    if not missing:
        return None
    return f"rows {missing[0][0]} to {missing[0][1] - 1} of index file {added.file.file_name} are no longer there"


def _written_since(meta: GlobalIndexMeta, newer: Iterable[DataFileMeta], written: WrittenIds) -> str | None:
    start, end = _span(meta)
    for file in filter(_updates, newer):
        first, behind = _rows(file)
        if first < end and start < behind and not written(file).isdisjoint(meta.field_ids):
            return f"rows {first} to {behind - 1} were updated by another commit while their index was made"
    return None


def _updates(file: DataFileMeta) -> bool:
    """Whether a file holds new values of rows that were there before."""
    return file.write_cols is not None and file.first_row_id is not None and file.file_source == FileSource.APPEND


def _span(meta: GlobalIndexMeta) -> RowSpan:
    return meta.row_range_start, meta.row_range_end + 1


def _rows(file: DataFileMeta) -> RowSpan:
    first = file.first_row_id or 0
    return first, first + file.row_count
