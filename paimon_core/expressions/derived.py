"""Filters on generated columns that follow from filters on the columns that they are made from.

If `dt` is made by `CAST(ts AS DATE)`, the filter `ts >= x` implies `dt >= CAST(x AS DATE)`, because the function never
decreases. Functions are recognised by the text of the expression. Every other expression implies nothing.

A TIMESTAMP WITH LOCAL TIME ZONE has its wall clock in the zone of the column. The rules of regions differ between
versions of their tables, so a moment in a region may have any wall clock within 18 hours. Wall clocks in zones with a
fixed offset are exact.

Some functions see dates and wall clocks without a zone as moments. A wall clock that a region skips, such as a night's
hour or a day at the date line, becomes a later one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.expressions.functions import DATE_UNITS, MakingFunction, function_of
from paimon_core.expressions.predicate import (
    And,
    Compare,
    In,
    IsNull,
    Or,
    Predicate,
    StartsWith,
    conjunction,
)
from paimon_core.spec.kinds import MOMENTS
from paimon_core.spec.types import DataField, Kind

_SECOND = 1_000_000  # microseconds
_DAY = 86_400 * _SECOND
_FARTHEST = 18 * 3600 * _SECOND  # the largest offset of a zone in Java
_SKIPPED = 2 * _FARTHEST  # the most that a zone skips: the difference of two offsets
_EPOCH = date(1970, 1, 1).toordinal()
_FIRST, _LAST = (date.min.toordinal() - _EPOCH) * _DAY, (date.max.toordinal() + 1 - _EPOCH) * _DAY
# for earlier dates, `date_format` may use the Julian calendar (spark.sql.legacy.timeParserPolicy = LEGACY)
_GREGORIAN = (date(1582, 10, 17).toordinal() - _EPOCH) * _DAY
_MANY = 100  # a longer IN becomes a range
_PARTS = ("year", "month", "day", "hour")
_STEPS = {"second": _SECOND, "minute": 60 * _SECOND, "hour": 3600 * _SECOND}
_INTEGERS = (Kind.INT, Kind.BIGINT)


@dataclass(frozen=True, slots=True)
class Made:
    """A generated column: its field, and the column and the function that it is made from.

    `offset` is the offset of its zone in microseconds, or None if the zone has no fixed offset.
    """

    field: DataField
    source: DataField
    function: MakingFunction
    offset: int | None

    @property
    def name(self) -> str:
        return self.field.name

    @property
    def may_skip(self) -> bool:
        """Return whether the function may see a later wall clock, because the time zone skips the value's."""
        by_moment = self.function.by_moment or (self.function.name == "hour" and self.source.type.kind is Kind.DATE)
        return by_moment and self.offset is None

    def walls(self, value: Any) -> tuple[int, int]:
        """Return the first and the last possible wall clock of a value of the source, in microseconds."""
        is_date = self.source.type.kind is Kind.DATE
        micros = value * _DAY if is_date else value[0] * 1000 + value[1] // 1000
        if self.source.type.kind is not Kind.TIMESTAMP_LTZ:
            skipped = _SKIPPED if self.may_skip else 0
            return micros - skipped, micros + skipped
        if self.offset is None:
            return micros - _FARTHEST, micros + _FARTHEST
        return micros + self.offset, micros + self.offset


def made_by(field: DataField, expression: str, fields: Iterable[DataField], offset: int | None) -> Made | None:
    """Return a generated column with its function. Return None for an expression without derived filters."""
    function = function_of(expression)
    if function is None:
        return None
    sources = [f for f in fields if f.name.lower() == function.column.lower()]
    if len(sources) != 1 or field.type.kind not in _RESULTS[function.name]:
        return None
    kinds = (Kind.VARCHAR,) if function.name == "prefix" else (Kind.DATE, *MOMENTS)
    return Made(field, sources[0], function, offset) if sources[0].type.kind in kinds else None


