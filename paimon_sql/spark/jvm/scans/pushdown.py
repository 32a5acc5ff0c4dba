"""What Spark pushes down to scans and asks of tables, read once into frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from py4j.java_gateway import JavaObject

from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.gateway import Jvm, simple_name
from paimon_sql.spark.jvm.hooks import hook, method

_WITH_TERMS = ("Predicate", "And", "Or", "Not", "GeneralScalarExpression")


@dataclass(frozen=True, slots=True)
class Reference:
    """A column, or a field in it."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LiteralValue:
    """A value as Spark's rows hold it."""

    value: Any


@dataclass(frozen=True, slots=True)
class Call:
    """A predicate of terms, by the name that the connector interface gives it; of other expressions only the class."""

    name: str
    terms: tuple[Term, ...] = ()


Term = Reference | LiteralValue | Call


def read_term(node: JavaObject) -> Term:
    """A connector expression."""
    kind = simple_name(node)
    if kind == "FieldReference":
        return Reference(tuple(str(name) for name in node.fieldNames()))
    if kind == "LiteralValue":
        return LiteralValue(node.value())
    if kind not in _WITH_TERMS:
        return Call(kind)
    name, children = str(node.name()), node.children()
    first = tuple(read_term(child) for child in children[:1])
    if name == "IN" and not (isinstance(first[0], Reference) and len(first[0].path) == 1):
        return Call(name, first)  # thousands of literals, for a column that no filter is made of
    return Call(name, (*first, *(read_term(child) for child in children[1:])))


@hook(
    "`DataSourceV2Strategy.translateFilterV2`",
    "filters: every file is read",
    method(f"{classes.DATA_SOURCE_STRATEGY}$", "translateFilterV2", 1),
)
def translated(jvm: Jvm, expression: JavaObject) -> Term | None:
    """A Catalyst expression as a connector expression, None where there is none."""
    option = jvm.scala_object(classes.DATA_SOURCE_STRATEGY).translateFilterV2(expression)
    return read_term(option.get()) if option.isDefined() else None


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """An aggregate function of a column, or of rows where there is none."""

    function: Literal["count", "min", "max", "sum"]
    argument: Term | None = None
    is_distinct: bool = False


_AGGREGATES: dict[str, Literal["count", "min", "max", "sum"]] = {
    "Count": "count",
    "Max": "max",
    "Min": "min",
    "Sum": "sum",
}


def read_aggregates(aggregation: JavaObject) -> tuple[tuple[Term, ...], tuple[AggregateCall | None, ...]]:
    """What an aggregation groups by, and its functions; None for those that have no name here."""
    groups = tuple(read_term(g) for g in aggregation.groupByExpressions())
    return groups, tuple(_aggregate(f) for f in aggregation.aggregateExpressions())


def _aggregate(function: JavaObject) -> AggregateCall | None:
    kind = simple_name(function)
    if kind == "CountStar":
        return AggregateCall("count")
    if kind not in _AGGREGATES:
        return None
    is_distinct = kind in ("Count", "Sum") and bool(function.isDistinct())
    return AggregateCall(_AGGREGATES[kind], read_term(function.column()), is_distinct)


@dataclass(frozen=True, slots=True)
class SortOrder:
    """An order of rows by an expression."""

    term: Term
    descending: bool
    nulls_first: bool


def read_order(order: JavaObject) -> SortOrder:
    descending = str(order.direction().name()) == "DESCENDING"
    return SortOrder(read_term(order.expression()), descending, str(order.nullOrdering().name()) == "NULLS_FIRST")


@dataclass(frozen=True, slots=True)
class TimeTravel:
    """`VERSION AS OF`, or `TIMESTAMP AS OF` in microseconds."""

    version: str | None = None
    micros: int | None = None


def read_time_travel(context: JavaObject) -> TimeTravel | None:
    """The version that a statement's `TableContext` asks for, None for the latest."""
    travel = context.timeTravel().orElse(None)
    if travel is None:
        return None
    if simple_name(travel) == "AsOfVersion":
        return TimeTravel(version=str(travel.version()))
    return TimeTravel(micros=int(travel.micros()))


class ChangeKind(StrEnum):
    """Which of Spark's `TableChange`s a change is."""

    SET_PROPERTY = "SetProperty"
    REMOVE_PROPERTY = "RemoveProperty"
    ADD_COLUMN = "AddColumn"
    RENAME_COLUMN = "RenameColumn"
    DELETE_COLUMN = "DeleteColumn"
    UPDATE_COLUMN_TYPE = "UpdateColumnType"
    UPDATE_COLUMN_NULLABILITY = "UpdateColumnNullability"
    UPDATE_COLUMN_COMMENT = "UpdateColumnComment"
    UPDATE_COLUMN_POSITION = "UpdateColumnPosition"
    UPDATE_COLUMN_DEFAULT = "UpdateColumnDefaultValue"


def change_kind(change: JavaObject) -> ChangeKind | str:
    """The kind of a `TableChange`; its name for one that is not known here."""
    name = simple_name(change)
    return ChangeKind(name) if name in [kind.value for kind in ChangeKind] else name


def column_before(position: JavaObject) -> str | None:
    """The column behind which a `ColumnPosition` is, None for the first."""
    return None if simple_name(position) == "First" else str(position.column())
