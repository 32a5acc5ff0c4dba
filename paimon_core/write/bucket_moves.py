"""Jobs that move rows into other buckets: statements and compactions of postponed rows, and rescales.

Each has two steps: routing (see `routing`), and, if due, the compaction of the buckets that got rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.io.failure import on_failure
from paimon_core.jobs import Job, TaskT
from paimon_core.lazy import ImportedOnCall
from paimon_core.lsm.strategy import Strategy
from paimon_core.options import (
    BUCKET,
    CHANGELOG_PRODUCER,
    FORCE_UP_LEVEL_0,
    POSTPONE_BATCH_FIXED,
    POSTPONE_BATCH_MOST,
    POSTPONE_DEFAULT_BUCKETS,
    POSTPONE_TARGET_ROWS,
    POSTPONE_TARGET_SIZE,
    POSTPONED,
    WRITE_ONLY,
    Option,
)
from paimon_core.spec.manifest import BucketKey, DataFileMeta
from paimon_core.spec.message import BucketState, CommitMessage, WriteResult
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter, only_partitions
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.write.compaction.job import compaction_job, live_buckets
    from paimon_core.write.routing import route_job, routes
else:
    route_job = ImportedOnCall("paimon_core.write.routing", "route_job")
    routes = ImportedOnCall("paimon_core.write.routing", "routes")
    compaction_job = ImportedOnCall("paimon_core.write.compaction.job", "compaction_job")
    live_buckets = ImportedOnCall("paimon_core.write.compaction.job", "live_buckets")


@dataclass(frozen=True, slots=True)
class BucketMoves:
    """Moves rows of one version of a table into other buckets.

    `start` is the sequence number of the first moved row. `run` runs a job, named `description`, and returns the
    messages of its tasks."""

    store: TableStore
    snapshot: Snapshot | None
    start: int
    run: Callable[[Job[Any, WriteResult]], list[CommitMessage]]
    description: str

    def assign(self, staged: Sequence[CommitMessage], *, overwrites: bool) -> list[CommitMessage]:
        """Return messages with the statement's rows in their buckets, instead of its `staged` messages for the
        postponed bucket.

        Raises `InvalidOptionError`, `StorageError`. In this case all new files are deleted, except the files that
        `staged` names.
        """
        postponed = [BucketState(*m.key, m.total_buckets, m.new_files) for m in staged]
        partitions = only_partitions(self.store.schema.partition_fields, (b.partition for b in postponed))
        known, before = dict[bytes, int](), list[BucketState]()
        if not overwrites:
            known = _counts(live_buckets(self.store, self.snapshot, partitions))
            before = postponed_files(self.store, self.snapshot, partitions)
        numbers = bucket_numbers(self.store, known, [*postponed, *before], batch=True)
        return self._routed(self.store, postponed, numbers)

    def compact(self, partitions: PartitionFilter, strategy: Strategy) -> list[CommitMessage]:
        """Return messages that move the postponed rows of some partitions into their buckets, and compact these
        buckets.
        """
        postponed = postponed_files(self.store, self.snapshot, partitions)
        live = live_buckets(self.store, self.snapshot, partitions)
        routed = self._routed(self.store, postponed, bucket_numbers(self.store, _counts(live), postponed))
        moved = _merged(self._compacted(self.store, live, routed, strategy), as_compaction=True)
        return [*(b.compacted_away() for b in postponed), *moved]

    def rescale(self, partitions: PartitionFilter, buckets: int) -> list[CommitMessage]:
        """Return messages that divide the rows of some partitions among another number of buckets; postponed rows stay.

        Partitions that already have this number of buckets stay as they are: a concurrent writer notices a rescale only
        by the changed number.
        """
        live = [b for b in live_buckets(self.store, self.snapshot, partitions) if b.total_buckets != buckets]
        store = self._without_changelog()
        routed = self._routed(store, live, {b.partition: buckets for b in live})
        if store.has_primary_key and not store.options[WRITE_ONLY]:
            routed = _merged(self._compacted(store, [], routed, Strategy.WRITE), as_compaction=False)
        return [*(b.deleted() for b in live), *routed]

    def _routed(
        self, store: TableStore, sources: Sequence[BucketState], buckets: Mapping[bytes, int]
    ) -> list[CommitMessage]:
        job = route_job(store, routes(store, sources, buckets, self.start))
        return self._run(job) if job.tasks else []

    def _compacted(
        self, store: TableStore, live: Sequence[BucketState], routed: Sequence[CommitMessage], strategy: Strategy
    ) -> list[CommitMessage]:
        """Compact the buckets that got rows. Return the `routed` messages, and one message for each bucket that was
        compacted.
        """
        job = compaction_job(store, _with_routed(live, routed), strategy)
        with ExitStack() as undo:
            for message in routed:
                files = (*message.new_files, *message.new_changelog)
                undo.enter_context(on_failure(partial(_delete, store, message, files)))
            results = self._run(job)
        written = {f.file_name for m in routed for f in m.new_files}
        for message in results:
            kept = {f.file_name for f in message.compact_after}
            unused = [f for f in message.compact_before if f.file_name in written and f.file_name not in kept]
            _delete(store, message, unused)
        return [*routed, *results]

    def _run(self, job: Job[TaskT, WriteResult]) -> list[CommitMessage]:
        return self.run(replace(job, description=self.description))

    def _without_changelog(self) -> TableStore:
        """Return the store for a change of buckets that changes no row.

        Level-0 files that readers do not see must still be compacted."""
        hides = self.store.options[CHANGELOG_PRODUCER] == "lookup" or self.store.options[FORCE_UP_LEVEL_0]
        return self.store.with_options({CHANGELOG_PRODUCER.key: "none", FORCE_UP_LEVEL_0.key: str(hides).lower()})


def write_store(store: TableStore, latest: Callable[[], Snapshot | None], *, overwrites: bool) -> TableStore:
    """Return the store for the tasks of a statement. If all rows of the statement go to partitions with one number of
    buckets, the store has this number. `latest` looks up the latest version, which few tables need. The store has no
    access to other tables.
    """
    store = replace(store, others=None)
    default = store.options[POSTPONE_DEFAULT_BUCKETS]
    if not assigns_at_once(store) or default is None:
        return store
    if not overwrites and live_buckets(store, latest(), PartitionFilter(store.schema.partition_fields)):
        return store
    return store.with_options({BUCKET.key: str(_positive(store, POSTPONE_DEFAULT_BUCKETS, default))})


def assigns_at_once(store: TableStore) -> bool:
    """Return whether statements, and not only compactions, assign postponed rows to buckets."""
    return store.has_primary_key and store.options[BUCKET] == POSTPONED and store.options[POSTPONE_BATCH_FIXED]


def postponed_files(store: TableStore, snapshot: Snapshot | None, partitions: PartitionFilter) -> list[BucketState]:
    """Return the postponed buckets of a version, one per partition."""
    found: dict[bytes, list[DataFileMeta]] = defaultdict(list)
    for entry in live_files(store, snapshot, partitions).values():
        if entry.bucket == POSTPONED:
            found[entry.partition].append(entry.file)
    return [BucketState(p, POSTPONED, POSTPONED, tuple(files)) for p, files in found.items()]


def bucket_numbers(
    store: TableStore, known: Mapping[bytes, int], postponed: Iterable[BucketState], *, batch: bool = False
) -> dict[bytes, int]:
    """Return the number of buckets of each partition with postponed rows.

    It is the partition's present number, else `postpone.default-bucket-num`, else a number computed from the
    partition's rows or bytes. With `batch`, the computed number has an upper limit.
    """
    numbers, rows, sizes = dict(known), defaultdict[bytes, int](int), defaultdict[bytes, int](int)
    for source in postponed:
        rows[source.partition] += source.row_count
        sizes[source.partition] += source.size
    default, target_rows = store.options[POSTPONE_DEFAULT_BUCKETS], store.options[POSTPONE_TARGET_ROWS]
    for partition in rows.keys() - numbers.keys():
        if default is not None:
            numbers[partition] = _positive(store, POSTPONE_DEFAULT_BUCKETS, default)
            continue
        if target_rows is not None:
            wanted = -(-rows[partition] // _positive(store, POSTPONE_TARGET_ROWS, target_rows))
        else:
            target = store.options[POSTPONE_TARGET_SIZE]
            wanted = -(-sizes[partition] // _positive(store, POSTPONE_TARGET_SIZE, target))
        wanted = max(1, wanted)
        if batch:
            most = _positive(store, POSTPONE_BATCH_MOST, store.options[POSTPONE_BATCH_MOST])
            wanted = min(wanted, most)
        numbers[partition] = wanted
    return numbers


def _positive(store: TableStore, option: Option[int] | Option[int | None], value: int) -> int:
    if value < 1:
        raise InvalidOptionError(
            f"Option '{option.key}' of table {store.name} cannot be {value}: it must be 1 or more."
        )
    return value


def _counts(live: Iterable[BucketState]) -> dict[bytes, int]:
    return {b.partition: b.total_buckets for b in live if b.total_buckets > 0}


def _with_routed(live: Iterable[BucketState], routed: Iterable[CommitMessage]) -> list[BucketState]:
    """Return the buckets with their present files and their new files."""
    states = {b.key: b for b in live}
    for message in routed:
        state = states.get(message.key, BucketState(*message.key, message.total_buckets))
        states[message.key] = replace(state, files=state.files + message.new_files)
    return list(states.values())


def _merged(messages: Iterable[CommitMessage], *, as_compaction: bool) -> list[CommitMessage]:
    """Return one message per bucket for its written files and their compaction. Files that were written and then
    replaced are left out.

    The change is marked as a compaction if `as_compaction`, else as a write.
    """
    buckets: dict[BucketKey, list[CommitMessage]] = defaultdict(list)
    for message in messages:
        buckets[message.key].append(message)
    return [_one(parts, as_compaction=as_compaction) for parts in buckets.values()]


def _one(parts: Sequence[CommitMessage], *, as_compaction: bool) -> CommitMessage:
    written = {f.file_name: f for m in parts for f in m.new_files}
    replaced = [f for m in parts for f in m.compact_before]
    deleted = {f.file_name for f in replaced}
    before = tuple(f for f in replaced if f.file_name not in written)
    after = tuple(f for m in parts for f in m.compact_after) + tuple(f for n, f in written.items() if n not in deleted)
    changelog = tuple(f for m in parts for f in (*m.new_changelog, *m.compact_changelog))
    index = tuple(f for m in parts for f in m.compact_new_index_files)
    old_index = tuple(f for m in parts for f in m.compact_deleted_index_files)
    empty = CommitMessage(partition=parts[0].partition, bucket=parts[0].bucket, total_buckets=parts[0].total_buckets)
    if as_compaction:
        return replace(
            empty,
            compact_before=before,
            compact_after=after,
            compact_changelog=changelog,
            compact_new_index_files=index,
            compact_deleted_index_files=old_index,
        )
    return replace(empty, deleted_files=before, new_files=after, new_index_files=index, deleted_index_files=old_index)


def _delete(store: TableStore, message: CommitMessage, files: Iterable[DataFileMeta]) -> None:
    folder = store.bucket_dir(message.partition, message.bucket)
    for file in files:
        with suppress(OSError):
            store.io.delete(data_file_path(folder, file))
