"""Spark's declarative pipelines: which work of theirs a thread does."""

from __future__ import annotations

from collections.abc import Sequence

from py4j.java_gateway import JavaObject

from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.gateway import Jvm, stack_names
from paimon_sql.spark.jvm.hooks import Variant, field, hook, java_type, method
from paimon_sql.spark.jvm.view_refreshes import DefinedTable, check_truncation, replaces_rows, runs_of_view

_SOURCE, _NONE = "ViewRefreshes", "not in this Spark"


def is_pipeline(jvm: Jvm) -> bool:
    """Return whether a pipeline prepares its tables in this thread."""
    return classes.PIPELINE_TABLES in stack_names(jvm)


@hook(
    "`ClusterByTransform`",
    "CLUSTER BY in DESCRIBE, `clusterBy` of writers that append, `cluster_by` of tables of pipelines",
    java_type(classes.CLUSTER_BY_TRANSFORM),
)
def shown_clustering(jvm: Jvm, columns: Sequence[str], *, is_partitioned: bool) -> list[JavaObject]:
    """Return the transform that shows a table's CLUSTER BY. Writers compare a table's transforms with their own
    transforms, which name only partition columns. So if the table is partitioned, only pipelines see this transform.
    """
    if not columns or (is_partitioned and classes.PIPELINES not in stack_names(jvm)):
        return []
    names = [jvm.java_class(classes.EXPRESSIONS).column(quoted_name(c)) for c in columns]
    return [jvm.java_class(classes.CLUSTER_BY_TRANSFORM)(jvm.seq(names))]


@hook(
    "private members of Spark Connect's sessions, and the classes of pipelines that empty and fill tables",
    "a refresh of a pipeline's materialized view empties the table in a commit of its own",
    Variant.of(
        "definitions of running pipelines",
        field(classes.CONNECT_SESSIONS, "sessionStore"),
        method(classes.CONNECT_SESSION, "pipelineExecutions", 0),
        method(classes.PIPELINE_RUN, "unresolvedGraph", 0),
        method(classes.PIPELINE_TABLE, "isStreamingTable", 0),
        java_type(classes.PIPELINE_APPEND),
        method(classes.PIPELINE_TABLES + "$", "materializeDatasets", 2),
    ),
    Variant.of(_NONE),
)
def puts_off_truncation(jvm: Jvm, table: str) -> bool:
    """Return whether a pipeline empties a table in this thread to refresh a materialized view. Then the rows that it
    appends next must replace the old rows: see `replaces_view`. `table` is a name with its catalog and database. Raises
    `UnsupportedFeatureError` as `check_truncation`.
    """
    if not is_pipeline(jvm) or jvm.variant(puts_off_truncation).name == _NONE:
        return False
    found = _definitions(jvm, table)
    check_truncation(table, found)
    runs = runs_of_view(table, found)
    jvm.compiled(_SOURCE).keep(table, " ".join(runs))
    return bool(runs)


def is_refreshed_view(jvm: Jvm, table: str) -> bool:
    """Return whether a pipeline that prepares its tables in this thread replaces the rows of a view later."""
    refreshes = jvm.compiled_before(_SOURCE)
    if refreshes is None or not (runs := str(refreshes.kept(table)).split()) or not is_pipeline(jvm):
        return False
    return not runs_of_view(table, _definitions(jvm, table)).isdisjoint(runs)


def replaces_view(jvm: Jvm, table: str) -> bool:
    """Return whether a pipeline appends rows in this thread to a materialized view with a truncation put off. Raises
    `UnsupportedFeatureError` if another pipeline has begun to define the table otherwise.
    """
    refreshes = jvm.compiled_before(_SOURCE)
    if refreshes is None or not (runs := str(refreshes.kept(table))) or classes.PIPELINE_APPEND not in stack_names(jvm):
        return False
    return replaces_rows(table, runs.split(), _definitions(jvm, table))


def _definitions(jvm: Jvm, table: str) -> list[DefinedTable]:
    found = jvm.compiled(_SOURCE).definitions(table)
    return [DefinedTable(str(run), str(name), str(kind) == "view") for run, kind, name in map(tuple, found)]
