"""DataFrames and the plans behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql import Column, DataFrame

from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.collections import items
from paimon_sql.spark.jvm.expressions import column
from paimon_sql.spark.jvm.gateway import Jvm, simple_name
from paimon_sql.spark.jvm.hooks import Variant, constructor, hook, method
from paimon_sql.spark.jvm.plans import TableReference, read_reference
from paimon_sql.spark.jvm.sessions import python_session

_NO_PATTERN = "not in this Spark"
# leaves of a plan that read no table: their rows are in the plan itself
_CONSTANT = frozenset({"LocalRelation", "OneRowRelation", "Range", "CTERelationRef"})
_APART = _CONSTANT | {"LogicalRelation", "LogicalRDD", "HiveTableRelation"}  # not tables of a Paimon catalog
# rows of a query are fetched up to these limits. Spark broadcasts a side of a join up to the same size
_SMALL_BYTES = 10 << 20
_SMALL_ROWS = 100_000
_SMALL_VALUES = 1_000  # values of one column: more values become a range


@hook("`Dataset.ofRows`", "INSERT, DELETE, UPDATE and MERGE INTO", method(classes.DATASET, "ofRows", 2))
def frame(jvm: Jvm, session: JavaObject, plan: JavaObject) -> DataFrame:
    """Return the DataFrame of a logical plan; a command runs at once."""
    return DataFrame(jvm.java_class(classes.DATASET).ofRows(session, plan), python_session(jvm, session))


def run(jvm: Jvm, session: JavaObject, command: JavaObject) -> None:
    """Run a command."""
    frame(jvm, session, command)


@hook(
    "`QueryExecution.analyzed`", "INSERT, DELETE, UPDATE and MERGE INTO", method(classes.QUERY_EXECUTION, "analyzed", 0)
)
def analyzed(found: DataFrame) -> JavaObject:
    """The analyzed plan of a DataFrame."""
    return found._jdf.queryExecution().analyzed()


@hook(
    "`collectLeaves`, `subqueriesAll`, `containsPattern(TreePattern.CURRENT_LIKE)`",
    "materialized tables that are refreshed continuously",
    method(classes.LOGICAL_PLAN, "collectLeaves", 0),
    method(classes.LOGICAL_PLAN, "subqueriesAll", 0),
    method(classes.LOGICAL_PLAN, "containsPattern", 1),
    method(f"{classes.TREE_PATTERN}$", "CURRENT_LIKE", 0),
)
def tables_read(jvm: Jvm, found: DataFrame) -> list[TableReference] | None:
    """Return the catalog tables that a DataFrame's rows depend on, also in subqueries. Return None if the rows also
    depend on something else, such as files, the time or chance.
    """
    plan = analyzed(found)
    plans = [plan, *items(plan.subqueriesAll())]
    current = jvm.scala_object(classes.TREE_PATTERN).CURRENT_LIKE()
    if any(p.containsPattern(current) or not p.deterministic() for p in plans):
        return None
    leaves = [leaf for p in plans for leaf in items(p.collectLeaves()) if simple_name(leaf) not in _CONSTANT]
    tables = [table for leaf in leaves if (table := read_reference(leaf)) is not None]
    return tables if len(tables) == len(leaves) else None


@hook(
    "`containsPattern(TreePattern.VARIABLE_REFERENCE)`",
    "CHECK constraints that name a variable of a session",
    Variant.of("pattern of variables", method(f"{classes.TREE_PATTERN}$", "VARIABLE_REFERENCE", 0)),
    Variant.of(_NO_PATTERN),
)
def is_of_its_rows(jvm: Jvm, found: DataFrame) -> bool:
    """Return whether a DataFrame depends only on its own rows, and not on a table, a subquery, a variable, the time or
    chance. Return False for Spark 4.0, which has no constraints and does not show variables.
    """
    if jvm.variant(is_of_its_rows).name == _NO_PATTERN:
        return False
    plan = analyzed(found)
    variable = jvm.scala_object(classes.TREE_PATTERN).VARIABLE_REFERENCE()
    is_alone = not items(plan.subqueriesAll()) and not plan.containsPattern(variable)
    return is_alone and tables_read(jvm, found) == []


def attributes(found: DataFrame) -> list[JavaObject]:
    """The Catalyst attributes of a DataFrame's columns, which distinguish names that differ only in case."""
    return items(analyzed(found).output())


@hook("`Project.projectList`", "MERGE INTO", method(classes.PROJECT, "projectList", 0))
def bound(found: DataFrame, columns: Sequence[Column]) -> list[JavaObject]:
    """Return columns as the Catalyst expressions of a DataFrame; they stay valid after a join of it."""
    if not columns:
        return []
    named = [c.alias(f"c{i}") for i, c in enumerate(columns)]
    return [e.child() for e in items(analyzed(found.select(*named)).projectList())]


