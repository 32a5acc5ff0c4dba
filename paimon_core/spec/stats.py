"""SimpleStats: minimum, maximum and NULL count per column, as in manifests. Source: specification, "Manifest".

`min_values` and `max_values` are BinaryRows with leading field count; `null_counts` has one entry per column, None
if it is unknown. `_VALUE_STATS_COLS` beside them lists the columns they cover, by default all columns of the schema.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import total_ordering
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.spec.binary_row import EMPTY_ROW, decode_hints, encode_row
from paimon_core.spec.records import Column, Record, nullable
from paimon_core.spec.types import DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleStats:
    min_values: bytes = EMPTY_ROW
    max_values: bytes = EMPTY_ROW
    null_counts: tuple[int | None, ...] | None = ()


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """The statistics of one column of a file. Bounds are inclusive, None if unknown."""

    minimum: Any = None
    maximum: Any = None
    null_count: int | None = None


@total_ordering
class _Null:
    """A value that sorts NULL before any other value."""

    def __lt__(self, other: object) -> bool:
        return other is not self


_NULL = _Null()


def bound_order(value: Any) -> Any:
    """Return a sort key for a value, in the order of bounds and keys: NULL first, -0.0 before 0.0, NaN last."""
    if not isinstance(value, float):
        return _NULL if value is None else value
    return (True, 0.0, 0.0) if math.isnan(value) else (False, value, math.copysign(1.0, value))


EMPTY_STATS = SimpleStats()
UNKNOWN = ColumnStats()


def encode_stats(types: Sequence[DataType], columns: Sequence[ColumnStats]) -> SimpleStats:
    """Return the statistics of columns in the order of `types`, encoded."""
    return SimpleStats(
        min_values=encode_row(types, [c.minimum for c in columns]),
        max_values=encode_row(types, [c.maximum for c in columns]),
        null_counts=tuple(c.null_count for c in columns),
    )


def decode_stats(types: Sequence[DataType], stats: SimpleStats) -> tuple[ColumnStats, ...]:
    """Return the statistics of each column. A bound that does not decode is unknown: rows can be read without it."""
    counts = stats.null_counts or ()
    low, high = decode_hints(types, stats.min_values), decode_hints(types, stats.max_values)
    return tuple(ColumnStats(low[i], high[i], counts[i] if i < len(counts) else None) for i in range(len(types)))


def _build(*, null_counts: list[int | None] | None = None, **rows: bytes) -> SimpleStats:
    return SimpleStats(null_counts=None if null_counts is None else tuple(null_counts), **rows)


SIMPLE_STATS = Record(
    "record",
    _build,
    (
        Column("_MIN_VALUES", "min_values", "bytes"),
        Column("_MAX_VALUES", "max_values", "bytes"),
        Column("_NULL_COUNTS", "null_counts", nullable({"type": "array", "items": ["null", "long"]})),
    ),
)
