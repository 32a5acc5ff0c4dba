"""The changes of a snapshot: commit messages of writers as manifest entries, and the live files that they replace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from paimon_core.commit.renumbering import Renumbering
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError
from paimon_core.expressions.predicate import Predicate
from paimon_core.lsm.compaction import last_level
from paimon_core.lsm.runs import KeyRange, key_range, share_keys
from paimon_core.options import OVERWRITE_UPGRADE, PK_CLUSTERING_OVERRIDE
from paimon_core.spec.index_manifest import DELETION_VECTORS_INDEX, IndexFileMeta, IndexManifestEntry
from paimon_core.spec.manifest import DataFileMeta, FileIdentifier, FileKind, ManifestEntry
from paimon_core.spec.message import CommitMessage, index_base_of, rows_base_of
from paimon_core.spec.snapshot import CommitKind, Snapshot
from paimon_core.store.partitions import PartitionFilter, only_partitions
from paimon_core.store.table_store import TableStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Overwrite:
    """An overwrite: which partitions and files it replaces.

    It replaces the partitions that satisfy `predicate`, or the whole table without one. If `dynamic`, it replaces the
    partitions that get rows. With `older_than`, it replaces only files written before this time, by the wall clock of
    their writer."""

    predicate: Predicate | None = None
    dynamic: bool = False
    older_than: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitChange:
    """The changes of one snapshot: `entries` of data files and `index` entries. If it `replaces`, it also deletes all
    other files in `scope`.

    `changelog` are the files with the changed rows and their row kinds. `scope` are the partitions with live files to
    check for conflicts; None if no check is needed. `statistics` names the statistics file of the snapshot; with None,
    the snapshot keeps the file of the snapshot before. `older_than` is copied from the `Overwrite`.

    `index_base` is the snapshot (0 for an empty table) with hash indexes that must still be the latest ones.
    `rows_base` is a snapshot, too: since then, no other commit may have written the same columns of the same rows. None
    in either means no check. `renumbering` returns the new row ids of the rows of a version.
    """

    kind: CommitKind
    entries: tuple[ManifestEntry, ...]
    scope: PartitionFilter | None
    replaces: bool = False
    index: tuple[IndexManifestEntry, ...] = ()
    index_base: int | None = None
    rows_base: int | None = None
    changelog: tuple[ManifestEntry, ...] = ()
    statistics: str | None = None
    older_than: datetime | None = None
    renumbering: Callable[[Snapshot | None], Renumbering] | None = None

    def against(self, live: Mapping[FileIdentifier, ManifestEntry]) -> list[ManifestEntry]:
        """Return the entries of the snapshot's delta, given the live files in scope."""
        deleted = [replace(e, kind=FileKind.DELETE) for e in live.values()] if self.replaces else []
        return [*deleted, *self.entries]

    def index_against(self, before: Iterable[IndexManifestEntry]) -> list[IndexManifestEntry]:
        """Return the ADD and DELETE entries of index files, given the index files of the version before."""
        if not self.replaces or self.scope is None:
            return list(self.index)
        replaced = [e for e in before if self.scope.holds(e.partition)]
        return [*(replace(e, kind=FileKind.DELETE) for e in replaced), *self.index]


@dataclass(frozen=True, slots=True)
class Delta:
    """The changes from one snapshot to the next.

    `index` are all index files of the new snapshot, or None if they stay the same. `changelog` are the files with the
    changed rows, `statistics` names a new statistics file. With row tracking, `next_row_id` is the first unused row id.
    `renumbering` are new row ids of the rows before.
    """

    entries: Sequence[ManifestEntry]
    index: Sequence[IndexManifestEntry] | None = None
    changelog: Sequence[ManifestEntry] = ()
    statistics: str | None = None
    next_row_id: int = 0
    renumbering: Renumbering | None = None


def changes_of(store: TableStore, messages: Sequence[CommitMessage], overwrite: Overwrite | None) -> list[CommitChange]:
    """Return the snapshots to make for messages, in order: first for the written files, then for the compacted files.

    Empty messages make no snapshot. Raises `InvalidDataError` if a file is outside the partitions that are overwritten.
    """
    written, compacted = tuple(_written(messages)), tuple(_compacted(messages))
    index = tuple(_index_entries(messages, "deleted_index_files", "new_index_files"))
    compact_index = tuple(_index_entries(messages, "compact_deleted_index_files", "compact_new_index_files"))
    if overwrite is None:
        first = _append(store, written, index, index_base_of(messages))
        if first is not None:
            changelog = _changelog(messages, "new_changelog")
            first = replace(first, changelog=changelog, rows_base=rows_base_of(messages))
    else:
        first = _overwrite(store, written, index, overwrite)
        if first is not None:
            first = replace(first, index_base=index_base_of(messages), older_than=overwrite.older_than)
    second = _compact(store, compacted, compact_index)
    if second is not None:
        second = replace(second, changelog=_changelog(messages, "compact_changelog"))
    return [c for c in (first, second) if c is not None]


