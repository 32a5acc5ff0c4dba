"""Aggregates that metadata answers: counts, minima and maxima, by partition columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.dataclass import dataclass
from paimon_core.lazy import cached_property
from paimon_core.options import DATA_EVOLUTION
from paimon_core.scan.partitions import values_array
from paimon_core.scan.plan import Plan
from paimon_core.scan.pruning.file_stats import FileStats
from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.kinds import FLOATS, INTEGERS, MOMENTS
from paimon_core.spec.split import DataSplit
from paimon_core.spec.stats import UNKNOWN, ColumnStats
from paimon_core.spec.types import BIGINT, DOUBLE, DataField, Kind
from paimon_core.store.blob.columns import viewed_columns
from paimon_core.store.table_store import TableStore

_LARGEST = 2**63 - 1
# The statistics of other types are truncated, or leave out some values.
_EXACT_BOUNDS = INTEGERS | {Kind.BOOLEAN, Kind.DATE}
# Python compares these values as SQL does
COMPARED = _EXACT_BOUNDS | MOMENTS | {Kind.VARCHAR, Kind.DECIMAL}
SUMMED = FLOATS | INTEGERS


Function = Literal["count", "min", "max", "sum"]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One function over the rows of a group. `column` None means that it counts whole rows."""

    function: Function
    column: str | None = None

    def describe(self) -> str:
        return f"{self.function}({'*' if self.column is None else self.column})"


def aggregate(store: TableStore, plan: Plan, groups: Sequence[str], aggregates: Sequence[Aggregate]) -> pa.Table | None:
    """Return a row per group: its partition columns, then the values of the aggregates. Without `groups`, return one
    row.

    Return None if metadata does not contain all the values.
    """
    if plan.row_count is None or not _answerable(store, groups, aggregates):
        return None
    source = _Source(store, frozenset(a.column for a in aggregates if a.column is not None))
    found: dict[tuple[Any, ...], list[list[Any]]] = {} if groups else {(): [[] for _ in aggregates]}
    for split in plan.splits:
        if not split.result_count:
            continue
        partition = source.partition(split)
        values = [source.values(split, partition, a) for a in aggregates]
        if any(v is None for v in values):
            return None
        parts = found.setdefault(tuple(partition[g] for g in groups), [[] for _ in aggregates])
        for part, more in zip(parts, values, strict=True):
            part += more or []
    results = [[_combine(a, parts[i]) for parts in found.values()] for i, a in enumerate(aggregates)]
    keys = [[key[i] for key in found] for i in range(len(groups))]
    fields = result_fields(store, groups, aggregates)
    arrays = [values_array(f, column) for f, column in zip(fields, keys + results, strict=True)]
    return pa.Table.from_arrays(arrays, names=[f.name for f in fields])


def result_fields(store: TableStore, groups: Sequence[str], aggregates: Sequence[Aggregate]) -> list[DataField]:
    """The columns of `aggregate`."""
    return [*(store.schema.field_by_name[g] for g in groups), *(_result_field(store, a) for a in aggregates)]


def aggregate_rows(content: pa.Table, groups: Sequence[str], aggregates: Sequence[Aggregate]) -> pa.Table | None:
    """Aggregate rows in memory, with the result of `aggregate`.

    Return None for floats and nested values, because SQL has its own order for them, and if a sum may overflow."""
    compared = [a.column for a in aggregates if a.column is not None and a.function in ("min", "max")]
    types = [content.schema.field(c).type for c in (*groups, *compared)]
    if any(pa.types.is_floating(t) or pa.types.is_nested(t) for t in types):
        return None
    if not all(_has_sum(content[a.column]) for a in aggregates if a.column is not None and a.function == "sum"):
        return None
    names = [*groups, *(a.describe() for a in aggregates)]
    if not groups:
        return pa.Table.from_arrays([pa.repeat(_total(a, content), 1) for a in aggregates], names=names)
    wanted = [([], "count_all") if a.column is None else (a.column, a.function) for a in aggregates]
    found = content.group_by(list(groups), use_threads=False).aggregate(wanted)
    columns = [*groups, *("count_all" if a.column is None else f"{a.column}_{a.function}" for a in aggregates)]
    return pa.Table.from_arrays([found[c] for c in columns], names=names)


