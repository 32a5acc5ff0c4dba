"""Nodes of Spark's plans that this package makes: relations, commands that call this package, and copies of statements
with other parts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from py4j.java_gateway import JavaObject

from paimon_core.errors import UnsupportedFeatureError
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.collections import items, python_map
from paimon_sql.spark.jvm.gateway import Jvm, simple_name
from paimon_sql.spark.jvm.hooks import Variant, constructor, hook, method
from paimon_sql.spark.jvm.plans import Explain, Insert, Rows, is_default

_Rows = TypeVar("_Rows", bound=Rows)


@hook(
    "`CreateNamespace`, `ResolvedNamespace`",
    "every statement that is run by us",
    constructor(classes.RESOLVED_NAMESPACE, 3),
    constructor(classes.CREATE_NAMESPACE, 3),
)
def create_namespace(jvm: Jvm, catalog: Any, name: str) -> JavaObject:
    """The command that creates a namespace."""
    resolved = jvm.java_class(classes.RESOLVED_NAMESPACE)(jvm.fronted(catalog), jvm.seq([name]), jvm.empty_map)
    return jvm.java_class(classes.CREATE_NAMESPACE)(resolved, False, jvm.empty_map)


@hook(
    "`AppendData.byPosition`",
    "DELETE, UPDATE and MERGE INTO",
    method(classes.APPEND_DATA, "byPosition", 3, fits=True),
    method(classes.DATA_SOURCE_RELATION, "create", 3),
)
def append(jvm: Jvm, table: Any, query: JavaObject) -> JavaObject:
    """The command that appends a query's rows to a connector table, by position."""
    target = jvm.java_class(classes.DATA_SOURCE_RELATION).create(table, jvm.none, jvm.none)
    arguments = jvm.fitted(classes.APPEND_DATA, "byPosition", target, query, jvm.empty_map)
    return jvm.java_class(classes.APPEND_DATA).byPosition(*arguments)


@hook(
    "`DataSourceV2Relation.create`",
    "rows that bring columns; DELETE, UPDATE and MERGE INTO",
    method(classes.DATA_SOURCE_RELATION, "create", 4, fits=True),
)
def relation(jvm: Jvm, catalog: Any, database: str, name: str, table: Any, options: Mapping[str, str]) -> JavaObject:
    """Return a relation of a plan for a table of a catalog, so that Spark need not look the table up."""
    identifier = jvm.some(connector.identifier(jvm, [database], name))
    known = table, jvm.some(catalog), identifier, connector.string_map(jvm, options)
    arguments = jvm.fitted(classes.DATA_SOURCE_RELATION, "create", *known)
    return jvm.java_class(classes.DATA_SOURCE_RELATION).create(*arguments)


@hook(
    "`DataSourceV2Relation.withMetadataColumns`",
    "DELETE, UPDATE and MERGE INTO of append tables",
    method(classes.DATA_SOURCE_RELATION, "withMetadataColumns", 0),
)
def with_metadata_columns(found: JavaObject) -> JavaObject:
    """Return a relation with the columns of its table and its metadata columns. Spark also finds metadata columns by
    their names. But before 4.2 it does not find them if the plan pads CHAR columns.
    """
    return found.withMetadataColumns()


@hook("`SubqueryAlias`", "DELETE, UPDATE and MERGE INTO", method(f"{classes.SUBQUERY_ALIAS}$", "apply", 2))
def qualified(jvm: Jvm, found: JavaObject, full: Sequence[str]) -> JavaObject:
    """Return a relation that lets statements qualify its columns by a full name."""
    return jvm.scala_object(classes.SUBQUERY_ALIAS).apply(jvm.seq(full), found)


@hook("`Union`", "views in SHOW TABLE EXTENDED", method(f"{classes.UNION}$", "apply", 2))
def union(jvm: Jvm, first: JavaObject, second: JavaObject) -> JavaObject:
    """The rows of two plans; the first may be a command."""
    return jvm.scala_object(classes.UNION).apply(first, second)


@hook(
    "`SparkSqlParser`",
    "INSERT INTO tables with `upsert-key`",
    constructor(classes.SPARK_SQL_PARSER, 0),
    method(classes.SPARK_SQL_PARSER, "parsePlan", 1),
)
def parsed_by_spark(jvm: Jvm, text: str) -> JavaObject:
    """Return a statement as Spark's own parser parses it, without this package's syntax."""
    return jvm.java_class(classes.SPARK_SQL_PARSER)().parsePlan(text)


