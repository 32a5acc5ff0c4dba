"""Filters of queries as frozen values, which the bridge to Spark builds and `prune` and `arrow` evaluate.

Values are in the domain of statistics: int (all integers; DATE as epoch days; TIME as milliseconds of the day), float,
bool, str, bytes, Decimal, and (epoch milliseconds, nanoseconds of the millisecond) for timestamps; None is NULL.
Comparison follows SQL: with NULL it is unknown, except for `<=>`. NaN equals NaN and is larger than every number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

from paimon_core.dataclass import dataclass

Operator = Literal["=", "!=", "<", "<=", ">", ">=", "<=>"]


@dataclass(frozen=True, slots=True)
class Compare:
    """`column op value`."""

    column: str
    op: Operator
    value: Any


@dataclass(frozen=True, slots=True)
class In:
    """`column IN (values)`; None among the values is NULL."""

    column: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class IsNull:
    column: str


@dataclass(frozen=True, slots=True)
class IsNotNull:
    column: str


@dataclass(frozen=True, slots=True)
class StartsWith:
    """`column LIKE 'prefix%'`."""

    column: str
    prefix: str


@dataclass(frozen=True, slots=True)
class HasAny:
    """One of the values is an element of `column`, an ARRAY. A value of None equals no element."""

    column: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class And:
    """The AND of the children. Without children it is true."""

    children: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """The OR of the children. Without children it is false."""

    children: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not:
    child: Predicate


Predicate = And | Or | Not | Compare | In | IsNull | IsNotNull | StartsWith | HasAny


def columns(predicate: Predicate) -> frozenset[str]:
    """Return the columns that a predicate uses."""
    match predicate:
        case And(children) | Or(children):
            return frozenset().union(*map(columns, children))
        case Not(child):
            return columns(child)
        case _:
            return frozenset((predicate.column,))


def equals(names: Iterable[str], values: Iterable[Any]) -> Predicate:
    """Return the predicate that columns have these values; a value of None means NULL."""
    pairs = zip(names, values, strict=True)
    return And(tuple(IsNull(n) if v is None else Compare(n, "=", v) for n, v in pairs))


def conjuncts(predicate: Predicate) -> tuple[Predicate, ...]:
    """Return the parts that must all be true, with nested ANDs flattened."""
    if isinstance(predicate, And):
        return tuple(part for child in predicate.children for part in conjuncts(child))
    return (predicate,)


def compared_columns(predicate: Predicate) -> frozenset[str]:
    """Return the columns that the predicate limits to given values (by `=` or IN)."""
    parts = conjuncts(predicate)
    return frozenset(p.column for p in parts if isinstance(p, In) or (isinstance(p, Compare) and p.op in ("=", "<=>")))


def conjunction(parts: Iterable[Predicate]) -> Predicate | None:
    """Return the AND of the parts, or None if the list is empty."""
    kept = tuple(parts)
    return kept[0] if len(kept) == 1 else And(kept) if kept else None


def only_on(predicate: Predicate, names: Iterable[str]) -> Predicate | None:
    """Return the conjuncts that use only the named columns, or None if there are no such conjuncts."""
    allowed = frozenset(names)
    return conjunction(part for part in conjuncts(predicate) if columns(part) <= allowed)


def renamed(predicate: Predicate, names: Mapping[str, str]) -> Predicate:
    """Return the predicate with renamed columns; columns that are not in `names` keep their names."""
    match predicate:
        case And(children):
            return And(tuple(renamed(c, names) for c in children))
        case Or(children):
            return Or(tuple(renamed(c, names) for c in children))
        case Not(child):
            return Not(renamed(child, names))
        case _:
            return replace(predicate, column=names.get(predicate.column, predicate.column))


def describe(predicate: Predicate) -> str:
    """Return the predicate as text for people, for EXPLAIN."""
    match predicate:
        case And(children):
            return " AND ".join(f"({describe(c)})" if isinstance(c, Or) else describe(c) for c in children)
        case Or(children):
            return " OR ".join(map(describe, children))
        case Not(child):
            return f"NOT ({describe(child)})"
        case Compare(column, op, value):
            return f"{column} {op} {value!r}"
        case In(column, values):
            return f"{column} IN ({', '.join(map(repr, values))})"
        case IsNull(column):
            return f"{column} IS NULL"
        case IsNotNull(column):
            return f"{column} IS NOT NULL"
        case StartsWith(column, prefix):
            return f"{column} LIKE {prefix + '%'!r}"
        case HasAny(column, values):
            return f"{column} has one of ({', '.join(map(repr, values))})"
