"""Compaction as a job with a task per bucket."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from paimon_core.jobs import FILES_OF_BUCKET, Job
from paimon_core.lsm.strategy import Strategy
from paimon_core.options import BUCKET, DATA_EVOLUTION, POSTPONED, WRITE_ONLY
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.message import BUCKET_STATE, WRITE_RESULT, BucketState, CommitMessage, WriteResult
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.data.time_units import as_stored_times
from paimon_core.store.indexes.index_files import index_entries
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter, only_partitions
from paimon_core.store.table_store import TableStore
from paimon_core.write.compaction.bucket import PlannedCompaction, compact_append, compact_bucket, is_due, planned_merge
from paimon_core.write.compaction.row_ranges import compact_ranges, due_ranges, files_before
from paimon_core.write.deletion import vectors_of


def due_buckets(
    store: TableStore, latest: Callable[[], Snapshot | None], written: Sequence[CommitMessage]
) -> list[BucketState]:
    """Return the buckets that messages wrote to and that are due for compaction, in the version that `latest` looks up.

    The list is empty, without a look, if writers of the table do not compact, because it is `write-only` or has no
    buckets.
    """
    if store.options[WRITE_ONLY] or not written or (store.options[BUCKET] < 1 and not store.has_primary_key):
        return []
    touched = {m.key for m in written}
    partitions = only_partitions(store.schema.partition_fields, (p for p, _ in touched))
    return [b for b in live_buckets(store, latest(), partitions) if b.key in touched and is_due(store, b)]


def live_buckets(store: TableStore, snapshot: Snapshot | None, partitions: PartitionFilter) -> list[BucketState]:
    """Return the buckets of a version, without postponed rows, which are not in a bucket yet."""
    buckets: dict[tuple[bytes, int, int], list[DataFileMeta]] = defaultdict(list)
    for entry in live_files(store, snapshot, partitions).values():
        if entry.bucket != POSTPONED:
            buckets[entry.partition, entry.bucket, entry.total_buckets].append(entry.file)
    known = index_entries(store, snapshot)
    return [
        BucketState(p, b, total, tuple(files), tuple(vectors_of(known, (p, b))))
        for (p, b, total), files in buckets.items()
    ]


def compaction_job(
    store: TableStore, buckets: Iterable[BucketState], strategy: Strategy
) -> Job[BucketState, WriteResult]:
    """Return the job that compacts buckets, the largest first. A bucket that is not due has no message."""
    tasks = largest_first(buckets)
    size = sum(b.size for b in tasks)
    run = partial(_compact, as_stored_times(store), strategy)
    return Job(f"compact {store.name}", run, BUCKET_STATE, WRITE_RESULT, tasks, size, measure=FILES_OF_BUCKET)


def planned_compaction(store: TableStore, bucket: BucketState, strategy: Strategy) -> PlannedCompaction | None:
    """Return the compaction of a bucket that the job would do, or None."""
    if not store.options[DATA_EVOLUTION]:
        return planned_merge(store, bucket, strategy)
    files = files_before(*due_ranges(store, bucket, strategy))
    return PlannedCompaction(files, None) if files else None


def largest_first(buckets: Iterable[BucketState]) -> tuple[BucketState, ...]:
    """Sort buckets for tasks, the largest first: its task takes longest, so it must start first."""
    return tuple(sorted(buckets, key=lambda b: -b.size))


def _compact(store: TableStore, strategy: Strategy, bucket: BucketState) -> WriteResult:
    compact = compact_bucket if store.has_primary_key else compact_append
    if store.options[DATA_EVOLUTION]:
        compact = compact_ranges
    message = compact(store, bucket, strategy)
    return WriteResult(() if message is None else (message,))
