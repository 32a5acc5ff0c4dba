"""Column statistics of data files: taken from Parquet footers or values, and cut by `metadata.stats-mode`.

Modes: `none`, `counts` (only NULL counts), `truncate(n)` (bounds of at most n characters or bytes; the upper bound is
rounded up, and if that is not possible, both are dropped), `full`. Nested columns have only a NULL count, and in
Parquet not even a NULL count. Source: Paimon's configuration page, `metadata.stats-mode`, `fields.COLUMN.stats-mode`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core import compute as pc
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import STATS_KEEP_FIRST_N, STATS_MODE, TableOptions
from paimon_core.options.option import stats_mode
from paimon_core.spec.kinds import FLOATS, STRINGS, TEXTS
from paimon_core.spec.stats import UNKNOWN, ColumnStats, SimpleStats, encode_stats
from paimon_core.spec.types import NESTED_KINDS, DataField, DataType, DecimalType, Kind, StoredTimeType, TimeType

if TYPE_CHECKING:
    from paimon_core.arrow.binary_rows import scalar_value
else:
    scalar_value = ImportedOnCall("paimon_core.arrow.binary_rows", "scalar_value")

_EXACT = Context(prec=80)
_SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True, slots=True)
class StatsMode:
    """The parts of a column's statistics to keep; `length` is the number of `truncate`."""

    counts: bool = True
    bounds: bool = True
    length: int | None = None

    def apply(self, stats: ColumnStats) -> ColumnStats:
        """Return the statistics reduced to this mode."""
        if not self.bounds:
            return ColumnStats(null_count=stats.null_count if self.counts else None)
        if self.length is None:
            return stats
        low, high = _prefix(stats.minimum, self.length), _rounded_up(stats.maximum, self.length)
        if high is None:
            return ColumnStats(null_count=stats.null_count)
        return ColumnStats(low, high, stats.null_count)


NONE = StatsMode(counts=False, bounds=False)
COUNTS = StatsMode(bounds=False)
FULL = StatsMode()
KEY_MODE = StatsMode(length=128)


def parse_stats_mode(option: str, text: str) -> StatsMode:
    """Parse the mode in an option. Raises `InvalidOptionError`."""
    try:
        mode = stats_mode(text)
    except ValueError as e:
        raise InvalidOptionError(f"Option '{option}' cannot be {text!r}: it must be {e}.") from None
    named = {"none": NONE, "counts": COUNTS, "full": FULL}.get(mode)
    return named or StatsMode(length=int(mode.removeprefix("truncate(").removesuffix(")")))


def column_modes(options: TableOptions, fields: Sequence[DataField]) -> tuple[StatsMode, ...]:
    """Return the mode of each column of a table."""
    default, first = parse_stats_mode(STATS_MODE.key, options[STATS_MODE]), options[STATS_KEEP_FIRST_N]
    modes = []
    for i, field in enumerate(fields):
        key = f"fields.{field.name}.stats-mode"
        own = options.values.get(key)
        modes.append(parse_stats_mode(key, own) if own else NONE if 0 <= first <= i else default)
    return tuple(modes)


def value_stats(
    fields: Sequence[DataField], modes: Sequence[StatsMode], stats: Sequence[ColumnStats], *, dense: bool = True
) -> tuple[SimpleStats, tuple[str, ...] | None]:
    """Return the statistics of a file's columns, and the names of the covered columns, or None if all columns are
    covered.

    Statistics that are not `dense` cover all columns.
    """
    cut = [mode.apply(s) for mode, s in zip(modes, stats, strict=True)]
    kept = [(f, s) for f, s in zip(fields, cut, strict=True) if s != UNKNOWN or not dense]
    names = None if len(kept) == len(fields) else tuple(f.name for f, _ in kept)
    return encode_stats([f.type for f, _ in kept], [s for _, s in kept]), names


def leaf_indices(footer: pq.FileMetaData) -> dict[str, int]:
    """Return the index of each column that is not nested, among the leaves."""
    schema = footer.schema
    paths = ((i, schema.column(i)) for i in range(footer.num_columns))
    return {c.name: i for i, c in paths if c.path == c.name and c.max_repetition_level == 0}


def chunk_stats(data_type: DataType, chunk: pq.ColumnChunkMetaData) -> ColumnStats:
    """Return the statistics of one column of a row group in a Parquet footer. Bounds of floats may leave NaN out."""
    found = chunk.statistics
    if found is None or data_type.kind in NESTED_KINDS:
        return UNKNOWN
    nulls = found.null_count if found.has_null_count else None
    if not found.has_min_max or data_type.kind is Kind.BLOB:
        return ColumnStats(null_count=nulls)
    try:
        return ColumnStats(_decode(data_type, found.min_raw), _decode(data_type, found.max_raw), nulls)
    except (ValueError, TypeError):  # the bounds have another physical type, or end within a character
        return ColumnStats(null_count=nulls)


