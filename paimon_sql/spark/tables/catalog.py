"""`SparkCatalog`: a Paimon catalog as Spark's `TableCatalog`, `SupportsNamespaces`, `ProcedureCatalog` and similar."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import (
    DatabaseNotFoundError,
    InvalidNameError,
    PaimonError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from paimon_core.format_table.kind import is_format_table
from paimon_core.format_table.table import refuse_format_table
from paimon_core.object_table import is_object_table, refuse_object_table
from paimon_core.options import SCAN_SNAPSHOT_ID, SCAN_TIMESTAMP, SCAN_TIMESTAMP_MILLIS
from paimon_core.options.scan_modes import SCAN_OPTIONS
from paimon_core.options.support import in_own_spelling
from paimon_core.replaced_columns import replace_columns, replaced_columns
from paimon_core.scan.derived_tables import NAMED_TABLES
from paimon_core.scan.time_travel import overridden, says_version, without_version
from paimon_core.spec.identifier import BRANCH_OPTION, Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.snapshot import Operation
from paimon_core.store.ddl.schema_changes import (
    AddColumn,
    SchemaChange,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnType,
)
from paimon_core.system_tables.registry import SYSTEM_TABLES
from paimon_core.table import Table
from paimon_sql.catalog.base import (
    SYSTEM_DATABASE,
    SupportsDatabaseProperties,
    SupportsDatabases,
    SupportsViews,
)
from paimon_sql.catalog.paths import path_identifier
from paimon_sql.catalog.system_database import CATALOG_SYSTEM_TABLES
from paimon_sql.preprocess.counterparts import of_iceberg
from paimon_sql.preprocess.quoting import PATHS
from paimon_sql.procedures import PROCEDURES
from paimon_sql.spark.errors.java import no_such_table
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.collections import identifier_parts, option_map, python_map
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.older.table_info import new_table
from paimon_sql.spark.jvm.older.view_statements import answers_view_statements
from paimon_sql.spark.jvm.pipelines import is_pipeline, is_refreshed_view
from paimon_sql.spark.jvm.plans import options_in_name
from paimon_sql.spark.jvm.scans.pushdown import ChangeKind, change_kind, read_time_travel
from paimon_sql.spark.jvm.sessions import is_listed_extended, is_named_only
from paimon_sql.spark.jvm.streams.sources import change_range
from paimon_sql.spark.proxy import WithoutMetrics
from paimon_sql.spark.read.scan_builder import IS_STREAM
from paimon_sql.spark.read.unreadable_table import UnreadableTable
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.streams.changelog import PaimonChangelog
from paimon_sql.spark.tables.audits import Audits
from paimon_sql.spark.tables.clustering import check_clustered, in_spelling_of
from paimon_sql.spark.tables.constants import with_constant
from paimon_sql.spark.tables.constraints import CONSTRAINT_CHANGES, constraint_changes
from paimon_sql.spark.tables.definitions import SparkDefinitions
from paimon_sql.spark.tables.format_table import FormatSparkTable, ObjectSparkTable
from paimon_sql.spark.tables.named_catalog import single
from paimon_sql.spark.tables.procedures import SparkProcedure, UnknownProcedure
from paimon_sql.spark.tables.session_catalogs import path_catalog
from paimon_sql.spark.tables.table import (
    SparkCatalogSystemTable,
    SparkDerivedTable,
    SparkSystemTable,
    SparkTable,
)
from paimon_sql.spark.tables.table_changes import check_history, loosens_key, schema_changes, with_new_columns
from paimon_sql.spark.tables.targets import StatementTargets
from paimon_sql.spark.tables.user_functions.catalog import SparkFunctions
from paimon_sql.spark.tables.views.catalog import SparkViews

SCAN_VERSION = "scan.version"
_VERSIONS = frozenset((SCAN_VERSION, SCAN_TIMESTAMP_MILLIS.key, SCAN_TIMESTAMP.key, SCAN_SNAPSHOT_ID.key))
# options of a query that change a table's columns
STATE_OPTIONS = frozenset((BRANCH_OPTION, IS_STREAM, *SCAN_OPTIONS))
_NOT_THERE = (TableNotFoundError, DatabaseNotFoundError, InvalidNameError)


@dataclass(frozen=True, slots=True)
class _Described:
    """The properties of a database, and the number of the statement and the time (`monotonic`) of their look-up."""

    database: str
    statement: int
    at: float
    properties: dict[str, str]


class SparkCatalog(SparkViews, SparkFunctions, WithoutMetrics):
    """One configured catalog in one Spark session."""

    CACHED = frozenset(("name", "defaultNamespace", "tableStateOptionKeys"))
    ANALYZING = frozenset(
        (
            "alterNamespace",
            "alterTable",
            "createNamespace",
            "createTable",
            "createTableLike",
            "dropNamespace",
            "listNamespaces",
            "listRelationSummaries",
            "listTableSummaries",
            "listTables",
            "loadChangelog",
            "loadNamespaceMetadata",
            "renameTable",
            "stageCreate",
            "stageCreateOrReplace",
            "stageReplace",
        )
    )

    _described: _Described | None = None
    _targets: StatementTargets | None = None

    # -- CatalogPlugin ------------------------------------------------------------------------------------------------
    def initialize(self, name: str, options: Any) -> None:
        """Do nothing: the catalog is already configured. Spark calls this only for classes that it loads itself."""

    def name(self) -> str:
        return self.catalog_name

    def defaultNamespace(self) -> Any:
        return self.jvm.strings([self._default_database])

    # -- SupportsNamespaces -------------------------------------------------------------------------------------------
    def listNamespaces(self, namespace: Any = None) -> Any:
        catalog = self.catalog
        names = catalog.list_databases() if isinstance(catalog, SupportsDatabases) and not namespace else []
        if namespace:
            self._database(namespace)
        return connector.namespaces(self.jvm, names)

    def namespaceExists(self, namespace: Any) -> bool:
        parts = list(namespace)
        try:
            return len(parts) == 1 and (parts[0] == SYSTEM_DATABASE or self._has_database(parts[0]))
        except InvalidNameError:
            return False

    def loadNamespaceMetadata(self, namespace: Any) -> Any:
        database = single(namespace)
        try:
            return self.jvm.map(self._properties_of(database))
        except InvalidNameError as e:  # for an invalid name, report that the database does not exist
            raise DatabaseNotFoundError(f"Catalog {self.catalog_name} has no database {database!r}. {e}") from None

    def _properties_of(self, database: str) -> dict[str, str]:
        """The properties of a database. The rules of Spark's analyzer request them seven times in a CREATE TABLE.

        So if the catalog stores no properties, a statement looks the database up only once: the answer is kept with the
        number of the statement. Calls of a DataFrame are not parsed and have the number of an earlier statement.
        Therefore an answer is used for at most a second.
        """
        databases, number, now = self._databases, self.session.statements, time.monotonic()
        known = self._described
        if known is not None and (known.database, known.statement) == (database, number) and now - known.at < 1:
            return known.properties
        found = databases.database_properties(database)
        if not isinstance(databases, SupportsDatabaseProperties):
            self._described = _Described(database, number, now, found)
        return found

    @contextmanager
    def _changing_databases(self) -> Iterator[None]:
        """Forget earlier look-ups of databases at the end of the block, even if the block fails halfway.

        The statements of a script and calls of DataFrames have the number of an earlier statement, so the number is
        raised here. All catalogs of the session may have the same warehouse, so the number belongs to the session.
        """
        try:
            yield
        finally:
            self.session.count_statement()

    def createNamespace(self, namespace: Any, metadata: Any) -> None:
        properties = python_map(metadata)
        if not isinstance(self.catalog, SupportsDatabaseProperties):
            properties.pop("owner", None)  # a property that Spark always adds
        with self._changing_databases():
            self._databases.create_database(single(namespace), properties, ignore_if_exists=False)

    def alterNamespace(self, namespace: Any, changes: Any) -> None:
        database, catalog = self._database(namespace), self.catalog
        if not isinstance(catalog, SupportsDatabaseProperties):
            raise UnsupportedFeatureError(
                f"Properties of database {database!r} cannot be altered: a filesystem catalog keeps none."
            )
        catalog.alter_database(database, *connector.namespace_changes(changes))

    def dropNamespace(self, namespace: Any, cascade: bool) -> bool:
        with self._changing_databases():
            self._databases.drop_database(single(namespace), cascade=cascade)
        return True

    # -- TableCatalog -------------------------------------------------------------------------------------------------
    def capabilities(self) -> Any:
        generated = ("SUPPORTS_CREATE_TABLE_WITH_GENERATED_COLUMNS", "SUPPORTS_CREATE_TABLE_WITH_IDENTITY_COLUMNS")
        others = ("SUPPORT_COLUMN_DEFAULT_VALUE", "SUPPORT_TABLE_CONSTRAINT")
        return connector.catalog_capabilities(self.jvm, *others, *generated)

    def tableStateOptionKeys(self) -> Any:
        """Return the options of a query that Spark must pass to `loadTable`, because they change a table's columns."""
        return self.jvm.string_set(STATE_OPTIONS)

    def changelogStateOptionKeys(self) -> Any:
        return connector.empty_set(self.jvm)

    def loadChangelog(self, identifier: Any, context: Any, options: Any) -> Any:
        ours = self._identifier(identifier)
        given = in_own_spelling(option_map(self.jvm, options))
        try:
            table = self._table(ours.on_branch(given.pop(BRANCH_OPTION, None)), given)
        except _NOT_THERE as e:
            raise no_such_table(self.jvm, e) from e
        if ours.system_table is not None or _is_of_files(table):
            raise UnsupportedFeatureError(
                f"{ours} has no changes: only tables with snapshots have changes. SELECT its rows."
            )
        name = f"{self.catalog_name}.{ours}"
        return PaimonChangelog(self.jvm, self.session, name, table, change_range(context))

    def useNullableQuerySchema(self) -> bool:
        return True

    def listTables(self, namespace: Any) -> Any:
        if answers_view_statements(self.jvm) and not is_listed_extended(self.jvm):  # this Spark has one list
            database, tables, views = self._relations_of(namespace)
            return connector.identifiers(self.jvm, database, sorted({*tables, *views}))
        return connector.identifiers(self.jvm, *self._tables_of(namespace))

    def listTableSummaries(self, namespace: Any) -> Any:
        database = self._database(namespace)
        return connector.summaries(self.jvm, database, self._databases.list_tables(database))

    def listRelationSummaries(self, namespace: Any) -> Any:
        """Return tables and views; system tables have no summaries of their own."""
        database, tables, views = self._relations_of(namespace)
        return connector.summaries(self.jvm, database, tables, [v for v in views if v not in set(tables)])

    def loadTable(self, identifier: Any, *context: Any) -> Any:
        """Load a table. Spark calls it with (ident), (ident, version), (ident, micros), (ident, privileges) or (ident,
        TableContext, options).
        """
        try:
            return self._loaded(identifier, context)
        except _NOT_THERE as e:
            if context:
                versioned = says_version(statement_options(self.jvm, context))
                self._refuse_view(identifier, written=is_written(context), versioned=versioned)
            if answers_view_statements(self.jvm) and (view := self._find_view(identifier)) is not None:
                return view
            # an invalid name may belong to another data source, such as parquet.`/path`
            raise no_such_table(self.jvm, e) from e

    def loadRelation(self, identifier: Any) -> Any:
        """Return a table, or else the view of that name."""
        try:
            return self._loaded(identifier, ())
        except _NOT_THERE as e:
            view = self._find_view(identifier)
            if view is None:
                raise no_such_table(self.jvm, e) from e
            return view

    def invalidateTable(self, identifier: Any) -> None:
        """Do nothing: no cached value can change, as each statement looks up the latest snapshot."""

    def tableExists(self, identifier: Any) -> bool:
        try:
            return self.catalog.table_exists(self._identifier(identifier))
        except (DatabaseNotFoundError, InvalidNameError):
            return False

    def createTable(self, identifier: Any, *definition: Any) -> Any:
        ours = self._identifier(identifier)
        self.definitions.create(ours, new_table(self.jvm, definition))
        return None  # Spark loads the table if it needs it

    def createTableLike(self, identifier: Any, info: Any, source: Any) -> Any:
        ours = self._identifier(identifier)
        self.definitions.create_like(ours, new_table(self.jvm, [info]), self._schema_of(source))
        return None

    # -- StagingTableCatalog ------------------------------------------------------------------------------------------
    def stageCreate(self, identifier: Any, *definition: Any) -> Any:
        ours, new = self._identifier(identifier), new_table(self.jvm, definition)
        return self.definitions.stage(ours, new, Operation.CREATE_TABLE_AS_SELECT, replaces=False)

    def stageReplace(self, identifier: Any, *definition: Any) -> Any:
        ours, new = self._identifier(identifier), new_table(self.jvm, definition)
        self.audits.check_replaceable(ours)
        return self.definitions.stage(ours, new, Operation.REPLACE_TABLE_AS_SELECT, replaces=True)

    def stageCreateOrReplace(self, identifier: Any, *definition: Any) -> Any:
        ours, new = self._identifier(identifier), new_table(self.jvm, definition)
        exists = self.catalog.table_exists(ours)
        self.audits.check_replaceable(ours)
        return self.definitions.stage(ours, new, Operation.CREATE_OR_REPLACE_TABLE_AS_SELECT, replaces=exists)

    def alterTable(self, identifier: Any, changes: Any) -> Any:
        ours = self.audits.target(self._identifier(identifier))
        try:
            given = list(changes)
            if all(change_kind(c) in CONSTRAINT_CHANGES for c in given):
                wanted = constraint_changes(self.session, self.catalog.load_table(ours), given)
            else:
                wanted = schema_changes(ours, given, partial(is_pipeline, self.jvm), partial(self._spelled, ours))
                if any(change_kind(c) == ChangeKind.CLUSTER_BY and len(c.clusteringColumns()) for c in given):
                    check_clustered(str(ours), self.catalog.load_table(ours).schema)
                if any(isinstance(change, UpdateColumnType) for change in wanted):
                    wanted = self._retyped(ours, wanted)
                if added := [change.path[-1] for change in wanted if isinstance(change, AddColumn)]:
                    key = self.catalog.load_table(ours).schema.primary_keys
                    check_history(ours, added, key, partial(is_pipeline, self.jvm))
            if any(isinstance(change, UpdateColumnDefault) for change in wanted):
                fields = self.catalog.load_table(ours).schema.fields
                wanted = [with_constant(self.session, fields, change) for change in wanted]
            if any(isinstance(change, UpdateColumnNullability) for change in wanted):
                schema = self.catalog.load_table(ours).schema
                kept = [change for change in wanted if not loosens_key(schema, change)]
                # a pipeline wants the nullability of its query, which the columns of a key do not have
                wanted = kept if len(kept) < len(wanted) and is_pipeline(self.jvm) else wanted
            alter = partial(self.catalog.alter_table, ours)
            if replaced_columns(wanted) and not self._is_refreshed(ours):
                replace_columns(partial(self.catalog.load_table, ours), alter, wanted)
            else:
                alter(wanted)
        except TableNotFoundError:
            self._refuse_view(identifier, written=True)
            raise
        return None

    def _retyped(self, table: Identifier, changes: list[SchemaChange]) -> list[SchemaChange]:
        """Return the changes of a table's types. If a pipeline replaces all rows, columns may have any type."""
        found = self.catalog.load_table(table)
        is_anew = self._is_refreshed(table) or (is_pipeline(self.jvm) and _is_empty(found))
        return with_new_columns(found.schema, changes) if is_anew else changes

    def _is_refreshed(self, table: Identifier) -> bool:
        """Return whether a pipeline replaces the rows of a view later, in the table or in the session's branch."""
        return is_refreshed_view(self.jvm, f"{self.catalog_name}.{table.base}")

    def _spelled(self, table: Identifier, column: str) -> str:
        """Return the name of a column as the table spells it."""
        return in_spelling_of(self.catalog.load_table(table).schema.fields, self.session.known_as)(column)

    def dropTable(self, identifier: Any) -> bool:
        try:
            self.catalog.drop_table(self._identifier(identifier))
        except (TableNotFoundError, DatabaseNotFoundError):
            return False
        return True

    def purgeTable(self, identifier: Any) -> bool:
        return self.dropTable(identifier)

    def renameTable(self, source: Any, target: Any) -> None:
        self._databases.rename_table(self._identifier(source), self._renamed("Table", source, target))

    # -- ProcedureCatalog ---------------------------------------------------------------------------------------------
    def loadProcedure(self, identifier: Any) -> Any:
        namespace, name = identifier_parts(self.jvm, identifier)
        procedure = PROCEDURES.get(name.lower())
        if [n.lower() for n in namespace] != [SYSTEM_DATABASE] or procedure is None:
            return UnknownProcedure(self.jvm, ".".join([*namespace, name]))
        return SparkProcedure(self.jvm, self.session, self.catalog, self.catalog_name, procedure)

    def listProcedures(self, namespace: Any) -> Any:
        names = sorted(PROCEDURES) if list(namespace) == [SYSTEM_DATABASE] else []
        return connector.identifiers(self.jvm, SYSTEM_DATABASE, names)

    class Java:
        implements = [
            classes.STAGING_TABLE_CATALOG,
            classes.SUPPORTS_NAMESPACES,
            classes.PROCEDURE_CATALOG,
            classes.FUNCTION_CATALOG,
            classes.RELATION_CATALOG,
        ]

    # -- ours ---------------------------------------------------------------------------------------------------------
    @property
    def definitions(self) -> SparkDefinitions:
        """The part of this catalog that defines tables."""
        return SparkDefinitions(self.jvm, self.session, self.catalog, self.catalog_name)

    def serves(self, identifier: Identifier) -> bool:
        """Return whether a name, perhaps of a new table, is in this catalog, not in Spark's of the same name."""
        return True

    @property
    def audits(self) -> Audits:
        """The tables of this catalog that the session audits."""
        return Audits(self.session, self.catalog_name, self.catalog.load_table)

    @property
    def targets(self) -> StatementTargets:
        """The tables that the session's statements change."""
        if self._targets is None:
            self._targets = StatementTargets(self.session, self.catalog)
        return self._targets

    def _loaded(self, identifier: Any, context: Sequence[Any]) -> Any:
        """Load the table of a statement. Raises the errors of `_NOT_THERE` if it does not exist, or an error of the
        table's metadata.
        """
        namespace, written = identifier_parts(self.jvm, identifier)
        name, in_name = options_in_name(written)
        if namespace == [SYSTEM_DATABASE]:
            return SparkCatalogSystemTable(self.jvm, self.session, self.catalog, name)
        ours = self._dotted(namespace, name) or self.named(namespace, name)
        settings, audit = self.session.table_settings(self.catalog_name, ours)
        given = in_name | statement_options(self.jvm, context)
        if says_version(settings) and is_written(context):
            settings = without_version(settings)
        options = overridden(settings, given)
        named = ours.on_branch(options.pop(BRANCH_OPTION, None))
        ours = self._audited(named, context, given) if audit else named
        try:
            table = self._table(ours, options, is_target=is_written(context))
            if _is_of_files(table):
                return self._of_files(table, ours, options)
        except PaimonError as e:
            if ours.system_table is not None or isinstance(e, _NOT_THERE) or not is_named_only(self.jvm):
                raise
            return UnreadableTable(self.jvm, f"{self.catalog_name}.{ours}", e)
        if (ours.system_table or "").lower() in NAMED_TABLES:
            return SparkDerivedTable(self.jvm, self.session, table, ours, options)
        if ours.system_table is not None:
            return SparkSystemTable(self.jvm, self.session, table, ours, options)
        # a version in the session's settings is for queries only: ALTER TABLE and DESCRIBE must work without it
        must_exist = says_version(given) and IS_STREAM not in given
        is_audited = audit and ours == named and self.audits.is_audited(ours)
        retarget = partial(self._audit_table, ours, options) if is_audited else None
        place = (self.jvm, self.session, self.catalog_name)
        return SparkTable(*place, table, options, must_exist=must_exist, retarget=retarget)

    def _audited(self, name: Identifier, context: Sequence[Any], given: Mapping[str, str]) -> Identifier:
        """Return the table or the branch that a statement of this session means by a name."""
        if is_written(context):
            return self.audits.target(name)
        return name if says_version(given) else self.audits.source(name)

    def _audit_table(self, name: Identifier, options: Mapping[str, str]) -> Table:
        """Return the branch to write to instead of a table."""
        table = self.session.in_zone(self.catalog.load_table(self.audits.target(name)))
        return table.with_options(options) if options else table

    def _dotted(self, namespace: Sequence[str], name: str) -> Identifier | None:
        """Return the system table or branch that `table.files` or `database.table.branch_x` means; None for any other
        name. Raises `UnsupportedFeatureError` for a metadata table that only Iceberg's tables have."""
        kind, advice = name.lower(), of_iceberg(name)
        if not (kind in SYSTEM_TABLES or kind in NAMED_TABLES or advice or kind.startswith("branch_")):
            return None
        match namespace:
            case [database, table]:
                found = Identifier.of(database, table)
            case [table] if not self._has_database(table):
                found = Identifier.of(self.session.current_database(), table)
            case _:
                return None
        if advice is None:
            return Identifier.of(found.database, f"{found.table}${name}")
        if self.catalog.table_exists(found):
            raise UnsupportedFeatureError(f"{found}.{name} {advice.format(table=found)}.")
        return None

    def _table(self, identifier: Identifier, options: Mapping[str, str], *, is_target: bool = False) -> Table:
        """Return the table of a statement with options. The statement changes it if `is_target`."""
        load = self.targets.load if is_target else self.catalog.load_table
        return self.session.in_zone(load(identifier))

    def _tables_of(self, namespace: Any) -> tuple[str, list[str]]:
        """Return the name of a database, and its tables."""
        if list(namespace) == [SYSTEM_DATABASE]:
            return SYSTEM_DATABASE, sorted(CATALOG_SYSTEM_TABLES)
        database = single(namespace)
        with self._naming_missing(database):
            return database, self._databases.list_tables(database)

    def _relations_of(self, namespace: Any) -> tuple[str, list[str], list[str]]:
        """Return the name of a database, its tables and its views."""
        catalog = self.catalog
        if list(namespace) == [SYSTEM_DATABASE] or not isinstance(catalog, SupportsViews):
            return *self._tables_of(namespace), []
        database = single(namespace)
        with self._naming_missing(database):
            return database, *catalog.list_relations(database)

    def _schema_of(self, source: Any) -> TableSchema | None:
        """Return the schema of a Spark table if it is a Paimon table of any catalog; None for other tables."""
        name, _, table = str(source.name()).partition(".")
        catalog = self._catalog_of(name)
        if catalog is None:
            return None
        try:
            found = catalog.load_table(catalog.identifier(table))
        except _NOT_THERE:
            return None
        location = source.properties().get("location")  # format tables have no location here
        return found.schema if location in (None, found.store.root) else None

    def _of_files(
        self, table: Table, identifier: Identifier, options: dict[str, str]
    ) -> FormatSparkTable | ObjectSparkTable:
        """Return a format table or an object table. Raises `UnsupportedFeatureError` for a request that needs
        snapshots.
        """
        is_object, asks = is_object_table(table.schema.options), identifier.system_table or options.keys() & _VERSIONS
        if asks:
            raise (refuse_object_table if is_object else refuse_format_table)(str(identifier))
        if is_object:
            name = f"{self.catalog_name}.{table.name}"
            return ObjectSparkTable(self.jvm, self.session, name, table, self.catalog.options)
        return FormatSparkTable(self.jvm, self.session, self.catalog_name, table, options)


