"""Catalyst expressions: conversions to and from PySpark's Columns, and answers about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.sql import Column
from pyspark.sql.types import DataType, _parse_datatype_json_string

from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.collections import items
from paimon_sql.spark.jvm.gateway import Jvm, simple_name
from paimon_sql.spark.jvm.hooks import hook, java_type, method


@hook(
    "`ExpressionUtils.column`",
    "DELETE, UPDATE and MERGE INTO; casts of INSERT",
    method(classes.EXPRESSION_UTILS, "column", 1),
)
def column(jvm: Jvm, expression: JavaObject) -> Column:
    """The Column of a Catalyst expression."""
    return Column(jvm.java_class(classes.EXPRESSION_UTILS).column(expression))


@hook(
    "`ExpressionUtils.expression`",
    "functions of `sys`, casts of INSERT",
    method(classes.EXPRESSION_UTILS, "expression", 1),
)
def expression(jvm: Jvm, value: Column) -> JavaObject:
    """The Catalyst expression of a Column."""
    return jvm.java_class(classes.EXPRESSION_UTILS).expression(value._jc)


@hook(
    "`Literal.create`",
    "functions of `sys` of constants",
    method(classes.LITERAL, "create", 2),
)
def literal(jvm: Jvm, value: str | bytes | None, data_type: DataType) -> JavaObject:
    return jvm.scala_object(classes.LITERAL).create(value, jvm.data_type(data_type))


@hook(
    "`Cast`",
    "values that are cast as the table's columns",
    method(f"{classes.CAST}$", "apply", 3),
)
def cast(jvm: Jvm, value: Column, data_type: DataType, *, ansi: bool) -> Column:
    """Return a Column cast to a type. PySpark's own `cast` would put a line of this package's sources into Spark's
    messages.
    """
    made = jvm.scala_object(classes.CAST).apply(expression(jvm, value), jvm.data_type(data_type), ansi)
    return column(jvm, made)


@hook(
    "`Cast.canANSIStoreAssign`, `canAnsiCast`, `canCast`",
    "which values INSERT casts",
    *(method(classes.CAST, m, 2) for m in ("canANSIStoreAssign", "canAnsiCast", "canCast")),
)
def needs_cast(jvm: Jvm, source: DataType, target: DataType, *, ansi: bool) -> bool:
    """Return whether storing a value as another type needs a CAST. Return False if CAST cannot convert it, either."""
    types = jvm.data_type(source), jvm.data_type(target)
    if jvm.constant(classes.CAST, "canANSIStoreAssign")(*types):
        return False
    return bool(jvm.constant(classes.CAST, "canAnsiCast" if ansi else "canCast")(*types))


def data_type_of(found: JavaObject) -> DataType:
    """The type of an expression's values."""
    return _parse_datatype_json_string(str(found.dataType().json()))


def constant_of(found: JavaObject) -> str | bytes | None:
    """Return the value of a constant expression, bytes or text; None for NULL. A number becomes its digits, and an
    interval of days to seconds becomes its microseconds.
    """
    value = found.eval(None)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    return None if value is None else str(value.toString())


@hook(
    "`Expression.foldable`, `eval`",
    "DELETE of all rows reads them",
    method(classes.EXPRESSION_NODE, "foldable", 0),
    method(classes.EXPRESSION_NODE, "eval", 1),
)
def is_true(condition: JavaObject) -> bool:
    """Return whether a condition is true of every row, such as `1 = 1`."""
    try:
        return bool(condition.foldable()) and condition.eval(None) is True
    except Py4JJavaError:  # `current_date()` has a value only while a query runs
        return False


@hook(
    "`Expression.deterministic`, `references`",
    "DELETE of whole partitions reads their rows",
    method(classes.EXPRESSION_NODE, "deterministic", 0),
    method(classes.EXPRESSION_NODE, "references", 0),
)
def deciding_columns(condition: JavaObject) -> frozenset[str] | None:
    """Return the names of the columns that a condition depends on. Return None if the condition may differ between two
    evaluations of one row, such as `rand() < 0.5`.
    """
    if not condition.deterministic():
        return None
    return frozenset(str(a.name()) for a in items(condition.references().toSeq()))


@hook(
    "`Expression.references`",
    "UPDATE and MERGE INTO of tables with views of BLOBs",
    method(classes.EXPRESSION_NODE, "references", 0),
)
def referenced(expressions: Iterable[JavaObject]) -> frozenset[str]:
    """Return the `canonical_text` of each column that expressions use, also in the queries in them."""
    return frozenset(canonical_text(a) for e in expressions for a in items(e.references().toSeq()))


def canonical_text(found: JavaObject) -> str:
    """Return a text for an expression: expressions with the same value have the same text, even if statements spell the
    columns differently.
    """
    return str(found.canonicalized().toString())


@hook(
    "`And`, `EqualTo`, `EqualNullSafe`",
    "MERGE INTO that assigns a key what ON says it equals",
    *(method(f"{classes.EXPRESSIONS_PACKAGE}.{name}", "left", 0) for name in ("And", "EqualTo", "EqualNullSafe")),
)
def equal_pairs(condition: JavaObject) -> list[tuple[JavaObject, JavaObject]]:
    """Return the pairs of expressions that must be equal for a condition to hold."""
    found, pending = [], [condition]
    while pending:
        part = pending.pop()
        if simple_name(part) == "And":
            pending += [part.left(), part.right()]
        elif simple_name(part) in ("EqualTo", "EqualNullSafe"):
            found.append((part.left(), part.right()))
    return found


@hook(
    "`GetMapValue`, `ElementAt`, `AttributeReference`",
    "file indexes of values in MAPs are not used",
    java_type(f"{classes.EXPRESSIONS_PACKAGE}.GetMapValue"),
    java_type(f"{classes.EXPRESSIONS_PACKAGE}.ElementAt"),
    method(f"{classes.EXPRESSIONS_PACKAGE}.AttributeReference", "withDataType", 1),
)
def with_map_values(jvm: Jvm, found: JavaObject, name_of: Callable[[str, str], str | None]) -> JavaObject:
    """Return an expression with a column in place of each `m['key']` that has one. `name_of` returns the column's name
    for `m` and `key`, or None if there is no such column.
    """
    children = items(found.children())
    kinds = [simple_name(c) for c in children[:2]]
    if simple_name(found) in ("GetMapValue", "ElementAt") and kinds == ["AttributeReference", "Literal"]:
        whole, key = children[0], children[1].value()
        name = None if key is None else name_of(str(whole.name()), str(key.toString()))
        return found if name is None else whole.withName(name).withDataType(found.dataType())
    replaced = [with_map_values(jvm, c, name_of) for c in children]
    return found.withNewChildren(jvm.seq(replaced)) if children else found