def derived(predicate: Predicate, made: Sequence[Made]) -> Predicate | None:
    """Return a filter on generated columns that all rows of a filter satisfy, or None."""
    match predicate:
        case And(children):
            parts = (derived(c, made) for c in children)
            return conjunction(p for p in parts if p is not None)
        case Or(children):
            found = [derived(c, made) for c in children]
            known = tuple(p for p in found if p is not None)
            return Or(known) if known and len(known) == len(found) else None
        case Compare(column, op, value):
            return _of_column(made, column, lambda group: _compared(group, op, value))
        case In(column, values):
            return _of_column(made, column, lambda group: _listed(group, values))
        case IsNull(column):
            return _of_column(made, column, lambda group: And(tuple(IsNull(m.name) for m in group)))
        case StartsWith(column, prefix):
            return _of_column(made, column, lambda group: _started(group, prefix))
    return None


def _of_column(
    made: Sequence[Made], column: str, derive: Callable[[Sequence[Made]], Predicate | None]
) -> Predicate | None:
    """Return the filters that follow from a filter on a column: filters on each column made from it, and one on its
    year, month, day and hour together.
    """
    own = [m for m in made if m.source.name == column]
    parts = {m.function.name: m for m in own if m.function.name in _PARTS}
    groups = [[m] for m in own if m.function.name not in _PARTS]
    groups += [list(parts.values())] if parts else []
    return conjunction(p for p in map(derive, groups) if p is not None)


def _compared(group: Sequence[Made], op: str, value: Any) -> Predicate | None:
    if op == "!=" or value is None:
        return None
    if group[0].function.name == "prefix":
        return _of_texts(group[0], op, value)
    low, high = next((m for m in group if m.may_skip), group[0]).walls(value)
    if op == "<":
        high -= _DAY if group[0].source.type.kind is Kind.DATE else 1
    if op in ("=", "<=>") and low == high and (exact := _equal(group, low)) is not None:
        return exact
    lower = None if op in ("<", "<=") else _bound(group, low, ">=")
    upper = None if op in (">", ">=") else _bound(group, high, "<=")
    return conjunction(p for p in (lower, upper) if p is not None)


def _listed(group: Sequence[Made], values: Sequence[Any]) -> Predicate | None:
    known = [v for v in values if v is not None]
    if not known:
        return None
    if len(known) > _MANY:
        ends = (_compared(group, ">=", min(known)), _compared(group, "<=", max(known)))
        return conjunction(p for p in ends if p is not None)
    parts = [_compared(group, "=", v) for v in known]
    found = tuple(p for p in parts if p is not None)
    return Or(found) if len(found) == len(parts) else None


def _started(group: Sequence[Made], prefix: str) -> Predicate | None:
    function = group[0].function
    return StartsWith(group[0].name, prefix[: function.length]) if function.name == "prefix" else None


def _of_texts(made: Made, op: str, value: Any) -> Predicate | None:
    """Return the filter on the first characters of a text: texts are compared by their UTF-8 bytes."""
    if not isinstance(value, str):
        return None
    prefix = value[: made.function.length]
    if op in ("=", "<=>"):
        return Compare(made.name, "=", prefix)
    return Compare(made.name, "<=" if op in ("<", "<=") else ">=", prefix)


