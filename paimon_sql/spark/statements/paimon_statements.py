"""Statements that Spark's SQL does not have, run as calls of procedures without a name.

Spark parses a `CALL` instead of the statement. The procedure of the parsed call is replaced by an object that runs the
statement. EXPLAIN shows it, but users cannot call it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, assert_never

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql.types import StringType

from paimon_core.errors import InvalidNameError, UnsupportedFeatureError
from paimon_core.maintenance.tags import rename_tag, replace_tag, taggable_snapshot
from paimon_core.spec.identifier import Identifier, PathIdentifier
from paimon_core.store.ddl.constraints import Constraint, ConstraintKind
from paimon_core.store.tags import has_tag, require_tag
from paimon_core.table import Table
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.preprocess.statements import (
    AddCheck,
    ChangeColumns,
    CopyIntoFolder,
    CopyIntoTable,
    CopyStatement,
    CreateMaterialized,
    CreateTag,
    DeleteTags,
    DropMaterialized,
    MaterializedStatement,
    Name,
    PaimonStatement,
    RefreshMaterialized,
    RenameTag,
    ShowMaterialized,
    SuspendMaterialized,
    TableStatement,
)
from paimon_sql.procedures.arguments import time_to_live
from paimon_sql.procedures.registry import load_table
from paimon_sql.spark.errors.java import of_statement
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.commands import calling
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.statements.catalog_registry import CatalogRegistry
from paimon_sql.spark.statements.column_statements import schema_changes_of
from paimon_sql.spark.statements.copy_into import FILE_COLUMNS, FOLDER_COLUMNS, Rows, copy_into_folder, copy_into_table
from paimon_sql.spark.statements.materialized_tables import NAME_COLUMNS, MaterializedTables
from paimon_sql.spark.statements.refresh_jobs import start_job, stop_job
from paimon_sql.spark.tables.added_constraints import add_check
from paimon_sql.spark.tables.catalog import SparkCatalog
from paimon_sql.spark.tables.procedures import result_scans

Runnable = TableStatement | CopyStatement | MaterializedStatement
Columns = Sequence[tuple[str, str]]
_CALL = "CALL statement({})"  # the procedure in the parsed call is replaced by `StatementCall`
_NAME = "name"  # its parameter: an expression that names the table or database, from IDENTIFIER(…)


class PaimonStatementRunner:
    """Runs statements in one session."""

    def __init__(self, registry: CatalogRegistry) -> None:
        self.registry, self.session = registry, registry.bridge

    def columns(self, statement: Runnable) -> Columns:
        """Return the names and SQL types of the columns of the result."""
        match statement:
            case CopyIntoTable():
                return FILE_COLUMNS
            case CopyIntoFolder():
                return FOLDER_COLUMNS
            case ShowMaterialized():
                return NAME_COLUMNS
            case _:
                return ()

    def run(self, statement: Runnable) -> Rows:
        """Run a statement and return the rows of the result."""
        match statement:
            case CreateTag() | DeleteTags() | RenameTag():
                catalog, identifier = self._table(statement.table)
                change_tags(load_table(catalog.catalog, identifier), statement)
            case ChangeColumns():
                catalog, identifier = self._target(statement.table)
                fields = catalog.catalog.load_table(identifier).schema.fields
                exactly = self.session.is_case_sensitive()
                changes = schema_changes_of(statement.changes, fields, case_sensitive=exactly)
                catalog.catalog.alter_table(identifier, changes)
            case AddCheck():
                catalog, identifier = self._target(statement.table)
                add_check(catalog, identifier, _constraint(identifier, statement))
            case CopyIntoTable():
                catalog, identifier = self._target(statement.table)
                table = load_table(catalog.catalog, identifier)
                name = (catalog.catalog_name, *_parts(identifier))
                return copy_into_table(self.session, table, name, statement)
            case CopyIntoFolder():
                return copy_into_folder(self.session, statement)
            case _:
                return self._materialized(statement)
        return []

    def _materialized(self, statement: MaterializedStatement) -> Rows:
        """Run a statement on materialized tables and return the rows of the result."""
        if isinstance(statement, ShowMaterialized):
            place = self.registry.find_database(statement.database)
            if place is None:
                raise UnsupportedFeatureError(
                    f"{'.'.join(statement.database) or 'The current database'} is not in a Paimon catalog of this "
                    "session, and only Paimon catalogs have materialized tables: name a database of such a catalog."
                )
            return MaterializedTables(self.session, place[0]).names(place[1], statement.pattern)
        catalog, identifier = self._table(statement.table)
        tables = MaterializedTables(self.session, catalog)
        match statement:
            case CreateMaterialized():
                if tables.create(identifier, statement):
                    start_job(self.registry, catalog, identifier)
            case RefreshMaterialized():
                tables.refresh(identifier, statement)
            case SuspendMaterialized():
                tables.set_suspended(identifier, statement)
                change = stop_job if statement.suspended else start_job
                change(self.registry, catalog, identifier)
            case DropMaterialized():
                tables.drop(identifier, statement)
                stop_job(self.registry, catalog, identifier)
            case _:
                assert_never(statement)
        if not isinstance(statement, CreateMaterialized):
            self.session.refresh_cached(catalog.catalog_name, identifier.database, identifier.name)
        return []

    def _target(self, name: Name) -> tuple[SparkCatalog, Identifier]:
        """Return the catalog, and the table or the branch to which the session's audit sends its writes."""
        catalog, identifier = self._table(name)
        return catalog, catalog.audits.target(identifier)

    def _table(self, name: Name) -> tuple[SparkCatalog, Identifier]:
        found = self.registry.find_table(name)
        if found is None:
            spelled = ".".join(map(quoted_name, name))
            raise UnsupportedFeatureError(
                f"{spelled} is not in a Paimon catalog of this session: only Paimon tables have tags, MODIFY, CHECK, "
                "COPY INTO and materialized tables. Name a table of such a catalog."
            )
        return found


