"""Compacting one bucket: reads sorted runs, merges them in bounded memory, writes files of a higher level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from paimon_core.lsm.compaction import (
    DELETE_RATIO,
    MIN_FILE_NUM,
    CompactUnit,
    Rewrite,
    level_runs,
    pick_append,
    pick_full,
    pick_universal,
    plan_rewrites,
)
from paimon_core.spec.index_manifest import IndexFileMeta
from paimon_core.spec.manifest import DataFileMeta, FileSource
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.split import DeletionFile
from paimon_core.store.bucket_files import BucketFiles, file_fields, merge_section, merge_spec
from paimon_core.store.index_files import Bucket, vectors_by_file
from paimon_core.store.table_store import TableStore
from paimon_core.write.data_files import DataFileWriter, FileRole, target_file_size
from paimon_core.write.deletion import changed_vectors

_SMALL_FILE_RATIO = 0.7


def compact_bucket(
    store: TableStore,
    *,
    partition: bytes,
    bucket: int,
    total_buckets: int,
    files: Sequence[DataFileMeta],
    full: bool,
    vectors: Sequence[IndexFileMeta] = (),
) -> CommitMessage | None:
    """Compact a bucket of a primary-key table; `files` are all its files, `vectors` its deletion vector files. None
    where nothing is due.

    Sequence numbers stay those of the rows. Raises `UnsupportedFeatureError`, `StorageError`, `CorruptFileError`; no
    file is left behind then.
    """
    runs = level_runs(files)
    unit = pick_full(runs, store.options) if full else pick_universal(runs, store.options)
    if unit is None:
        return None
    place = partition, bucket
    reader = BucketFiles(
        store, store.bucket_dir(*place), file_fields(store), deletions=vectors_by_file(store, place, vectors)
    )
    small = int(target_file_size(store) * _SMALL_FILE_RATIO)
    before: list[DataFileMeta] = []
    after: list[DataFileMeta] = []
    writers: list[DataFileWriter] = []
    try:
        for step in plan_rewrites(unit, [f.type for f in store.schema.key_fields], small):
            if isinstance(step, Rewrite):
                role = FileRole(level=unit.output_level, source=FileSource.COMPACT)
                writers.append(DataFileWriter(store, reader.bucket_dir, role))
                before += step.files
                after += _rewrite(reader, step, unit, writers[-1])
            else:
                before.append(step.file)
                after.append(replace(step.file, level=unit.output_level))
        return _message(store, place, total_buckets, before, after, vectors)
    except BaseException:
        for writer in writers:
            writer.abort()
        raise


def compact_append(
    store: TableStore,
    *,
    partition: bytes,
    bucket: int,
    total_buckets: int,
    files: Sequence[DataFileMeta],
    full: bool,
    vectors: Sequence[IndexFileMeta] = (),
) -> CommitMessage | None:
    """Concatenate small files of a bucket of an append table, rows in their order. None where nothing is due.

    `full` takes any two small files, else `compaction.min.file-num` of them are needed. Files with deleted rows are
    rewritten without them: all by `full`, else those with more than `compaction.delete-ratio-threshold`.
    """
    target, place = target_file_size(store), (partition, bucket)
    deletions = vectors_by_file(store, place, vectors)
    groups = pick_append(
        sorted(files, key=lambda f: f.min_sequence_number) if total_buckets > 0 else files,
        target=target,
        small=int(target * _SMALL_FILE_RATIO),
        min_files=2 if full else max(2, store.options[MIN_FILE_NUM]),
        in_order=total_buckets > 0,
        worn=_worn(files, deletions, 0.0 if full else store.options[DELETE_RATIO]),
    )
    reader = BucketFiles(store, store.bucket_dir(*place), file_fields(store), deletions=deletions)
    after: list[DataFileMeta] = []
    writers: list[DataFileWriter] = []
    try:
        for group in groups:
            role = FileRole(source=FileSource.COMPACT, sequence_start=group[0].min_sequence_number)
            writers.append(DataFileWriter(store, reader.bucket_dir, role))
            for batch in reader.read(group):
                writers[-1].write(batch)
            writers[-1].roll()
            after += writers[-1].finished
        return _message(store, place, total_buckets, [f for g in groups for f in g], after, vectors)
    except BaseException:
        for writer in writers:
            writer.abort()
        raise


def _worn(files: Sequence[DataFileMeta], deletions: Mapping[str, DeletionFile], most: float) -> frozenset[str]:
    """The files of whose rows more than a share is deleted, or an unknown number."""
    marked = [(f, deletions[f.file_name].vector.cardinality) for f in files if f.file_name in deletions]
    return frozenset(f.file_name for f, deleted in marked if deleted is None or deleted > most * f.row_count)


def _rewrite(reader: BucketFiles, step: Rewrite, unit: CompactUnit, writer: DataFileWriter) -> list[DataFileMeta]:
    spec = merge_spec(reader.store, drop_delete=unit.drop_delete)
    for section in step.sections:
        for batch in merge_section(reader, section, spec):
            writer.write(batch)
    writer.roll()
    return writer.finished


def _message(
    store: TableStore,
    place: Bucket,
    total_buckets: int,
    before: Sequence[DataFileMeta],
    after: Sequence[DataFileMeta],
    vectors: Sequence[IndexFileMeta],
) -> CommitMessage | None:
    if not before:
        return None
    gone = frozenset(f.file_name for f in before) - {f.file_name for f in after}
    index = changed_vectors(store, place, vectors, {}, gone)
    return CommitMessage(
        partition=place[0],
        bucket=place[1],
        total_buckets=total_buckets,
        compact_before=tuple(before),
        compact_after=tuple(after),
        compact_new_index_files=index.new,
        compact_deleted_index_files=index.deleted,
    )
