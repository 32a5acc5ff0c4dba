"""The filters, aggregates, orders and table changes that Spark pushes down, read once into frozen values."""

from __future__ import annotations

import json
from base64 import b64decode
from enum import StrEnum
from typing import Any, Literal

from py4j.java_collections import JavaArray
from py4j.java_gateway import JavaObject

from paimon_core.dataclass import dataclass
from paimon_core.expressions.terms import Call, LiteralValue, Reference, Term
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.gateway import Jvm, simple_name
from paimon_sql.spark.jvm.hooks import Variant, hook, method
from paimon_sql.spark.jvm.sessions import add_last_optimization


def read_term(jvm: Jvm, node: JavaObject) -> Term:
    """Return a connector expression as a term."""
    return _term(json.loads(jvm.compiled("Entries").term(node)))


def read_terms(jvm: Jvm, nodes: JavaObject) -> list[Term]:
    """The connector expressions of an array."""
    return [_term(tree) for tree in json.loads(jvm.compiled("Entries").terms(nodes))]


def _term(tree: list[Any]) -> Term:
    match tree:
        case ["field", path]:
            return Reference(tuple(path))
        case ["literal", value]:
            return LiteralValue(value)
        case ["float", text]:
            return LiteralValue(float(text))
        case ["binary", text]:
            return LiteralValue(b64decode(text))
        case [_, ("AlwaysTrue" | "AlwaysFalse") as name]:
            return LiteralValue(name == "AlwaysTrue")  # Spark's predicates for the literals true and false
        case [_, name, *terms]:
            return Call(name, tuple(_term(t) for t in terms))
    raise AssertionError(tree)


@hook(
    "`DataSourceV2Strategy.translateFilterV2`",
    "filters: every file is read",
    method(f"{classes.DATA_SOURCE_STRATEGY}$", "translateFilterV2", 1),
)
def translated(jvm: Jvm, expression: JavaObject) -> Term | None:
    """Return a Catalyst expression as a connector expression, None if it has no counterpart."""
    option = jvm.scala_object(classes.DATA_SOURCE_STRATEGY).translateFilterV2(expression)
    tree = json.loads(jvm.compiled("Entries").term(option))
    return None if tree is None else _term(tree)


@hook(
    "`ArrayContains`, `ArraysOverlap`",
    "array_contains and arrays_overlap: indexes of elements are not used",
    *(method(f"{classes.EXPRESSIONS_PACKAGE}.{name}", "left", 0) for name in ("ArrayContains", "ArraysOverlap")),
)
def translated_with_arrays(jvm: Jvm, expression: JavaObject) -> Term | None:
    """Return a Catalyst expression with array_contains or arrays_overlap as a connector expression, in which both are
    `ARRAYS_OVERLAP` of a column and its values; None for an expression without a counterpart.
    """
    tree = json.loads(jvm.compiled("Entries").arrayFilter(expression))
    return None if tree is None else _term(tree)


@hook(
    "`QueryExecution.explainString`",
    "EXPLAIN: advice counts its filters as filters of scans",
    Variant.of("named so", method(classes.QUERY_EXECUTION, "explainString")),
    Variant.of("not there"),
)
def is_explaining(jvm: Jvm) -> bool:
    """Return whether Spark plans a query only to show its plan. Executions show their plan in Spark's UI first."""
    if jvm.variant(is_explaining).name != "named so":
        return False
    stack, execution = jvm.compiled("CallStack"), classes.SQL_EXECUTION
    return bool(stack.has(classes.QUERY_EXECUTION, "explainString", execution))


@hook(
    "`ExplainCommand`",
    "EXPLAIN: runs the searches that it shows",
    Variant.of("named so", method(classes.EXPLAIN_COMMAND, "run", 1)),
    Variant.of("not there"),
)
def is_statement_explain(jvm: Jvm) -> bool:
    """Return whether an EXPLAIN statement plans a query: it never runs this plan. `DataFrame.explain` makes a plan that
    may run later.
    """
    if jvm.variant(is_statement_explain).name != "named so":
        return False
    return bool(jvm.compiled("CallStack").has(classes.EXPLAIN_COMMAND, "run", "no such class"))


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """An aggregate function of a column; without an `argument`, of whole rows."""

    function: Literal["count", "min", "max", "sum"]
    argument: Term | None = None
    is_distinct: bool = False


