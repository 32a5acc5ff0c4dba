"""Catalog functions that turn their calls into expressions made by this package.

From 4.2 on, Spark gets such a function from its catalog. Before, it is a temporary function of the session, and parsed
calls are renamed to the temporary function.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from py4j.java_gateway import JavaObject

from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.functions import SCALAR, called_functions, put_temporary_function, with_called_names
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import Variant, constructor, hook, method
from paimon_sql.spark.jvm.sessions import current_catalog

PREFIX = "paimon_sys_"  # of the temporary functions
_GIVEN = Variant.of(
    "of the catalog", method(f"{classes.V1_FUNCTION}$", "apply", 2), constructor(classes.EXPRESSION_INFO, 3)
)
_NAMED = Variant.of(
    "temporary functions",
    method(f"{classes.V1_FUNCTION}$", "apply", 1),
    constructor(classes.EXPRESSION_INFO, 3),
)


@hook("`V1Function`, `ExpressionInfo`", "functions of `sys` of columns", _GIVEN, _NAMED)
def expression_function(jvm: Jvm, name: str, make: Any, database: str = "sys") -> JavaObject:
    """Return a function for Spark's analyzer; the Scala function `make` turns its calls into expressions. If calls are
    renamed, the result only shows that the function exists."""
    info = jvm.java_class(classes.EXPRESSION_INFO)("org.apache.paimon", database, name)
    makes = [make] if jvm.variant(expression_function) is _GIVEN else []
    return jvm.scala_object(classes.V1_FUNCTION).apply(info, *makes)


def renames_calls(jvm: Jvm) -> bool:
    """Return whether parsed statements must pass through `with_named_functions`."""
    return jvm.variant(expression_function) is _NAMED


def with_named_functions(
    jvm: Jvm, session: JavaObject, plan: JavaObject, makers: Mapping[str, Any], catalogs: Collection[str]
) -> JavaObject:
    """Return a parsed statement that calls temporary functions in place of functions in `sys`, for `sys` in `catalogs`.
    `makers` has the Scala functions that make the expressions, by the names of the functions.
    """
    for name, make in makers.items():
        put_temporary_function(session, PREFIX + name, make, is_table=False)
    current, names = current_catalog(session), {}
    for kind, parts in called_functions(jvm, session, plan):
        *catalog, database, name = parts if len(parts) > 1 else ("", *parts)
        in_ours = len(catalog) < 2 and (catalog or [current])[0] in catalogs
        if kind == SCALAR and in_ours and database.lower() == "sys" and name.lower() in makers:
            names[kind, parts] = PREFIX + name.lower()
    return with_called_names(jvm, plan, names) if names else plan
