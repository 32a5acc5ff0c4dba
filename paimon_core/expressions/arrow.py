"""Predicates over Arrow columns, with SQL's order: NaN equals NaN and is larger than all numbers.

They are evaluated by functions of columns. Expressions of Arrow would be shorter, but their filter imports
`pyarrow.dataset` and pandas, which takes longer than most queries.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_core import compute as pc
from paimon_core.dataclass import dataclass
from paimon_core.expressions.constants import scalar_of
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
    conjuncts,
)

_Truth = Callable[[Any], Any]  # a batch or a table -> a boolean column with NULLs, or one boolean for all rows

_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_UNKNOWN = pa.nulls(1, pa.bool_())[0]
_PER_MILLI = {"s": 0, "ms": 1, "us": 1000, "ns": 1_000_000}


class _NotExpressibleError(Exception):
    """A part of a predicate that Arrow cannot evaluate by SQL's rules."""


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A predicate that Arrow evaluates."""

    truth: _Truth

    def filter(self, rows: Any) -> Any:
        """Return the rows of a batch or a table for which the predicate is true: NULL is not."""
        found = self.truth(rows)
        if isinstance(found, pa.Scalar):
            return rows if found.is_valid and found.as_py() else rows.slice(0, 0)
        return pc.kept(rows, found)


def to_arrow(predicate: Predicate, schema: pa.Schema) -> RowFilter | None:
    """Return a filter that keeps every row for which the predicate is true. Conjuncts that Arrow cannot express are
    left out.

    Return None if no conjunct can be expressed.
    """
    parts = []
    for part in conjuncts(predicate):
        try:
            parts.append(_exact(part, schema))
        except (_NotExpressibleError, pa.ArrowException, KeyError, TypeError, ValueError, OverflowError):
            continue
    return RowFilter(_joined(pc.and_kleene, parts)) if parts else None


def _exact(predicate: Predicate, schema: pa.Schema) -> _Truth:
    match predicate:
        case And(children):
            return _joined(pc.and_kleene, [_exact(c, schema) for c in children]) if children else _always(True)
        case Or(children):
            return _joined(pc.or_kleene, [_exact(c, schema) for c in children]) if children else _always(False)
        case Not(child):
            if _has_any(child):
                raise _NotExpressibleError("ARRAYs without an element")  # NULL among the elements makes that unknown
            truth = _exact(child, schema)
            return lambda rows: pc.invert(truth(rows))
        case IsNull(column) | Compare(column, "<=>", None):
            return _of_column(pc.is_null, column, schema)
        case IsNotNull(column):
            return _of_column(pc.is_valid, column, schema)
        case StartsWith(column, prefix):
            return _of_column(lambda values: pc.starts_with(values, pattern=prefix), column, schema)
        case In(column, values):
            return _in(column, values, schema)
        case HasAny(column, values):
            return _elements(column, values, schema)
        case Compare(column, "<=>", value):
            return _joined(
                pc.and_kleene, [_compare(column, "=", value, schema), _of_column(pc.is_valid, column, schema)]
            )
        case Compare(column, op, value):
            return _compare(column, op, value, schema)
    raise _NotExpressibleError(predicate)


def _joined(join: Callable[[Any, Any], Any], parts: list[_Truth]) -> _Truth:
    return lambda rows: functools.reduce(join, (part(rows) for part in parts))


def _always(known: bool | None) -> _Truth:
    scalar = _UNKNOWN if known is None else scalar_of(known, pa.bool_())
    return lambda _: scalar


def _of_column(function: Callable[[Any], Any], column: str, schema: pa.Schema) -> _Truth:
    schema.field(column)  # raises an error for a missing column
    return lambda rows: function(rows.column(column))


def _compare(column: str, op: str, value: Any, schema: pa.Schema) -> _Truth:
    arrow = schema.field(column).type
    if value is None:
        return _always(None)
    if value != value:
        if op != "=":
            raise _NotExpressibleError("comparison with NaN")
        return _of_column(pc.is_nan, column, schema)
    compare, literal = _OPERATORS[op], _literal(value, arrow)
    if pa.types.is_floating(arrow) and op in (">", ">="):
        return _of_column(lambda values: pc.or_kleene(compare(values, literal), pc.is_nan(values)), column, schema)
    return _of_column(lambda values: compare(values, literal), column, schema)


def _in(column: str, given: tuple[Any, ...], schema: pa.Schema) -> _Truth:
    one_of = _value_set(given, schema.field(column).type)
    if not given:
        return _always(False)

    def found(values: Any) -> Any:
        listed = pc.if_else(pc.is_valid(values), pc.is_in(values, value_set=one_of), _UNKNOWN)
        return pc.or_kleene(listed, _UNKNOWN) if None in given else listed

    return _of_column(found, column, schema)


def _elements(column: str, given: tuple[Any, ...], schema: pa.Schema) -> _Truth:
    """Return whether one of the values is an element of an ARRAY, for each row. If SQL would return NULL, the result is
    false.
    """
    arrow = schema.field(column).type
    if not pa.types.is_list(arrow):
        raise _NotExpressibleError("elements of another type")
    one_of = _value_set(given, arrow.value_type)

    def found(values: Any) -> Any:
        arrays = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        lengths = np.asarray(pc.fill_null(pc.list_value_length(arrays), 0))
        hits = np.asarray(pc.is_in(pc.list_flatten(arrays), value_set=one_of))
        rows = np.zeros(len(arrays), dtype=np.bool_)
        rows[np.repeat(np.arange(len(arrays)), lengths)[hits]] = True
        bits = pa.py_buffer(np.packbits(rows, bitorder="little"))
        return pa.Array.from_buffers(pa.bool_(), len(rows), [None, bits])

    return _of_column(found, column, schema)


def _value_set(given: tuple[Any, ...], arrow: pa.DataType) -> pa.Array:
    """Return values without NULL as a column."""
    known = [v for v in given if v is not None]
    if any(v != v for v in known):
        raise _NotExpressibleError("NaN in a list")
    if pa.types.is_floating(arrow) and 0 in known:
        known += [0.0, -0.0]  # Arrow's sets distinguish the two zeros, SQL does not
    return pa.concat_arrays([pa.repeat(_literal(v, arrow), 1) for v in known]) if known else pa.nulls(0, arrow)


def _has_any(predicate: Predicate) -> bool:
    """Return whether a part of the predicate is about elements."""
    match predicate:
        case And(children) | Or(children):
            return any(map(_has_any, children))
        case Not(child):
            return _has_any(child)
    return isinstance(predicate, HasAny)


def _literal(value: Any, arrow: pa.DataType) -> pa.Scalar:
    """Return the value as a scalar of the column's type. Raises an error if the type has no equal value."""
    if isinstance(value, tuple):
        millis, nanos = value
        scale = _PER_MILLI[arrow.unit]
        if not pa.types.is_timestamp(arrow) or nanos * scale % 1_000_000:
            raise _NotExpressibleError("timestamp of another precision")
        return scalar_of(millis * scale + nanos * scale // 1_000_000, pa.int64()).cast(arrow)
    if isinstance(value, bool) != pa.types.is_boolean(arrow):
        raise _NotExpressibleError("boolean against another type")
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and (pa.types.is_date32(arrow) or pa.types.is_time(arrow))
    ):
        return scalar_of(value, pa.int32()).cast(arrow)
    if isinstance(value, Decimal) and not pa.types.is_decimal(arrow):
        raise _NotExpressibleError("decimal against another type")
    return scalar_of(value, arrow)
