"""The partitions of a version, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from paimon_core.formats.arrow_types import arrow_type
from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.types import DataField, Kind
from paimon_core.store.manifests import live_files
from paimon_core.store.table_store import TableStore

_STORED_AS = {Kind.DATE: pa.int32(), Kind.TIME: pa.int32(), Kind.TIMESTAMP: pa.int64(), Kind.TIMESTAMP_LTZ: pa.int64()}


def partition_rows(store: TableStore, snapshot: Snapshot | None) -> pa.Table:
    """One row per partition that has files, a column per partition key."""
    return decoded_partitions(store, sorted({e.partition for e in live_files(store, snapshot).values()}))


def decoded_partitions(store: TableStore, partitions: Sequence[bytes]) -> pa.Table:
    """One row per partition, a column per partition key."""
    fields = store.schema.partition_fields
    types = [f.type for f in fields]
    rows = [decode_row(types, p) for p in partitions]
    return pa.table({f.name: _column(f, [r[i] for r in rows]) for i, f in enumerate(fields)})


def _column(field: DataField, values: Sequence[Any]) -> pa.Array:
    target, stored = arrow_type(field.type), _STORED_AS.get(field.type.kind)
    if stored is None:
        return pa.array(values, target)
    if stored == pa.int64():
        per_milli = {"ms": 1, "us": 1000, "ns": 1_000_000}[target.unit]
        values = [None if v is None else v[0] * per_milli + v[1] * per_milli // 1_000_000 for v in values]
    return pa.array(values, stored).cast(target)