def merge_of(jvm: Jvm, text: str, target: JavaObject, source: JavaObject) -> JavaObject:
    """Parse a MERGE INTO and replace its target and source. The target keeps the alias that the text gives it."""
    merge = parsed_by_spark(jvm, text)
    named = with_elements(jvm, merge.targetTable(), child=target)
    return with_elements(jvm, merge, targetTable=named, sourceTable=source)


@hook(
    "`Call`, `ResolvedProcedure`",
    "TAG, MODIFY and COPY INTO statements",
    constructor(classes.RESOLVED_PROCEDURE, 3),
    method(classes.CALL, "procedure", 0),
)
def calling(jvm: Jvm, parsed: JavaObject, procedure: Any, name: str) -> JavaObject:
    """Return a parsed CALL, or EXPLAIN of a CALL, that calls `procedure`. The object is both the procedure and its
    catalog.
    """
    if simple_name(parsed) == "ExplainCommand":
        return with_elements(jvm, parsed, logicalPlan=calling(jvm, parsed.logicalPlan(), procedure, name))
    called = jvm.fronted(procedure)
    resolved = jvm.java_class(classes.RESOLVED_PROCEDURE)(called, connector.identifier(jvm, [], name), called)
    return with_elements(jvm, parsed, procedure=resolved)


def with_arguments(jvm: Jvm, call: JavaObject, arguments: Sequence[JavaObject]) -> JavaObject:
    """Return a parsed CALL with other arguments."""
    return with_elements(jvm, call, args=jvm.seq(arguments))


def explaining(jvm: Jvm, statement: Explain, explained: JavaObject) -> JavaObject:
    """Return the EXPLAIN statement with another plan to explain."""
    return with_elements(jvm, statement.node, logicalPlan=explained)


def with_query(jvm: Jvm, write: _Rows, query: JavaObject) -> _Rows:
    """Return a write with the rows of another query."""
    return replace(write, node=with_elements(jvm, write.node, query=query), query=query)


def with_options(jvm: Jvm, insert: Insert, more: Mapping[str, str]) -> Insert:
    """Return an INSERT with more options for its table."""
    assert insert.table is not None
    known = python_map(insert.table.node.options().asCaseSensitiveMap())
    named = with_elements(jvm, insert.table.node, options=connector.string_map(jvm, known | dict(more)))
    node = with_elements(jvm, insert.node, table=named)
    return replace(insert, node=node, table=replace(insert.table, node=named))


def with_target(jvm: Jvm, write: _Rows, target: JavaObject, query: JavaObject) -> _Rows:
    """Return a write of another query's rows to another relation of the same table."""
    return replace(write, node=with_elements(jvm, write.node, table=target, query=query), query=query)


def with_sink(jvm: Jvm, plan: JavaObject, table: Any, rows: JavaObject) -> JavaObject:
    """Return the statement of a stream with another query and another object for its table."""
    return with_elements(jvm, plan, sink=jvm.fronted(table), inputQuery=rows)


_WHOLE = Variant.of("the statement is made of the name")
_LATER = Variant.of(
    "the statement gets the table later",
    method(classes.UNRESOLVED_INSERT, "toInsertIntoStatement", 1),
    method(classes.UNRESOLVED_INSERT_TARGET, "writePrivileges", 0),
    method(classes.UNRESOLVED_RELATION, "requireWritePrivileges", 1),
    constructor(classes.UNRESOLVED_RELATION, 3),
)


@hook("`UnresolvedInsert`", "INSERT INTO a table that IDENTIFIER(…) names by an expression", _LATER, _WHOLE)
def with_name_of_target(jvm: Jvm, plan: JavaObject, parts: Sequence[str]) -> JavaObject:
    """Return a parsed statement in which `parts` replace the name's expression, see `nested.name_of_target`."""
    kind = simple_name(plan)
    if kind == "PlanWithUnresolvedIdentifier":
        return plan.planBuilder().apply(jvm.seq(parts), plan.children())
    if kind == "UnresolvedInsert":
        target = with_name_of_target(jvm, plan.table(), parts)
        found = jvm.java_class(classes.UNRESOLVED_RELATION)(target.multipartIdentifier(), target.options(), False)
        return plan.toInsertIntoStatement(found.requireWritePrivileges(target.writePrivileges()))
    first, *others = items(plan.children())
    return plan.withNewChildren(jvm.seq([with_name_of_target(jvm, first, parts), *others]))


