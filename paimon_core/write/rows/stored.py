"""Incoming rows of a primary-key table in the form of its data files: key, sequence number, row kind, values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_core.arrow.columns import fixed_values, int64_array
from paimon_core.arrow.types import SEQUENCE_NUMBER, VALUE_KIND, arrow_schema
from paimon_core.lsm.engines.registry import MergeEngine, with_counts
from paimon_core.store.file_fields import file_fields
from paimon_core.store.table_store import TableStore
from paimon_core.write.rows.incoming import conform
from paimon_core.write.rows.row_kinds import with_row_kinds


class FileRows:
    """Gives rows their keys and kinds, and sequence numbers in order of arrival. Without `sequence_start` rows keep
    their numbers. `counted`: the rows come from files, in which count columns already have 1 and 0, or sums of them."""

    def __init__(self, store: TableStore, engine: MergeEngine, sequence_start: int | None, *, counted: bool = False):
        self._counted = counted
        self._store, self._schema, self._options, self._engine = store, store.schema, store.options, engine
        self._next_sequence = sequence_start
        self._file_schema = arrow_schema(file_fields(store))

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows to write. Raises `InvalidDataError`; see `with_row_kinds` and `conform`."""
        batch = with_row_kinds(batch, self._options, self._engine)
        rows = conform(batch, self._store)
        if not self._counted:
            rows = with_counts(self._engine, rows, fixed_values(batch.column(VALUE_KIND), np.int8))
        keys = [rows.column(n) for n in self._schema.trimmed_primary_keys]
        columns = [*keys, self._numbers(batch), batch.column(VALUE_KIND), *rows.columns]
        return pa.RecordBatch.from_arrays(columns, schema=self._file_schema)

    def _numbers(self, batch: pa.RecordBatch) -> pa.Array:
        if self._next_sequence is None:
            return batch.column(SEQUENCE_NUMBER)
        first = self._next_sequence
        self._next_sequence += batch.num_rows
        return int64_array(np.arange(first, self._next_sequence, dtype=np.int64))
