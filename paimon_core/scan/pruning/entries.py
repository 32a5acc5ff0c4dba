"""The entries of a manifest that a query can leave out, decided on whole Arrow columns.

The remaining entries are checked one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core import compute as pc
from paimon_core.arrow.binary_row_fields import RowField
from paimon_core.arrow.columns import fixed_values, int64_array
from paimon_core.dataclass import dataclass
from paimon_core.expressions.constants import scalar_of
from paimon_core.expressions.predicate import Compare, In, Predicate, conjuncts
from paimon_core.expressions.prune import rank
from paimon_core.formats.registry import of_format
from paimon_core.formats.trusted_bounds import Mask, trusted
from paimon_core.manifests.entries import EntryColumns, Rows
from paimon_core.spec.kinds import BINARIES, DAYS_AND_TIMES, FLOATS, INTEGERS, MOMENTS, STRINGS, TEXTS
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataType, DecimalType, Kind
from paimon_core.store.data.column_stats import is_sorted_by_others, names_then
from paimon_core.store.schemas import read_schema
from paimon_core.store.table_store import TableStore

_INTEGERS = INTEGERS | DAYS_AND_TIMES
_LIMIT = 2**63
_EXACT = Context(prec=80)


@dataclass(frozen=True, slots=True)
class Range:
    """The range `low <= column <= high`; each end may be missing. Ends are numbers, milliseconds, bytes or texts in
    UTF-8."""

    column: str
    low: Any = None
    high: Any = None


@dataclass(frozen=True, slots=True)
class StatsGroup:
    """Rows of a manifest with statistics in one layout.

    `covered` are the columns with statistics. `there` are the columns in the files, None for all columns of `schema`.
    """

    rows: Rows
    schema: TableSchema
    covered: tuple[str, ...]
    there: tuple[str, ...] | None = None

    def lacks(self, name: str | None) -> bool:
        """Return whether the files do not have the column. If so, it is NULL in all rows."""
        return name is None or (self.there is not None and name not in self.there)


def ranges(predicate: Predicate, schema: TableSchema) -> tuple[Range, ...]:
    """Return the ranges that the conjuncts of a predicate require, for columns with comparable bounds.

    Partition columns have no bounds."""
    found = (_range(part, schema) for part in conjuncts(predicate))
    return tuple(r for r in found if r is not None and r.column not in schema.partition_keys)


def prune_entries(store: TableStore, wanted: Sequence[Range], columns: EntryColumns, rows: Rows) -> Rows:
    """Return the rows with bounds that do not exclude the ranges `wanted`.

    The ranges are on columns that can prune single files.
    """
    if not wanted or not len(rows):
        return rows
    statistics = "_KEY_STATS" if store.has_primary_key else "_VALUE_STATS"
    bounds = columns.bounds(statistics)
    kept = np.ones(len(columns), dtype=np.bool_)
    for group in _groups(store, columns, rows):
        names = names_then(store.schema, group.schema, same_type=True)
        for range_ in wanted:
            then = names.get(range_.column)
            if then in group.covered:
                kept[group.rows] &= _may_hold(columns, group, bounds, then, range_)
    return rows[kept[rows]]


def _range(part: Predicate, schema: TableSchema) -> Range | None:
    match part:
        case Compare(column=column, op=op, value=value):
            pass
        case In(column=column, values=values) if values and None not in values and column in schema.field_by_name:
            ends = [_comparable(v, schema.field_by_name[column].type) for v in values]
            return None if None in ends else Range(column, min(ends, key=rank), max(ends, key=rank))
        case _:
            return None
    end = _comparable(value, schema.field_by_name[column].type) if column in schema.field_by_name else None
    if end is None or op not in ("=", "<=>", "<", "<=", ">", ">="):
        return None
    return Range(column, end if op[0] in "=>" or op == "<=>" else None, end if op[0] in "=<" else None)


def _comparable(value: Any, data_type: DataType) -> Any:
    """Convert a value for comparison with bounds. Return None for a value that cannot be compared."""
    if data_type.kind in _INTEGERS and type(value) is int and -_LIMIT <= value < _LIMIT:
        return value
    if data_type.kind in MOMENTS and isinstance(value, tuple) and -_LIMIT <= value[0] < _LIMIT:
        return value[0]
    if data_type.kind is Kind.BOOLEAN and isinstance(value, bool):
        return int(value)
    if data_type.kind in FLOATS and isinstance(value, float):
        return value
    if isinstance(data_type, DecimalType) and isinstance(value, Decimal) and value.is_finite():
        return value if abs(value) < 10 ** (DecimalType.MAX_PRECISION - 1 - data_type.scale) else None
    if data_type.kind in BINARIES and isinstance(value, bytes):
        return value
    return value.encode() if data_type.kind in TEXTS and isinstance(value, str) else None


def _groups(store: TableStore, columns: EntryColumns, rows: Rows) -> Iterator[StatsGroup]:
    """Group rows by the layout of the statistics that prune single files."""
    if not store.has_primary_key:
        yield from value_groups(store, columns, rows)
        return
    ids = columns.schema_ids[rows]
    for schema_id in sorted(set(ids.tolist())):
        schema = read_schema(store, schema_id)
        if schema.primary_keys and not is_sorted_by_others(schema):
            yield StatsGroup(rows[ids == schema_id], schema, schema.trimmed_primary_keys)


def value_groups(store: TableStore, columns: EntryColumns, rows: Rows) -> Iterator[StatsGroup]:
    """Group rows by the layout of their `_VALUE_STATS`."""
    ids = columns.schema_ids[rows]
    for schema_id in sorted(set(ids.tolist())):
        schema = read_schema(store, schema_id)
        if schema.counts_equal_rows:
            yield StatsGroup(rows[ids == schema_id], schema, ())
        else:
            yield from _value_groups(schema, columns, rows[ids == schema_id])


def _value_groups(schema: TableSchema, columns: EntryColumns, rows: Rows) -> Iterator[StatsGroup]:
    (stats, covered), (written, there) = columns.lists("_VALUE_STATS_COLS"), columns.lists("_WRITE_COLS")
    layouts = (stats * (len(there) + 1) + written)[rows]
    for layout in sorted(set(layouts.tolist())):
        members = rows[layouts == layout]
        of_stats, of_write = int(stats[members[0]]), int(written[members[0]])
        has = there[of_write] if of_write >= 0 else None
        names = covered[of_stats] if of_stats >= 0 else has
        yield StatsGroup(members, schema, tuple(schema.field_by_name) if names is None else names, has)


def _may_hold(
    columns: EntryColumns, group: StatsGroup, bounds: tuple[pa.Array, pa.Array], name: str, wanted: Range
) -> Mask:
    data_type, index, rows = group.schema.field_by_name[name].type, group.covered.index(name), int64_array(group.rows)
    low, high = (RowField(b.take(rows), len(group.covered), index) for b in bounds)
    if data_type.kind in FLOATS | MOMENTS:
        return _numbers_may_hold((low, high), data_type, wanted, of_format(pc.take(columns.names, rows), "orc"))
    excluded = np.zeros(len(group.rows), dtype=np.bool_)
    if wanted.high is not None:
        excluded |= _beyond(low, data_type, wanted.high, above=True)
        if data_type.kind is Kind.CHAR:  # `Trust.bounds` has the rule for their lower bounds
            excluded &= ~of_format(pc.take(columns.names, rows), "orc")
    if wanted.low is not None:
        excluded |= _beyond(high, data_type, wanted.low, above=False)
    return ~excluded


def _beyond(bounds: RowField, data_type: DataType, end: Any, *, above: bool) -> Mask:
    """Return for each bound whether it is certainly above the end of a range, or below without `above`."""
    compare = pc.greater if above else pc.less
    if data_type.kind in STRINGS:
        return _known(compare(bounds.texts(), scalar_of(end, pa.binary())))
    if isinstance(data_type, DecimalType):
        found, digit = bounds.decimals(data_type), Decimal(1).scaleb(-data_type.scale)
        nearest = end.quantize(digit, ROUND_FLOOR if above else ROUND_CEILING, _EXACT)
        return _known(compare(found, scalar_of(nearest, found.type)))
    numbers, valid = bounds.numbers(data_type)
    beyond: Mask = valid & (numbers > end if above else numbers < end)
    return beyond


def _numbers_may_hold(bounds: tuple[RowField, RowField], data_type: DataType, wanted: Range, of_orc: Mask) -> Mask:
    """Return for each file whether it may have values in a range, for floats and for times in epoch milliseconds.

    Bounds that are not reliable exclude nothing.
    """
    is_float = data_type.kind in FLOATS
    (low, low_valid), (high, high_valid) = (b.floats(data_type) if is_float else b.numbers(data_type) for b in bounds)
    low_trusted, high_trusted = trusted(data_type, low, high, of_orc)
    excluded: Mask = np.zeros(len(of_orc), dtype=np.bool_)
    if wanted.high is not None:
        excluded |= low_valid & low_trusted & _above(low, wanted.high)
    if wanted.low is not None:
        excluded |= high_valid & high_trusted & _below(high, wanted.low)
    return ~excluded


def _above(numbers: NDArray[Any], end: Any) -> Mask:
    """Return for each number whether it is larger than `end`. NaN is the largest."""
    if end != end:
        return np.zeros(len(numbers), dtype=np.bool_)
    larger: Mask = ~(_wide(numbers) <= end)
    return larger


def _below(numbers: NDArray[Any], end: Any) -> Mask:
    smaller: Mask = ~np.isnan(_wide(numbers)) if end != end else _wide(numbers) < end
    return smaller


def _wide(numbers: NDArray[Any]) -> NDArray[Any]:
    return numbers.astype(np.float64) if numbers.dtype == np.float32 else numbers


def _known(compared: pa.Array) -> Mask:
    found: Mask = fixed_values(compared, np.bool_)
    return found
