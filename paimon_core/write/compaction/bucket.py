"""Compacting one bucket: read sorted runs, merge them in bounded memory, write files of a higher level."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack

import pyarrow as pa

from paimon_core.arrow.types import arrow_field
from paimon_core.clock import metadata_now
from paimon_core.dataclass import dataclass
from paimon_core.io.failure import on_failure
from paimon_core.lsm.compaction import CompactUnit, LevelRun, level_runs, pick_append, plan_rewrites
from paimon_core.lsm.record_expiry import RecordExpiry, epoch_seconds, record_expiry
from paimon_core.lsm.strategy import Strategy, looks_up, pick
from paimon_core.options import DELETE_RATIO, FORCE_REWRITE, MIN_FILE_NUM, SMALL_FILE_RATIO, TARGET_FILE_ROW_NUM
from paimon_core.spec.manifest import DataFileMeta, FileSource
from paimon_core.spec.message import BucketState, CommitMessage
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.split import DeletionFile
from paimon_core.spec.types import DataField, TimeType
from paimon_core.store.data.bucket_files import BucketFiles, read_ahead
from paimon_core.store.data.column_stats import value_stats
from paimon_core.store.data.row_tracking import rewritten_columns, tracking_fields
from paimon_core.store.file_fields import file_fields
from paimon_core.store.indexes.index_files import delete_index_files, vectors_by_file
from paimon_core.store.schemas import read_schema
from paimon_core.store.table_store import TableStore
from paimon_core.write.compaction.bucket_steps import BucketCompaction, CompactResult
from paimon_core.write.deletion import changed_vectors
from paimon_core.write.files.data_files import DataFileWriter, FileRole, target_file_size
from paimon_core.write.indexes.level_index import indexes_of_levels

_NO_BOUND = 2**62


def compact_bucket(store: TableStore, bucket: BucketState, strategy: Strategy) -> CommitMessage | None:
    """Compact a bucket of a primary-key table. Return None if no compaction is due.

    Rows keep their sequence numbers. Raises `UnsupportedFeatureError`, `StorageError`, `CorruptFileError`; then no new
    file is kept.
    """
    runs, deletions = level_runs(bucket.files), vectors_by_file(store, bucket.key, bucket.vectors)
    expiry = record_expiry(store.options, int(time.time()))
    expired = expired_files(store, bucket.files, expiry)
    unit = pick(runs, store.options, strategy, metadata_now(), expired.union(deletions))
    if unit is None:
        return None
    folder = store.bucket_dir(*bucket.key)
    source = read_ahead(store, folder, unit.files)
    reader = BucketFiles(source, folder, file_fields(store), deletions=deletions, expiry=expiry)
    work = BucketCompaction(reader, unit, _lookup_runs(store, runs, unit))
    with on_failure(work.abort):
        every = strategy is Strategy.FULL and store.options[FORCE_REWRITE]
        small = int(target_file_size(store) * store.options[SMALL_FILE_RATIO])
        key_types = [f.type for f in store.schema.key_fields]
        for step in plan_rewrites(unit, key_types, small, every=every, expired=expired):
            work.run(step)
        work.finish()
        return _message(store, bucket, work.result)


def _lookup_runs(store: TableStore, runs: Sequence[LevelRun], unit: CompactUnit) -> list[LevelRun]:
    """Return the runs in which a compaction looks up older rows: the runs below its output."""
    if not looks_up(store.options, unit):
        return []
    taken = {f.file_name for f in unit.files}
    return [r for r in runs if r.level > 0 and not any(f.file_name in taken for f in r.files)]


def compact_append(store: TableStore, bucket: BucketState, strategy: Strategy) -> CommitMessage | None:
    """Concatenate small files of a bucket of an append table, rows in order. Return None if no compaction is due.

    A full compaction takes any two small files; any other compaction needs `compaction.min.file-num` files. Files with
    deleted rows are rewritten without these rows: by a full compaction all such files, else only files with a larger
    share of deleted rows than `compaction.delete-ratio-threshold`.
    """
    deletions = vectors_by_file(store, bucket.key, bucket.vectors)
    groups = _append_groups(store, bucket, strategy, deletions)
    fields, columns = (*store.schema.fields, *tracking_fields(store)), rewritten_columns(store)
    folder = store.bucket_dir(*bucket.key)
    source = read_ahead(store, folder, [f for group in groups for f in group])
    reader = BucketFiles(source, folder, fields, deletions=deletions)
    after: list[DataFileMeta] = []
    with ExitStack() as undo:
        for group in groups:
            role = FileRole(source=FileSource.COMPACT, sequence_start=group[0].min_sequence_number, columns=columns)
            writer = DataFileWriter(store, reader.bucket_dir, role)
            undo.enter_context(on_failure(writer.abort))
            for batch in reader.read(group):
                writer.write(batch)
            writer.roll()
            after += writer.finished
        result = CompactResult([f for g in groups for f in g], after)
        return _message(store, bucket, result)


@dataclass(frozen=True, slots=True)
class PlannedCompaction:
    """A compaction that is not done yet: the files that it takes, and their new level, None in an append table. Some of
    the files may get the new level without being rewritten.
    """

    files: tuple[DataFileMeta, ...]
    level: int | None


def planned_merge(store: TableStore, bucket: BucketState, strategy: Strategy) -> PlannedCompaction | None:
    """Return the compaction that `compact_bucket` or `compact_append` would do, or None."""
    deletions = vectors_by_file(store, bucket.key, bucket.vectors)
    if store.has_primary_key:
        unit = planned_unit(store, bucket.files, deletions, strategy)
        return None if unit is None else PlannedCompaction(unit.files, unit.output_level)
    groups = _append_groups(store, bucket, strategy, deletions)
    return PlannedCompaction(tuple(f for group in groups for f in group), None) if groups else None


def is_due(store: TableStore, bucket: BucketState) -> bool:
    """Return whether a bucket must be compacted after a write to it."""
    deletions = vectors_by_file(store, bucket.key, bucket.vectors)
    if store.has_primary_key:
        return planned_unit(store, bucket.files, deletions, Strategy.WRITE) is not None
    return bool(_append_groups(store, bucket, Strategy.WRITE, deletions))


def planned_unit(
    store: TableStore, files: Sequence[DataFileMeta], deletions: Mapping[str, DeletionFile], strategy: Strategy
) -> CompactUnit | None:
    """Return the compaction of a keyed bucket's files by a strategy, or None if it takes no file. `deletions` are the
    deletion vectors by the names of the files.
    """
    outdated = expired_files(store, files, record_expiry(store.options, int(time.time()))).union(deletions)
    return pick(level_runs(files), store.options, strategy, metadata_now(), outdated)


def _append_groups(
    store: TableStore, bucket: BucketState, strategy: Strategy, deletions: Mapping[str, DeletionFile]
) -> list[tuple[DataFileMeta, ...]]:
    """Return the groups of files of an append bucket to concatenate."""
    files, fixed = bucket.files, bucket.total_buckets > 0
    target, full = target_file_size(store), strategy is Strategy.FULL
    every = full and store.options[FORCE_REWRITE]
    least = 2 if full else max(2, store.options[MIN_FILE_NUM])
    return pick_append(
        sorted(files, key=lambda f: f.min_sequence_number) if fixed else files,
        target=target,
        small=_NO_BOUND if every else int(target * store.options[SMALL_FILE_RATIO]),
        min_files=1 if every else least,
        in_order=fixed,
        outdated=_mostly_deleted(files, deletions, 0.0 if full else store.options[DELETE_RATIO]),
        most_rows=store.options[TARGET_FILE_ROW_NUM],
    )


def _mostly_deleted(
    files: Sequence[DataFileMeta], deletions: Mapping[str, DeletionFile], most: float
) -> frozenset[str]:
    """Return the names of files that lost more than the share `most` of their rows, or an unknown number of rows."""
    marked = [(f, deletions[f.file_name].vector.cardinality) for f in files if f.file_name in deletions]
    return frozenset(f.file_name for f, deleted in marked if deleted is None or deleted > most * f.row_count)


def _message(store: TableStore, bucket: BucketState, result: CompactResult) -> CommitMessage | None:
    if not result.before:
        return None
    deleted = frozenset(f.file_name for f in result.before) - {f.file_name for f in result.after}
    index = changed_vectors(store, bucket.key, bucket.vectors, result.replaced.by_file(), deleted)
    with on_failure(lambda: delete_index_files(store, *bucket.key, index.new)):
        gone = {f.file_name for f in result.before}
        live = [*(f for f in bucket.files if f.file_name not in gone), *result.after]
        levels = {f.level for f in (*result.before, *result.after)}
        of_levels = indexes_of_levels(store, bucket.key, live, levels) if store.has_primary_key else ()
    return CommitMessage(
        partition=bucket.partition,
        bucket=bucket.bucket,
        total_buckets=bucket.total_buckets,
        compact_before=tuple(result.before),
        compact_after=tuple(result.after),
        compact_changelog=tuple(result.changelog),
        compact_new_index_files=(*index.new, *of_levels),
        compact_deleted_index_files=index.deleted,
    )


def expired_files(store: TableStore, files: Iterable[DataFileMeta], expiry: RecordExpiry | None) -> frozenset[str]:
    """Return the names of files with an expired row. Files without statistics are left out."""
    if expiry is None:
        return frozenset()
    wanted = store.schema.field_by_name[expiry.column].id
    return frozenset(f.file_name for f in files if _has_expired(read_schema(store, f.schema_id), f, wanted, expiry))


def _has_expired(then: TableSchema, file: DataFileMeta, wanted: int, expiry: RecordExpiry) -> bool:
    """Return whether the earliest time in a file has expired."""
    field = next((f for f in then.fields if f.id == wanted), None)
    stats = {} if field is None else value_stats(then, file)
    if field is None or field.name not in stats:
        return False
    least = stats[field.name].minimum
    return least is not None and int(epoch_seconds(_as_column(field, least))[0]) < expiry.oldest


def _as_column(field: DataField, value: object) -> pa.Array:
    arrow = arrow_field(field).type
    if isinstance(field.type, TimeType) and isinstance(value, tuple):
        millis, nanos = value
        return pa.array([millis * 1_000_000 + nanos], pa.int64()).cast(pa.timestamp("ns"))
    return pa.array([value], arrow)
