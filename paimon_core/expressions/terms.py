"""Terms of engines' filters, and the predicates of the core that they become.

An engine states a filter as a tree of terms: columns, literals, and calls, named as Spark names connector predicates.
If a term has no predicate, only the engine can evaluate it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from paimon_core.dataclass import dataclass
from paimon_core.expressions.predicate import (
    And,
    Compare,
    HasAny,
    In,
    IsNotNull,
    IsNull,
    Not,
    Operator,
    Or,
    Predicate,
    StartsWith,
)
from paimon_core.spec.kinds import MOMENTS, TEXTS
from paimon_core.spec.types import DataField, Kind, element_of

_COMPARE: dict[str, Operator] = {"=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<>": "!=", "<=>": "<=>"}
_MIRRORED: dict[Operator, Operator] = {"=": "=", "!=": "!=", "<=>": "<=>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Reference:
    """A column, or a field in it."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LiteralValue:
    """A value as Spark's rows store it, a decimal as text. `None` stands for NULL, and for literals that are neither
    numbers, texts nor binaries.
    """

    value: bool | int | float | str | bytes | None


@dataclass(frozen=True, slots=True)
class Call:
    """A predicate with its terms, by its name in the connector interface. Any other expression has the name of its
    class, and no terms.
    """

    name: str
    terms: tuple[Term, ...] = ()


Term = Reference | LiteralValue | Call


def predicate_of(term: Term, fields: Mapping[str, DataField]) -> Predicate | None:
    """Return the predicate for a term; None if the term has no translation. `fields` are the table's columns by
    name.
    """
    if not isinstance(term, Call):
        return None
    name, terms = term.name, term.terms
    if name in ("AND", "OR", "NOT"):
        parts = [predicate_of(t, fields) for t in terms]
        known = tuple(p for p in parts if p is not None)
        if len(known) < len(parts):
            return None
        return Not(known[0]) if name == "NOT" else And(known) if name == "AND" else Or(known)
    if name in _COMPARE:
        return _comparison(_COMPARE[name], terms, fields)
    column = _column(terms[0], fields) if terms else None
    if column is None:
        return None
    if name == "IS_NULL":
        return IsNull(column.name)
    if name == "IS_NOT_NULL":
        return IsNotNull(column.name)
    if name == "ARRAYS_OVERLAP":
        return _has_any(column, terms[1:])
    values = [_value(t, column) for t in terms[1:]]
    if any(v is None for v in values):
        return None
    if name == "IN":
        return In(column.name, tuple(values))
    if name == "STARTS_WITH" and isinstance(values[0], str):
        return StartsWith(column.name, values[0])
    return None


def respelled(term: Term, spelling: Callable[[str], str]) -> Term:
    """Return a connector predicate with the names of its columns in another spelling."""
    match term:
        case Reference(path):
            return Reference(tuple(spelling(name) for name in path))
        case Call(name, terms):
            return Call(name, tuple(respelled(t, spelling) for t in terms))
    return term


def _comparison(op: Operator, terms: Sequence[Term], fields: Mapping[str, DataField]) -> Predicate | None:
    left, right = terms
    column, literal = _column(left, fields), right
    if column is None:
        column, literal, op = _column(right, fields), left, _MIRRORED[op]
    value = None if column is None else _value(literal, column)
    return None if column is None or value is None else Compare(column.name, op, value)


def _has_any(column: DataField, terms: Sequence[Term]) -> Predicate | None:
    """Return the predicate that an ARRAY has one of some values; None for values that cannot be compared."""
    of = element_of(column.type)
    if of is None or of.kind is Kind.CHAR:  # Spark may pad a CHAR
        return None
    values = [_value(t, replace(column, type=of)) for t in terms]
    return None if any(v is None for v in values) else HasAny(column.name, tuple(values))


def _column(term: Term, fields: Mapping[str, DataField]) -> DataField | None:
    return fields.get(term.path[0]) if isinstance(term, Reference) and len(term.path) == 1 else None


def _value(term: Term, field: DataField) -> Any:
    """Return the value of a literal as `core_value` does; None for any other term."""
    return core_value(term.value, field) if isinstance(term, LiteralValue) else None


def core_value(value: Any, field: DataField) -> Any:
    """Return Spark's internal value of a column in the form that the core compares; None for NULL and for values that
    it cannot compare.
    """
    kind = field.type.kind
    if value is None or isinstance(value, (bool, int, float)):
        if kind in MOMENTS and isinstance(value, int):
            millis, micros = divmod(value, 1000)
            return millis, micros * 1000
        # a FLOAT crosses as the shortest text that identifies it
        return float(np.float32(value)) if kind is Kind.FLOAT and value is not None else value
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if kind in TEXTS:
        return str(value)
    return Decimal(str(value)) if kind is Kind.DECIMAL else None