class SparkPathCatalog(SparkCatalog):
    """The catalog in which a table's name is its path: ``SELECT * FROM paimon_path.`/folder/table` ``.

    Each session has one, made when a statement first names it. `spark.sql.catalog.paimon_path.KEY` are options of the
    storages.
    """

    def __init__(self, jvm: Jvm, session: SessionBridge, may_open: Callable[[str], bool] | None) -> None:
        paths = path_catalog(session, may_open)
        super().__init__(jvm, session, PATHS, lambda: paths)
        self.paths = paths

    @staticmethod
    def named(namespace: Sequence[str], name: str) -> Identifier:
        return path_identifier(name if "/" in name else "/".join([*namespace, name]))

    def loadNamespaceMetadata(self, namespace: Any) -> Any:
        """Return no properties: Spark calls it for the defaults of new tables, which paths do not have."""
        return self.jvm.map({})

    def renameTable(self, source: Any, target: Any) -> None:
        raise UnsupportedFeatureError(f"The table at {self._identifier(source)} cannot be renamed: move its folder.")

    def _table(self, identifier: Identifier, options: Mapping[str, str], *, is_target: bool = False) -> Table:
        return self.session.in_zone(self.paths.with_options(options).load_table(identifier))


def _is_empty(table: Table) -> bool:
    latest = table.latest_snapshot()
    return latest is None or latest.total_record_count == 0


