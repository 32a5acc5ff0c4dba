"""DELETE from tables with a merge engine that does not accept deletes: files with a deleted key are rewritten without
it.

The tasks of the statement write the keys to level-0 files, as if they were deletes; these files are never committed. A
task of the job handles one bucket: its live files, and the files with keys to delete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from paimon_core.dataclass import dataclass
from paimon_core.errors import CommitConflictError
from paimon_core.io.failure import on_failure
from paimon_core.jobs import FILES_OF_TASK, Job
from paimon_core.lsm.compaction import last_level
from paimon_core.lsm.lookup import rows_with_keys, rows_without_keys
from paimon_core.lsm.runs import SortedRun, in_key_order, sections
from paimon_core.options import (
    AGGREGATION_REMOVE_ON_DELETE,
    BUCKET,
    CHANGELOG_PRODUCER,
    IGNORE_DELETE,
    MERGE_ENGINE,
    PARTIAL_UPDATE_REMOVE_ON_DELETE,
    PARTIAL_UPDATE_REMOVE_ON_GROUP,
    POSTPONED,
    SEQUENCE_FIELD,
    TableOptions,
)
from paimon_core.spec.manifest import DATA_FILE_META, BucketKey, DataFileMeta, FileSource
from paimon_core.spec.message import BUCKET_STATE, WRITE_RESULT, BucketState, CommitMessage, WriteResult
from paimon_core.spec.records import Column, Record
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.data.bucket_files import BucketFiles, merge_section, merge_spec
from paimon_core.store.data.time_units import as_stored_times
from paimon_core.store.file_fields import file_fields
from paimon_core.store.indexes.index_files import vectors_by_file
from paimon_core.store.partitions import only_partitions
from paimon_core.store.table_store import TableStore
from paimon_core.write.compaction.job import largest_first, live_buckets
from paimon_core.write.deletion import changed_vectors
from paimon_core.write.files.data_files import DataFileWriter, FileRole


def takes_deletes(options: TableOptions) -> bool:
    """Return whether writing a row of kind DELETE deletes the row of its key."""
    match options[MERGE_ENGINE]:
        case "partial-update":
            return options[PARTIAL_UPDATE_REMOVE_ON_DELETE] or bool(options[PARTIAL_UPDATE_REMOVE_ON_GROUP])
        case "aggregation":
            return options[AGGREGATION_REMOVE_ON_DELETE]
        case engine:
            return engine == "deduplicate"


def rewrites_keys(store: TableStore) -> bool:
    """Return whether DELETE rewrites files of a table with a primary key.

    Files of postponed rows are never rewritten."""
    return store.has_primary_key and store.options[BUCKET] != POSTPONED and not takes_deletes(store.options)


def keys_store(store: TableStore) -> TableStore:
    """Return the store for the writer of deleted keys."""
    plain = {MERGE_ENGINE.key: "deduplicate", CHANGELOG_PRODUCER.key: "none", SEQUENCE_FIELD.key: ""}
    return store.with_options(plain | {IGNORE_DELETE.key: "false"})


@dataclass(frozen=True, slots=True)
class KeyDeletes:
    """A bucket, and the files with the keys to delete in it."""

    bucket: BucketState
    keys: tuple[DataFileMeta, ...]


KEY_DELETES = Record(
    "key deletes",
    KeyDeletes,
    (Column("bucket", "bucket", record=BUCKET_STATE), Column("keys", "keys", record=DATA_FILE_META, repeated=True)),
)


def key_delete_job(
    store: TableStore, snapshot: Snapshot | None, keys: Iterable[CommitMessage]
) -> Job[KeyDeletes, WriteResult]:
    """Return the job that replaces the files of a version that have one of the keys.

    The files with the keys are in `new_files` of `keys`. Raises `CommitConflictError` if the version has another number
    of buckets than the keys' writers used.
    """
    deleted: dict[BucketKey, tuple[DataFileMeta, ...]] = {}
    totals: dict[bytes, int] = {}
    for message in (m for m in keys if m.new_files):  # several tasks may have keys of a bucket
        deleted[message.key] = deleted.get(message.key, ()) + message.new_files
        totals[message.partition] = message.total_buckets
    partitions = only_partitions(store.schema.partition_fields, (p for p, _ in deleted))
    live = largest_first(live_buckets(store, snapshot, partitions) if deleted else [])
    _check_bucket_numbers(store, live, totals)
    tasks = tuple(KeyDeletes(b, deleted[b.key]) for b in live if b.key in deleted)
    name, run = f"delete rows of {store.name}", partial(_delete_keys, as_stored_times(store))
    size = sum(t.bucket.size for t in tasks)
    return Job(name, run, KEY_DELETES, WRITE_RESULT, tasks, size, measure=FILES_OF_TASK)


def _check_bucket_numbers(store: TableStore, live: Iterable[BucketState], totals: Mapping[bytes, int]) -> None:
    """Check the number of buckets.

    Keys are searched only in their own bucket, so keys that were divided by another number would be missed."""
    for bucket in live:
        written = totals[bucket.partition]
        if 0 < written != bucket.total_buckets > 0:
            raise CommitConflictError(
                f"Table {store.name}: this statement deletes rows from a partition of {bucket.total_buckets} buckets, "
                f"but the table has {written}. Nothing was committed. After a change of 'bucket', overwrite the "
                "partition or CALL sys.rescale before you delete rows."
            )


def _delete_keys(store: TableStore, task: KeyDeletes) -> WriteResult:
    bucket = task.bucket
    files = BucketFiles(store, store.bucket_dir(*bucket.key), file_fields(store))
    live = replace(files, deletions=vectors_by_file(store, bucket.key, bucket.vectors))
    keys = replace(files, fields=files.fields[: len(store.schema.key_fields)])
    key_types = [f.type for f in store.schema.key_fields]
    level = max([last_level(store.options), *(f.level for f in bucket.files)])
    writer = DataFileWriter(store, files.bucket_dir, FileRole(level=level, source=FileSource.COMPACT, stored=True))
    replaced: list[DataFileMeta] = []
    with on_failure(writer.abort):
        for section in sections(bucket.files, key_types):
            members = in_key_order((f for run in section for f in run.files), key_types)
            if _holds_any(replace(keys, deletions=live.deletions), section, keys, task.keys):
                replaced += members
                _rewrite(live, section, keys, task.keys, writer)
        names = frozenset(f.file_name for f in replaced)
        index = changed_vectors(store, bucket.key, bucket.vectors, {}, names)
    message = replace(
        replace(bucket, files=tuple(replaced), vectors=index.deleted).deleted(),
        new_files=tuple(writer.finished),
        new_index_files=index.new,
    )
    return WriteResult((message,))


def _holds_any(
    live: BucketFiles, section: Sequence[SortedRun], keys: BucketFiles, deleted: Sequence[DataFileMeta]
) -> bool:
    """Return whether a section has one of the keys."""
    found = rows_with_keys([live.read(r.files) for r in section], [keys.read([f]) for f in deleted], _names(keys))
    return next(found, None) is not None


def _rewrite(
    live: BucketFiles,
    section: Sequence[SortedRun],
    keys: BucketFiles,
    deleted: Sequence[DataFileMeta],
    writer: DataFileWriter,
) -> None:
    """Write the remaining rows of each section to a file of its own, because sections in between keep their files."""
    merged = merge_section(live, section, merge_spec(live.store, drop_delete=True))
    for batch in rows_without_keys(merged, [keys.read([f]) for f in deleted], _names(keys)):
        writer.write(batch)
    writer.roll()


def _names(keys: BucketFiles) -> tuple[str, ...]:
    return tuple(f.name for f in keys.fields)