def _constraint(identifier: Identifier, statement: AddCheck) -> Constraint:
    """Return the constraint of a statement. Without a name, it gets one as Spark makes it."""
    name = statement.name or f"{identifier.table}_chk_{uuid.uuid4().hex[:7]}"
    kind = ConstraintKind.CHECK
    return Constraint(name, kind, (), statement.condition, statement.enforced, statement.relies)


def _parts(identifier: Identifier) -> tuple[str, ...]:
    """Return the parts of a table's name below its catalog. A path is one part, including its dots."""
    return (str(identifier),) if isinstance(identifier, PathIdentifier) else (identifier.database, identifier.name)


def _named(statement: Runnable, parts: Sequence[str]) -> Runnable:
    """Return the statement on the table or database that `parts` name."""
    if isinstance(statement, ShowMaterialized):
        return replace(statement, database=tuple(parts))
    return statement if isinstance(statement, CopyIntoFolder) else replace(statement, table=tuple(parts))


class StatementCall(Proxy):
    """A procedure without a name, in a catalog that has no other procedures. If an expression names the statement's
    table, it is the argument of the procedure, so that Spark computes it.
    """

    RAISING = frozenset(("call",))

    def __init__(self, registry: CatalogRegistry, statement: Runnable, named_by: str) -> None:
        super().__init__(registry.jvm)
        self.session, self.runner = registry.bridge, PaimonStatementRunner(registry)
        self.statement, self.named_by = statement, named_by
        self.title, self.columns = type(statement).__name__, self.runner.columns(statement)

    def toString(self) -> str:
        return f"{self.title}@{id(self):x}"  # two equal statements are different calls

    def name(self) -> str:
        return self.title

    def description(self) -> str:
        return self.title

    def isDeterministic(self) -> bool:
        return False

    def parameters(self) -> Any:
        texts = StringType()
        found = [connector.parameter(self.jvm, _NAME, texts, required=True)] if self.named_by else []
        return connector.parameters(self.jvm, found)

    def call(self, arguments: Any) -> Any:
        """Run the statement and return a Java iterator of scans of its result."""
        try:
            statement = _named(self.statement, self._name(arguments)) if self.named_by else self.statement
            rows = self.runner.run(statement)
        except CapturedException as e:
            raise of_statement(self.jvm, e) from e
        return result_scans(self.session, self.title, self.columns, rows)

    def _name(self, arguments: Any) -> list[str]:
        """Return the parts of the name that `IDENTIFIER(…)` evaluates to. Raises `InvalidNameError`."""
        name = None if arguments.isNullAt(0) else str(arguments.getString(0))
        try:
            parts = [] if name is None else self.session.name_parts(name)
        except (CapturedException, Py4JJavaError) as e:
            raise InvalidNameError(
                f"IDENTIFIER({self.named_by}) is {name!r}, which is not a valid name of a table: put backquotes around "
                "parts of the name that are not plain words."
            ) from e
        if not parts:
            raise InvalidNameError(f"IDENTIFIER({self.named_by}) is NULL: give it the name of a table.")
        return parts

    def initialize(self, name: str, options: Any) -> None:
        """Do nothing: the catalog has no configuration."""

    def defaultNamespace(self) -> Any:
        return self.jvm.strings([])

    def loadProcedure(self, identifier: Any) -> Any:
        return self

    def listProcedures(self, namespace: Any) -> Any:
        return connector.identifiers(self.jvm, "", [])

    class Java:
        implements = [classes.BOUND_PROCEDURE, classes.PROCEDURE_CATALOG]


def planned(
    registry: CatalogRegistry, parse: Callable[[str], JavaObject], statement: PaimonStatement, value: Runnable
) -> JavaObject:
    """Return the plan of a statement, or of EXPLAIN if the statement is explained; `parse` is Spark's parser."""
    call = StatementCall(registry, value, statement.named_by)
    text = f"{statement.explain} {_CALL.format(statement.named_by)}"
    return calling(registry.jvm, parse(text), call, call.title)


def change_tags(table: Table, statement: CreateTag | DeleteTags | RenameTag) -> None:
    """Run a statement on tags. Raises `PaimonError` if a tag is missing, or exists already."""
    match statement:
        case CreateTag():
            _create(table, statement)
        case DeleteTags():
            _delete(table, statement)
        case RenameTag():
            rename_tag(table.store, statement.tag, statement.target)


def _create(table: Table, statement: CreateTag) -> None:
    store, tag = table.store, statement.tag
    exists = has_tag(store, tag)
    if exists and statement.if_not_exists:
        return
    if statement.must_exist:
        require_tag(store, tag)
    snapshot = taggable_snapshot(store, statement.snapshot)
    retained = time_to_live(statement.retained)
    if exists and statement.replaces:
        replace_tag(store, tag, snapshot, retained)
    else:
        table.versions.create_tag(tag, snapshot, retained)


def _delete(table: Table, statement: DeleteTags) -> None:
    """Delete one tag, or several with commas between their names. If one is missing, delete none."""
    store = table.store
    names = [statement.tags] if has_tag(store, statement.tags) else [n.strip() for n in statement.tags.split(",")]
    if not statement.if_exists:
        for name in names:
            if not has_tag(store, name):
                require_tag(store, name)  # the error lists the tags of the table
    table.versions.delete_tags(names)
