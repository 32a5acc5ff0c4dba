"""Values of Spark's documented connector interfaces, which catalogs, tables, scans and writes return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from py4j.java_collections import JavaArray
from py4j.java_gateway import JavaObject

from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.gateway import Jvm, simple_name
from paimon_sql.spark.jvm.hooks import field


# -- catalogs ---------------------------------------------------------------------------------------------------------
def identifier(jvm: Jvm, namespace: Iterable[str], name: str) -> JavaObject:
    return jvm.java_class(classes.IDENTIFIER).of(jvm.strings(namespace), name)


def identifiers(jvm: Jvm, database: str, objects: Iterable[str]) -> JavaArray:
    """Identifiers of objects of one database."""
    return jvm.array(classes.IDENTIFIER, [identifier(jvm, [database], name) for name in objects])


def namespaces(jvm: Jvm, databases: Iterable[str]) -> JavaArray:
    return jvm.array(classes.STRINGS, [jvm.strings([name]) for name in databases])


def namespace_changes(changes: Iterable[Any]) -> tuple[dict[str, str], list[str]]:
    """Return the properties that a namespace's changes set, and the names of the properties that they remove."""
    given, removed = dict[str, str](), list[str]()
    for change in changes:
        if simple_name(change) == "SetProperty":
            given[str(change.property())] = str(change.value())
        else:
            removed.append(str(change.property()))
    return given, removed


def summaries(jvm: Jvm, database: str, tables: Iterable[str], views: Iterable[str] = ()) -> JavaArray:
    """Return the tables and views of a database with their kinds."""
    summary = jvm.java_class(classes.TABLE_SUMMARY)
    kinds = [*((name, "MANAGED") for name in tables), *((name, "VIEW") for name in views)]
    found = [summary.of(identifier(jvm, [database], name), kind) for name, kind in kinds]
    return jvm.array(classes.TABLE_SUMMARY, found)


def catalog_capabilities(jvm: Jvm, *capabilities: str) -> JavaObject:
    """Return capabilities of a catalog, without those that this Spark does not define."""
    kind = classes.TABLE_CATALOG_CAPABILITY
    return jvm.constants(kind, *(c for c in capabilities if jvm.has(field(kind, c))))


def empty_set(jvm: Jvm) -> JavaObject:
    return jvm.constant(classes.COLLECTIONS, "EMPTY_SET")


def string_map(jvm: Jvm, options: Mapping[str, str]) -> JavaObject:
    """Return options as Java's map that compares their names without case."""
    return jvm.java_class(classes.CATALYST_STRING_MAP)(jvm.map(options))


def parameter(jvm: Jvm, name: str, data_type: Any, *, required: bool) -> JavaObject:
    """Return a parameter of a procedure; if it is not `required`, its default is NULL."""
    builder = getattr(jvm.java_class(classes.PROCEDURE_PARAMETER), "in")(name, jvm.data_type(data_type))
    return (builder if required else builder.defaultValue("NULL")).build()


def parameters(jvm: Jvm, found: Iterable[JavaObject]) -> JavaArray:
    return jvm.array(classes.PROCEDURE_PARAMETER, found)


# -- tables -----------------------------------------------------------------------------------------------------------
def capabilities(jvm: Jvm, *found: str) -> JavaObject:
    """Return capabilities of a table, without those that this Spark does not define: it never checks for them."""
    return jvm.constants(classes.TABLE_CAPABILITY, *(c for c in found if jvm.has(field(classes.TABLE_CAPABILITY, c))))


def no_constraints(jvm: Jvm) -> JavaArray:
    return jvm.array(classes.CONSTRAINT, [])


def metadata_columns(jvm: Jvm, columns: Iterable[Any]) -> JavaArray:
    return jvm.cached_array(classes.METADATA_COLUMN, columns)


