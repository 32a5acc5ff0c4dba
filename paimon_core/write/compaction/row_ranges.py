"""Compacting a bucket of a table with data evolution: neighbouring row ranges become one file with all columns.

Rows keep their ids, so deleted rows are kept, and marked in the new file. `.vector.FORMAT` files stay as they are, and
so do `.blob` files without `blob-compaction.enabled`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from paimon_core.indexes.deletion_vector import Positions
from paimon_core.io.failure import on_failure
from paimon_core.lsm.strategy import Strategy
from paimon_core.options import MIN_FILE_NUM, SPLIT_OPEN_FILE_COST, TARGET_FILE_ROW_NUM, TARGET_FILE_SIZE
from paimon_core.spec.manifest import DataFileMeta, FileSource
from paimon_core.spec.message import BucketState, CommitMessage
from paimon_core.spec.row_ranges import RowRange, row_ranges
from paimon_core.spec.split import DeletionFile
from paimon_core.store.blob.columns import blob_file_fields
from paimon_core.store.data.evolved_files import EvolvedFiles, holds
from paimon_core.store.data.vector_parts import vector_file_fields
from paimon_core.store.indexes.index_files import read_deletions, vectors_by_file
from paimon_core.store.table_store import TableStore
from paimon_core.write.compaction.blob_ranges import BlobFiles, blob_writer, combine, due_blobs
from paimon_core.write.deletion import changed_vectors
from paimon_core.write.files.data_files import DataFileWriter, FileRole, target_file_size

ONE_FILE = {TARGET_FILE_SIZE.key: "1048576 gb", TARGET_FILE_ROW_NUM.key: str(2**48)}


def compact_ranges(store: TableStore, bucket: BucketState, strategy: Strategy) -> CommitMessage | None:
    """Combine the files of neighbouring row ranges, and then their `.blob` files, up to the target sizes. Return None
    if no compaction is due.

    A full compaction takes any two files; any other compaction needs `compaction.min.file-num` files. Raises
    `StorageError`, `CorruptFileError`; then no new file is kept.
    """
    groups, blobs = due_ranges(store, bucket, strategy)
    if not groups and not blobs:
        return None
    apart = (*blob_file_fields(store.schema, store.options), *vector_file_fields(store.schema, store.options))
    deletions = vectors_by_file(store, bucket.key, bucket.vectors)
    fields = tuple(f for f in store.schema.fields if f not in apart)
    reader = EvolvedFiles(store, store.bucket_dir(*bucket.key), fields)
    moved: dict[str, Positions] = {}
    after: list[DataFileMeta] = []
    with ExitStack() as undo:
        for group in groups:
            writer = _writer(reader, columns=tuple(f.name for f in fields) if apart else None)
            undo.enter_context(on_failure(writer.abort))
            after.append(_compact(reader, writer, group))
            deleted = _deleted(store, group, deletions)
            if len(deleted):
                moved[after[-1].file_name] = deleted
        for files in blobs:
            column = blob_writer(store, reader.bucket_dir, files)
            undo.enter_context(on_failure(column.abort))
            after += combine(store, reader.bucket_dir, column, files)
        before = files_before(groups, blobs)
        index = changed_vectors(store, bucket.key, bucket.vectors, moved, frozenset(f.file_name for f in before))
    return CommitMessage(
        partition=bucket.partition,
        bucket=bucket.bucket,
        total_buckets=bucket.total_buckets,
        compact_before=before,
        compact_after=tuple(after),
        compact_new_index_files=index.new,
        compact_deleted_index_files=index.deleted,
    )


def due_ranges(
    store: TableStore, bucket: BucketState, strategy: Strategy
) -> tuple[list[list[RowRange]], list[BlobFiles]]:
    """Return the groups of row ranges and the groups of `.blob` files; each group becomes one file."""
    least = 2 if strategy is Strategy.FULL else max(2, store.options[MIN_FILE_NUM])
    ranges = row_ranges(bucket.files)
    without_vectors = [r for r in ranges if not _has_vectors(store, r)]
    groups = [g for g in _groups(store, without_vectors) if sum(len(r.files) for r in g) >= least]
    return groups, due_blobs(store, ranges, groups, least)


def files_before(groups: Iterable[Sequence[RowRange]], blobs: Iterable[BlobFiles]) -> tuple[DataFileMeta, ...]:
    """Return the files that a compaction replaces."""
    return (*(f for g in groups for r in g for f in r.files), *(f for b in blobs for f in b.files))


def _has_vectors(store: TableStore, rows: RowRange) -> bool:
    """Return whether data files of a range store VECTOR columns, because they are older than `vector.file.format`.
    Newer rows have these columns in files of their own. Such older ranges are not compacted.
    """
    vectors = vector_file_fields(store.schema, store.options)
    return any(holds(store, file, field) for field in vectors for file in rows.files)


def _groups(store: TableStore, ranges: Sequence[RowRange]) -> Iterator[list[RowRange]]:
    """Group row ranges that follow one another without a gap; a group fills about one file."""
    target, open_cost = target_file_size(store), store.options[SPLIT_OPEN_FILE_COST]
    group: list[RowRange] = []
    size = 0
    for rows in ranges:
        weight = sum(max(f.file_size, open_cost) for f in rows.files)
        if group and (size + weight > target or rows.first != group[-1].first + group[-1].count):
            yield group
            group, size = [], 0
        group.append(rows)
        size += weight
    if group:
        yield group


def _writer(reader: EvolvedFiles, columns: tuple[str, ...] | None) -> DataFileWriter:
    role = FileRole(source=FileSource.COMPACT, columns=columns)
    return DataFileWriter(reader.store.with_options(ONE_FILE), reader.bucket_dir, role)


def _compact(reader: EvolvedFiles, writer: DataFileWriter, group: Sequence[RowRange]) -> DataFileMeta:
    """Write all rows of the ranges to one file, with the smallest and the largest sequence number of the old files."""
    for rows in group:
        for batch in reader.whole(rows):
            writer.write(batch)
    writer.roll()
    (file,) = writer.finished
    files = [f for r in group for f in r.files]
    return replace(
        file,
        first_row_id=group[0].first,
        min_sequence_number=min(f.min_sequence_number for f in files),
        max_sequence_number=max(f.max_sequence_number for f in files),
    )


def _deleted(store: TableStore, group: Sequence[RowRange], deletions: Mapping[str, DeletionFile]) -> Positions:
    """Return the positions of deleted rows in the new file of a group."""
    marked = [(r, deletions[r.anchor.file_name]) for r in group if r.anchor.file_name in deletions]
    parts = [read_deletions(store, d, r.count) + (r.first - group[0].first) for r, d in marked]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
