"""Assign new buckets to written rows, if another commit added keys to the table's dynamic buckets meanwhile.

Keys that another commit added matter only if it put one of our keys into another bucket. The files of such buckets are
divided again: their rows keep their sequence numbers and row kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from paimon_core.dataclass import dataclass
from paimon_core.errors import CommitConflictError
from paimon_core.io.failure import on_failure
from paimon_core.options import BUCKET
from paimon_core.spec.index_manifest import HASH_INDEX
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.message import CommitMessage, index_base_of
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.data.bucket_files import BucketFiles
from paimon_core.store.data.time_units import as_stored_times
from paimon_core.store.file_fields import file_fields
from paimon_core.store.snapshots import find_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.write.bucket_writers import BucketWriters
from paimon_core.write.buckets.bucketing import split_by
from paimon_core.write.buckets.dynamic import (
    AssignmentBase,
    DynamicBuckets,
    PartitionBuckets,
    load_partition,
    read_hashes,
)
from paimon_core.write.files.changelog_files import changelog_store
from paimon_core.write.files.data_files import FileRole


@dataclass(frozen=True, slots=True)
class Rebucketed:
    """The messages to commit on top of a version.

    Some of them (`written`) are new and replace the messages `replaced`.
    """

    messages: Sequence[CommitMessage]
    written: Sequence[CommitMessage] = ()
    replaced: Sequence[CommitMessage] = ()


def rebucket(store: TableStore, messages: Sequence[CommitMessage], latest: Snapshot | None) -> Rebucketed:
    """Return the messages with the buckets of `latest`.

    Raises `CommitConflictError` if keys that were not new are in other buckets now, `StorageError`, `CorruptFileError`.
    In this case all new files are deleted."""
    base = index_base_of(messages)
    before = find_snapshot(store, base) if base else None
    if base and before is None:
        raise CommitConflictError(
            f"Table {store.name}: this commit looked up the buckets of new keys in snapshot {base}, which has expired. "
            "Nothing was committed; run the statement again."
        )
    now = dict[bytes, PartitionBuckets]()
    for partition in {m.partition for m in messages if m.index_base is not None}:
        known, now[partition] = load_partition(store, before, partition), load_partition(store, latest, partition)
        if (now[partition].find(known.hashes) != known.buckets).any():
            raise CommitConflictError(
                f"Table {store.name}: another commit gave keys of partition {store.partition_spec(partition)} other "
                "buckets meanwhile. Nothing was committed; run the statement again."
            )
    moved = {(m.partition, m.bucket) for m in messages if _is_moved(store, m, now.get(m.partition))}
    replaced = [m for m in messages if (m.partition, m.bucket) in moved]
    number = 0 if latest is None else latest.id
    kept = [
        m if m.index_base is None else replace(m, index_base=number)
        for m in messages
        if (m.partition, m.bucket) not in moved
    ]
    written = _divided(store, replaced, latest) if replaced else []
    return Rebucketed([*kept, *written], written, replaced)


def _is_moved(store: TableStore, message: CommitMessage, now: PartitionBuckets | None) -> bool:
    """Return whether one of a message's new keys is in another bucket of the table now."""
    files = [f for f in message.new_index_files if f.index_type == HASH_INDEX]
    if now is None or not files:
        return False
    found = now.find(np.concatenate([read_hashes(store, message.key, f) for f in files]))
    return bool(((found >= 0) & (found != message.bucket)).any())


def _divided(store: TableStore, messages: Sequence[CommitMessage], latest: Snapshot | None) -> list[CommitMessage]:
    """Return messages with the same rows, in the buckets that `latest` has for their keys. Keys that are still new get
    buckets."""
    store = as_stored_times(store)
    assign = DynamicBuckets(store, AssignmentBase(latest, tasks=1))
    rows = BucketWriters(store, FileRole(stored=True), store.options[BUCKET])
    changes = BucketWriters(changelog_store(store), FileRole(), store.options[BUCKET])
    with on_failure(rows.abort), on_failure(changes.abort):
        _divide(store, messages, lambda m: m.new_files, assign, rows)
        _divide(store, messages, lambda m: m.new_changelog, assign, changes)
        changelog = {m.key: m.new_files for m in changes.finish()}
        found = [replace(m, new_changelog=changelog.get((m.partition, m.bucket), ())) for m in rows.finish()]
        return assign.finish(found)


def _divide(
    store: TableStore,
    messages: Iterable[CommitMessage],
    files_of: Callable[[CommitMessage], Sequence[DataFileMeta]],
    assign: DynamicBuckets,
    writers: BucketWriters,
) -> None:
    for message in messages:
        reader = BucketFiles(store, store.bucket_dir(*message.key), file_fields(store))
        for file in files_of(message):  # each is sorted by key, and so are its parts
            for batch in reader.read([file]):
                for bucket, share in split_by(batch, assign(message.partition, batch)):
                    writers.write(message.partition, bucket, share)
            writers.roll()