def partitioning(jvm: Jvm, columns: Iterable[str] = (), more: Iterable[JavaObject] = ()) -> JavaArray:
    """Return the transforms of a table that is partitioned by columns, and `more` transforms."""
    expressions = jvm.java_class(classes.EXPRESSIONS)
    return jvm.array(classes.TRANSFORM, [*(expressions.identity(quoted_name(c)) for c in columns), *more])


def internal_rows(jvm: Jvm, rows: Iterable[Any]) -> JavaArray:
    return jvm.array(classes.INTERNAL_ROW, rows)


def no_metrics(jvm: Jvm) -> JavaArray:
    return jvm.array(classes.CUSTOM_METRIC, [])


def no_task_metrics(jvm: Jvm) -> JavaArray:
    return jvm.array(classes.CUSTOM_TASK_METRIC, [])


# -- scans ------------------------------------------------------------------------------------------------------------
def columnar_by_partition(jvm: Jvm) -> JavaObject:
    """Return the answer of a scan that decides for each partition whether it has batches of columns."""
    return jvm.constant(classes.COLUMNAR_SUPPORT, "PARTITION_DEFINED")


def not_columnar(jvm: Jvm) -> JavaObject:
    return jvm.constant(classes.COLUMNAR_SUPPORT, "UNSUPPORTED")


def no_predicates(jvm: Jvm) -> JavaArray:
    return jvm.array(classes.FILTER_PREDICATE, [])


def references(jvm: Jvm, columns: Iterable[str]) -> JavaArray:
    return jvm.array(classes.NAMED_REFERENCE, [reference(jvm, c) for c in columns])


def reference(jvm: Jvm, column: str) -> JavaObject:
    return jvm.java_class(classes.FIELD_REFERENCE).column(column)


def unknown_partitioning(jvm: Jvm) -> JavaObject:
    return jvm.java_class(classes.UNKNOWN_PARTITIONING)(0)


def bucket_partitioning(jvm: Jvm, column: str, buckets: int, partitions: int) -> JavaObject:
    """Return the partitioning of a scan with one partition per bucket of a column."""
    transform = jvm.java_class(classes.EXPRESSIONS).bucket(buckets, jvm.strings([quoted_name(column)]))
    return jvm.java_class(classes.KEY_GROUPED_PARTITIONING)(jvm.array(classes.EXPRESSION, [transform]), partitions)


def optional_long(jvm: Jvm, value: int | None) -> JavaObject:
    made = jvm.java_class(classes.OPTIONAL_LONG)
    return made.empty() if value is None else made.of(value)


# -- writes -----------------------------------------------------------------------------------------------------------
def any_distribution(jvm: Jvm) -> JavaObject:
    return jvm.java_class(classes.DISTRIBUTIONS).unspecified()


def clustered(jvm: Jvm, columns: Iterable[str]) -> JavaObject:
    """Return the distribution that brings equal values of `columns` into one task; any distribution if there are no
    columns.
    """
    found = [reference(jvm, c) for c in columns]
    distributions = jvm.java_class(classes.DISTRIBUTIONS)
    return distributions.clustered(jvm.array(classes.EXPRESSION, found)) if found else distributions.unspecified()


def ordered(jvm: Jvm, order: JavaArray) -> JavaObject:
    """Return the distribution that gives each task one range of an order."""
    return jvm.java_class(classes.DISTRIBUTIONS).ordered(order)


def ascending(jvm: Jvm, columns: Iterable[str]) -> JavaArray:
    expressions, direction = jvm.java_class(classes.EXPRESSIONS), jvm.constant(classes.SORT_DIRECTION, "ASCENDING")
    return jvm.array(classes.SORT_ORDER, [expressions.sort(reference(jvm, c), direction) for c in columns])


# -- functions --------------------------------------------------------------------------------------------------------
def data_types(jvm: Jvm, types: Iterable[JavaObject]) -> JavaArray:
    return jvm.array(classes.DATA_TYPE, types)


def utf8(jvm: Jvm, text: str) -> JavaObject:
    """Return a text as Spark's rows store it."""
    return jvm.java_class(classes.UTF8_STRING).fromString(text)
