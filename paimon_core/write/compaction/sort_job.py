"""Sort compaction of append tables: all files of some partitions become files in the order of columns, or of a curve.

The sorting itself is the executor's: it is handed texts to read rows from, and hands sorted rows back to be written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import pyarrow as pa

from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.options import BUCKET, DATA_EVOLUTION, SPLIT_TARGET_SIZE
from paimon_core.spec.manifest import DataFileMeta, FileSource
from paimon_core.spec.message import CommitMessage, decode_message, encode_message
from paimon_core.spec.types import DataField
from paimon_core.store.data.bucket_files import BucketFiles
from paimon_core.store.data.row_tracking import tracking_fields
from paimon_core.store.indexes.index_files import vectors_by_file
from paimon_core.store.table_store import TableStore
from paimon_core.write.compaction.job import task_size
from paimon_core.write.compaction.space_filling import hilbert, z_order
from paimon_core.write.files.data_files import target_file_size
from paimon_core.write.rows.incoming import as_stored

SORT_KEY = "__sort_key"


class Curve(StrEnum):
    """How several columns order rows: one after the other, or along a curve through all of them."""

    ORDER = "order"
    ZORDER = "zorder"
    HILBERT = "hilbert"


@dataclass(frozen=True, slots=True)
class SortJob:
    """Files to sort, as texts to be read by `read`; `files` is about how many to make of them."""

    store: TableStore
    columns: tuple[str, ...]
    curve: Curve
    texts: tuple[str, ...]
    files: int

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns of the rows: the table's, then what row tracking knows of them."""
        return (*self.store.schema.fields, *tracking_fields(self.store))

    @property
    def sort_columns(self) -> tuple[str, ...]:
        """The columns that rows which `read` gives are to be sorted by, NULL first."""
        partition = self.store.schema.partition_keys
        return (*partition, *self.columns) if self.curve is Curve.ORDER else (*partition, SORT_KEY)

    def read(self, text: str) -> Iterator[pa.RecordBatch]:
        """The rows of a text: the columns of `fields`, then `SORT_KEY` where rows go along a curve."""
        task, fields = decode_message(text), self.fields
        place = task.partition, task.bucket
        deletions = vectors_by_file(self.store, place, task.compact_deleted_index_files)
        reader = BucketFiles(self.store, self.store.bucket_dir(*place), fields, deletions=deletions)
        schema = arrow_schema(fields)
        for batch in reader.read(task.compact_before):
            rows = batch.cast(schema) if batch.schema != schema else batch
            if self.curve is Curve.ORDER:
                yield rows
                continue
            columns = [rows.column(c) for c in self.columns]
            key = z_order(columns) if self.curve is Curve.ZORDER else hilbert(columns)
            yield rows.append_column(SORT_KEY, key)


def sort_job(store: TableStore, tasks: Sequence[CommitMessage], columns: Sequence[str], curve: Curve) -> SortJob:
    """The job of some buckets. Raises `UnsupportedFeatureError`, `InvalidOptionError` where it makes no sense."""
    if store.has_primary_key or store.options[BUCKET] != -1:
        raise UnsupportedFeatureError(
            f"Table {store.name} cannot be sorted: order_strategy is for append tables with 'bucket' = '-1'."
        )
    if store.options[DATA_EVOLUTION]:
        raise UnsupportedFeatureError(
            f"Data Evolution table cannot be sorted! Columns of a row of {store.name} are in several files; compact it "
            "without order_strategy."
        )
    if not columns:
        raise InvalidOptionError(f"order_strategy '{curve}' needs order_by: name columns of the table.")
    store.schema.select(tuple(columns))
    check_order(store, columns)
    total = sum(map(task_size, tasks))
    texts = tuple(encode_message(part) for t in tasks for part in _parts(t, store.options[SPLIT_TARGET_SIZE]))
    return SortJob(as_stored(store), tuple(columns), curve, texts, max(1, -(-total // target_file_size(store))))


def check_order(store: TableStore, columns: Sequence[str]) -> None:
    """Raises `InvalidOptionError` for columns that order no rows."""
    meaningless = [c for c in columns if c in store.schema.partition_keys]
    if meaningless:
        raise InvalidOptionError(
            f"order_by should not contain partition cols ({', '.join(meaningless)}): they are equal within a partition."
        )


def replacing(tasks: Iterable[CommitMessage], written: Iterable[CommitMessage]) -> list[CommitMessage]:
    """The messages that put the files written into the place of those of the tasks: an overwrite, as in Java."""
    after: dict[bytes, list[DataFileMeta]] = defaultdict(list)
    for message in written:
        after[message.partition] += (replace(f, file_source=int(FileSource.COMPACT)) for f in message.new_files)
    return [
        replace(
            t,
            new_files=tuple(after[t.partition]),
            deleted_files=t.compact_before,
            deleted_index_files=t.compact_deleted_index_files,
            compact_before=(),
            compact_deleted_index_files=(),
        )
        for t in tasks
    ]


def _parts(task: CommitMessage, target: int) -> Iterator[CommitMessage]:
    """The task in pieces of about `target` bytes."""
    group, size = [], 0
    for file in task.compact_before:
        group.append(file)
        size += file.file_size
        if size >= target:
            yield replace(task, compact_before=tuple(group))
            group, size = [], 0
    if group:
        yield replace(task, compact_before=tuple(group))
