"""Incoming rows of a primary-key table in the form of its data files: key, sequence number, row kind, values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_array, fixed_values, int64_array
from paimon_core.arrow.types import SEQUENCE_NUMBER, VALUE_KIND, arrow_schema
from paimon_core.errors import InvalidDataError
from paimon_core.expressions.constants import text_constants
from paimon_core.lsm.engines.registry import MergeEngine, check_kinds, with_counts
from paimon_core.lsm.rows import ROW_INSERT, ROW_UPDATE_BEFORE, is_retract
from paimon_core.options import IGNORE_DELETE, IGNORE_UPDATE_BEFORE, ROW_KIND_FIELD, TableOptions
from paimon_core.store.file_fields import file_fields
from paimon_core.store.table_store import TableStore
from paimon_core.write.rows.incoming import conform


class FileRows:
    """Gives rows their keys, kinds and sequence numbers, numbered in order of arrival.

    Without a `sequence_start`, rows keep their numbers. `counted`: the rows come from files, so their `count` columns
    already contain counts (1, 0 or sums), not values to count.
    """

    def __init__(self, store: TableStore, engine: MergeEngine, sequence_start: int | None, *, counted: bool = False):
        self._counted = counted
        self._store, self._schema, self._options, self._engine = store, store.schema, store.options, engine
        self._next_sequence = sequence_start
        self._file_schema = arrow_schema(file_fields(store))

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows to write. Raises `InvalidDataError`; see `with_row_kinds` and `conform`."""
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
        # Paimon before 0.8 numbered rows by `sequence.field`, which may have the largest number. All later rows have
        # this number, too: of two rows with one number, the row that is written later is newer.
        known = max(0, min(batch.num_rows, _LARGEST - first + 1))
        numbers = np.full(batch.num_rows, _LARGEST, dtype=np.int64)
        numbers[:known] = min(first, _LARGEST) + np.arange(known)
        return int64_array(numbers)


_LARGEST = 2**63 - 1
# in the order of the numbers in files
_SPELLINGS = text_constants("+I", "-U", "+U", "-D")


def with_row_kinds(batch: pa.RecordBatch, options: TableOptions, engine: MergeEngine) -> pa.RecordBatch:
    """Return the rows to write, each with its `_VALUE_KIND`.

    Deletes are left out with `ignore-delete`, old versions of updates with `ignore-update-before`. Raises
    `InvalidDataError` for an unknown kind, and for deletes that the merge engine does not accept.
    """
    kinds = _kinds(batch, options[ROW_KIND_FIELD])
    dropped = np.zeros(len(kinds), dtype=np.bool_)
    if options[IGNORE_DELETE]:
        dropped = is_retract(kinds)
    elif options[IGNORE_UPDATE_BEFORE]:
        dropped = kinds == ROW_UPDATE_BEFORE
    index = batch.schema.get_field_index(VALUE_KIND)
    rows = batch if index < 0 else batch.remove_column(index)
    if dropped.any():
        kept = np.flatnonzero(~dropped)
        rows, kinds = rows.take(int64_array(kept)), kinds[kept]
    check_kinds(engine, rows, kinds)
    return rows.append_column(pa.field(VALUE_KIND, pa.int8(), nullable=False), fixed_array(kinds, pa.int8()))


def _kinds(batch: pa.RecordBatch, column: str) -> NDArray[np.int8]:
    """Return the row kinds from `column` (`rowkind.field`), unless the rows already have kinds, as rows of DELETE and
    UPDATE do.
    """
    index = batch.schema.get_field_index(VALUE_KIND)
    given = fixed_values(batch.column(index), np.int8) if index >= 0 else np.zeros(batch.num_rows, dtype=np.int8)
    if not column:
        return given
    if batch.schema.get_field_index(column) < 0:
        raise InvalidDataError(
            f"The rows to write have no column {column!r}, which '{ROW_KIND_FIELD.key}' names. Add it to the rows."
        )
    texts = batch.column(column)
    codes = pc.index_in(texts, value_set=_SPELLINGS.cast(texts.type))
    if codes.null_count:
        wrong = texts.filter(codes.is_null())[0].as_py()
        raise InvalidDataError(
            f"Column {column!r} ('{ROW_KIND_FIELD.key}') cannot hold {wrong!r}: it must be one of +I, -U, +U and -D."
        )
    return np.where(given != ROW_INSERT, given, fixed_values(codes, np.int32)).astype(np.int8)
