"""Generated columns in the definitions that Spark hands over and shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from py4j.java_gateway import JavaObject
from pyspark.sql.types import StructField, StructType

from paimon_core.errors import UnsupportedFeatureError
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.collections import items
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import hook, java_type, method

_EXPRESSION = "GENERATION_EXPRESSION"  # the key in the metadata of a column
_ANY_ZONE = "TimeZoneAwareExpression"


def generated_expressions(jvm: Jvm, columns: Iterable[JavaObject]) -> dict[str, str]:
    """Return the expressions of the generated columns of a new table. Raises `UnsupportedFeatureError` for a column
    with numbers that the table would generate.
    """
    found = {}
    for column in columns:
        if column.identityColumnSpec() is not None:
            raise UnsupportedFeatureError(
                f"Column {str(column.name())!r} cannot be GENERATED AS IDENTITY: concurrent writers would have to "
                "agree on each number before they write. Use _ROW_ID of a table with 'row-tracking.enabled' = "
                "'true', or uuid()."
            )
        if (expression := column.generationExpression()) is not None:
            found[str(column.name())] = str(expression)
    return found


def with_expressions(schema: StructType, expressions: Mapping[str, str]) -> StructType:
    """Return the columns of a table with the expressions of generated columns where Spark looks for them."""
    if not expressions:
        return schema
    return StructType(
        [
            StructField(f.name, f.dataType, f.nullable, {**f.metadata, _EXPRESSION: expressions[f.name]})
            if f.name in expressions
            else f
            for f in schema
        ]
    )


@hook(
    "`TimeZoneAwareExpression`, `Cast.needsTimeZone`",
    "generated columns",
    java_type(f"{classes.EXPRESSIONS_PACKAGE}.{_ANY_ZONE}"),
    method(f"{classes.CAST}$", "needsTimeZone", 2),
)
def depends_on_zone(jvm: Jvm, expression: JavaObject) -> bool:
    """Return whether the value of an expression may depend on the session's time zone."""
    if jvm.is_instance(expression, f"{classes.EXPRESSIONS_PACKAGE}.{_ANY_ZONE}"):
        is_cast = jvm.is_instance(expression, classes.CAST)
        casts = jvm.scala_object(classes.CAST)
        if not is_cast or casts.needsTimeZone(expression.child().dataType(), expression.dataType()):
            return True
    return any(depends_on_zone(jvm, child) for child in items(expression.children()))