def page_stats(data_type: DataType, low: object, high: object) -> ColumnStats:
    """Return the statistics of one page of a column in a Parquet file, of bounds as `page_cuts` returns them."""
    if low is None or high is None or data_type.kind in NESTED_KINDS or data_type.kind is Kind.BLOB:
        return UNKNOWN
    try:
        return ColumnStats(_decode(data_type, low), _decode(data_type, high))
    except (ValueError, TypeError):
        return UNKNOWN


def float_stats(column: pa.ChunkedArray) -> ColumnStats:
    """Return statistics of floats. NaN is the largest number. A bound of zero has the sign that covers both zeros."""
    low, high = pc.min_max(column).as_py().values()
    if low is not None and pc.any(pc.is_nan(column)).as_py():
        high = math.nan
    return ColumnStats(-0.0 if low == 0 else low, 0.0 if high == 0 else high, column.null_count)


def column_stats(data_type: DataType, column: pa.ChunkedArray) -> ColumnStats:
    """Return statistics of values: the NULL count, and bounds unless the type is nested."""
    if data_type.kind in NESTED_KINDS or data_type.kind is Kind.BLOB or isinstance(data_type, StoredTimeType):
        return ColumnStats(null_count=column.null_count)
    if data_type.kind in FLOATS:
        return float_stats(column)
    bounds = pc.min_max(column)
    low, high = (scalar_value(bounds[name], data_type) for name in ("min", "max"))
    return ColumnStats(low, high, column.null_count)


class ValueStats:
    """Statistics of a file's columns, gathered while rows are written to it."""

    def __init__(self, fields: Sequence[DataField]) -> None:
        self._parts: dict[DataField, list[tuple[ColumnStats, int]]] = {f: [] for f in fields}
        self.row_count = 0

    def add(self, rows: pa.Table) -> None:
        """Add the rows to the statistics."""
        self.row_count += rows.num_rows
        for field, parts in self._parts.items():
            parts.append((column_stats(field.type, rows.column(field.name)), rows.num_rows))

    def result(self) -> dict[str, ColumnStats]:
        """Return the statistics by column."""
        return {f.name: merge_stats(parts) for f, parts in self._parts.items()}


def merge_stats(parts: Iterable[tuple[ColumnStats, int]]) -> ColumnStats:
    """Merge the statistics of several row groups, each with its row count."""
    low = high = None
    nulls: int | None = 0
    bounded = True
    for stats, rows in parts:
        if not rows:
            continue
        nulls = None if nulls is None or stats.null_count is None else nulls + stats.null_count
        if stats.null_count == rows:
            continue
        if stats.minimum is None or stats.maximum is None:
            bounded = False
        elif bounded:  # NaN is the largest number
            low = stats.minimum if low is None or low != low or stats.minimum < low else low
            high = stats.maximum if high is None or stats.maximum != stats.maximum or stats.maximum > high else high
    return ColumnStats(low, high, nulls) if bounded else ColumnStats(null_count=nulls)


def _decode(data_type: DataType, raw: Any) -> Any:
    match data_type:
        case DecimalType(scale=scale):
            unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else raw
            return Decimal(unscaled).scaleb(-scale, _EXACT)
        case TimeType(kind=Kind.TIMESTAMP | Kind.TIMESTAMP_LTZ, precision=precision):
            if not isinstance(raw, int) or precision > 6:
                return None
            millis, micros = (raw, 0) if precision <= 3 else divmod(raw, 1000)
            return millis, micros * 1000
    if data_type.kind in TEXTS:
        return raw.decode() if isinstance(raw, bytes) else str(raw)
    if data_type.kind in STRINGS:
        return bytes(raw)
    return raw


def _prefix(value: Any, length: int) -> Any:
    return value[:length] if isinstance(value, str | bytes) else value


def _rounded_up(value: Any, length: int) -> Any:
    if not isinstance(value, str | bytes) or len(value) <= length:
        return value
    return _next_text(value[:length]) if isinstance(value, str) else _next_bytes(value[:length])


def _next_text(text: str) -> str | None:
    """Return the smallest text that is larger than all texts that begin with `text`, and not longer than `text`; None
    if there is none.
    """
    for i in range(len(text) - 1, -1, -1):
        following = ord(text[i]) + 1
        if following in _SURROGATES:
            following = _SURROGATES.stop
        if following <= 0x10FFFF:
            return text[:i] + chr(following)
    return None


def _next_bytes(data: bytes) -> bytes | None:
    kept = data.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None
