"""Writing tables without a primary key: rows in order of arrival, divided by partition and bucket."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_core.arrow.binary_rows import row_bytes
from paimon_core.arrow.columns import fixed_values
from paimon_core.arrow.types import TRACKING_NAMES, VALUE_KIND
from paimon_core.errors import InvalidDataError
from paimon_core.options import BUCKET
from paimon_core.spec.manifest import UNAWARE_BUCKET
from paimon_core.spec.message import CommitMessage
from paimon_core.store.data.row_tracking import rewritten_columns
from paimon_core.store.table_store import TableStore
from paimon_core.write.bucket_writers import BucketWriters
from paimon_core.write.buckets.bucketing import BucketFunction, partition_codes, split_by
from paimon_core.write.files.data_files import FileRole
from paimon_core.write.rows.incoming import conform


class AppendWriter:
    """The `TableWriter` of tables without a primary key. `tracked`: the rows were in the table before, and come with
    their row ids.
    """

    def __init__(self, store: TableStore, sequence_start: int, tracked: bool = False):
        self._store, self._schema = store, store.schema
        buckets = store.options[BUCKET]
        self._bucket_of: BucketFunction | None = None
        if buckets > 0:
            self._bucket_of = BucketFunction.of(store)
        # files of unaware buckets have no order: each file numbers its own rows
        role = FileRole(
            sequence_start=sequence_start if buckets > 0 else 0, columns=rewritten_columns(store) if tracked else None
        )
        self._tracking = TRACKING_NAMES if tracked else ()
        self._writers = BucketWriters(store, role, buckets)

    def write(self, batch: pa.RecordBatch) -> None:
        index = batch.schema.get_field_index(VALUE_KIND)
        if index >= 0 and fixed_values(batch.column(index), np.int8).any():
            raise InvalidDataError(
                "A table without a primary key accepts inserted rows only: define a primary key to write "
                "updates and deletes."
            )
        rows = conform(batch, self._store)
        for name in self._tracking:
            rows = rows.append_column(name, batch.column(name))
        for _, part in split_by(rows, partition_codes(rows, self._schema.partition_keys)):
            partition = row_bytes(part, 0, self._schema.partition_fields)
            if self._bucket_of is None:
                self._writers.write(partition, UNAWARE_BUCKET, part)
                continue
            for bucket, share in split_by(part, self._bucket_of(part)):
                self._writers.write(partition, bucket, share)

    def finish(self) -> list[CommitMessage]:
        return self._writers.finish()

    def abort(self) -> None:
        self._writers.abort()
