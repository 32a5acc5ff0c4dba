"""Aggregates, and the order of a top-N, that Spark pushes down: as values of the core."""

from __future__ import annotations

from typing import Any

from paimon_core.expressions.terms import Reference, Term
from paimon_core.scan.aggregates import Aggregate
from paimon_core.scan.limits import Order
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.scans.pushdown import AggregateCall, read_aggregates, read_order


def aggregates_of(jvm: Jvm, aggregation: Any) -> tuple[tuple[str, ...], tuple[Aggregate, ...]] | None:
    """Return the columns that an aggregation groups by, and its functions; None if the core cannot compute
    one of them.
    """
    terms, calls = read_aggregates(jvm, aggregation)
    groups, functions = [_column(t) for t in terms], [_aggregate(c) for c in calls]
    names = tuple(g for g in groups if g is not None)
    known = tuple(f for f in functions if f is not None)
    return (names, known) if len(names) == len(groups) and len(known) == len(functions) else None


def order_of(jvm: Jvm, orders: Any) -> Order | None:
    """Return the first order of a top-N; None if it is not by a column."""
    first = read_order(jvm, orders[0])
    column = _column(first.term)
    return None if column is None else Order(column, descending=first.descending, nulls_first=first.nulls_first)


def _column(term: Term | None) -> str | None:
    """Return the top-level column of a connector expression; None if the expression is something else."""
    return term.path[0] if isinstance(term, Reference) and len(term.path) == 1 else None


def _aggregate(call: AggregateCall | None) -> Aggregate | None:
    if call is None or call.is_distinct:
        return None
    if call.argument is None:
        return Aggregate("count")
    column = _column(call.argument)
    return None if column is None else Aggregate(call.function, column)