def _total(one: Aggregate, content: pa.Table) -> pa.Scalar:
    if one.column is None:
        return pa.scalar(len(content), pa.int64())
    column = content[one.column]
    if one.function == "sum" and pa.types.is_floating(column.type):
        return _sum_in_order(column)
    functions = {"count": pc.count, "min": pc.min, "max": pc.max, "sum": pc.sum}
    return functions[one.function](column)


def _sum_in_order(column: pa.ChunkedArray) -> pa.Scalar:
    """Add one number after the other, as Spark does: Arrow adds pairs, which rounds differently."""
    values = column.drop_null().to_numpy().astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        return pa.scalar(np.cumsum(values)[-1] if len(values) else None, pa.float64())


def _has_sum(column: pa.ChunkedArray) -> bool:
    """Return whether every partial sum of the values fits the type of sums: BIGINT for integers, DOUBLE for others."""
    if pa.types.is_floating(column.type):
        return True
    if not pa.types.is_integer(column.type):
        return False
    bounds: dict[str, int | None] = pc.min_max(column).as_py()
    return len(column) * max(abs(bounds["min"] or 0), abs(bounds["max"] or 0)) <= _LARGEST


def _answerable(store: TableStore, groups: Sequence[str], aggregates: Sequence[Aggregate]) -> bool:
    partitions, fields = store.schema.partition_keys, store.schema.field_by_name
    if store.options[DATA_EVOLUTION] and any(a.column is not None for a in aggregates):
        return False  # a newer file may hold other values of the same rows
    if viewed_columns(store, [a.column for a in aggregates if a.column is not None]):
        return False  # files hold views, and the value of a view may be NULL
    if not all(g in partitions and fields[g].type.kind is not Kind.TIME for g in groups):
        return False
    for one in aggregates:
        if one.function == "sum":
            return False
        if one.column is None or one.function == "count":
            continue
        compared = COMPARED if one.column in partitions else _EXACT_BOUNDS
        if one.column not in fields or fields[one.column].type.kind not in compared:
            return False
    return all(a.column is None or a.column in fields for a in aggregates)


@dataclass(frozen=True)
class _Source:
    """The metadata of the rows in splits: the source of aggregates."""

    store: TableStore
    columns: frozenset[str]

    def partition(self, split: DataSplit) -> Mapping[str, Any]:
        """The values of the partition columns."""
        fields = self.store.schema.partition_fields
        return dict(zip((f.name for f in fields), decode_row([f.type for f in fields], split.partition), strict=True))

    def values(self, split: DataSplit, partition: Mapping[str, Any], one: Aggregate) -> list[Any] | None:
        """Return the values that the files of a split contribute to an aggregate, or None if they are unknown."""
        rows = split.result_count or 0
        if one.column is None:
            return [rows]
        if one.column in partition:
            value = partition[one.column]
            return [0 if value is None else rows] if one.function == "count" else [] if value is None else [value]
        if split.deletions or split.branch:
            return None
        parts = [_of_file(one, self._stats.of(f).get(one.column, UNKNOWN), f.row_count) for f in split.files]
        known = [p for p in parts if p is not None]
        return [v for p in known for v in p] if len(known) == len(parts) else None

    @cached_property
    def _stats(self) -> FileStats:
        return FileStats(self.store, self.columns)


def _of_file(one: Aggregate, stats: ColumnStats, rows: int) -> list[Any] | None:
    if stats.null_count is None:
        return None
    if one.function == "count":
        return [rows - stats.null_count]
    bound = stats.minimum if one.function == "min" else stats.maximum
    if bound is None:
        return [] if stats.null_count == rows else None
    return [bound]


def _combine(one: Aggregate, values: Sequence[Any]) -> Any:
    if one.function == "count":
        return sum(values)
    return (min if one.function == "min" else max)(values, default=None)


def _result_field(store: TableStore, one: Aggregate) -> DataField:
    if one.column is None or one.function == "count":
        return DataField(id=0, name=one.describe(), type=BIGINT)
    kind = store.schema.field_by_name[one.column].type
    if one.function == "sum":
        kind = DOUBLE if kind.kind in FLOATS else BIGINT
    return DataField(id=0, name=one.describe(), type=kind.with_nullable(True))
