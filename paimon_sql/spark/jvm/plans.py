"""Parsed statements and commands of Spark, read once into frozen values.

Nodes of plans, expressions and queries remain Java objects, which are passed back to Spark. Only modules of this folder
compare the classes of nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import parse_qsl

from py4j.java_gateway import JavaObject

from paimon_core.dataclass import dataclass
from paimon_core.options.support import in_own_spelling
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.collections import items, plain_members, python_map, scala_map, texts, value_of, values_of
from paimon_sql.spark.jvm.gateway import Jvm, simple_name
from paimon_sql.spark.jvm.hooks import hook, java_type, method
from paimon_sql.spark.jvm.origins import position_text

_PRIVILEGES = "__required_write_privileges__"  # an option that Spark removes when it looks up a relation
OPTIONS_MARK = "?options:"  # see `options_in_name`
_UNRESOLVED = ("UnresolvedRelation", "UnresolvedTable", "UnresolvedTableOrView")


@dataclass(frozen=True, slots=True)
class TableReference:
    """A table that a plan names: `parts` as written, or `catalog` and the `parts` below it if Spark has loaded the
    table. With `renamed`, the table's options are part of its name, see `older/state_options.py`.
    """

    node: JavaObject
    parts: tuple[str, ...]
    catalog: str | None = None
    alias: str | None = None
    renamed: bool = False

    def options(self) -> dict[str, str]:
        """Return the options that the statement gives the table, under Paimon's own keys."""
        found = python_map(self.node.options().asCaseSensitiveMap())
        return in_own_spelling({key: value for key, value in found.items() if key != _PRIVILEGES})


@dataclass(frozen=True, slots=True)
class StatementHead:
    """The kind and the table of a statement, which suffice to decide whether this package runs it. Reading all members
    of the statement would take many crossings.
    """

    node: JavaObject
    name: str  # the name of its node
    kind: type[ParsedStatement]
    table: TableReference | None


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """A statement on one table. Without a `table` it is on something else, such as a query."""

    node: JavaObject
    name: str  # the name of its node
    table: TableReference | None


@dataclass(frozen=True, slots=True)
class Explain(ParsedStatement):
    """EXPLAIN of a statement."""

    explained: JavaObject


@dataclass(frozen=True, slots=True)
class Rows(ParsedStatement):
    """A write of the rows of a query; with `evolves` it may change the schema of its table."""

    query: JavaObject
    by_name: bool
    evolves: bool


@dataclass(frozen=True, slots=True)
class Insert(Rows):
    """INSERT INTO, and INSERT OVERWRITE. `columns` are the listed columns. In `PARTITION (p = 1, q = NULL, r)`, p and q
    are static: `static_partition` has their values, None for NULL. r is dynamic: its values come with the rows.
    """

    overwrites: bool
    columns: tuple[str, ...]
    static_partition: Mapping[str, str | None]
    dynamic_partition: frozenset[str]
    has_condition: bool = False  # a condition, such as REPLACE WHERE, selects the rows to overwrite


@dataclass(frozen=True, slots=True)
class FrameWrite(Rows):
    """An append or overwrite by a DataFrameWriter; `options` are the writer's options."""

    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Assignment:
    """`column = value`: the parts of the column's name, its position in the statement, and the value's expression."""

    parts: tuple[str, ...]
    position: str
    value: JavaObject
    is_default: bool


@dataclass(frozen=True, slots=True)
class Delete(ParsedStatement):
    """DELETE FROM."""

    condition: JavaObject


@dataclass(frozen=True, slots=True)
class Update(ParsedStatement):
    """UPDATE."""

    assignments: tuple[Assignment, ...]
    condition: JavaObject | None


@dataclass(frozen=True, slots=True)
class MergeAction:
    """The action of a WHEN clause; if `is_star`, it assigns all columns."""

    kind: Literal["delete", "update", "insert"]
    condition: JavaObject | None
    assignments: tuple[Assignment, ...] = ()
    is_star: bool = False


@dataclass(frozen=True, slots=True)
class Merge(ParsedStatement):
    """MERGE INTO: actions for matching rows, for the source's unmatched rows, and for the target's unmatched rows."""

    source: JavaObject
    condition: JavaObject
    matched: tuple[MergeAction, ...]
    not_matched: tuple[MergeAction, ...]
    not_matched_by_source: tuple[MergeAction, ...]
    evolves: bool


