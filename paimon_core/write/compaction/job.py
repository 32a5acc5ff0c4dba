"""A compaction as a job: its tasks are buckets, each a text that travels to where the work is done."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

from paimon_core.lsm.strategy import Strategy
from paimon_core.options import BUCKET, DATA_EVOLUTION, POSTPONED, WRITE_ONLY
from paimon_core.spec.manifest import DataFileMeta, ManifestEntry
from paimon_core.spec.message import CommitMessage, decode_message, encode_message
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.data.time_units import as_stored_times
from paimon_core.store.indexes.index_files import index_entries
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter, only_partitions
from paimon_core.store.table_store import TableStore
from paimon_core.write.compaction.bucket import compact_append, compact_bucket, is_due
from paimon_core.write.compaction.row_ranges import compact_ranges
from paimon_core.write.deletion import vectors_of

NOTHING = ""


def tasks_after_write(
    store: TableStore, snapshot: Snapshot | None, written: Sequence[CommitMessage]
) -> list[CommitMessage]:
    """The buckets of a version that got rows and are due for compaction, with their live files.

    None for a table whose writers do not compact: a `write-only` one, and one without buckets.
    """
    if store.options[WRITE_ONLY] or not written or (store.options[BUCKET] < 1 and not store.has_primary_key):
        return []
    touched = {(m.partition, m.bucket) for m in written}
    partitions = only_partitions(store.schema.partition_fields, (p for p, _ in touched))
    found = [t for t in live_buckets(store, snapshot, partitions) if (t.partition, t.bucket) in touched]
    return [t for t in found if is_due(store, t)]


def encode_tasks(tasks: Sequence[CommitMessage]) -> list[str]:
    """The texts of tasks, the one with most bytes first."""
    return [encode_message(t) for t in sorted(tasks, key=lambda t: -task_size(t))]


def task_size(task: CommitMessage) -> int:
    """Bytes of the files of a task."""
    return sum(f.file_size for f in task.compact_before)


def live_buckets(store: TableStore, snapshot: Snapshot | None, partitions: PartitionFilter) -> list[CommitMessage]:
    """The buckets of a version, each with its files in `compact_before` and the files of its deletion vectors in
    `compact_deleted_index_files`; postponed rows are in none yet."""
    buckets: dict[tuple[bytes, int, int], list[DataFileMeta]] = defaultdict(list)
    for entry in live_files(store, snapshot, partitions).values():
        if entry.bucket == POSTPONED:
            continue
        buckets[_bucket_of(entry)].append(entry.file)
    known = index_entries(store, snapshot)
    return [
        CommitMessage(
            partition=p,
            bucket=b,
            total_buckets=total,
            compact_before=tuple(files),
            compact_deleted_index_files=tuple(vectors_of(known, (p, b))),
        )
        for (p, b, total), files in buckets.items()
    ]


def compaction_function(store: TableStore, strategy: Strategy) -> Callable[[str], str]:
    """What runs a task: its text to the text of its commit message, `NOTHING` where nothing was due."""
    return partial(_run_task, store, strategy)


def _run_task(store: TableStore, strategy: Strategy, task: str) -> str:
    bucket, store = decode_message(task), as_stored_times(store)
    compact = compact_bucket if store.has_primary_key else compact_append
    if store.options[DATA_EVOLUTION]:
        compact = compact_ranges
    message = compact(
        store,
        partition=bucket.partition,
        bucket=bucket.bucket,
        total_buckets=bucket.total_buckets,
        files=bucket.compact_before,
        strategy=strategy,
        vectors=bucket.compact_deleted_index_files,
    )
    return NOTHING if message is None else encode_message(message)


def _bucket_of(entry: ManifestEntry) -> tuple[bytes, int, int]:
    return entry.partition, entry.bucket, entry.total_buckets
