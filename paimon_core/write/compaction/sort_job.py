"""Sort compaction of append tables: all files of some partitions become files in the order of columns, or of a curve.

The executor sorts: it reads the rows of parts of buckets, and returns them sorted for writing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum

import pyarrow as pa

from paimon_core.arrow.types import arrow_schema
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.options import BUCKET, DATA_EVOLUTION, SPLIT_TARGET_SIZE
from paimon_core.spec.manifest import DataFileMeta, FileSource
from paimon_core.spec.message import BUCKET_STATE, BucketState, CommitMessage
from paimon_core.spec.types import DataField
from paimon_core.store.data.bucket_files import BucketFiles
from paimon_core.store.data.row_tracking import tracking_fields
from paimon_core.store.indexes.index_files import vectors_by_file
from paimon_core.store.table_store import TableStore
from paimon_core.write.compaction.space_filling import hilbert, z_order
from paimon_core.write.files.data_files import target_file_size
from paimon_core.write.rows.incoming import as_stored

SORT_KEY = "__sort_key"


class Curve(StrEnum):
    """The order of rows by several columns: ORDER sorts by one column after another. ZORDER and HILBERT sort along a
    curve through all columns.
    """

    ORDER = "order"
    ZORDER = "zorder"
    HILBERT = "hilbert"


@dataclass(frozen=True, slots=True)
class SortJob:
    """Parts of buckets to sort.

    `read` reads the rows of a part, `files` is the approximate number of files to write.
    """

    store: TableStore
    columns: tuple[str, ...]
    curve: Curve
    parts: tuple[BucketState, ...]
    files: int

    @property
    def texts(self) -> list[str]:
        """The parts as texts, which tasks can receive."""
        return [BUCKET_STATE.encode(p) for p in self.parts]

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns of the rows: the table's columns, then the columns of row tracking."""
        return (*self.store.schema.fields, *tracking_fields(self.store))

    @property
    def sort_columns(self) -> tuple[str, ...]:
        """The columns by which the executor must sort the rows of `read`, NULL first."""
        partition = self.store.schema.partition_keys
        return (*partition, *self.columns) if self.curve is Curve.ORDER else (*partition, SORT_KEY)

    def read(self, text: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part: the columns of `fields`, then `SORT_KEY` if a curve orders the rows."""
        part, fields = BUCKET_STATE.decode(text), self.fields
        deletions = vectors_by_file(self.store, part.key, part.vectors)
        reader = BucketFiles(self.store, self.store.bucket_dir(*part.key), fields, deletions=deletions)
        schema = arrow_schema(fields)
        for batch in reader.read(part.files):
            rows = batch.cast(schema) if batch.schema != schema else batch
            if self.curve is Curve.ORDER:
                yield rows
                continue
            columns = [rows.column(c) for c in self.columns]
            key = z_order(columns) if self.curve is Curve.ZORDER else hilbert(columns)
            yield rows.append_column(SORT_KEY, key)


def sort_job(store: TableStore, buckets: Sequence[BucketState], columns: Sequence[str], curve: Curve) -> SortJob:
    """Return the job for some buckets. Raises `UnsupportedFeatureError` or `InvalidOptionError` if the table cannot be
    sorted in this way."""
    if store.has_primary_key or store.options[BUCKET] != -1:
        raise UnsupportedFeatureError(
            f"Table {store.name} cannot be sorted: order_strategy is for append tables with 'bucket' = '-1'. "
            "Leave order_strategy out."
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
    total = sum(b.size for b in buckets)
    parts = tuple(part for b in buckets for part in _parts(b, store.options[SPLIT_TARGET_SIZE]))
    return SortJob(as_stored(store), tuple(columns), curve, parts, max(1, -(-total // target_file_size(store))))


def check_order(store: TableStore, columns: Sequence[str]) -> None:
    """Raise `InvalidOptionError` if a column cannot order rows."""
    meaningless = [c for c in columns if c in store.schema.partition_keys]
    if meaningless:
        raise InvalidOptionError(
            f"order_by should not contain partition cols ({', '.join(meaningless)}): rows of a partition share them. "
            "Leave them out."
        )


def replacing(buckets: Iterable[BucketState], written: Iterable[CommitMessage]) -> list[CommitMessage]:
    """Return the messages that replace the files of buckets with the written files. The commit is an overwrite, as in
    Java.
    """
    after: dict[bytes, list[DataFileMeta]] = defaultdict(list)
    for message in written:
        after[message.partition] += (replace(f, file_source=int(FileSource.COMPACT)) for f in message.new_files)
    return [replace(b.deleted(), new_files=tuple(after[b.partition])) for b in buckets]


def _parts(bucket: BucketState, target: int) -> Iterator[BucketState]:
    """Divide the bucket into parts of about `target` bytes."""
    group, size = [], 0
    for file in bucket.files:
        group.append(file)
        size += file.file_size
        if size >= target:
            yield replace(bucket, files=tuple(group))
            group, size = [], 0
    if group:
        yield replace(bucket, files=tuple(group))