def _is_of_files(table: Table) -> bool:
    """Return whether a table has no snapshots."""
    return is_format_table(table.schema.options) or is_object_table(table.schema.options)


def statement_options(jvm: Jvm, context: Sequence[Any]) -> dict[str, str]:
    """Return the table options of a statement, for `VERSION AS OF`, `TIMESTAMP AS OF` and `WITH`.

    `context` has the arguments of Spark's `loadTable` after the name: nothing, a version, a time in microseconds, write
    privileges, or a `TableContext` and options.
    """
    if not context:
        return {}
    first = context[0]
    if isinstance(first, str):
        return {SCAN_VERSION: first}
    if isinstance(first, int):
        return {SCAN_TIMESTAMP_MILLIS.key: str(first // 1000)}
    if len(context) == 1:  # privileges
        return {}
    options = in_own_spelling(option_map(jvm, context[1]))
    travel = read_time_travel(first)
    if travel is None:
        return options
    if travel.version is not None:
        return options | {SCAN_VERSION: travel.version}
    return options | ({} if travel.micros is None else {SCAN_TIMESTAMP_MILLIS.key: str(travel.micros // 1000)})


def is_written(context: Sequence[Any]) -> bool:
    """Return whether a statement writes to the table that it loads; `context` as for `statement_options`."""
    if not context or isinstance(context[0], str | int):
        return False
    return len(context) == 1 or not context[0].writePrivileges().isEmpty()
