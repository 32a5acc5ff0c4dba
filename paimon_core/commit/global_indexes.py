"""The effects of a change on global indexes, and on indexes of buckets with keys.

1. A new index file covers only existing rows. No other file of the same type and column covers them.
2. No other commit has written the column of these rows since the index was made.
3. If a change writes the column of existing rows, the indexes of the partition are outdated.
4. If a change removes rows, because it writes them anew with other ids, the indexes that cover them are outdated.

An index of a bucket with keys (`pk-btree.index.columns` and its like) covers the data files of one level. Once the
level changes, the index no longer fits, and the snapshot must not refer to it. Without an index, readers scan the
files; the next compaction by Paimon's Java connector makes a new index.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from paimon_core.commit.attempt import Attempt, Conflict
from paimon_core.commit.changes import CommitChange
from paimon_core.commit.range_conflicts import removed_rows
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.options import DATA_EVOLUTION, GLOBAL_INDEX_UPDATE_ACTION
from paimon_core.spec.index_manifest import GlobalIndexMeta, IndexManifestEntry
from paimon_core.spec.manifest import DataFileMeta, FileKind, FileSource, ManifestEntry
from paimon_core.spec.row_ranges import is_blob, is_part
from paimon_core.store.file_fields import fields_of_file
from paimon_core.store.indexes.global_indexes import RowSpan, joined, without
from paimon_core.store.table_store import TableStore


def outdated_indexes(
    store: TableStore, change: CommitChange, before: Sequence[IndexManifestEntry], entries: Iterable[ManifestEntry]
) -> list[IndexManifestEntry]:
    """Return DELETE entries for the global indexes in `before` with columns that `entries` update.

    Raises `UnsupportedFeatureError` if the table's options require an error instead.
    """
    action = store.options[GLOBAL_INDEX_UPDATE_ACTION]
    if change.replaces or action == "ignore" or not any(e.file.global_index for e in before):
        return []
    updated: dict[bytes, set[int]] = defaultdict(set)
    for entry in entries:
        if entry.kind is FileKind.ADD and _updates(entry.file):
            updated[entry.partition] |= _written_columns(store, entry.file)
    outdated = [
        e
        for e in before
        if e.partition in updated
        and e.file.global_index is not None
        and not updated[e.partition].isdisjoint(e.file.global_index.field_ids)
    ]
    if outdated and action == "throw_error":
        names = {f.id: f.name for f in store.schema.fields}
        ids = {i for e in outdated if e.file.global_index is not None for i in e.file.global_index.field_ids}
        raise UnsupportedFeatureError(
            f"Table {store.name} cannot be updated: update columns contain globally indexed columns, not supported now "
            f"({', '.join(sorted(names[i] for i in ids if i in names))}). Drop their index by CALL "
            f"sys.drop_global_index, or set '{GLOBAL_INDEX_UPDATE_ACTION.key}' = 'DROP_PARTITION_INDEX', which drops "
            "the indexes of the partitions that are updated."
        )
    return [replace(e, kind=FileKind.DELETE) for e in outdated]


def indexes_of_removed_rows(
    store: TableStore, before: Iterable[IndexManifestEntry], entries: Sequence[ManifestEntry]
) -> list[IndexManifestEntry]:
    """Return DELETE entries for the global indexes in `before` that cover rows that `entries` remove."""
    removed = removed_rows(entries) if store.options[DATA_EVOLUTION] else {}
    covering = [(e, m) for e in before if e.partition in removed and (m := e.file.global_index) is not None]
    return [
        replace(e, kind=FileKind.DELETE)
        for e, m in covering
        if m.source_meta is None and without([_span(m)], removed[e.partition]) != [_span(m)]
    ]


def global_index_conflict(attempt: Attempt) -> Conflict | None:
    """Find new index files with rows that already have an index, do not exist, or were updated since `rows_base`.

    `rows_base` is the snapshot with the rows that the index was made from.
    """
    delta, base = attempt.index_entries, attempt.change.rows_base
    added = [(e, m) for e in delta if e.kind is FileKind.ADD and (m := e.file.global_index) is not None]
    added = [(e, m) for e, m in added if m.source_meta is None]
    if not added:
        return None
    deleted = {e.file.file_name for e in delta if e.kind is FileKind.DELETE}
    kept = [e for e in attempt.indexes if e.file.file_name not in deleted]
    files: dict[bytes, list[DataFileMeta]] = defaultdict(list)
    for data in attempt.live.values():
        if data.file.first_row_id is not None and not is_blob(data.file):
            files[data.partition].append(data.file)
    there = {partition: joined(_rows(f) for f in of if not is_part(f)) for partition, of in files.items()}
    newer = {p: [f for f in of if base is not None and f.max_sequence_number > base] for p, of in files.items()}
    for entry, meta in added:
        reason = (
            _covered_twice(entry, meta, kept)
            or _without_rows(entry, meta, there.get(entry.partition, []))
            or _written_since(attempt.store, meta, newer.get(entry.partition, []))
        )
        if reason is not None:
            return Conflict(reason)
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
                f"of column {meta.index_field_id}: {entry.file.file_name} already exists"
            )
    return None


def _without_rows(added: IndexManifestEntry, meta: GlobalIndexMeta, there: Sequence[RowSpan]) -> str | None:
    missing = without([_span(meta)], there)
    if not missing:
        return None
    return f"rows {missing[0][0]} to {missing[0][1] - 1} of index file {added.file.file_name} no longer exist"


def _written_since(store: TableStore, meta: GlobalIndexMeta, newer: Iterable[DataFileMeta]) -> str | None:
    start, end = _span(meta)
    for file in filter(_updates, newer):
        first, last = _rows(file)[0], _rows(file)[1] - 1
        if first < end and start <= last and not _written_columns(store, file).isdisjoint(meta.field_ids):
            return f"another commit updated rows {first} to {last} while their index was made"
    return None


def _written_columns(store: TableStore, file: DataFileMeta) -> frozenset[int]:
    """Return the ids of the columns in a file. Reads the file's schema."""
    return frozenset(f.id for f in fields_of_file(store, file))


def _updates(file: DataFileMeta) -> bool:
    """Return whether a file has new values of existing rows."""
    return file.write_cols is not None and file.first_row_id is not None and file.file_source == FileSource.APPEND


def _span(meta: GlobalIndexMeta) -> RowSpan:
    return meta.row_range_start, meta.row_range_end + 1


def _rows(file: DataFileMeta) -> RowSpan:
    first = file.first_row_id or 0
    return first, first + file.row_count


def stale_indexes(before: Iterable[IndexManifestEntry], entries: Iterable[ManifestEntry]) -> list[IndexManifestEntry]:
    """Return DELETE entries for those indexes in `before` that cover a level with changes in `entries`. An index of an
    unfamiliar form is deleted if any level of its bucket above 0 changes.
    """
    indexes = [e for e in before if e.file.global_index is not None and e.file.global_index.source_meta is not None]
    if not indexes:
        return []
    levels: dict[tuple[bytes, int], set[int]] = defaultdict(set)
    for entry in entries:
        if entry.file.level > 0:
            levels[entry.partition, entry.bucket].add(entry.file.level)
    return [
        replace(e, kind=FileKind.DELETE) for e in indexes if _is_of(e, levels.get((e.partition, e.bucket), frozenset()))
    ]


def _is_of(entry: IndexManifestEntry, levels: set[int] | frozenset[int]) -> bool:
    meta = entry.file.global_index
    level = None if meta is None else meta.level
    return bool(levels) if level is None else level in levels
