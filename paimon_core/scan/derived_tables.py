"""Derived tables: `t$NAME` reads the data files of `t` in another way.

    $ro            the rows of the last LSM level: nothing to merge, possibly not the newest
    $audit_log     rowkind (+I -U +U -D), then the columns; deleted rows stay
    $binlog        as $audit_log, each column an array: [before, after] for an update, else [value]
    $row_tracking  the columns, then the id and the version of each row

CHANGES is not a table with a name: engines show it as the changes of a table, each with its snapshot.

`table-read.sequence-number.enabled` adds `_SEQUENCE_NUMBER` after the row kind of both logs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from paimon_core.arrow.columns import fixed_values, int64_array
from paimon_core.arrow.types import SEQUENCE_NUMBER, VALUE_KIND, arrow_schema
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.expressions.arrow import to_arrow
from paimon_core.expressions.constants import text_constants
from paimon_core.expressions.predicate import Predicate, only_on
from paimon_core.lazy import ImportedOnCall
from paimon_core.lsm.rows import ROW_UPDATE_BEFORE, concat_batches
from paimon_core.options import READ_SEQUENCE_NUMBER, ROW_TRACKING
from paimon_core.scan.read import read_split, with_blobs
from paimon_core.spec.split import DataSplit
from paimon_core.spec.types import BIGINT, STRING, CollectionType, DataField, Kind, TimeType
from paimon_core.store.data.row_tracking import tracking_fields
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.scan.changes.read import read_changes
else:
    read_changes = ImportedOnCall("paimon_core.scan.changes.read", "read_changes")

ROW_KIND = "rowkind"
_KINDS = text_constants("+I", "-U", "+U", "-D")


class DerivedTable(StrEnum):
    """The rows to read from a table's files: the table's own rows, or the rows of a derived table."""

    ROWS = ""
    READ_OPTIMIZED = "ro"
    AUDIT_LOG = "audit_log"
    BINLOG = "binlog"
    ROW_TRACKING = "row_tracking"
    CHANGES = "changes"

    @property
    def is_log(self) -> bool:
        return self in (DerivedTable.AUDIT_LOG, DerivedTable.BINLOG, DerivedTable.CHANGES)


NAMED_TABLES = frozenset(d.value for d in DerivedTable if d not in (DerivedTable.ROWS, DerivedTable.CHANGES))
CHANGE_FIELDS = (
    DataField(id=2**31 - 11, name="_change_type", type=STRING.with_nullable(False)),
    DataField(id=2**31 - 12, name="_commit_version", type=BIGINT.with_nullable(False)),
    DataField(id=2**31 - 13, name="_commit_timestamp", type=TimeType(Kind.TIMESTAMP_LTZ, False, 3)),
)
_CHANGE_TYPES = text_constants("insert", "update_preimage", "update_postimage", "delete")  # in the order of `_KINDS`


def derived_fields(store: TableStore, derived: DerivedTable) -> tuple[DataField, ...]:
    """Return the columns of a derived table.

    Raises `UnsupportedFeatureError` for `$row_tracking` without row tracking.
    """
    if derived is DerivedTable.ROW_TRACKING:
        if not tracking_fields(store):
            raise UnsupportedFeatureError(
                f"Table {store.name} does not support row tracking: create a table with '{ROW_TRACKING.key}' = 'true'."
            )
        tracked = (replace(f, type=f.type.with_nullable(False)) for f in tracking_fields(store))
        return (*store.schema.fields, *tracked)
    if not derived.is_log:
        return store.schema.fields
    if derived is DerivedTable.CHANGES:
        return (*store.schema.fields, *CHANGE_FIELDS)
    special = [DataField(id=2**31 - 5, name=ROW_KIND, type=STRING)]
    if store.options[READ_SEQUENCE_NUMBER]:
        special.append(DataField(id=2**31 - 2, name=SEQUENCE_NUMBER, type=BIGINT))
    if derived is DerivedTable.AUDIT_LOG:
        return (*special, *store.schema.fields)
    arrays = (
        replace(f, type=CollectionType(Kind.ARRAY, element=f.type.with_nullable(True)), default=None)
        for f in store.schema.fields
    )
    return (*special, *arrays)


def read_derived(
    store: TableStore,
    derived: DerivedTable,
    split: DataSplit,
    columns: Sequence[str],
    predicate: Predicate | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield batches of the named columns of a derived table, in that order.

    Rows that do not match `predicate` may be included."""
    if not derived.is_log:
        yield from read_split(store, split, columns, predicate)
        return
    names = [c for c in columns if c in store.schema.field_by_name]
    usable = only_on(predicate, names) if predicate else None
    condition = to_arrow(usable, arrow_schema(store.schema.select(tuple(names)))) if usable else None
    batches = with_blobs(store, read_changes(store, split, names, usable, retracts=True), names)
    if derived is not DerivedTable.BINLOG:
        column = partial(_change_column, split) if derived is DerivedTable.CHANGES else _log_column
        for batch in batches:
            rows = batch if condition is None else condition.filter(batch)
            yield pa.record_batch([column(rows, c) for c in columns], names=list(columns))
    else:
        yield from _packed(batches, columns)


def _log_column(rows: pa.RecordBatch, name: str) -> pa.Array:
    return _KINDS.take(rows.column(VALUE_KIND)) if name == ROW_KIND else rows.column(name)


def _change_column(split: DataSplit, rows: pa.RecordBatch, name: str) -> pa.Array:
    kind, version, moment = (f.name for f in CHANGE_FIELDS)
    if name == kind:
        return _CHANGE_TYPES.take(rows.column(VALUE_KIND))
    if name in (version, moment):
        value = split.snapshot_id if name == version else split.commit_millis
        numbers = pa.array(np.full(rows.num_rows, value, dtype=np.int64))
        return numbers if name == version else numbers.cast(pa.timestamp("ms", "UTC"))
    return rows.column(name)


def _packed(batches: Iterator[pa.RecordBatch], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield one row per change: a -U and the +U after it become one row."""
    pending: list[pa.RecordBatch] = []
    for batch in batches:
        rows = concat_batches([*pending, batch])
        kinds = fixed_values(rows.column(VALUE_KIND), np.int8)
        # A batch may end between the two halves of an update: the second half is then in the next batch.
        split = rows.num_rows - (kinds[-1] == ROW_UPDATE_BEFORE)
        pending = [rows.slice(split)] if split < rows.num_rows else []
        yield from _packed_rows(rows.slice(0, split), columns)
    for rest in pending:
        yield from _packed_rows(rest, columns)


def _packed_rows(rows: pa.RecordBatch, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    if not rows.num_rows:
        return
    kinds = fixed_values(rows.column(VALUE_KIND), np.int8)
    starts = np.flatnonzero(np.append(True, kinds[:-1] != ROW_UPDATE_BEFORE))
    ends = np.append(starts[1:], rows.num_rows)
    special = (ROW_KIND, SEQUENCE_NUMBER)
    last = rows.take(int64_array(ends - 1))
    offsets = pa.array(np.append(starts, rows.num_rows).astype(np.int32))
    arrays = [
        _log_column(last, c) if c in special else pa.ListArray.from_arrays(offsets, rows.column(c)) for c in columns
    ]
    yield pa.record_batch(arrays, names=list(columns))