def by_position(jvm: Jvm, insert: Insert, query: JavaObject) -> Insert:
    """Return an INSERT of another query, which fills the table's columns in their order."""
    node = with_elements(jvm, insert.node, query=query, byName=False, userSpecifiedCols=jvm.empty_seq)
    return replace(insert, node=node, query=query, by_name=False, columns=())


@hook(
    "`InsertIntoStatement.partitionSpec`",
    "INSERT … PARTITION (dt = NULL) of a generated column",
    method(classes.INSERT, "partitionSpec", 0),
)
def without_partitions(jvm: Jvm, insert: Insert, names: Collection[str]) -> Insert:
    """Return an INSERT without some columns of its PARTITION clause, as the clause spells them."""
    remaining = insert.node.partitionSpec()
    for name in names:
        remaining = getattr(remaining, "$minus")(name)
    static = {k: v for k, v in insert.static_partition.items() if k not in names}
    return replace(insert, node=with_elements(jvm, insert.node, partitionSpec=remaining), static_partition=static)


@hook(
    "`UnresolvedInlineTable.rows`",
    "INSERT … VALUES (DEFAULT) into tables with generated columns",
    method(classes.UNRESOLVED_INLINE_TABLE, "rows", 0),
    method(classes.SPARK_SQL_PARSER, "parseExpression", 1),
)
def with_values_for_default(
    jvm: Jvm, query: JavaObject, values: Callable[[int], Sequence[str] | None]
) -> JavaObject | None:
    """Return VALUES with the SQL texts `values` in place of each DEFAULT, by the number of columns. Return None for
    other queries, and if `values` returns None.
    """
    if simple_name(query) != "UnresolvedInlineTable":
        return None
    rows = [items(row) for row in items(query.rows())]
    known = values(len(rows[0])) if rows else None
    if known is None or any(len(row) != len(known) for row in rows):
        return None
    parser = jvm.java_class(classes.SPARK_SQL_PARSER)()
    known = [parser.parseExpression(text) for text in known]
    made = [[k if is_default(v) else v for v, k in zip(row, known, strict=True)] for row in rows]
    return with_elements(jvm, query, rows=jvm.seq([jvm.seq(row) for row in made]))


def with_columns(jvm: Jvm, insert: Insert, columns: Sequence[str]) -> Insert:
    """Return an INSERT that lists columns."""
    listed = with_elements(jvm, insert.node, userSpecifiedCols=jvm.seq(columns))
    return replace(insert, node=listed, columns=tuple(columns))


_ASKED = Variant.of(
    "Spark is asked, too",
    method(classes.INSERT, "withSchemaEvolution", 0),
    method(classes.APPEND_DATA, "withSchemaEvolution", 0),
)
_OURS = Variant.of("ours alone")


@hook("`withSchemaEvolution` of writes", "`write.merge-schema`", _ASKED, _OURS)
def evolving(jvm: Jvm, write: _Rows) -> _Rows:
    """Return a write that evolves its table's schema. The returned value has a flag for this, and the plan has one,
    too, if this Spark supports it.
    """
    if jvm.variant(evolving) is _OURS:
        return replace(write, evolves=True)
    return replace(write, node=with_elements(jvm, write.node, withSchemaEvolution=True), evolves=True)


@hook(
    "`TreeNode.makeCopy`, names of the members of plans",
    "INSERT, and EXPLAIN of Paimon's statements",
    method(classes.TREE_NODE, "makeCopy", 1),
)
def with_elements(jvm: Jvm, plan: JavaObject, **elements: Any) -> JavaObject:
    """Return a copy of a logical plan with some of its constructor's arguments replaced, by name. Raises
    `UnsupportedFeatureError` if the constructor has no argument of such a name.
    """
    members = jvm.compiled("Members")
    copied = members.copied(plan, "\n".join(elements), jvm.array(classes.OBJECT, elements.values()))
    if copied is None:
        known = str(members.members(plan)).split("\n")
        raise UnsupportedFeatureError(
            f"{simple_name(plan)} of this Spark has no {', '.join(sorted(elements.keys() - set(known)))}, only"
            f" {', '.join(known)}."
        )
    return copied
