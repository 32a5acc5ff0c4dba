"""Writing postponed buckets (`'bucket' = '-2'`): files keep the rows in order of arrival, and a later compaction
assigns buckets.

Files are in Avro if it supports the columns. Each writer has a number that marks its files.
"""

from __future__ import annotations

import random
import uuid

import pyarrow as pa

from paimon_core.arrow.binary_rows import row_bytes
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.formats.avro.schema import record_schema
from paimon_core.options import (
    DATA_FILE_PREFIX,
    FILE_FORMAT,
    FILE_FORMAT_PER_LEVEL,
    POSTPONED,
    STATS_MODE,
    STATS_MODE_PER_LEVEL,
    WRITE_BUFFER_SIZE,
)
from paimon_core.spec.message import CommitMessage
from paimon_core.store.data.bucket_files import merge_spec
from paimon_core.store.file_fields import file_fields
from paimon_core.store.table_store import TableStore
from paimon_core.write.bucket_writers import BucketWriters
from paimon_core.write.buckets.bucketing import partition_codes, split_by
from paimon_core.write.files.data_files import FileRole
from paimon_core.write.rows.changed_keys import ChangedKeys
from paimon_core.write.rows.stored import FileRows
from paimon_core.write.rows.write_buffer import WriteBuffer


class PostponedWriter:
    """The `TableWriter` of postponed rows. `once`: it is an error to change a row twice."""

    def __init__(self, store: TableStore, sequence_start: int, once: bool = False):
        self._schema = store.schema
        self._rows = FileRows(store, merge_spec(store, drop_delete=False).engine, sequence_start)
        self._writers = BucketWriters(_waiting_store(store), FileRole(), POSTPONED)
        order = tuple(dict.fromkeys(store.schema.partition_keys + store.schema.trimmed_primary_keys))
        self._buffer = WriteBuffer(order, store.options[WRITE_BUFFER_SIZE]) if once else None
        self._changed = ChangedKeys(order, store.options)

    def write(self, batch: pa.RecordBatch) -> None:
        rows = self._rows(batch)
        if self._buffer is None:
            self._divide(rows)
        elif not self._buffer.offer(rows):
            self._flush(more=True)
            self._buffer.offer(rows)

    def finish(self) -> list[CommitMessage]:
        self._flush(more=False)
        return self._writers.finish()

    def abort(self) -> None:
        self._changed.clear()
        self._writers.abort()

    def _flush(self, *, more: bool) -> None:
        drained = None if self._buffer is None else self._buffer.drain()
        if drained is not None:
            self._changed.add(*drained, more=more)
            self._divide(drained[0])

    def _divide(self, rows: pa.RecordBatch) -> None:
        for _, part in split_by(rows, partition_codes(rows, self._schema.partition_keys)):
            self._writers.write(row_bytes(part, 0, self._schema.partition_fields), POSTPONED, part)


def _waiting_store(store: TableStore) -> TableStore:
    """Return the store for writers of postponed files."""
    number = random.randrange(2**31)
    options = {DATA_FILE_PREFIX.key: f"{store.options[DATA_FILE_PREFIX]}-u-{uuid.uuid4()}-s-{number}-w-"}
    try:
        record_schema(file_fields(store))
        options |= {FILE_FORMAT.key: "avro", FILE_FORMAT_PER_LEVEL.key: ""}
        options |= {STATS_MODE.key: "none", STATS_MODE_PER_LEVEL.key: ""}
    except UnsupportedFeatureError:
        pass  # tables with types that Avro does not support keep their own format
    return store.with_options(options)
