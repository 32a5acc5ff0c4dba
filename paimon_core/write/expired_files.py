"""Which files hold rows that have expired: told by the least time in their statistics."""

from __future__ import annotations

import struct
from collections.abc import Iterable

import pyarrow as pa

from paimon_core.errors import CorruptFileError
from paimon_core.formats.arrow_types import arrow_field
from paimon_core.lsm.record_expiry import RecordExpiry, epoch_seconds
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.stats import EMPTY_STATS, decode_stats
from paimon_core.spec.types import DataField, TimeType
from paimon_core.store.schemas import read_schema
from paimon_core.store.table_store import TableStore


def expired_files(store: TableStore, files: Iterable[DataFileMeta], expiry: RecordExpiry | None) -> frozenset[str]:
    """The names of the files with an expired row; those that do not tell are left out."""
    if expiry is None:
        return frozenset()
    wanted = store.schema.field_by_name[expiry.column].id
    return frozenset(f.file_name for f in files if _has_expired(read_schema(store, f.schema_id), f, wanted, expiry))


def _has_expired(then: TableSchema, file: DataFileMeta, wanted: int, expiry: RecordExpiry) -> bool:
    """Whether the least time of a file has expired."""
    names = file.value_stats_cols if file.value_stats_cols is not None else tuple(then.field_by_name)
    field = next((f for f in then.fields if f.id == wanted and f.name in names), None)
    if field is None or file.value_stats == EMPTY_STATS:
        return False
    try:
        stats = decode_stats(then.types(names), file.value_stats)
    except (ValueError, struct.error) as e:
        raise CorruptFileError(file.file_name, f"its statistics in the manifest do not decode ({e})") from e
    least = stats[names.index(field.name)].minimum
    return least is not None and int(epoch_seconds(_as_column(field, least))[0]) < expiry.oldest


def _as_column(field: DataField, value: object) -> pa.Array:
    arrow = arrow_field(field).type
    if isinstance(field.type, TimeType) and isinstance(value, tuple):
        millis, nanos = value
        return pa.array([millis * 1_000_000 + nanos], pa.int64()).cast(pa.timestamp("ns"))
    return pa.array([value], arrow)