def _append(
    store: TableStore,
    entries: tuple[ManifestEntry, ...],
    index: tuple[IndexManifestEntry, ...],
    index_base: int | None,
) -> CommitChange | None:
    if not entries and not index:
        return None
    # Readers of the table's log must see a commit that deletes rows as an overwrite.
    removes = any(e.kind is FileKind.DELETE for e in entries)
    removes = removes or any(e.file.index_type == DELETION_VECTORS_INDEX for e in index)
    checked = removes or bool(index) or index_base is not None or any(e.total_buckets > 0 for e in entries)
    checked = checked or any(e.file.first_row_id is not None for e in entries)  # these are columns of existing rows
    return CommitChange(
        kind=CommitKind.OVERWRITE if removes else CommitKind.APPEND,
        entries=entries,
        index=index,
        scope=_touched(store, [*entries, *index]) if checked else None,
        index_base=index_base,
    )


def _compact(
    store: TableStore, entries: tuple[ManifestEntry, ...], index: tuple[IndexManifestEntry, ...]
) -> CommitChange | None:
    if not entries and not index:
        return None
    scope = _touched(store, [*entries, *index])
    return CommitChange(kind=CommitKind.COMPACT, entries=entries, index=index, scope=scope)


def _overwrite(
    store: TableStore,
    entries: tuple[ManifestEntry, ...],
    index: tuple[IndexManifestEntry, ...],
    overwrite: Overwrite,
) -> CommitChange | None:
    if overwrite.dynamic and store.schema.partition_keys:
        if not entries:
            return None
        scope, entries = _touched(store, entries), _upgraded(store, entries)
        return CommitChange(kind=CommitKind.OVERWRITE, entries=entries, index=index, scope=scope, replaces=True)
    scope = PartitionFilter(store.schema.partition_fields, predicate=overwrite.predicate)
    for entry in entries:
        if not scope.holds(entry.partition):
            raise InvalidDataError(
                f"An overwrite of other partitions of {store.name} cannot write rows of partition "
                f"{store.partition_spec(entry.partition)}: write only rows of the partitions you overwrite."
            )
    entries = _upgraded(store, entries)
    return CommitChange(kind=CommitKind.OVERWRITE, entries=entries, index=index, scope=scope, replaces=True)


def _upgraded(store: TableStore, entries: tuple[ManifestEntry, ...]) -> tuple[ManifestEntry, ...]:
    """Put the new files of a bucket on the last level if no other file there has their keys: a compaction would have
    nothing to merge.
    """
    options, keyed = store.options, store.has_primary_key and not store.options[PK_CLUSTERING_OVERRIDE]
    if not keyed or not options[OVERWRITE_UPGRADE] or any(e.file.level > 0 or e.bucket < 0 for e in entries):
        return entries
    key_types = store.schema.types(store.schema.trimmed_primary_keys)
    buckets = defaultdict[tuple[bytes, int], list[KeyRange]](list)
    for entry in entries:
        buckets[entry.partition, entry.bucket].append(key_range(entry.file, key_types))
    distinct = {bucket for bucket, keys in buckets.items() if not share_keys(keys)}
    level = last_level(options)
    return tuple(
        replace(e, file=replace(e.file, level=level)) if (e.partition, e.bucket) in distinct else e for e in entries
    )


def _touched(store: TableStore, entries: Iterable[ManifestEntry | IndexManifestEntry]) -> PartitionFilter:
    return only_partitions(store.schema.partition_fields, (e.partition for e in entries))


def _written(messages: Iterable[CommitMessage]) -> Iterator[ManifestEntry]:
    for message in messages:
        yield from (_entry(FileKind.DELETE, message, f) for f in message.deleted_files)
        yield from (_entry(FileKind.ADD, message, f) for f in message.new_files)


def _compacted(messages: Iterable[CommitMessage]) -> Iterator[ManifestEntry]:
    for message in messages:
        yield from (_entry(FileKind.DELETE, message, f) for f in message.compact_before)
        yield from (_entry(FileKind.ADD, message, f) for f in message.compact_after)


def _changelog(messages: Iterable[CommitMessage], files: str) -> tuple[ManifestEntry, ...]:
    return tuple(_entry(FileKind.ADD, m, f) for m in messages for f in getattr(m, files))


def _index_entries(messages: Iterable[CommitMessage], deleted: str, added: str) -> Iterator[IndexManifestEntry]:
    for message in messages:
        yield from (_index_entry(FileKind.DELETE, message, f) for f in getattr(message, deleted))
        yield from (_index_entry(FileKind.ADD, message, f) for f in getattr(message, added))


def _index_entry(kind: FileKind, message: CommitMessage, file: IndexFileMeta) -> IndexManifestEntry:
    return IndexManifestEntry(kind=kind, partition=message.partition, bucket=message.bucket, file=file)


def _entry(kind: FileKind, message: CommitMessage, file: DataFileMeta) -> ManifestEntry:
    return ManifestEntry(
        kind=kind,
        partition=message.partition,
        bucket=message.bucket,
        total_buckets=message.total_buckets,
        file=file,
    )
