"""Views of Spark's analyzer: read into a frozen value, and made of such a value (from 4.2 on)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from py4j.java_gateway import JavaObject

from paimon_core.dataclass import dataclass
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.collections import python_map
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import hook, method


@dataclass(frozen=True, slots=True)
class ViewDefinition:
    """A view as Spark runs it: the JSON of its columns, its properties with the comment, its query, and the catalog,
    namespace and settings that were current at its definition. `query_columns` are the query's own names of its
    columns; they are empty if the view's columns follow the query. `schema_mode` decides what happens to the view if
    the columns of its tables change.
    """

    schema_json: str
    properties: Mapping[str, str]
    query: str
    catalog: str
    namespace: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    schema_mode: str = "BINDING"
    query_columns: tuple[str, ...] = ()


def read_view(view: JavaObject) -> ViewDefinition:
    """Return the definition that Spark gives a catalog to store."""
    mode, names = view.schemaMode(), view.queryColumnNames()
    return ViewDefinition(
        str(view.schema().json()),
        python_map(view.properties()),
        str(view.queryText()),
        str(view.currentCatalog()),
        tuple(map(str, view.currentNamespace())),
        python_map(view.sqlConfigs()),
        "BINDING" if mode is None else str(mode),
        () if names is None else tuple(map(str, names)),
    )


def java_view(jvm: Jvm, view: ViewDefinition) -> JavaObject:
    """A view that Spark runs."""
    return (
        jvm.java_class(classes.VIEW_BUILDER)()
        .withSchema(rows_schema(jvm, view.schema_json))
        .withProperties(jvm.map(view.properties))
        .withQueryText(view.query)
        .withCurrentCatalog(view.catalog)
        .withCurrentNamespace(jvm.strings(view.namespace))
        .withSqlConfigs(jvm.map(view.settings))
        .withSchemaMode(view.schema_mode)
        .withQueryColumnNames(jvm.strings(view.query_columns))
        .build()
    )


@hook(
    "`CharVarcharUtils.replaceCharVarcharWithStringInSchema`",
    "views with columns of CHAR and VARCHAR",
    method(f"{classes.CHAR_VARCHAR_UTILS}$", "replaceCharVarcharWithStringInSchema", 1),
)
def rows_schema(jvm: Jvm, schema_json: str) -> JavaObject:
    """Return columns with the types of the rows: text instead of CHAR and VARCHAR, which move into the columns'
    metadata.
    """
    columns = jvm.java_class(classes.DATA_TYPE).fromJson(schema_json)
    return jvm.scala_object(classes.CHAR_VARCHAR_UTILS).replaceCharVarcharWithStringInSchema(columns)


@hook(
    "`AnalysisContext.nestedViewDepth`",
    "the error of views that refer to each other in a circle",
    method(f"{classes.ANALYSIS_CONTEXT}$", "get", 0),
    method(classes.ANALYSIS_CONTEXT, "nestedViewDepth", 0),
)
def view_depth(jvm: Jvm) -> int:
    """Return how many views enclose the name that the analyzer is resolving."""
    return int(jvm.scala_object(classes.ANALYSIS_CONTEXT).get().nestedViewDepth())


@hook(
    "`transformDownWithSubqueries`, `UnresolvedWith.cteRelations`",
    "the error of views that refer to each other in a circle",
    method(classes.LOGICAL_PLAN, "transformDownWithSubqueries", 1),
    method(classes.UNRESOLVED_WITH, "cteRelations", 0),
)
def named_relations(jvm: Jvm, query: JavaObject) -> list[tuple[str, ...]]:
    """Return the names of the tables and views in a parsed query, each as its parts."""
    found = str(jvm.compiled("ViewReferences").relations(query))
    return [tuple(name.split("\0")) for name in found.split("\n") if name]
