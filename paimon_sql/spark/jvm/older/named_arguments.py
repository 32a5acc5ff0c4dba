"""Names of a procedure's arguments: in any case from 4.1 on, exactly the parameters' before."""

from __future__ import annotations

from collections.abc import Mapping

from py4j.java_gateway import JavaObject

from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.collections import items
from paimon_sql.spark.jvm.commands import with_arguments
from paimon_sql.spark.jvm.gateway import Jvm, simple_name
from paimon_sql.spark.jvm.hooks import Variant, constructor, hook, method

_ANY = Variant.of("in any case", method(f"{classes.NAMED_PARAMETERS}$", "defaultRearrange", 4))
_EXACT = Variant.of(
    "exactly", method(classes.CALL, "args", 0), constructor(f"{classes.EXPRESSIONS_PACKAGE}.NamedArgumentExpression", 2)
)


@hook("`NamedParametersSupport`", "CALL with names of arguments in another case", _ANY, _EXACT)
def exact_names(jvm: Jvm) -> bool:
    """Return whether arguments must spell the parameters' names exactly, in the same case."""
    return jvm.variant(exact_names) is _EXACT


def with_exact_names(jvm: Jvm, plan: JavaObject, names: Mapping[str, str]) -> JavaObject:
    """A parsed CALL, or EXPLAIN of one, its arguments named as `names` has them, by their names in lower case."""
    if simple_name(plan) != "Call":
        return plan
    made, arguments = jvm.java_class(f"{classes.EXPRESSIONS_PACKAGE}.NamedArgumentExpression"), []
    for argument in items(plan.args()):
        is_named = simple_name(argument) == "NamedArgumentExpression"
        name = names.get(str(argument.key()).lower()) if is_named else None
        arguments.append(argument if name is None else made(name, argument.value()))
    return with_arguments(jvm, plan, arguments)