_AGGREGATES: dict[str, Literal["count", "min", "max", "sum"]] = {
    "Count": "count",
    "Max": "max",
    "Min": "min",
    "Sum": "sum",
}


def read_aggregates(jvm: Jvm, aggregation: JavaObject) -> tuple[tuple[Term, ...], tuple[AggregateCall | None, ...]]:
    """Return the terms that an aggregation groups by, and its functions; None for functions without a name here."""
    groups, functions = json.loads(jvm.compiled("Entries").aggregation(aggregation))
    return tuple(map(_term, groups)), tuple(map(_aggregate, functions))


def _aggregate(function: list[Any]) -> AggregateCall | None:
    match function:
        case ["CountStar"]:
            return AggregateCall("count")
        case [kind, argument, is_distinct]:
            return AggregateCall(_AGGREGATES[kind], _term(argument), is_distinct)
    return None


_VARIANT = "__VARIANT_METADATA_KEY"


def read_extractions(extractions: JavaArray) -> list[tuple[tuple[str, ...], str]]:
    """Return each column, with fields of ROWs, and the path that Spark extracts from its VARIANT; `$` is the whole
    value.
    """
    found = list[tuple[tuple[str, ...], str]]()
    for extraction in extractions:
        about = json.loads(extraction.metadata().json())
        found.append((tuple(map(str, extraction.columnName())), about[_VARIANT]["path"] if _VARIANT in about else "$"))
    return found


def no_extractions(jvm: Jvm, extractions: JavaArray) -> JavaArray:
    """Return the answer that Spark extracts all of these itself."""
    return jvm.new_array("boolean", len(extractions))


@hook(
    "`GetMapValue`, `ElementAt`, `MapKeys`, `DataSourceV2ScanRelation`",
    "selected keys of MAPs: whole MAPs are read",
    *(method(f"{classes.EXPRESSIONS_PACKAGE}.{name}", "left", 0) for name in ("GetMapValue", "ElementAt")),
    method(f"{classes.EXPRESSIONS_PACKAGE}.MapKeys", "child", 0),
    method(classes.SCAN_RELATION, "scan", 0),
    method(classes.TREE_NODE, "makeCopy", 1),
)
def install_selected_keys(jvm: Jvm, session: JavaObject) -> None:
    """Add a rule to a running session: it passes the keys of MAPs that a query uses to the scans."""
    add_last_optimization(jvm, session, jvm.compiled("SelectedKeys").rule())


@dataclass(frozen=True, slots=True)
class SortOrder:
    """An order of rows by an expression."""

    term: Term
    descending: bool
    nulls_first: bool


def read_order(jvm: Jvm, order: JavaObject) -> SortOrder:
    descending = str(order.direction().name()) == "DESCENDING"
    return SortOrder(read_term(jvm, order.expression()), descending, str(order.nullOrdering().name()) == "NULLS_FIRST")


@dataclass(frozen=True, slots=True)
class TimeTravel:
    """A point in time of `VERSION AS OF`, or of `TIMESTAMP AS OF` in microseconds since the epoch."""

    version: str | None = None
    micros: int | None = None


def read_time_travel(context: JavaObject) -> TimeTravel | None:
    """Return the version that a statement's `TableContext` requests, None for the latest."""
    travel = context.timeTravel().orElse(None)
    if travel is None:
        return None
    if simple_name(travel) == "AsOfVersion":
        return TimeTravel(version=str(travel.version()))
    return TimeTravel(micros=int(travel.micros()))


class ChangeKind(StrEnum):
    """The class of a `TableChange` of Spark's."""

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
    CLUSTER_BY = "ClusterBy"
    ADD_CONSTRAINT = "AddConstraint"
    DROP_CONSTRAINT = "DropConstraint"


def change_kind(change: JavaObject) -> ChangeKind | str:
    """Return the kind of a `TableChange`; the name of its class if this module does not list it."""
    name = simple_name(change)
    return ChangeKind(name) if name in [kind.value for kind in ChangeKind] else name


def column_before(position: JavaObject) -> str | None:
    """Return the column that a `ColumnPosition` follows, None for the first position."""
    return None if simple_name(position) == "First" else str(position.column())
