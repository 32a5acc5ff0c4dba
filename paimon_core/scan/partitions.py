"""The partitions of a version as rows, and a plan reduced to some partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from paimon_core.arrow.types import arrow_type
from paimon_core.expressions.constants import array_of
from paimon_core.expressions.predicate import Predicate, only_on
from paimon_core.scan.fallback import partition_files
from paimon_core.scan.plan import Plan
from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.manifest import created_millis
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.types import DataField, DataType, Kind, TimeType
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.table_store import TableStore

_STORED_AS = {Kind.DATE: pa.int32(), Kind.TIME: pa.int32(), Kind.TIMESTAMP: pa.int64(), Kind.TIMESTAMP_LTZ: pa.int64()}


def partition_rows(store: TableStore, snapshot: Snapshot | None) -> pa.Table:
    """Return a table of the partitions that a query finds: a row per partition, and a column per partition key."""
    return decoded_partitions(store, sorted({e.partition for e in partition_files(store, snapshot)}))


def partition_counts(store: TableStore, snapshot: Snapshot | None, predicate: Predicate) -> dict[str, int]:
    """Return the sums over the live files of some partitions, by the names that Paimon's catalogs use."""
    which = PartitionFilter(store.schema.partition_fields, predicate=predicate)
    files = [e.file for e in partition_files(store, snapshot) if which.holds(e.partition)]
    made = (m for f in files if (m := created_millis(f)) is not None)
    return {
        "recordCount": sum(f.row_count for f in files),
        "fileSizeInBytes": sum(f.file_size for f in files),
        "fileCount": len(files),
        "lastFileCreationTime": max(made, default=0),
    }


def decoded_partitions(store: TableStore, partitions: Sequence[bytes]) -> pa.Table:
    """Decode partitions to a table: a row per partition, and a column per partition key."""
    fields = store.schema.partition_fields
    types = [f.type for f in fields]
    rows = [decode_row(types, p) for p in partitions]
    return pa.table({f.name: values_array(f, [r[i] for r in rows]) for i, f in enumerate(fields)})


def values_array(field: DataField, values: Sequence[Any]) -> pa.Array:
    """Convert values of a column from metadata to an array of the column's type."""
    target, stored = arrow_type(field.type), _STORED_AS.get(field.type.kind)
    if stored is None:
        return array_of(values, target)
    if stored == pa.int64():
        per_milli = {"ms": 1, "us": 1000, "ns": 1_000_000}[target.unit]
        values = [None if v is None else v[0] * per_milli + v[1] * per_milli // 1_000_000 for v in values]
    return array_of(values, stored).cast(target)


def is_cut(data_type: DataType) -> bool:
    """Return whether Spark compares shorter values than partitions have: it cuts times to microseconds."""
    return isinstance(data_type, TimeType) and data_type.precision > 6


def in_partitions(store: TableStore, plan: Plan, predicate: Predicate) -> Plan:
    """Return the plan without splits of partitions that a predicate excludes.

    Conjuncts on other columns are ignored.
    """
    known = PartitionFilter(store.schema.partition_fields, predicate=only_on(predicate, store.schema.partition_keys))
    return replace(plan, splits=tuple(s for s in plan.splits if known.holds(s.partition)))
