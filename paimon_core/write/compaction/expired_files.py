"""Files with expired rows, found by the earliest time in their statistics."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from paimon_core.arrow.types import arrow_field
from paimon_core.lsm.record_expiry import RecordExpiry, epoch_seconds
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataField, TimeType
from paimon_core.store.data.column_stats import value_stats
from paimon_core.store.schemas import read_schema
from paimon_core.store.table_store import TableStore


def expired_files(store: TableStore, files: Iterable[DataFileMeta], expiry: RecordExpiry | None) -> frozenset[str]:
    """The names of the files with an expired row. Files without statistics are left out."""
    if expiry is None:
        return frozenset()
    wanted = store.schema.field_by_name[expiry.column].id
    return frozenset(f.file_name for f in files if _has_expired(read_schema(store, f.schema_id), f, wanted, expiry))


def _has_expired(then: TableSchema, file: DataFileMeta, wanted: int, expiry: RecordExpiry) -> bool:
    """Return whether the earliest time of a file has expired."""
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
