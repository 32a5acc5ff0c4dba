"""A job that rewrites the file indexes of data files by the current options, with a task per bucket."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from paimon_core.indexes.file_index.container import INDEX_SUFFIX
from paimon_core.indexes.file_index.options import WantedIndex, indexed_columns
from paimon_core.indexes.file_index.registry import INDEX_TYPES
from paimon_core.io.failure import on_failure
from paimon_core.jobs import FILES_OF_BUCKET, Job
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.message import BUCKET_STATE, WRITE_RESULT, BucketState, CommitMessage, WriteResult
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import MapType
from paimon_core.store.data.bucket_files import BucketFiles
from paimon_core.store.indexes.file_indexes import has_file_index
from paimon_core.store.schemas import read_schema
from paimon_core.store.table_store import TableStore
from paimon_core.write.compaction.job import largest_first
from paimon_core.write.indexes.file_index import FileIndexBuilder, with_file_index


def file_index_job(store: TableStore, buckets: Iterable[BucketState]) -> Job[BucketState, WriteResult]:
    """Return the job that gives files a new index, if the index changes. Buckets without such files have no message."""
    tasks = largest_first(buckets)
    name, run = f"index {store.name}", partial(_index, store)
    return Job(name, run, BUCKET_STATE, WRITE_RESULT, tasks, measure=FILES_OF_BUCKET)


def _index(store: TableStore, bucket: BucketState) -> WriteResult:
    folder = store.bucket_dir(*bucket.key)
    after: list[DataFileMeta] = []
    with on_failure(lambda: _delete_new(store, folder, bucket.files, after)):
        after.extend(_indexed(store, folder, f) for f in bucket.files)
    changed = [(old, new) for old, new in zip(bucket.files, after, strict=True) if old != new]
    message = CommitMessage(
        partition=bucket.partition,
        bucket=bucket.bucket,
        total_buckets=bucket.total_buckets,
        compact_before=tuple(old for old, _ in changed),
        compact_after=tuple(new for _, new in changed),
    )
    return WriteResult((message,) if changed else ())


def _indexed(store: TableStore, folder: str, file: DataFileMeta) -> DataFileMeta:
    """Return the file with an index of all its rows, including deleted rows."""
    schema = read_schema(store, file.schema_id)
    columns = columns_then(indexed_columns(store.options, store.schema), schema)
    columns = tuple(c for c in columns if file.write_cols is None or c.field.name in file.write_cols)
    if not columns:
        return with_file_index(store, folder, file, {}) if has_file_index(file) else file
    fields = tuple(dict.fromkeys(c.field for c in columns))
    builder = FileIndexBuilder(columns)
    for batch in BucketFiles(replace(store, schema=schema), folder, fields).read([file]):
        builder.add(batch)
    beside = data_file_path(folder, file).rpartition("/")[0]
    name = f"{file.file_name}-{uuid.uuid4()}{INDEX_SUFFIX}"
    return with_file_index(store, beside, file, builder.bodies(), name)


def columns_then(columns: Sequence[WantedIndex], then: TableSchema) -> tuple[WantedIndex, ...]:
    """Return the indexed columns as they are in a file of another schema. Columns that cannot have an index there are
    left out.
    """
    by_id = {f.id: f for f in then.fields}
    stored = (replace(c, field=by_id[c.field.id]) for c in columns if c.field.id in by_id)
    whole = (c for c in stored if c.key is None or isinstance(c.field.type, MapType))
    return tuple(c for c in whole if INDEX_TYPES[c.index_type].admits(c.type))


def _delete_new(store: TableStore, folder: str, before: Sequence[DataFileMeta], after: Sequence[DataFileMeta]) -> None:
    for old, new in zip(before, after, strict=False):
        beside = data_file_path(folder, new).rpartition("/")[0]
        for name in set(new.extra_files) - set(old.extra_files):
            with suppress(OSError):
                store.io.delete(f"{beside}/{name}")
