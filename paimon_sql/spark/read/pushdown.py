"""What Spark pushes down beside filters, as values of the core: aggregates, and the order of a top-N."""

from __future__ import annotations

from typing import Any

from paimon_core.expressions.predicate import Predicate, columns
from paimon_core.scan.aggregates import Aggregate, Function
from paimon_core.scan.pruning.limits import Order
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import Kind
from paimon_sql.spark.jvm.gateway import class_name

_REFERENCE = "FieldReference"
_FUNCTIONS: dict[str, Function] = {"COUNT(": "count", "MIN(": "min", "MAX(": "max", "SUM(": "sum"}
# a partition's values of these types are compared as SQL does
_COMPARED_EXACTLY = frozenset(
    (Kind.BOOLEAN, Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.DATE, Kind.DECIMAL, Kind.VARCHAR)
)


def aggregates_of(aggregation: Any) -> tuple[tuple[str, ...], tuple[Aggregate, ...]] | None:
    """The columns that an aggregation groups by, and its functions; None where the core knows one of them not."""
    functions = [_aggregate(f) for f in aggregation.aggregateExpressions()]
    known = tuple(f for f in functions if f is not None)
    if len(known) < len(functions):
        return None
    groups = [column_of(g) for g in aggregation.groupByExpressions()]
    names = tuple(g for g in groups if g is not None)
    return (names, known) if len(names) == len(groups) else None


def order_of(orders: Any) -> Order | None:
    """The first order of a top-N, None where it is not by a column."""
    first = orders[0]
    column = column_of(first.expression())
    if column is None:
        return None
    return Order(
        column,
        descending=str(first.direction().name()) == "DESCENDING",
        nulls_first=str(first.nullOrdering().name()) == "NULLS_FIRST",
    )


def column_of(expression: Any) -> str | None:
    """The top-level column that a connector expression is, if it is one."""
    names = list(expression.fieldNames()) if class_name(expression) == _REFERENCE else []
    return names[0] if len(names) == 1 else None


def is_answered_by_partitions(predicate: Predicate, schema: TableSchema) -> bool:
    """Whether the partitions that a plan keeps hold exactly the rows a predicate is true for."""
    fields = {f.name: f.type.kind for f in schema.partition_fields}
    return all(fields.get(c) in _COMPARED_EXACTLY for c in columns(predicate))


def _aggregate(function: Any) -> Aggregate | None:
    text = str(function.toString())
    name = next((f for prefix, f in _FUNCTIONS.items() if text.startswith(prefix)), None)
    if text == "COUNT(*)":
        return Aggregate("count")
    if name is None or (name in ("count", "sum") and function.isDistinct()):
        return None
    column = column_of(function.column())
    return None if column is None else Aggregate(name, column)
