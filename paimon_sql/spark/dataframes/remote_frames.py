"""`format("paimon")`, writes, `mergeInto` and streams for clients of Spark Connect and for JVM programs.

The readers and writers of such a client are Spark's own, in the server's JVM, so extending PySpark's methods has no
effect. Instead, Spark finds a class with the name of our format, and one of our rules rewrites the plans of writes.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from paimon_sql.spark.dataframes.changelog_option import located_table, without_changelog
from paimon_sql.spark.dataframes.stream_writers import stored_stream
from paimon_sql.spark.dataframes.writers import written_command
from paimon_sql.spark.jvm.client_sessions import define_source, locate_tables, rewrite_frames
from paimon_sql.spark.jvm.collections import python_map
from paimon_sql.spark.jvm.frames import frame
from paimon_sql.spark.jvm.gateway import Jvm, jvm_of
from paimon_sql.spark.jvm.plans import FrameWrite, named_sink, read_head
from paimon_sql.spark.jvm.sessions import java_session, name_parts
from paimon_sql.spark.proxy import Function1, Function2
from paimon_sql.spark.statements.parser import registry_in
from paimon_sql.spark.statements.rewrites import StatementRewriter


def install_remote_frames(spark: SparkSession) -> None:
    """Install both before a server starts: the sessions of its clients are created from this session."""
    jvm, session = jvm_of(spark.sparkContext), java_session(spark)
    locate_tables(jvm, locator(jvm, session))
    rewrite_frames(jvm, session, Function2(jvm, rewritten_frame))


def install_source(jvm: Jvm, session: JavaObject) -> None:
    """Make Spark find the format `paimon` in a running JVM, for statements on its own catalog that name the format."""
    define_source(jvm, lambda: locator(jvm, session))


def locator(jvm: Jvm, session: JavaObject) -> Function1:
    """Return a function that finds a table: it takes options, and returns the parts of a name with NULs between them.
    The parser of the session reads names."""

    def located(options: Any) -> str:
        given, changelog = without_changelog(python_map(options))
        return "\0".join(name_parts(session, located_table(given, None, changelog=changelog)))

    return Function1(jvm, located)


def rewritten_frame(session: JavaObject, plan: JavaObject) -> JavaObject:
    """Return the plan that Spark continues with for a write, a merge or a stream of a DataFrame. Return the plan itself
    if it needs no change, or if its target is not a Paimon table.
    """
    registry = registry_in(session)
    if registry is None:
        return plan
    if (sink := named_sink(plan)) is not None:
        return stored_stream(registry, plan, sink)
    head = read_head(plan)
    if head is not None and head.kind is FrameWrite:
        rows = frame(registry.jvm, session, plan.query())
        return written_command(registry, plan, rows) or plan
    return StatementRewriter(registry).rewritten(plan)
