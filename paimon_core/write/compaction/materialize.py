"""Materializing deletion vectors: deleted rows leave the data files, and their vectors are dropped.

With data evolution, a compaction keeps deleted rows, because the other rows keep their ids. Here row ranges with
deleted rows are written anew without them, BLOB and VECTOR columns included, and the commit gives the rows new ids. It
also drops the global indexes of the old ids. In other append tables, rows of rewritten files keep their ids.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.indexes.deletion_vector import Positions
from paimon_core.io.failure import on_failure
from paimon_core.jobs import FILES_OF_BUCKET, Job
from paimon_core.lsm.strategy import Strategy
from paimon_core.options import BLOB_AS_DESCRIPTOR, CLUSTERING_INCREMENTAL, DATA_EVOLUTION, DELETION_VECTORS
from paimon_core.spec.manifest import BucketKey, DataFileMeta
from paimon_core.spec.message import BUCKET_STATE, WRITE_RESULT, BucketState, CommitMessage, WriteResult
from paimon_core.spec.row_ranges import RowRange, row_ranges
from paimon_core.store.data.evolved_files import EvolvedFiles
from paimon_core.store.data.time_units import as_stored_times
from paimon_core.store.indexes.index_files import delete_index_files, vectors_by_file
from paimon_core.store.table_store import TableStore
from paimon_core.write.compaction.job import compaction_job, largest_first, planned_compaction
from paimon_core.write.deletion import changed_vectors
from paimon_core.write.files.data_files import DataFileWriter, FileRole, target_file_size

_NONE: dict[str, Positions] = {}


def check_materializes(store: TableStore) -> None:
    """Raise `UnsupportedFeatureError` if another procedure removes the deleted rows of a table."""
    if not store.options[DELETION_VECTORS]:
        raise UnsupportedFeatureError(
            f"Table {store.name} has no deletion vectors to materialize: '{DELETION_VECTORS.key}' is 'false'."
        )
    if store.has_primary_key or store.options[CLUSTERING_INCREMENTAL]:
        kind = "a primary key" if store.has_primary_key else f"'{CLUSTERING_INCREMENTAL.key}' = 'true'"
        raise UnsupportedFeatureError(
            f"Table {store.name} has {kind}: materialize_deletion_vectors is for other append tables. CALL sys.compact "
            "with compact_strategy => 'full' removes its deleted rows."
        )


def marked_parts(store: TableStore, buckets: Iterable[BucketState]) -> list[BucketState]:
    """Return the parts of buckets to write anew, a task each: files with deleted rows, up to the target size of a file.

    In a table without data evolution, a part is a whole bucket with such files."""
    marked = [b for b in buckets if vectors_by_file(store, b.key, b.vectors)]
    if not store.options[DATA_EVOLUTION]:
        return marked
    return [
        replace(bucket, files=tuple(f for rows in group for f in rows.all_files))
        for bucket in marked
        for group in _groups(store, bucket)
    ]


def replaced_files(store: TableStore, part: BucketState) -> tuple[DataFileMeta, ...]:
    """Return the files of a part that the job replaces."""
    if store.options[DATA_EVOLUTION]:
        return part.files
    planned = planned_compaction(store, part, Strategy.FULL)
    return planned.files if planned is not None else ()


def materialize_job(store: TableStore, parts: Sequence[BucketState]) -> Job[BucketState, WriteResult]:
    """Return the job that writes parts anew. Its messages need `without_vectors`."""
    if not store.options[DATA_EVOLUTION]:
        return compaction_job(store, parts, Strategy.FULL)
    tasks = largest_first(parts)
    size = sum(p.size for p in tasks)
    own = as_stored_times(store).with_options({BLOB_AS_DESCRIPTOR.key: "false"})
    name, run = f"materialize {store.name}", partial(_rewrite, own)
    return Job(name, run, BUCKET_STATE, WRITE_RESULT, tasks, size, measure=FILES_OF_BUCKET)


def without_vectors(
    store: TableStore, parts: Sequence[BucketState], messages: Sequence[CommitMessage]
) -> list[CommitMessage]:
    """Return the messages of a job, and messages that drop the vectors of the files that the job replaced.

    One index file may have vectors of files of several tasks. So the driver writes the vectors that remain to a new
    file once, after all tasks. Raises `StorageError`, `CorruptFileError`; then no new index file is kept.
    """
    if not store.options[DATA_EVOLUTION]:
        return list(messages)  # each compaction of a bucket has dropped the vectors of its files
    before: dict[BucketKey, set[str]] = defaultdict(set)
    for message in messages:
        before[message.key].update(f.file_name for f in message.compact_before)
    states = {p.key: p for p in parts}
    dropped: list[CommitMessage] = []
    with ExitStack() as undo:
        for key, names in before.items():
            change = changed_vectors(store, key, states[key].vectors, _NONE, frozenset(names))
            undo.enter_context(on_failure(partial(delete_index_files, store, *key, change.new)))
            message = states[key].unchanged()
            dropped.append(
                replace(message, compact_new_index_files=change.new, compact_deleted_index_files=change.deleted)
            )
    return [*messages, *dropped]


def _rewrite(store: TableStore, part: BucketState) -> WriteResult:
    """Write the rows of a part of a bucket without the deleted rows."""
    folder, deletions = store.bucket_dir(*part.key), vectors_by_file(store, part.key, part.vectors)
    reader = EvolvedFiles(store, folder, store.schema.fields, deletions=deletions)
    writer = DataFileWriter(store, folder, FileRole(stored=True))
    with on_failure(writer.abort):
        for batch in reader.read(part.files):
            writer.write(batch)
        writer.roll()
    return WriteResult((replace(part.unchanged(), compact_before=part.files, compact_after=tuple(writer.finished)),))


def _groups(store: TableStore, bucket: BucketState) -> Iterator[list[RowRange]]:
    """Group the row ranges with deleted rows, in order, by the size of the rows that remain; a group fills about one
    file."""
    deletions = vectors_by_file(store, bucket.key, bucket.vectors)
    target = target_file_size(store)
    group: list[RowRange] = []
    size = 0.0
    for rows in row_ranges(bucket.files):
        if rows.anchor.file_name not in deletions:
            continue
        deleted = deletions[rows.anchor.file_name].vector.cardinality or 0
        weight = sum(f.file_size for f in rows.files) * (1 - deleted / max(rows.count, 1))
        if group and size + weight > target:
            yield group
            group, size = [], 0.0
        group.append(rows)
        size += weight
    if group:
        yield group
