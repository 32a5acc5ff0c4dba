"""Spans of statements.

Spark calls Python in other threads, so the parent of their spans is a local property of Spark's job.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from paimon_core.tracing import are_recorded, below, current_parent, span
from paimon_sql.spark.jvm.gateway import Jvm

TRACE_PARENT = "paimon.traceparent"
EXECUTION = "spark.sql.execution.id"  # of Spark: the number of the execution that a thread belongs to


def below_caller(jvm: Jvm) -> AbstractContextManager[object]:
    """Make the span of the query or the statement that calls Python the current span."""
    if not are_recorded():
        return nullcontext()
    query = jvm.query_spans.get(jvm.context.getLocalProperty(EXECUTION) or "") if jvm.query_spans else None
    return below(jvm.context.getLocalProperty(TRACE_PARENT) if query is None else query.parent)


@contextmanager
def statement_span(jvm: Jvm, kind: str, table: str | None = None) -> Iterator[None]:
    """Record the block as the span of a statement. Spans of Spark's calls to Python become its children."""
    with span("statement", kind=kind, table=table):
        parent = current_parent()
        if parent is None:
            yield
            return
        context = jvm.context
        before = context.getLocalProperty(TRACE_PARENT)
        context.setLocalProperty(TRACE_PARENT, parent)
        try:
            yield
        finally:
            context.setLocalProperty(TRACE_PARENT, before)
