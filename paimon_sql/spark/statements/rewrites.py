"""Rewrites of parsed statements on Paimon tables: to commands of this package, and to writes that cast as
Paimon does.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_, or_
from typing import TypeVar

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import Column
from pyspark.sql import functions as F

from paimon_core.arrow.evolution import spelled
from paimon_core.errors import InvalidSchemaError, UnsupportedFeatureError
from paimon_core.format_table.kind import is_format_table
from paimon_core.options import MERGE_SCHEMA, TableOptions
from paimon_core.options.scan_modes import SCAN_OPTIONS
from paimon_core.options.support import in_own_spelling
from paimon_core.scan.time_travel import without_version
from paimon_core.spec.identifier import BRANCH_OPTION
from paimon_core.table import Table
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm import plans
from paimon_sql.spark.jvm.commands import (
    create_namespace,
    evolving,
    explaining,
    with_name_of_target,
    with_options,
    with_query,
    with_target,
)
from paimon_sql.spark.jvm.expressions import column
from paimon_sql.spark.jvm.frames import analyzed, frame, run
from paimon_sql.spark.jvm.nested import behind_with, name_of_target, with_inserts, with_queries
from paimon_sql.spark.jvm.plans import (
    DropPartitions,
    Explain,
    FrameWrite,
    Insert,
    ParsedStatement,
    Rows,
    StatementHead,
    read_head,
    read_statement,
)
from paimon_sql.spark.jvm.sessions import is_temporary_view
from paimon_sql.spark.statements.analyze import AnalyzeStatement
from paimon_sql.spark.statements.catalog_registry import CatalogRegistry, Located
from paimon_sql.spark.statements.commands import FunctionCommand, TableCommand
from paimon_sql.spark.statements.row_level import delete_partitions, open_target
from paimon_sql.spark.statements.row_level_statement import SparkRowLevelStatement
from paimon_sql.spark.statements.upsert import upsert, upserts
from paimon_sql.spark.tables.evolved_table import evolved_table, latest_table, relation
from paimon_sql.spark.tables.schema_evolution import schema_changes
from paimon_sql.spark.write.insert_columns import by_position, check_partition_bytes, fills_rows
from paimon_sql.spark.write.store_assignment import as_stored, whole_rows, with_casts, with_null_fields
from paimon_sql.spark.write.write_options import merge_options, of_overwrite, overwrites_partitions

_Rows = TypeVar("_Rows", bound=Rows)


class DropPartitionsStatement(TableCommand):
    """Drops all partitions that begin with given values."""

    plan: DropPartitions

    def applies(self) -> bool:
        """Return whether a partition column has no value. Spark itself drops single partitions and partitions of format
        tables.
        """
        schema = self.catalog.targets.load_ahead(self.identifier).schema
        return not is_format_table(schema.options) and min(map(len, self.plan.specs)) < len(schema.partition_keys)

    def _run(self, table: Table) -> None:
        table.check_writable()
        if self.plan.purges:
            raise UnsupportedFeatureError(
                f"Table {table.name}: snapshots keep the files of a dropped partition: leave PURGE out."
            )
        target = open_target(self.catalog, table, self.identifier, self.plan)
        matching = target.frame.filter(reduce(or_, (_condition(table, s) for s in self.plan.specs)))
        delete_partitions(target, matching)  # a spec without all values may match any number of partitions


def _condition(table: Table, spec: Mapping[str, str | None]) -> Column:
    """Return a column that is true for rows of partitions that begin with some values. Raises `InvalidSchemaError`."""
    keys = table.schema.partition_keys
    check_partition_bytes(table.schema, spec)
    given = {spelled(keys, k) or k: v for k, v in spec.items()}
    first = keys[: len(given)]
    if set(first) != given.keys():
        raise InvalidSchemaError(
            f"Table {table.name} is partitioned by {', '.join(keys) or 'nothing'}: a partition is named by the first "
            f"of these columns, not by {', '.join(spec)}."
        )
    columns = ((F.col(quoted_name(k)), given[k]) for k in first)
    return reduce(and_, (c.isNull() if v is None else c == F.lit(v) for c, v in columns))


_COMMANDS: Mapping[type[ParsedStatement], type[TableCommand]] = {
    plans.AnalyzeColumns: AnalyzeStatement,
    plans.AnalyzeTable: AnalyzeStatement,
    plans.Delete: SparkRowLevelStatement,
    plans.DropPartitions: DropPartitionsStatement,
    plans.Merge: SparkRowLevelStatement,
    plans.Update: SparkRowLevelStatement,
}


_ROW_LEVEL = (plans.Delete, plans.Merge, plans.Update)


def _on_branch(found: Located, head: StatementHead) -> Located:
    """Return the table that a statement changes, or the branch of it that the statement's options name. Raises
    `UnsupportedFeatureError` for options that choose rows of an older version.
    """
    catalog, identifier = found
    options = {} if head.table is None or head.table.catalog is not None else head.table.options()
    chosen = [key for key in SCAN_OPTIONS if key in options]
    if chosen:
        raise UnsupportedFeatureError(
            f"Table {catalog.catalog_name}.{identifier} cannot be changed with the option '{chosen[0]}': a statement "
            "changes the latest version. Leave the option out."
        )
    return catalog, identifier.on_branch(options.get(BRANCH_OPTION))


def _is_ours(kind: type[ParsedStatement]) -> bool:
    """Return whether this package rewrites or runs statements of a kind in SQL."""
    return kind is Insert or kind in _COMMANDS


class StatementRewriter:
    """Rewrites the parsed statements of one session."""

    def __init__(self, registry: CatalogRegistry) -> None:
        self.registry, self.jvm = registry, registry.jvm

    def rewritten(self, plan: JavaObject) -> JavaObject:
        """Return the plan that Spark continues with; the statement itself if it is not on a Paimon table."""
        plan, head = self._named(plan)
        explain = read_statement(self.jvm, head) if head is not None and head.kind is Explain else None
        if isinstance(explain, Explain):
            return explaining(self.jvm, explain, self._explained(explain.explained))
        done = self._rewritten(head)
        if isinstance(done, TableCommand):
            return create_namespace(self.jvm, done, done.plan.name)
        if done is not None:
            return done.node
        inserts = with_inserts(self.jvm, plan, self.rewritten) if head is None else None
        return plan if inserts is None else inserts

    def deferred(self, plan: JavaObject) -> JavaObject:
        """Return a command that rewrites a statement of a script each time that the statement runs. Earlier statements
        may have created its table, or set the variables that it reads.
        """
        head = self._head(plan)
        if name_of_target(plan) is None and (head is None or not _is_ours(head.kind) or self._is_elsewhere(head)):
            return self.rewritten(plan)
        name = "statement" if head is None else head.name
        command = FunctionCommand(self.jvm, name, lambda: run(self.jvm, self.registry.session, self.rewritten(plan)))
        return create_namespace(self.jvm, command, name)

    def command(self, plan: JavaObject) -> TableCommand | None:
        """Return the command that runs a parsed statement on a Paimon table, None for other statements."""
        done = self._rewritten(read_head(plan))
        return done if isinstance(done, TableCommand) else None

    def evolved(self, found: Located, table: Table, write: _Rows, asked: Mapping[str, str]) -> _Rows:
        """Return a write of a query's rows to the table with the new columns that the rows bring.

        `asked` are the options of this write that allow new columns. If the session or the statement names a branch,
        the write goes to the branch. With `write.merge-schema`, nested fields that the query lacks are NULL.
        """
        catalog, name = found
        options = without_version(catalog.session.table_options(catalog.catalog_name, name)) | dict(asked)
        given_options = {} if write.table is None else write.table.options()
        branch = name.on_branch(in_own_spelling(given_options).get(BRANCH_OPTION, options.pop(BRANCH_OPTION, None)))
        if branch != name:
            on_branch = self.registry.table_of((catalog, branch))
            if on_branch is None:
                return write  # Spark reports the error
            name, table = branch, on_branch.with_options(options)
        try:
            query = frame(self.jvm, self.registry.session, write.query)
        except CapturedException:
            return write  # Spark reports the error
        brought = query.schema.toNullable()
        is_positional = isinstance(write, Insert) and not write.by_name
        given = by_position(table.schema, brought) if is_positional else brought
        changes = schema_changes(table.store, given, self.registry.bridge.known_as)
        evolved = evolved_table(catalog, name, changes, asked) if changes else None
        if write.by_name and table.store.options[MERGE_SCHEMA]:
            query = with_null_fields(self.registry.bridge, table if evolved is None else evolved.table, query)
        if write.by_name:
            written = table if evolved is None else evolved.table
            query = whole_rows(self.registry.bridge, written, query, query.columns) or query
        if evolved is None and (not asked or is_format_table(table.schema.options)):
            return with_query(self.jvm, write, analyzed(query))
        target = relation(catalog, name, evolved or latest_table(catalog, name, table, asked), given_options)
        return with_target(self.jvm, write, target, analyzed(query))

    def _named(self, plan: JavaObject) -> tuple[JavaObject, StatementHead | None]:
        """Return a statement and its head, as `_head` does. If an expression in `IDENTIFIER(…)` names its table,
        replace the expression by its value. If the value is not a valid name, Spark reports the error.
        """
        head = self._head(plan)
        is_named = head is not None and (head.table is not None or head.kind not in _COMMANDS)
        if is_named or (expression := name_of_target(plan)) is None:
            return plan, head
        bridge = self.registry.bridge
        try:
            row = bridge.python_session.sql("SELECT 1").select(column(self.jvm, expression)).first()
            if row is None or not isinstance(row[0], str):
                return plan, head
            plan = with_name_of_target(self.jvm, plan, bridge.name_parts(row[0]))
        except (CapturedException, Py4JJavaError):
            return plan, head
        return plan, self._head(plan)

    def _head(self, plan: JavaObject) -> StatementHead | None:
        """Return the head of a statement that this package may run; None for others. If the statement stands after
        WITH, move the WITH into its queries.
        """
        head = read_head(plan)
        if head is not None or (found := behind_with(plan)) is None:
            return head
        statement, names = found
        inner = read_head(statement)
        if inner is None or inner.table is None or inner.kind is Explain:
            return None
        is_child = inner.kind not in (Insert, FrameWrite)
        if is_child and len(inner.table.parts) == 1 and inner.table.parts[0] in names:
            return None  # the target is a query of WITH: Spark reports the error
        return read_head(with_queries(self.jvm, plan, is_target_child=is_child))

    def _is_elsewhere(self, head: StatementHead) -> bool:
        """Return whether a statement names a table of a catalog that is not a Paimon catalog."""
        parts = () if head.table is None else head.table.parts
        return len(parts) > 2 and parts[0] not in self.registry.catalogs

    def _explained(self, plan: JavaObject) -> JavaObject:
        """Return the plan that EXPLAIN shows of a statement. For changes of rows of a Paimon table, it is the plan of
        the changes."""
        plan, head = self._named(plan)
        done = self._rewritten(head)
        if isinstance(done, SparkRowLevelStatement):
            return done.explained()
        return done.node if isinstance(done, ParsedStatement) else plan

    def _rewritten(self, head: StatementHead | None) -> TableCommand | ParsedStatement | None:
        """Return the command that runs a statement on a Paimon table, or the statement that Spark continues with.

        Returns None for other statements, without reading their members.
        """
        if head is None or (head.kind not in (Insert, FrameWrite) and head.kind not in _COMMANDS):
            return None
        if head.kind is FrameWrite and head.table is None:
            return None
        located = self.registry.find(head.table)
        found = None if located is None else self.registry.target(located)
        if found is None:
            self._check_no_view(head)
            return None
        found[0].targets.forget()  # a statement of the same script may have failed before Spark loaded its table
        if head.kind in _ROW_LEVEL:
            found = _on_branch(found, head)
        parsed = read_statement(self.jvm, head)
        if isinstance(parsed, Insert):
            parsed = self._insert(found, parsed)
        elif isinstance(parsed, FrameWrite):
            parsed = self._replacing(found, parsed)
        catalog, identifier = found
        if type(parsed) not in _COMMANDS:
            return parsed
        if identifier.system_table is not None and type(parsed) is plans.Merge:
            raise UnsupportedFeatureError(
                f"MERGE INTO {catalog.catalog_name}.{identifier} cannot run: it is a system table, which is read-only. "
                "Name the table itself."
            )
        if identifier.system_table is not None or not catalog.targets.exists(identifier):
            return parsed  # Spark reports the error
        command = _COMMANDS[type(parsed)](self.jvm, catalog.session, catalog, identifier, parsed)
        if command.applies():
            return command
        catalog.targets.forget()  # Spark loads the table without a write
        return parsed

    def _insert(self, found: Located, insert: Insert) -> ParsedStatement:
        """Rewrite an INSERT INTO a Paimon table.

        It casts as Paimon does. It brings new columns if its options or `write.merge-schema` allow them. On a table
        with `upsert-key` it becomes a MERGE INTO.
        """
        table = self.registry.table_of(found, ahead=True)
        if table is None or insert.table is None:
            return insert
        check_partition_bytes(table.schema, insert.static_partition)
        catalog, identifier = found
        if upserts(table, insert):
            merge = read_head(upsert(self.jvm, catalog.session, table, insert.table.node, insert))
            return insert if merge is None else read_statement(self.jvm, merge)
        settings = catalog.session.table_options(catalog.catalog_name, identifier)
        insert = self._overwriting(insert, settings)
        said = {} if insert.table is None else merge_options(insert.table.options())
        settings |= said
        options = TableOptions(table.schema.options | settings)
        if options[MERGE_SCHEMA] and insert.by_name:
            insert = evolving(self.jvm, insert)
        if insert.evolves and (insert.by_name or fills_rows(insert)):
            catalog.targets.forget()  # the rows may change the schema, and the new plan may have the table itself
            insert = self.evolved(found, table.with_options(settings), insert, {})
        return with_casts(self.jvm, catalog.session, table, options, insert)

    def _overwriting(self, insert: Insert, settings: Mapping[str, str]) -> Insert:
        """Give an INSERT OVERWRITE the options that decide which partitions it replaces, from its own options or else
        from the session's. Spark would use only a setting of its own."""
        if insert.table is None or not insert.overwrites or insert.has_condition:
            return insert
        asked = overwrites_partitions(insert.table.options())
        if asked is None:
            asked = overwrites_partitions(settings)
        return insert if asked is None else with_options(self.jvm, insert, of_overwrite(asked, insert.static_partition))

    def _replacing(self, found: Located, write: FrameWrite) -> FrameWrite:
        """Let INSERT INTO … REPLACE WHERE cast as INSERT does; Spark before 4.3 parses it as a DataFrame write."""
        table, bridge = self.registry.table_of(found), self.registry.bridge
        if table is None:
            return write
        try:
            query = frame(self.jvm, self.registry.session, write.query)
        except CapturedException:
            return write  # Spark reports the error
        columns = query.columns if write.by_name else [f.name for f in table.schema.fields]
        return with_query(
            self.jvm, write, analyzed(as_stored(self.jvm, bridge, table, query, columns, by_name=write.by_name))
        )

    def _check_no_view(self, head: StatementHead) -> None:
        """Raise `UnsupportedFeatureError` for a DELETE from a temporary view, for which Spark has no clear error."""
        if head.kind is not plans.Delete or head.table is None or len(head.table.parts) != 1:
            return
        name = head.table.parts[0]
        if is_temporary_view(self.registry.session, name):
            raise UnsupportedFeatureError(f"DELETE FROM temporary view {name} is not supported: name the table.")
