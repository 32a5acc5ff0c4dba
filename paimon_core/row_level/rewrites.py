"""A job that rewrites data files without the rows that a statement removed. Each task writes one new file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import pyarrow as pa
from pyroaring import BitMap64

from paimon_core.arrow.columns import without_rows
from paimon_core.dataclass import dataclass
from paimon_core.io.failure import on_failure
from paimon_core.jobs import FILES_OF_TASK, Job
from paimon_core.row_level.removed_rows import FILE_POSITIONS, FilePositions, positions
from paimon_core.spec.manifest import DATA_FILE_META, BucketKey, DataFileMeta, ManifestEntry
from paimon_core.spec.message import BUCKET_STATE, WRITE_RESULT, BucketState, CommitMessage, WriteResult
from paimon_core.spec.records import Column, Record
from paimon_core.store.data.bucket_files import BucketFiles
from paimon_core.store.data.row_tracking import rewritten_columns, tracking_fields
from paimon_core.store.data.time_units import as_stored_times
from paimon_core.store.table_store import TableStore
from paimon_core.write.files.data_files import DataFileWriter, FileRole, target_file_size

T = TypeVar("T")
Remaining = Callable[[DataFileMeta, Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
_TASKS_PER_FILE = 4  # several parallel tasks are faster than one task that writes a whole file


@dataclass(frozen=True, slots=True)
class RewriteTask:
    """Files of a bucket, the rows to remove from each (by file name), and files of new rows to combine with them."""

    bucket: BucketState
    removed: tuple[FilePositions, ...]
    joined: tuple[DataFileMeta, ...] = ()


REWRITE_TASK = Record(
    "rewrite task",
    RewriteTask,
    (
        Column("bucket", "bucket", record=BUCKET_STATE),
        Column("removed", "removed", record=FILE_POSITIONS, repeated=True),
        Column("joined", "joined", record=DATA_FILE_META, repeated=True),
    ),
)


@dataclass(frozen=True, slots=True)
class Rewrites:
    """The tasks that rewrite files, and the messages of new rows.

    Tasks write the rows of `joined` messages together with their own rows, and the files of these messages are deleted
    afterwards. The `kept` messages are committed as they are."""

    tasks: tuple[RewriteTask, ...]
    joined: tuple[CommitMessage, ...]
    kept: tuple[CommitMessage, ...]


def rewrites_of(
    store: TableStore, changed: Iterable[tuple[ManifestEntry, BitMap64]], written: Sequence[CommitMessage]
) -> Rewrites:
    """Plan the rewriting of files with removed rows.

    With buckets, each file is rewritten alone. Without buckets, files up to a quarter of a full file are combined, with
    new rows if there is room."""
    buckets: dict[BucketKey, list[tuple[ManifestEntry, BitMap64]]] = defaultdict(list)
    for entry, rows in changed:
        buckets[entry.partition, entry.bucket].append((entry, rows))
    columns, share = rewritten_columns(store), rewritten_bytes(store)
    new_rows: dict[BucketKey, list[CommitMessage]] = defaultdict(list)
    tasks, joined, kept = [], list[CommitMessage](), list[CommitMessage]()
    for message in written:
        fits = all(f.write_cols == columns for f in message.new_files)
        (new_rows[message.key] if fits else kept).append(message)
    for bucket, group in buckets.items():
        if group[0][0].total_buckets > 0:
            tasks += [_task([one]) for one in group]
            continue
        new, parts = new_rows.pop(bucket, []), parts_of(group, lambda one: one[0].file.file_size, share)
        room = share - _size(e.file for e, _ in parts[-1]) - _size(f for m in new for f in m.new_files)
        (joined if room >= 0 else kept).extend(new)
        tasks += [_task(part) for part in parts[:-1]] + [_task(parts[-1], new if room >= 0 else ())]
    kept += (m for unjoined in new_rows.values() for m in unjoined)
    return Rewrites(tuple(tasks), tuple(joined), tuple(kept))


def rewrite_job(store: TableStore, tasks: Sequence[RewriteTask]) -> Job[RewriteTask, WriteResult]:
    """Return the job that replaces files by files without the removed rows."""
    name, run = f"rewrite files of {store.name}", partial(_rewrite, as_stored_times(store))
    return Job(name, run, REWRITE_TASK, WRITE_RESULT, tuple(tasks), measure=FILES_OF_TASK)


def rewritten_bytes(store: TableStore) -> int:
    """Return the number of bytes of files that one task rewrites."""
    return target_file_size(store) // _TASKS_PER_FILE


def parts_of(group: Iterable[T], size: Callable[[T], int], share: int) -> list[list[T]]:
    """Divide files into parts of up to `share` bytes. Each part has at least one file."""
    parts: list[list[T]] = [[]]
    filled = 0
    for one in group:
        if parts[-1] and filled + size(one) > share:
            parts.append([])
            filled = 0
        parts[-1].append(one)
        filled += size(one)
    return parts


def bucket_of(entries: Sequence[ManifestEntry]) -> BucketState:
    """Return the bucket with only the files of some of its entries."""
    first = entries[0]
    return BucketState(first.partition, first.bucket, first.total_buckets, tuple(e.file for e in entries))


def rewritten_files(
    store: TableStore, bucket: BucketState, joined: Sequence[DataFileMeta], remaining: Remaining
) -> CommitMessage:
    """Return the message that replaces the files of a bucket by new files.

    The new files have the `remaining` rows of each old file, and the rows of the `joined` files."""
    directory = store.bucket_dir(*bucket.key)
    start = min(f.min_sequence_number for f in bucket.files)
    writer = DataFileWriter(store, directory, FileRole(sequence_start=start, columns=rewritten_columns(store)))
    reader = BucketFiles(store, directory, (*store.schema.fields, *tracking_fields(store)))
    with on_failure(writer.abort):
        for file in bucket.files:
            for batch in remaining(file, reader.read([file])):
                writer.write(batch)
        for batch in reader.read_as_written(joined):
            writer.write(batch)
        writer.roll()
    return replace(bucket.deleted(), new_files=tuple(writer.finished))


def _size(files: Iterable[DataFileMeta]) -> int:
    return sum(f.file_size for f in files)


def _task(group: Sequence[tuple[ManifestEntry, BitMap64]], new: Iterable[CommitMessage] = ()) -> RewriteTask:
    removed = tuple(FilePositions.of(e.file.file_name, rows) for e, rows in group)
    return RewriteTask(bucket_of([e for e, _ in group]), removed, tuple(f for m in new for f in m.new_files))


def _rewrite(store: TableStore, task: RewriteTask) -> WriteResult:
    removed = {r.file: r.bitmap() for r in task.removed}

    def remaining(file: DataFileMeta, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        deleted = removed[file.file_name]
        return without_rows(rows, positions(deleted)) if len(deleted) < file.row_count else iter(())

    return WriteResult((rewritten_files(store, task.bucket, task.joined, remaining),))
