"""Spark's pushed filters as predicates of the core. Only Spark evaluates filters without a translation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np

from paimon_core.expressions.predicate import (
    And,
    Compare,
    In,
    IsNotNull,
    IsNull,
    Not,
    Operator,
    Or,
    Predicate,
    StartsWith,
)
from paimon_core.indexes.file_index.options import value_name
from paimon_core.spec.types import DataField, Kind
from paimon_sql.spark.jvm.collections import items
from paimon_sql.spark.jvm.expressions import with_map_values
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.scans.pushdown import Call, LiteralValue, Reference, Term, translated

_COMPARE: dict[str, Operator] = {"=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<>": "!=", "<=>": "<=>"}
_MIRRORED: dict[Operator, Operator] = {"=": "=", "!=": "!=", "<=>": "<=>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TIMESTAMPS = (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ)
_GREGORIAN = -141_427  # 1582-10-15 as epoch days


def translate_all(
    jvm: Jvm, filters: Any, fields: Mapping[str, DataField], values: Mapping[str, DataField]
) -> list[tuple[Any, Predicate | None]]:
    """Return the Catalyst expressions of a Scala Seq with their core predicates; None for an expression without a
    translation.

    `fields` are the table's columns by name. `values` are the columns for values of keys in MAPs that predicates may
    name, see `indexed_values`.
    """
    pairs: list[tuple[Any, Predicate | None]] = []
    for expression in items(filters):
        found = _predicate(jvm, expression, fields)
        if found is None and values:
            named = with_map_values(jvm, expression, partial(_name_of_value, values))
            found = _predicate(jvm, named, {**fields, **values})
        pairs.append((expression, found))
    return pairs


def _predicate(jvm: Jvm, expression: Any, fields: Mapping[str, DataField]) -> Predicate | None:
    term = translated(jvm, expression)
    return None if term is None else from_connector(term, fields)


def _name_of_value(values: Mapping[str, DataField], column: str, key: str) -> str | None:
    name = value_name(column, key)
    return name if name in values else None


def spark_prunes_soundly(predicate: Predicate, fields: Mapping[str, DataField]) -> bool:
    """Return whether Spark's Parquet scan may skip row groups by a filter.

    It must not if NaN matters: NaN is the largest number in SQL, but the statistics of footers leave it out. It must
    not for days before the Gregorian calendar either: Spark passes them as `java.sql.Date`, which lacks some of them.
    """
    match predicate:
        case And(children) | Or(children):
            return all(spark_prunes_soundly(c, fields) for c in children)
        case Not(child):
            return spark_prunes_soundly(child, fields)
        case In(column, values):
            literals = values
        case Compare(column, _, value):
            literals = (value,)
        case _:
            column, literals = predicate.column, ()
    kind = fields[column].type.kind
    if kind in _TIMESTAMPS:
        return all(millis >= _GREGORIAN * 86_400_000 for millis, _ in literals)
    if kind is Kind.DATE:
        return all(days >= _GREGORIAN for days in literals)
    return kind not in (Kind.FLOAT, Kind.DOUBLE)


def from_connector(term: Term, fields: Mapping[str, DataField]) -> Predicate | None:
    """Return the core's predicate for a connector predicate; None without a translation. `fields` are the table's
    columns by name.
    """
    if not isinstance(term, Call):
        return None
    name, terms = term.name, term.terms
    if name in ("AND", "OR", "NOT"):
        parts = [from_connector(t, fields) for t in terms]
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
        if kind in _TIMESTAMPS and isinstance(value, int):
            millis, micros = divmod(value, 1000)
            return millis, micros * 1000
        # a FLOAT crosses as the shortest text that identifies it
        return float(np.float32(value)) if kind is Kind.FLOAT and value is not None else value
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if kind in (Kind.CHAR, Kind.VARCHAR):
        return str(value)
    return Decimal(str(value)) if kind is Kind.DECIMAL else None
