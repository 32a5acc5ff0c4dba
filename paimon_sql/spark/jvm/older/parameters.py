"""Parameters of statements, `:name` and `?`.

From 4.1 on, Spark's parser puts their values into a statement. Before, the analyzer does so, after the parser of this
package. Then one of its statements with parameters stays parsed until a rule of the analyzer has the values.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaObject

from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import Variant, hook, java_type, method

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
    """Whether parsed statements have their parameters still, see `has_parameters`."""
    return jvm.variant(binds_late) is _ANALYZED


def has_parameters(jvm: Jvm, plan: JavaObject) -> bool:
    """Whether values are missing in a parsed statement."""
    return bool(jvm.compiled("BoundParameters").has(plan))


def rewrite_bound(jvm: Jvm, session: JavaObject, rewrite: Any) -> None:
    """Have statements with parameters, once these have values, pass a function of a session and a plan."""
    analyzer = session.sessionState().analyzer()
    jvm.compiled("BoundParameters").install(session, session.extensions(), analyzer, rewrite)
