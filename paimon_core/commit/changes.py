"""From what writers hand in to what a snapshot changes: manifest entries, and the live files they replace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from paimon_core.errors import InvalidDataError
from paimon_core.expressions.predicate import Predicate
from paimon_core.spec.manifest import DataFileMeta, FileKind, ManifestEntry
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.snapshot import CommitKind
from paimon_core.store.manifests import Identifier
from paimon_core.store.partitions import PartitionFilter, only_partitions
from paimon_core.store.table_store import TableStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Overwrite:
    """What an overwrite replaces: the partitions that satisfy `predicate` (None: the whole table), or, where
    `dynamic`, those that get rows."""

    predicate: Predicate | None = None
    dynamic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one snapshot changes: `entries`, and where `replaces`, DELETE of every live file in `scope`.

    `scope` are the partitions whose live files decide about conflicts; None: none do.
    """

    kind: CommitKind
    entries: tuple[ManifestEntry, ...]
    scope: PartitionFilter | None
    replaces: bool = False

    def against(self, live: Mapping[Identifier, ManifestEntry]) -> list[ManifestEntry]:
        """The entries of the snapshot's delta, given the live files in scope."""
        deleted = [replace(e, kind=FileKind.DELETE) for e in live.values()] if self.replaces else []
        return [*deleted, *self.entries]


def changes_of(store: TableStore, messages: Sequence[CommitMessage], overwrite: Overwrite | None) -> list[Change]:
    """The snapshots that messages make, in order: what was written, then what was compacted; none for nothing.

    Raises `InvalidDataError` where a file lies outside the partitions that are overwritten.
    """
    written, compacted = tuple(_written(messages)), tuple(_compacted(messages))
    first = _append(store, written) if overwrite is None else _overwrite(store, written, overwrite)
    second = Change(kind=CommitKind.COMPACT, entries=compacted, scope=_touched(store, compacted)) if compacted else None
    return [c for c in (first, second) if c is not None]


def _append(store: TableStore, entries: tuple[ManifestEntry, ...]) -> Change | None:
    if not entries:
        return None
    bucketed = any(e.total_buckets > 0 for e in entries)
    return Change(kind=CommitKind.APPEND, entries=entries, scope=_touched(store, entries) if bucketed else None)


def _overwrite(store: TableStore, entries: tuple[ManifestEntry, ...], overwrite: Overwrite) -> Change | None:
    if overwrite.dynamic and store.schema.partition_keys:
        if not entries:
            return None
        return Change(kind=CommitKind.OVERWRITE, entries=entries, scope=_touched(store, entries), replaces=True)
    scope = PartitionFilter(store.schema.partition_fields, predicate=overwrite.predicate)
    for entry in entries:
        if not scope.holds(entry.partition):
            raise InvalidDataError(
                f"Rows of partition {store.partition_spec(entry.partition)} were written by an overwrite of other "
                f"partitions of {store.name}: write only rows of the partitions you overwrite."
            )
    return Change(kind=CommitKind.OVERWRITE, entries=entries, scope=scope, replaces=True)


def _touched(store: TableStore, entries: Iterable[ManifestEntry]) -> PartitionFilter:
    return only_partitions(store.schema.partition_fields, (e.partition for e in entries))


def _written(messages: Iterable[CommitMessage]) -> Iterator[ManifestEntry]:
    for message in messages:
        yield from (_entry(FileKind.ADD, message, f) for f in message.new_files)


def _compacted(messages: Iterable[CommitMessage]) -> Iterator[ManifestEntry]:
    for message in messages:
        yield from (_entry(FileKind.DELETE, message, f) for f in message.compact_before)
        yield from (_entry(FileKind.ADD, message, f) for f in message.compact_after)


def _entry(kind: FileKind, message: CommitMessage, file: DataFileMeta) -> ManifestEntry:
    return ManifestEntry(
        kind=kind,
        partition=message.partition,
        bucket=message.bucket,
        total_buckets=message.total_buckets,
        file=file,
    )
