"""`format("paimon")` and `mergeInto` for clients of Spark Connect.

Such a client's readers and writers are Spark's own, in the server's JVM, so PySpark's methods cannot ask us first. Here
Spark finds a class with the name of our format instead, and the plan of a merge passes one of our rules.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from paimon_sql.spark.dataframes.changelog_option import located_table, without_changelog
from paimon_sql.spark.jvm.client_sessions import locate_tables, rewrite_merges
from paimon_sql.spark.jvm.collections import python_map
from paimon_sql.spark.jvm.gateway import jvm_of
from paimon_sql.spark.jvm.sessions import java_session, name_parts
from paimon_sql.spark.proxy import Function1, Function2
from paimon_sql.spark.statements.parser import registry_in
from paimon_sql.spark.statements.rewrites import StatementRewriter


def install_remote_frames(spark: SparkSession, class_path: Path) -> None:
    """Install both before a server starts: its clients' sessions are made from this one. `class_path` is a folder on
    the class path of the driver."""
    jvm, session = jvm_of(spark.sparkContext), java_session(spark)

    def located(options: Any) -> str:
        given, changelog = without_changelog(python_map(options))
        return "\0".join(name_parts(session, located_table(given, None, changelog=changelog)))

    locate_tables(jvm, class_path, Function1(jvm, located))
    rewrite_merges(jvm, session, Function2(jvm, _merged))


def _merged(session: JavaObject, plan: JavaObject) -> JavaObject:
    """The plan of a DataFrame's merge; if its target is a Paimon table, the plan of the command that runs it."""
    registry = registry_in(session)
    return plan if registry is None else StatementRewriter(registry).rewritten(plan)
