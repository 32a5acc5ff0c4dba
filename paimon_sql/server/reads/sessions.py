"""The sessions of a server's clients: their first settings, and the rules that keep them from writing."""

from __future__ import annotations

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from paimon_sql.server.reads.listed import Warehouses, listed, places
from paimon_sql.spark.jvm.client_sessions import allow_lists, bound_rows, refuse_writes
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.servers import bound_results
from paimon_sql.spark.jvm.sessions import begin_sessions_with, current_catalog, java_session
from paimon_sql.spark.proxy import Predicate
from paimon_sql.spark.session_bridge import CATALOG_PREFIX, SessionBridge
from paimon_sql.spark.statements.parser import check_relations, restrict_paths, restrict_variables
from paimon_sql.spark.tables.user_functions.python_code import allows_python


def prepare_sessions(jvm: Jvm, spark: SparkSession) -> None:
    """Give the sessions created from this one its catalogs, its current catalog, and the limits of a server."""
    session = java_session(spark)
    catalogs = {name: value for name, value in spark.conf.getAll.items() if name.startswith(CATALOG_PREFIX)}
    begin_sessions_with(session, {**catalogs, "spark.sql.defaultCatalog": current_catalog(session)})
    restrict_variables(jvm, session)
    check_relations(jvm, session)  # clients of Spark Connect set options without a statement
    bound_results(jvm)
    bound_rows(jvm, session)


def refuse_all_but_reads(jvm: Jvm, spark: SparkSession) -> JavaObject:
    """Make the sessions created from this one refuse every statement except those known to only read. Return the
    allow-lists in the form that the checks in Java use.
    """
    session = java_session(spark)
    found = places(dict(spark.conf.getAll), SessionBridge(jvm, session).catalog_options)
    lines = listed(found, python_functions=allows_python(jvm))
    lists = allow_lists(jvm, lines, Predicate(jvm, Warehouses(found).has_users))
    refuse_writes(jvm, session, lists)
    restrict_paths(session, lambda path: bool(lists.test("place", path)))
    return lists
