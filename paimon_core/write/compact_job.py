"""A compaction as a job: its tasks are buckets, each a text that travels to where the work is done."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial

from paimon_core.spec.manifest import DataFileMeta, ManifestEntry
from paimon_core.spec.message import CommitMessage, decode_message, encode_message
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.index_files import index_entries
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.table_store import TableStore
from paimon_core.write.compact import compact_append, compact_bucket
from paimon_core.write.deletion import vectors_of

NOTHING = ""


def compaction_tasks(store: TableStore, snapshot: Snapshot | None, partitions: PartitionFilter) -> list[str]:
    """One text per bucket with its live files and deletion vectors, the largest bucket first."""
    buckets: dict[tuple[bytes, int, int], list[DataFileMeta]] = defaultdict(list)
    for entry in live_files(store, snapshot, partitions).values():
        buckets[_bucket_of(entry)].append(entry.file)
    known = index_entries(store, snapshot)
    by_size = sorted(buckets.items(), key=lambda item: -sum(f.file_size for f in item[1]))
    return [
        encode_message(
            CommitMessage(
                partition=p,
                bucket=b,
                total_buckets=total,
                compact_before=tuple(files),
                compact_deleted_index_files=tuple(vectors_of(known, (p, b))),
            )
        )
        for (p, b, total), files in by_size
    ]


def compaction_function(store: TableStore, full: bool) -> Callable[[str], str]:
    """What runs a task: its text to the text of its commit message, `NOTHING` where nothing was due."""
    return partial(_run_task, store, full)


def _run_task(store: TableStore, full: bool, task: str) -> str:
    bucket = decode_message(task)
    compact = compact_bucket if store.has_primary_key else compact_append
    message = compact(
        store,
        partition=bucket.partition,
        bucket=bucket.bucket,
        total_buckets=bucket.total_buckets,
        files=bucket.compact_before,
        full=full,
        vectors=bucket.compact_deleted_index_files,
    )
    return NOTHING if message is None else encode_message(message)


def _bucket_of(entry: ManifestEntry) -> tuple[bytes, int, int]:
    return entry.partition, entry.bucket, entry.total_buckets
