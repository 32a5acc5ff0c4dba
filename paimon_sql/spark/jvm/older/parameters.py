"""Parameters of statements, `:name` and `?`.

From 4.1 on, Spark's parser puts their values into a statement. Before 4.1, the analyzer does so, after this package's
parser has run. A statement of this package with parameters is then kept as a parsed plan until a rule of the analyzer
has the values.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from py4j.java_gateway import JavaObject

from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.collections import items
from paimon_sql.spark.jvm.commands import with_arguments
from paimon_sql.spark.jvm.gateway import Jvm, simple_name
from paimon_sql.spark.jvm.hooks import Variant, constructor, hook, java_type, method

_NONE = "not in this Spark"
_WAITING = "paimon-sql: a statement that waits for the values of its parameters"
_INTEGER = re.compile("-?[0-9]+[LSY]")  # with a suffix of its type, which only Spark's statements may have
_PARSED = Variant.of("by the parser", method(classes.PARSER_INTERFACE, "parsePlanWithParameters", 2))
_ANALYZED = Variant.of(
    "by the analyzer",
    java_type(f"{classes.BIND_PARAMETERS}$"),
    java_type(classes.PARAMETERIZED_QUERY),
    method(classes.SESSION_EXTENSIONS, "injectHintResolutionRule", 1),
    method(classes.ANALYZER, "hintResolutionRules", 0),
)


@hook("`BindParameters`", "parameters of INSERT, DELETE, UPDATE and MERGE INTO", _PARSED, _ANALYZED)
def binds_late(jvm: Jvm) -> bool:
    """Return whether parsed statements still contain their parameters, see `has_parameters`."""
    return jvm.variant(binds_late) is _ANALYZED


def has_parameters(jvm: Jvm, plan: JavaObject) -> bool:
    """Return whether a parsed statement still lacks values for its parameters."""
    return bool(jvm.compiled("BoundParameters").has(plan))


def rewrite_bound(jvm: Jvm, session: JavaObject, rewrite: Any) -> None:
    """Pass statements with parameters to `rewrite` once they have values. `rewrite` takes a session and a plan, and
    returns a plan.
    """
    analyzer = session.sessionState().analyzer()
    jvm.compiled("BoundParameters").install(session, session.extensions(), analyzer, rewrite)


def rewrites_bound(jvm: Jvm, session: JavaObject) -> bool:
    """Return whether a session passes its statements to `rewrite_bound`'s function. Sessions of JVM programs do not."""
    return bool(jvm.compiled("BoundParameters").isInstalled(session.sessionState().analyzer()))


@hook(
    "`ParameterHandler.substituteParameters`",
    "parameters of statements that only Paimon has, such as ALTER TABLE … CREATE TAG",
    Variant.of("before parsing", method(f"{classes.PARAMETER_HANDLER}$", "substituteParameters", 2)),
    Variant.of(_NONE),
)
def values_of(jvm: Jvm, parameters: Sequence[str], context: JavaObject) -> list[str] | None:
    """Return the values of parameters, spelled as in the statement, as literals of SQL; None if this Spark does not
    have them before it parses. `context` is the second argument of `parsePlanWithParameters`. Raises Spark's error for
    a parameter without a value.
    """
    if jvm.variant(values_of).name == _NONE:
        return None
    between = f"/*{uuid4().hex}*/, "  # no value can contain it
    query = f"SELECT {between.join(parameters)}"
    substituted = str(jvm.scala_object(classes.PARAMETER_HANDLER).substituteParameters(query, context)._1())
    found = substituted.removeprefix("SELECT ").split(between)
    return list(map(_without_type, found))


def _without_type(value: str) -> str:
    return value[:-1] if _INTEGER.fullmatch(value) else value


def waiting_for_values(text: str, parameters: Sequence[str]) -> str:
    """Return a query that stands for a statement until the analyzer has the values of its parameters, which are spelled
    as in the statement. See `values_in`.
    """
    encoded = base64.b64encode(text.encode()).decode()  # without a character that a literal would have to escape
    return f"SELECT '{_WAITING}', '{encoded}', {', '.join(parameters)}"


@hook(
    "`Project`, `UnresolvedAlias`",
    "parameters of statements that only Paimon has, such as ALTER TABLE … CREATE TAG",
    _PARSED,
    Variant.of("by the analyzer", method(f"{classes.PLANS_PACKAGE}.Project", "projectList", 0)),
)
def values_in(jvm: Jvm, plan: JavaObject) -> tuple[str, list[str]] | None:
    """Return the statement that a query stands for, and the values of its parameters as literals of SQL; None for any
    other plan.
    """
    found = jvm.compiled("BoundParameters").values(plan, _WAITING)
    if found is None:
        return None
    encoded, *values = map(str, found)
    return base64.b64decode(encoded).decode(), list(map(_without_type, values))


_ANY = Variant.of("in any case", method(f"{classes.NAMED_PARAMETERS}$", "defaultRearrange", 4))
_EXACT = Variant.of(
    "exactly", method(classes.CALL, "args", 0), constructor(f"{classes.EXPRESSIONS_PACKAGE}.NamedArgumentExpression", 2)
)


@hook("`NamedParametersSupport`", "CALL with names of arguments in another case", _ANY, _EXACT)
def exact_names(jvm: Jvm) -> bool:
    """Return whether arguments must spell the parameters' names exactly, in the same case."""
    return jvm.variant(exact_names) is _EXACT


def with_exact_names(jvm: Jvm, plan: JavaObject, names: Mapping[str, str]) -> JavaObject:
    """Return a parsed CALL, or EXPLAIN of a CALL, with its arguments renamed: `names` maps the lower-case name to the
    new name.
    """
    if simple_name(plan) != "Call":
        return plan
    made, arguments = jvm.java_class(f"{classes.EXPRESSIONS_PACKAGE}.NamedArgumentExpression"), []
    for argument in items(plan.args()):
        is_named = simple_name(argument) == "NamedArgumentExpression"
        name = names.get(str(argument.key()).lower()) if is_named else None
        arguments.append(argument if name is None else made(name, argument.value()))
    return with_arguments(jvm, plan, arguments)