@dataclass(frozen=True, slots=True)
class AnalyzeTable(ParsedStatement):
    """ANALYZE TABLE … COMPUTE STATISTICS."""

    names_partition: bool
    no_scan: bool


@dataclass(frozen=True, slots=True)
class AnalyzeColumns(ParsedStatement):
    """ANALYZE TABLE … FOR COLUMNS; with ALL COLUMNS, `columns` has the value None."""

    columns: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class DropPartitions(ParsedStatement):
    """ALTER TABLE … DROP PARTITION: the values of each partition."""

    specs: tuple[Mapping[str, str | None], ...]
    purges: bool


@dataclass(frozen=True, slots=True)
class TemporaryView(ParsedStatement):
    """CREATE TEMPORARY VIEW … USING."""

    view: str
    provider: str
    options: Mapping[str, str]
    has_columns: bool
    replaces: bool
    is_global: bool


@hook(
    "classes of catalyst's parsed statements and commands",
    "INSERT, DELETE, UPDATE, MERGE, ANALYZE …",
    *(java_type(f"{classes.PLANS_PACKAGE}.{name}") for name in ("AnalyzeColumn", "AnalyzeTable", "DropPartitions")),
    java_type(classes.INSERT),
)
def read_head(plan: JavaObject) -> StatementHead | None:
    """Return the head of a plan if this package may run such statements; None for other statements."""
    name = simple_name(plan)
    if name not in _KINDS:
        return None
    kind, table, _ = _KINDS[name]
    return StatementHead(plan, name, kind, None if table is None else read_reference(getattr(plan, table)()))


@hook(
    "members of catalyst's parsed statements and commands",
    "INSERT, DELETE, UPDATE, MERGE, ANALYZE …",
    *(method(classes.INSERT, m, 0) for m in ("partitionSpec", "query", "byName", "overwrite", "userSpecifiedCols")),
    *(method(f"{classes.PLANS_PACKAGE}.{n}", "isByName", 0) for n in ("AppendData", "OverwriteByExpression")),
    method(f"{classes.PLANS_PACKAGE}.DeleteFromTable", "condition", 0),
    method(f"{classes.PLANS_PACKAGE}.UpdateTable", "assignments", 0),
    *(method(f"{classes.PLANS_PACKAGE}.MergeIntoTable", m, 0) for m in ("matchedActions", "notMatchedBySourceActions")),
)
def read_statement(jvm: Jvm, head: StatementHead) -> ParsedStatement:
    """A parsed statement with its members."""
    _, _, read = _KINDS[head.name]
    if read is not None:
        return read(head)
    members = plain_members(jvm, head.node)
    return _insert(head, members) if head.kind is Insert else _frame_write(head, members)


def temporary_view(plan: JavaObject) -> TemporaryView | None:
    """Return a parsed CREATE TEMPORARY VIEW … USING; None for any other statement."""
    head = read_head(plan)
    return _temporary_view(head) if head is not None and head.kind is TemporaryView else None


@hook(
    "`ShowTablesExtended`",
    "views in SHOW TABLE EXTENDED",
    method(f"{classes.PLANS_PACKAGE}.ShowTablesExtended", "namespace", 0),
    method(f"{classes.PLANS_PACKAGE}.ShowTablesExtended", "pattern", 0),
    method(classes.UNRESOLVED_NAMESPACE, "multipartIdentifier", 0),
)
def extended_listing(plan: JavaObject) -> tuple[tuple[str, ...], str] | None:
    """Return the namespace and the pattern of a parsed SHOW TABLE EXTENDED; None for any other statement. The namespace
    has no parts if it is the current one.
    """
    if simple_name(plan) != "ShowTablesExtended":
        return None
    space = plan.namespace()
    is_named = simple_name(space) == "UnresolvedNamespace"
    return texts(space.multipartIdentifier()) if is_named else (), str(plan.pattern())


