"""The decision whether a file, row group or partition can have a matching row, by statistics.

Bounds are inclusive and may be wider than the data (truncated strings). Floats are ordered with NaN last, and -0.0
equals 0.0. Unknown statistics count as possible: the answer is never False for data that matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Flag
from typing import Any

from paimon_core.expressions.predicate import (
    And,
    Compare,
    HasAny,
    In,
    IsNotNull,
    IsNull,
    Not,
    Or,
    Predicate,
    StartsWith,
)
from paimon_core.spec.stats import ColumnStats

Stats = Callable[[str], ColumnStats]


class Truth(Flag):
    """The truth values that a predicate may have for some row; `|` combines them."""

    NONE = 0
    TRUE = 1
    FALSE = 2
    UNKNOWN = 4


def may_match(predicate: Predicate, stats: Stats, row_count: int) -> bool:
    """Return whether one of `row_count` rows with these `stats` of columns may satisfy the predicate."""
    return Truth.TRUE in _possible_truths(predicate, stats, row_count)


def _possible_truths(predicate: Predicate, stats: Stats, row_count: int) -> Truth:
    """Return all truth values that the predicate may have for rows with these statistics."""
    match predicate:
        case And(children):
            return _all(_possible_truths(c, stats, row_count) for c in children)
        case Or(children):
            return _negate(_all(_negate(_possible_truths(c, stats, row_count)) for c in children))
        case Not(child):
            return _negate(_possible_truths(child, stats, row_count))
        case HasAny():  # statistics of ARRAYs count elements in some formats, and rows in others
            return Truth.TRUE | Truth.FALSE | Truth.UNKNOWN
        case _:
            return _leaf(predicate, stats(predicate.column), row_count)


def _all(parts: Iterable[Truth]) -> Truth:
    """Return the AND of parts, as if their values were independent of each other."""
    result = Truth.TRUE
    for part in parts:
        both = result & part & Truth.TRUE
        false = (result | part) & Truth.FALSE
        unknown = (result | part) & Truth.UNKNOWN
        if Truth.NONE in (result, part):
            return Truth.NONE
        # UNKNOWN only remains together with TRUE or UNKNOWN.
        if unknown and not (result & ~Truth.FALSE and part & ~Truth.FALSE):
            unknown = Truth.NONE
        result = both | false | unknown
    return result


def _negate(truths: Truth) -> Truth:
    swapped = truths & Truth.UNKNOWN
    if Truth.TRUE in truths:
        swapped |= Truth.FALSE
    if Truth.FALSE in truths:
        swapped |= Truth.TRUE
    return swapped


def _leaf(predicate: Compare | In | IsNull | IsNotNull | StartsWith, column: ColumnStats, row_count: int) -> Truth:
    count = column.null_count
    has_null = count is None or count > 0
    has_value = count is None or count < row_count
    on_null, on_value = _truth_of_null(predicate), Truth.NONE
    if has_value:
        try:
            on_value = _truth_of_values(predicate, column)
        except TypeError:  # the value is of another kind than the bounds
            on_value = Truth.TRUE | Truth.FALSE | Truth.UNKNOWN
    return (on_null if has_null else Truth.NONE) | on_value


def _truth_of_null(predicate: Predicate) -> Truth:
    match predicate:
        case IsNull():
            return Truth.TRUE
        case IsNotNull():
            return Truth.FALSE
        case Compare(op="<=>", value=value):
            return _truth(value is None)
        case In(values=()):
            return Truth.FALSE
        case _:
            return Truth.UNKNOWN


def _truth_of_values(predicate: Predicate, column: ColumnStats) -> Truth:
    """Return the possible results for values other than NULL."""
    match predicate:
        case IsNull():
            return Truth.FALSE
        case IsNotNull():
            return Truth.TRUE
        case Compare(op=op, value=None):
            return Truth.FALSE if op == "<=>" else Truth.UNKNOWN
        case Compare(op=op, value=value):
            return _compare(op, rank(value), column)
        case In(values=values):
            hits = [_compare("=", rank(v), column) for v in values if v is not None]
            found = _negate(_all(_negate(h) for h in hits))
            if None in values and Truth.FALSE in found:
                return found & ~Truth.FALSE | Truth.UNKNOWN
            return found
        case StartsWith(prefix=prefix):
            return _starts_with(prefix, column)
    raise AssertionError(predicate)


def _compare(op: str, value: tuple[bool, Any], column: ColumnStats) -> Truth:
    low = None if column.minimum is None else rank(column.minimum)
    high = None if column.maximum is None else rank(column.maximum)
    below, not_above = low is None or low < value, low is None or low <= value
    above, not_below = high is None or high > value, high is None or high >= value
    match op:
        case "<":
            return _either(below, not_below)
        case "<=":
            return _either(not_above, above)
        case ">":
            return _either(above, not_above)
        case ">=":
            return _either(not_below, below)
        case "!=":
            return _negate(_compare("=", value, column))
        case _:
            return _either(not_above and not_below, below or above)


def _starts_with(prefix: str, column: ColumnStats) -> Truth:
    low, high, size = column.minimum, column.maximum, len(prefix)
    if not isinstance(low, str | None) or not isinstance(high, str | None):
        raise TypeError("StartsWith on a column that is not a string")
    possible = (low is None or low[:size] <= prefix) and (high is None or high >= prefix)
    certain = low is not None and high is not None and low.startswith(prefix) and high.startswith(prefix)
    return _either(possible, not certain)


def rank(value: Any) -> tuple[bool, Any]:
    """Return a value that sorts like bounds: NaN is the last."""
    return (True, 0) if value != value else (False, value)


def _truth(value: bool) -> Truth:
    return Truth.TRUE if value else Truth.FALSE


def _either(true: bool, false: bool) -> Truth:
    return (Truth.TRUE if true else Truth.NONE) | (Truth.FALSE if false else Truth.NONE)
