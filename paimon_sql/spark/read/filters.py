"""Spark's pushed filters as predicates of the core. Only Spark evaluates filters without a translation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from paimon_core.expressions.predicate import (
    And,
    Compare,
    HasAny,
    In,
    Not,
    Or,
    Predicate,
)
from paimon_core.expressions.terms import predicate_of
from paimon_core.indexes.file_index.options import value_name
from paimon_core.spec.kinds import FLOATS, MOMENTS
from paimon_core.spec.types import DataField, Kind, element_of
from paimon_sql.spark.jvm.collections import items
from paimon_sql.spark.jvm.expressions import with_map_values
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.scans.pushdown import translated, translated_with_arrays

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
    has_arrays = any(element_of(f.type) is not None for f in fields.values())
    for expression in items(filters):
        found = _predicate(jvm, expression, fields)
        if found is None and has_arrays:
            term = translated_with_arrays(jvm, expression)
            found = None if term is None else predicate_of(term, fields)
        if found is None and values:
            named = with_map_values(jvm, expression, partial(_name_of_value, values))
            found = _predicate(jvm, named, {**fields, **values})
        pairs.append((expression, found))
    return pairs


def _predicate(jvm: Jvm, expression: Any, fields: Mapping[str, DataField]) -> Predicate | None:
    term = translated(jvm, expression)
    return None if term is None else predicate_of(term, fields)


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
        case HasAny():
            return False  # Spark does not translate it for Parquet
        case _:
            column, literals = predicate.column, ()
    kind = fields[column].type.kind
    if kind in MOMENTS:
        return all(millis >= _GREGORIAN * 86_400_000 for millis, _ in literals)
    if kind is Kind.DATE:
        return all(days >= _GREGORIAN for days in literals)
    return kind not in FLOATS
