"""Compacting one bucket: reads sorted runs, merges them in bounded memory, writes files of a higher level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paimon_core.lsm.compaction import (
    MIN_FILE_NUM,
    CompactUnit,
    Rewrite,
    level_runs,
    pick_append,
    pick_full,
    pick_universal,
    plan_rewrites,
)
from paimon_core.spec.manifest import DataFileMeta, FileSource
from paimon_core.spec.message import CommitMessage
from paimon_core.store.bucket_files import BucketFiles, file_fields, merge_section, merge_spec
from paimon_core.store.table_store import TableStore
from paimon_core.write.data_files import DataFileWriter, FileRole, target_file_size

_SMALL_FILE_RATIO = 0.7


def compact_bucket(
    store: TableStore,
    *,
    partition: bytes,
    bucket: int,
    total_buckets: int,
    files: Sequence[DataFileMeta],
    full: bool,
) -> CommitMessage | None:
    """Compact a bucket of a primary-key table; `files` are all its files. None where nothing is due.

    Sequence numbers stay those of the rows. Raises `UnsupportedFeatureError`, `StorageError`, `CorruptFileError`; no
    file is left behind then.
    """
    runs = level_runs(files)
    unit = pick_full(runs, store.options) if full else pick_universal(runs, store.options)
    if unit is None:
        return None
    directory = store.bucket_dir(partition, bucket)
    small = int(target_file_size(store) * _SMALL_FILE_RATIO)
    before: list[DataFileMeta] = []
    after: list[DataFileMeta] = []
    writers: list[DataFileWriter] = []
    try:
        for step in plan_rewrites(unit, [f.type for f in store.schema.key_fields], small):
            if isinstance(step, Rewrite):
                role = FileRole(level=unit.output_level, source=FileSource.COMPACT)
                writers.append(DataFileWriter(store, directory, role))
                before += step.files
                after += _rewrite(store, directory, step, unit, writers[-1])
            else:
                before.append(step.file)
                after.append(replace(step.file, level=unit.output_level))
    except BaseException:
        for writer in writers:
            writer.abort()
        raise
    return _message(partition, bucket, total_buckets, before, after)


def compact_append(
    store: TableStore,
    *,
    partition: bytes,
    bucket: int,
    total_buckets: int,
    files: Sequence[DataFileMeta],
    full: bool,
) -> CommitMessage | None:
    """Concatenate small files of a bucket of an append table, rows in their order. None where nothing is due.

    `full` takes any two small files, else `compaction.min.file-num` of them are needed.
    """
    target = target_file_size(store)
    groups = pick_append(
        sorted(files, key=lambda f: f.min_sequence_number) if total_buckets > 0 else files,
        target=target,
        small=int(target * _SMALL_FILE_RATIO),
        min_files=2 if full else max(2, store.options[MIN_FILE_NUM]),
        in_order=total_buckets > 0,
    )
    directory = store.bucket_dir(partition, bucket)
    reader = BucketFiles(store, directory, file_fields(store))
    after: list[DataFileMeta] = []
    writers: list[DataFileWriter] = []
    try:
        for group in groups:
            role = FileRole(source=FileSource.COMPACT, sequence_start=group[0].min_sequence_number)
            writers.append(DataFileWriter(store, directory, role))
            for batch in reader.read(group):
                writers[-1].write(batch)
            writers[-1].roll()
            after += writers[-1].finished
    except BaseException:
        for writer in writers:
            writer.abort()
        raise
    return _message(partition, bucket, total_buckets, [f for g in groups for f in g], after)


def _rewrite(
    store: TableStore, directory: str, step: Rewrite, unit: CompactUnit, writer: DataFileWriter
) -> list[DataFileMeta]:
    reader = BucketFiles(store, directory, file_fields(store))
    spec = merge_spec(store, drop_delete=unit.drop_delete)
    for section in step.sections:
        for batch in merge_section(reader, section, spec):
            writer.write(batch)
    writer.roll()
    return writer.finished


def _message(
    partition: bytes, bucket: int, total_buckets: int, before: Sequence[DataFileMeta], after: Sequence[DataFileMeta]
) -> CommitMessage | None:
    if not before:
        return None
    return CommitMessage(
        partition=partition,
        bucket=bucket,
        total_buckets=total_buckets,
        compact_before=tuple(before),
        compact_after=tuple(after),
    )