@hook(
    "`Filter.condition` below `Project`",
    "DELETE of whole partitions reads their rows",
    method(classes.FILTER, "condition", 0),
)
def filter_condition(filtered: DataFrame) -> JavaObject:
    """Return the condition of the last filter of a DataFrame."""
    plan = analyzed(filtered)
    while simple_name(plan) == "Project":  # removes columns that only the condition reads
        plan = plan.child()
    return plan.condition()


@hook(
    "`HadoopFsRelation.partitionSchema`",
    "partition columns of tables that are migrated",
    method(classes.HADOOP_RELATION, "partitionSchema", 0),
)
def partition_columns(read: DataFrame) -> tuple[str, ...]:
    """Return the columns that a DataFrame of files takes from the names of their folders."""
    return tuple(str(n) for n in analyzed(read).relation().partitionSchema().fieldNames())


@hook(
    "`SQLExecution.withNewExecutionId`, `SparkPlan.executeToIterator`, `LocalRelation`",
    "MERGE INTO of few rows reads the whole table",
    method(classes.SQL_EXECUTION, "withNewExecutionId", 3),
    method(classes.SPARK_PLAN, "executeToIterator", 0),
    constructor(classes.LOCAL_RELATION, 2, fits=True),
)
def small_source(jvm: Jvm, session: JavaObject, source: DataFrame, target: TableReference, *, runs: bool) -> Any | None:
    """Fetch the rows of a query with at most 100,000 rows and 10 MB. Returns them as a plan with the query's columns,
    or None for a larger query. Without `runs`, no query runs: only rows that are part of the plan (VALUES) are
    returned.

    Returns None, too, for a query that may read the table `target`, because another commit may change its rows before
    the statement reads them, and for a query of the current time, which the statement reads again.
    """
    if not _is_apart(jvm, source, target):
        return None
    limited = source.limit(_SMALL_ROWS + 1)
    rows = jvm.compiled("SmallQueries").rows(source._jdf, limited._jdf, _SMALL_BYTES, _SMALL_ROWS, runs)
    if rows is None:
        return None
    relation = jvm.fitted(classes.LOCAL_RELATION, "", analyzed(source).output(), rows)
    return jvm.java_class(classes.LOCAL_RELATION)(*relation)


def _is_apart(jvm: Jvm, source: DataFrame, target: TableReference) -> bool:
    """Return whether a query reads other tables of the target's catalog, files, and rows of the driver only."""
    plan = analyzed(source)
    plans = [plan, *items(plan.subqueriesAll())]
    current = jvm.scala_object(classes.TREE_PATTERN).CURRENT_LIKE()
    if any(p.containsPattern(current) for p in plans):
        return False
    return all(_is_leaf_apart(leaf, target) for p in plans for leaf in items(p.collectLeaves()))


def _is_leaf_apart(leaf: JavaObject, target: TableReference) -> bool:
    if simple_name(leaf) in _APART:
        return True
    table = read_reference(leaf)
    return table is not None and table.catalog == target.catalog and _base(table.parts) != _base(target.parts)


def _base(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the name of a table without its branch or system table, for comparison."""
    return tuple(part.casefold() for part in (*parts[:-1], parts[-1].partition("$")[0]))


@hook(
    "`Join.condition`, `BindReferences`, `In`",
    "MERGE INTO of few rows reads the whole table",
    method(f"{classes.PLANS_PACKAGE}.Join", "condition", 0),
    method(f"{classes.EXPRESSIONS_PACKAGE}.BindReferences", "bindReference", 3),
    constructor(f"{classes.EXPRESSIONS_PACKAGE}.In", 2),
)
def narrowed(jvm: Jvm, target: DataFrame, joined: DataFrame) -> DataFrame:
    """Return the target without rows that cannot match any row of a small source. `joined` joins the two by the ON
    condition of the statement.
    """
    condition = jvm.compiled("SmallQueries").ofTarget(analyzed(joined), _SMALL_VALUES)
    return target if condition is None else target.filter(column(jvm, condition))


@hook(
    "`InSubquery`, `ListQuery.isCorrelated`",
    "DELETE and UPDATE with IN (SELECT …) read the whole table",
    method(f"{classes.EXPRESSIONS_PACKAGE}.InSubquery", "query", 0),
    method(classes.SUBQUERY_EXPRESSION, "isCorrelated", 0),
)
def with_small_queries(
    jvm: Jvm, session: JavaObject, condition: JavaObject, target: TableReference
) -> JavaObject | None:
    """Fetch the rows of the small queries in `a IN (SELECT …)` that a condition requires. Returns the condition with
    these rows, and with their values as a condition on `a`; None if it has no such query.
    """
    small, found = jvm.compiled("SmallQueries"), condition
    for query in small.queries(condition):
        rows = small_source(jvm, session, frame(jvm, session, query.query().plan()), target, runs=True)
        if rows is not None:
            found = small.withRows(found, query, rows, _SMALL_VALUES)
    return None if found is condition else found