@hook(
    "`AnalyzeTables`",
    "ANALYZE TABLES",
    method(f"{classes.PLANS_PACKAGE}.AnalyzeTables", "child", 0),
    method(f"{classes.PLANS_PACKAGE}.AnalyzeTables", "noScan", 0),
    method(classes.UNRESOLVED_NAMESPACE, "multipartIdentifier", 0),
)
def analyzed_database(plan: JavaObject) -> tuple[tuple[str, ...], bool] | None:
    """Return the namespace of a parsed ANALYZE TABLES, and whether it has NOSCAN; None for any other statement. The
    namespace has no parts if it is the current one.
    """
    if simple_name(plan) != "AnalyzeTables":
        return None
    space = plan.child()
    is_named = simple_name(space) == "UnresolvedNamespace"
    return texts(space.multipartIdentifier()) if is_named else (), bool(plan.noScan())


@hook(
    "`UnresolvedRelation` and its kin, `DataSourceV2Relation`, `SubqueryAlias`",
    "which table a statement is on",
    method(classes.UNRESOLVED_RELATION, "multipartIdentifier", 0),
    method(classes.DATA_SOURCE_RELATION, "identifier", 0),
    method(classes.SUBQUERY_ALIAS, "alias", 0),
)
def read_reference(node: JavaObject) -> TableReference | None:
    """Return the table that a plan names, parsed or loaded, with or without an alias; None if the plan is something
    else.
    """
    kind = simple_name(node)
    if kind == "SubqueryAlias":
        named = read_reference(node.child())
        if named is None or named.renamed:  # a loaded table keeps its name in the alias
            return None if named is None else replace(named, renamed=False)
        return replace(named, alias=str(node.alias()))
    if kind in _UNRESOLVED:
        *others, last = texts(node.multipartIdentifier())
        name, options = options_in_name(last)
        return TableReference(node, (*others, name), renamed=bool(options))
    if kind != "DataSourceV2Relation" or node.catalog().isEmpty() or node.identifier().isEmpty():
        return None
    identifier = node.identifier().get()
    parts = (*map(str, identifier.namespace()), str(identifier.name()))
    return TableReference(node, parts, catalog=str(node.catalog().get().name()))


@dataclass(frozen=True, slots=True)
class NamedSink:
    """The table that a stream of any client writes to, the output mode, and the rows."""

    table: TableReference
    output_mode: str
    rows: JavaObject


@hook(
    "`WriteToStreamStatement`",
    "streams of clients of Spark Connect and of JVM programs into tables with checks",
    *(method(classes.WRITE_TO_STREAM, m, 0) for m in ("catalogAndIdent", "inputQuery", "outputMode", "sink")),
)
def named_sink(plan: JavaObject) -> NamedSink | None:
    """Return the table of a catalog that a statement starts a stream into; None for other statements."""
    if simple_name(plan) != "WriteToStreamStatement" or plan.catalogAndIdent().isEmpty():
        return None
    named = plan.catalogAndIdent().get()
    parts = (*map(str, named._2().namespace()), str(named._2().name()))
    table = TableReference(plan, parts, catalog=str(named._1().name()))
    return NamedSink(table, str(plan.outputMode().toString()), plan.inputQuery())


def _explain(head: StatementHead) -> Explain:
    plan = head.node
    return Explain(plan, head.name, None, plan.logicalPlan())


def _insert(head: StatementHead, members: Mapping[str, Any]) -> Insert:
    partition: dict[str, list[str | None]] = members["partitionSpec"]
    return Insert(
        head.node,
        head.name,
        head.table,
        query=head.node.query(),
        by_name=members["byName"],
        overwrites=members["overwrite"],
        evolves=_evolves(members),
        columns=tuple(members["userSpecifiedCols"]),
        static_partition={name: value[0] for name, value in partition.items() if value},
        dynamic_partition=frozenset(name for name, value in partition.items() if not value),
        has_condition=bool(members.get("replaceCriteriaOpt")),
    )


def _frame_write(head: StatementHead, members: Mapping[str, Any]) -> FrameWrite:
    plan, options = head.node, members["writeOptions"]
    given = {key: value for key, value in options.items() if value is not None}
    return FrameWrite(plan, head.name, head.table, plan.query(), members["isByName"], _evolves(members), given)


def _evolves(members: Mapping[str, Any]) -> bool:
    """Return whether a write evolves its table's schema. Before 4.2 a plan cannot express it."""
    return bool(members.get("withSchemaEvolution"))


def _delete(head: StatementHead) -> Delete:
    plan = head.node
    return Delete(plan, head.name, head.table, plan.condition())


