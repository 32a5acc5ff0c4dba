"""Predicates as Arrow expressions over batches, with SQL's order: NaN equals NaN and is larger than all numbers."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.expressions.constants import scalar_of
from paimon_core.expressions.predicate import (
    And,
    Compare,
    In,
    IsNotNull,
    IsNull,
    Not,
    Or,
    Predicate,
    StartsWith,
    conjuncts,
)

_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_PER_MILLI = {"s": 0, "ms": 1, "us": 1000, "ns": 1_000_000}


class _NotExpressibleError(Exception):
    """A part of a predicate that Arrow cannot evaluate by SQL's rules."""


def to_arrow(predicate: Predicate, schema: pa.Schema) -> pc.Expression | None:
    """Return an expression that is true if the predicate is true. Conjuncts that Arrow cannot express are left out.

    Return None if no conjunct can be expressed.
    """
    parts = []
    for part in conjuncts(predicate):
        try:
            parts.append(_exact(part, schema))
        except (_NotExpressibleError, pa.ArrowException, KeyError, TypeError, ValueError, OverflowError):
            continue
    return functools.reduce(operator.and_, parts) if parts else None


def _exact(predicate: Predicate, schema: pa.Schema) -> pc.Expression:
    match predicate:
        case And(children):
            return functools.reduce(operator.and_, [_exact(c, schema) for c in children], pc.scalar(True))
        case Or(children):
            return functools.reduce(operator.or_, [_exact(c, schema) for c in children], pc.scalar(False))
        case Not(child):
            return ~_exact(child, schema)
        case IsNull(column):
            return pc.field(column).is_null()
        case IsNotNull(column):
            return pc.field(column).is_valid()
        case StartsWith(column, prefix):
            return pc.starts_with(pc.field(column), pattern=prefix)
        case In(column, values):
            return _in(column, values, schema.field(column).type)
        case Compare(column, "<=>", None):
            return pc.field(column).is_null()
        case Compare(column, "<=>", value):
            return _compare(column, "=", value, schema.field(column).type) & pc.field(column).is_valid()
        case Compare(column, op, value):
            return _compare(column, op, value, schema.field(column).type)
    raise _NotExpressibleError(predicate)


def _compare(column: str, op: str, value: Any, arrow: pa.DataType) -> pc.Expression:
    field = pc.field(column)
    if value is None:
        return pc.scalar(pa.scalar(None, pa.bool_()))
    if value != value:
        if op != "=":
            raise _NotExpressibleError("comparison with NaN")
        return pc.is_nan(field)
    found = _OPERATORS[op](field, _literal(value, arrow))
    return found | pc.is_nan(field) if pa.types.is_floating(arrow) and op in (">", ">=") else found


def _in(column: str, values: tuple[Any, ...], arrow: pa.DataType) -> pc.Expression:
    field, known = pc.field(column), [v for v in values if v is not None]
    unknown = pc.scalar(pa.scalar(None, pa.bool_()))
    if any(v != v for v in known):
        raise _NotExpressibleError("NaN in a list")
    if not values:
        return pc.scalar(False)
    if pa.types.is_floating(arrow) and 0 in known:
        known += [0.0, -0.0]  # Arrow's sets distinguish the two zeros, SQL does not
    found = pc.if_else(field.is_valid(), field.isin(pa.array([_literal(v, arrow) for v in known], arrow)), unknown)
    return found | unknown if None in values else found


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
