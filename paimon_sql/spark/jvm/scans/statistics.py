"""Spark's statistics of columns, as the texts that it stores, and the statistics of a scan made from these texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.collections import items, product_items, python_map
from paimon_sql.spark.jvm.gateway import Jvm, declared_constructors
from paimon_sql.spark.jvm.hooks import constructor, hook, method

_CACHED = 16  # read several times in a statement; the next commit has other values
_Texts = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


@hook(
    "`CommandUtils.computeColumnStats`, `ColumnStat.toCatalogColumnStat`",
    "ANALYZE TABLE … FOR COLUMNS",
    method(f"{classes.COMMAND_UTILS}$", "computeColumnStats", 3),
    method(classes.COLUMN_STAT, "toCatalogColumnStat", 2),
)
def column_statistics(jvm: Jvm, frame: DataFrame, wanted: Iterable[str]) -> tuple[int, dict[str, dict[str, str]]]:
    """Return the number of a DataFrame's rows, and Spark's statistics of its columns, as the texts that
    Spark stores.
    """
    plan, asked = frame._jdf.queryExecution().analyzed(), set(wanted)
    attributes = jvm.seq([a for a in items(plan.output()) if a.name() in asked])
    compute = jvm.scala_object(classes.COMMAND_UTILS).computeColumnStats
    rows, columns = product_items(compute(frame._jdf.sparkSession(), plan, attributes))
    found: dict[str, dict[str, str]] = {}
    for attribute in items(attributes):
        name = str(attribute.name())
        stored = columns.apply(attribute).toCatalogColumnStat(name, attribute.dataType()).toMap(name)
        found[name] = {k.removeprefix(f"{name}."): v for k, v in python_map(jvm.as_java(stored)).items()}
    return int(rows), found


def scan_statistics(
    jvm: Jvm, size: int, rows: int, columns: Mapping[str, Mapping[str, str]], schema: StructType
) -> JavaObject:
    """Return a connector's `Statistics`: bytes, rows, and the column statistics from `column_statistics`."""
    texts = tuple((name, tuple(known.items())) for name, known in columns.items())
    return _made(jvm, size, rows, texts, schema.json())


@lru_cache(_CACHED)
@hook(
    "`CatalogColumnStat.fromMap`, `CatalogStatistics`",
    "the sizes of tables that joins are planned by",
    method(classes.CATALOG_COLUMN_STAT, "fromMap", 3),
    method(classes.CATALOG_COLUMN_STAT, "toPlanStat", 2),
    constructor(classes.CATALOG_STATISTICS, 3),
)
def _made(jvm: Jvm, size: int, rows: int, columns: _Texts, schema_json: str) -> JavaObject:
    # Scala's BigInt does not cross to Python, so numbers travel as texts and in collections
    numbers = ((("distinctCount", str(size)),), (("distinctCount", str(rows)),))
    every = (*zip(("", " "), numbers, strict=True), *columns)
    texts = jvm.scala_map({f"{n}.{k}": v for n, known in every for k, v in (*known, ("version", "2"))})
    read = jvm.java_class(classes.CATALOG_COLUMN_STAT).fromMap
    found = {name: read("", name, texts).get() for name, _ in every}
    members = jvm.array_list([])
    members.addAll(jvm.as_java(found.pop("").distinctCount().toList()))
    members.add(found.pop(" ").distinctCount())
    members.add(jvm.scala_map(found))
    made = declared_constructors(jvm, classes.CATALOG_STATISTICS)[0].newInstance(members.toArray())
    return jvm.compiled("TableStatistics").of(made, jvm.java_class(classes.DATA_TYPE).fromJson(schema_json))


@hook(
    "`LogicalPlan.stats`",
    "loads of large files are shuffled although they need not be",
    method(classes.LOGICAL_PLAN, "stats", 0),
)
def estimated_size(plan: JavaObject) -> int:
    """The bytes of an optimized plan's rows, as Spark estimates them."""
    return int(plan.stats().sizeInBytes())