def _update(head: StatementHead) -> Update:
    plan = head.node
    assignments = tuple(map(_assignment, items(plan.assignments())))
    return Update(plan, head.name, head.table, assignments, value_of(plan.condition()))


def _merge(head: StatementHead) -> Merge:
    plan = head.node
    return Merge(
        plan,
        head.name,
        head.table,
        source=plan.sourceTable(),
        condition=plan.mergeCondition(),
        matched=tuple(map(_action, items(plan.matchedActions()))),
        not_matched=tuple(map(_action, items(plan.notMatchedActions()))),
        not_matched_by_source=tuple(map(_action, items(plan.notMatchedBySourceActions()))),
        evolves=bool(plan.withSchemaEvolution()),
    )


def _action(node: JavaObject) -> MergeAction:
    kind, condition = simple_name(node), value_of(node.condition())
    if kind == "DeleteAction":
        return MergeAction("delete", condition)
    done: Literal["insert", "update"] = "insert" if kind.startswith("Insert") else "update"
    if kind in ("UpdateStarAction", "InsertStarAction"):
        return MergeAction(done, condition, is_star=True)
    return MergeAction(done, condition, tuple(map(_assignment, items(node.assignments()))))


def _assignment(node: JavaObject) -> Assignment:
    key, value = node.key(), node.value()
    return Assignment(texts(key.nameParts()), position_text(key), value, is_default(value))


def is_default(value: JavaObject) -> bool:
    """Return whether a parsed expression is the word DEFAULT."""
    is_name = simple_name(value) == "UnresolvedAttribute" and value.nameParts().size() == 1
    return is_name and str(value.nameParts().apply(0)).upper() == "DEFAULT"


def _analyze_table(head: StatementHead) -> AnalyzeTable:
    plan = head.node
    names_partition = not plan.partitionSpec().isEmpty()
    return AnalyzeTable(plan, head.name, head.table, names_partition, bool(plan.noScan()))


def _analyze_columns(head: StatementHead) -> AnalyzeColumns:
    plan = head.node
    columns = None if plan.allColumns() else texts(plan.columnNames().get())
    return AnalyzeColumns(plan, head.name, head.table, columns)


def _drop_partitions(head: StatementHead) -> DropPartitions:
    plan = head.node
    specs = tuple(scala_map(part.spec()) for part in items(plan.parts()))
    return DropPartitions(plan, head.name, head.table, specs, bool(plan.purge()))


def _temporary_view(head: StatementHead) -> TemporaryView:
    plan = head.node
    return TemporaryView(
        plan,
        head.name,
        None,
        view=str(plan.tableIdent().table()),
        provider=str(plan.provider()),
        options=values_of(plan.options()),
        has_columns=bool(plan.userSpecifiedSchema().isDefined()),
        replaces=bool(plan.replace()),
        is_global=bool(getattr(plan, "global")()),
    )


# for each name of a node: the kind of statement, the member that has its table, and the function that reads it; no
# function for writes of a query's rows
_KINDS: Mapping[str, tuple[type[ParsedStatement], str | None, Callable[[StatementHead], ParsedStatement] | None]] = {
    "AnalyzeColumn": (AnalyzeColumns, "child", _analyze_columns),
    "AnalyzeTable": (AnalyzeTable, "child", _analyze_table),
    "AppendData": (FrameWrite, "table", None),
    "CreateTempViewUsing": (TemporaryView, None, _temporary_view),
    "DeleteFromTable": (Delete, "table", _delete),
    "DropPartitions": (DropPartitions, "table", _drop_partitions),
    "ExplainCommand": (Explain, None, _explain),
    "InsertIntoStatement": (Insert, "table", None),
    "MergeIntoTable": (Merge, "targetTable", _merge),
    "OverwriteByExpression": (FrameWrite, "table", None),
    "OverwritePartitionsDynamic": (FrameWrite, "table", None),
    "UpdateTable": (Update, "table", _update),
}


def options_in_name(name: str) -> tuple[str, dict[str, str]]:
    """Return the name of a table without the options that are part of it, and these options."""
    plain, _, encoded = name.partition(OPTIONS_MARK)
    return plain, dict(parse_qsl(encoded, keep_blank_values=True))