# -- bounds of wall clocks --------------------------------------------------------------------------------------------
def _bound(group: Sequence[Made], wall: int, op: Any) -> Predicate | None:
    """Return the bound of columns for rows from a wall clock on (`>=`), or up to it (`<=`)."""
    if group[0].function.name in _PARTS:
        return _bound_of_parts(group, wall, op)
    (made,) = group
    if not _is_known(made, wall):
        return None
    value = _value(made, wall)
    if made.function.name == "date_trunc":
        slack = 0 if made.offset is not None else _FARTHEST
        micros = value + (slack if op == "<=" else -slack)
        return Compare(made.name, op, _moment(micros))
    if made.function.name == "date" and made.may_skip:  # the zone may skip the begin of the unit
        days = -(-_SKIPPED // _DAY)
        value += days if op == "<=" else -days
    found = Compare(made.name, op, value)
    if made.field.type.kind is Kind.VARCHAR and op == ">=":
        return Or((found, StartsWith(made.name, "+")))  # years after 9999
    return found


def _equal(group: Sequence[Made], wall: int) -> Predicate | None:
    if not all(_is_known(made, wall) for made in group):
        return None
    if group[0].function.name in _PARTS:
        return And(tuple(Compare(m.name, "=", _part(m, wall)) for m in group))
    (made,) = group
    if made.function.name == "date_trunc" and made.offset is None:
        return None
    value = _value(made, wall)
    return Compare(made.name, "=", _moment(value) if made.function.name == "date_trunc" else value)


def _is_known(made: Made, wall: int) -> bool:
    """Return whether a wall clock always has the same value in a generated column, whatever the settings of the writing
    session.
    """
    return (_GREGORIAN if made.function.name == "date_format" else _FIRST) <= wall < _LAST


def _bound_of_parts(group: Sequence[Made], wall: int, op: Any) -> Predicate | None:
    """Return the filter with a bound on year, month, day and hour together, compared in this order."""
    by_name = {m.function.name: m for m in group}
    parts = []
    for name in _PARTS:
        if name not in by_name:
            break
        parts.append(by_name[name])
    if not parts or not _FIRST <= wall < _LAST:
        return None
    found: Predicate = Compare(parts[-1].name, op, _part(parts[-1], wall))
    for made in reversed(parts[:-1]):
        part = _part(made, wall)
        beyond, same = Compare(made.name, op[0], part), Compare(made.name, "=", part)
        found = Or((beyond, And((same, found))))
    return found


def _part(made: Made, wall: int) -> int:
    if made.function.name == "hour":
        return wall % _DAY // _STEPS["hour"]
    return int(getattr(_date(wall), made.function.name))


def _value(made: Made, wall: int) -> Any:
    """Return the value of the column for a wall clock. A truncated moment is in microseconds."""
    function = made.function
    match function.name:
        case "date":
            return _truncated(wall, function.unit) // _DAY
        case "date_trunc":
            offset = (made.offset or 0) if made.field.type.kind is Kind.TIMESTAMP_LTZ else 0
            return _truncated(wall, function.unit) - offset
        case _:
            seconds = wall % _DAY // _SECOND
            day = _date(wall)
            values = {"yyyy": f"{day.year:04}", "MM": f"{day.month:02}", "dd": f"{day.day:02}"}
            values |= {"HH": f"{seconds // 3600:02}", "mm": f"{seconds // 60 % 60:02}"}
            return "".join(values.get(piece, piece) for piece in function.pieces)


def _truncated(wall: int, unit: str) -> int:
    """Return the begin of the unit that a wall clock is in."""
    if unit in _STEPS:
        return wall - wall % _STEPS[unit]
    day = _date(wall)
    match DATE_UNITS[unit]:
        case "year":
            day = day.replace(month=1, day=1)
        case "quarter":
            day = day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "month":
            day = day.replace(day=1)
        case "week":
            day = day - timedelta(days=min(day.weekday(), (day - date.min).days))
    return (day.toordinal() - _EPOCH) * _DAY


def _date(wall: int) -> date:
    return date.fromordinal(wall // _DAY + _EPOCH)


def _moment(micros: int) -> tuple[int, int]:
    millis, rest = divmod(micros, 1000)
    return millis, rest * 1000


_RESULTS = {
    "date": (Kind.DATE,),
    "date_trunc": MOMENTS,
    "date_format": (Kind.VARCHAR,),
    "prefix": (Kind.VARCHAR,),
    **dict.fromkeys(_PARTS, _INTEGERS),
}
