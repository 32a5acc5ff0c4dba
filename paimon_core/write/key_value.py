"""Writing primary-key tables: sorted rows become sorted level-0 files that hold each key once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_core.formats.arrow_types import VALUE_KIND, arrow_schema
from paimon_core.formats.binary_rows import row_bytes
from paimon_core.formats.columns import int64_array
from paimon_core.lsm.keys import flatten, fold, key_words, widths
from paimon_core.lsm.merge import merge_rows
from paimon_core.lsm.rows import concat_batches
from paimon_core.options import BUCKET
from paimon_core.spec.message import CommitMessage
from paimon_core.store.bucket_files import file_fields, merge_spec
from paimon_core.store.table_store import TableStore
from paimon_core.write.bucket_writers import BucketWriters
from paimon_core.write.bucketing import BucketFunction, partition_codes, split_by
from paimon_core.write.data_files import FileRole
from paimon_core.write.rows import conform


class KeyValueWriter:
    """`TableWriter` of primary-key tables.

    The last row of a batch waits for the next batch, which may go on with its key. Where a batch does not follow the
    one before in key order, files end: each stays sorted, and sequence numbers tell which row is newer.
    """

    def __init__(self, store: TableStore, sequence_start: int):
        self._schema = schema = store.schema
        self._next_sequence = sequence_start
        self._file_schema = arrow_schema(file_fields(store))
        self._order = tuple(dict.fromkeys(schema.partition_keys + schema.trimmed_primary_keys))
        self._spec = merge_spec(store, drop_delete=False)
        buckets = store.options[BUCKET]
        self._bucket_of = BucketFunction(schema.select(schema.bucket_keys), buckets)
        self._writers = BucketWriters(store, FileRole(), buckets)
        self._partition: bytes | None = None
        self._waiting: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        rows = concat_batches([*self._waiting, self._keyed(batch)])
        words = key_words([rows.column(n) for n in self._order])
        key = fold(flatten(words, widths([words])))
        if (key[1:] < key[:-1]).any():
            self._writers.roll()
        merged = merge_rows(rows, key, self._spec)
        last = merged.num_rows - 1
        self._waiting = [merged.slice(last)]
        self._distribute(merged.slice(0, last))

    def finish(self) -> list[CommitMessage]:
        for rows in self._waiting:
            self._distribute(rows)
        self._waiting = []
        return self._writers.finish()

    def abort(self) -> None:
        self._waiting = []
        self._writers.abort()

    def _keyed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows as files hold them: with keys, sequence numbers and row kinds."""
        rows = conform(batch, self._schema)
        keys = [rows.column(n) for n in self._schema.trimmed_primary_keys]
        numbers = np.arange(self._next_sequence, self._next_sequence + rows.num_rows, dtype=np.int64)
        self._next_sequence += rows.num_rows
        place = batch.schema.get_field_index(VALUE_KIND)
        kinds = batch.column(place) if place >= 0 else _inserts(rows.num_rows)
        return pa.RecordBatch.from_arrays([*keys, int64_array(numbers), kinds, *rows.columns], schema=self._file_schema)

    def _distribute(self, rows: pa.RecordBatch) -> None:
        """Hand merged rows to the writers of their buckets."""
        for _, part in split_by(rows, partition_codes(rows, self._schema.partition_keys)):
            partition = row_bytes(part, 0, self._schema.partition_fields)
            if partition != self._partition:
                self._writers.roll()
                self._partition = partition
            for bucket, share in split_by(part, self._bucket_of(part)):
                self._writers.write(partition, bucket, share)


def _inserts(rows: int) -> pa.Array:
    return pa.Array.from_buffers(pa.int8(), rows, [None, pa.py_buffer(bytes(rows))])
