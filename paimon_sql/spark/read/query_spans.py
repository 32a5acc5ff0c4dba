"""Spans of queries: from the plan of their first scan of a Paimon table to the end of Spark's execution."""

from __future__ import annotations

from paimon_core.tracing import are_recorded, begin_span
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import Variant, hook, method
from paimon_sql.spark.jvm.sessions import watch_executions
from paimon_sql.spark.proxy import Predicate
from paimon_sql.spark.spans import EXECUTION, TRACE_PARENT


@hook(
    "the end of an execution, as listeners of Spark see it",
    "spans of queries, if the program records spans",
    Variant.of(
        "with its error",
        method(classes.SQL_EXECUTION_END, "executionId", 0),
        method(classes.SQL_EXECUTION_END, "errorMessage", 0),
    ),
    Variant.of("not there"),
)
def begin_query(jvm: Jvm) -> None:
    """Begin the span of the query that the calling thread of Spark executes, unless the span has begun already. The
    span ends with the execution. Without an execution, or without spans, do nothing.
    """
    if not are_recorded():
        return
    number = jvm.context.getLocalProperty(EXECUTION)
    if number is None or jvm.query_spans.get(number) is not None or jvm.variant(begin_query).name == "not there":
        return
    watch_executions(jvm, Predicate(jvm, lambda said: _end(jvm, str(said))))
    parent = jvm.context.getLocalProperty(TRACE_PARENT)
    jvm.query_spans.begin(number, lambda: begin_span("query", parent))


def _end(jvm: Jvm, said: str) -> bool:
    """End the span of an execution. `said` is the execution's number, and how it ended."""
    number, result = said.split(" ")
    jvm.query_spans.end(number, None if result == "done" else result)
    return True
