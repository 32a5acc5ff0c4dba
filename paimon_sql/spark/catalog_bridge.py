"""SparkCatalog: a catalog of ours as Spark's `TableCatalog`, `SupportsNamespaces` and `ProcedureCatalog`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar

from paimon_core.errors import DatabaseNotFoundError, InvalidNameError, TableNotFoundError, UnsupportedFeatureError
from paimon_core.scan.views import View
from paimon_core.store.new_schema import new_table_schema
from paimon_sql.catalog.base import Catalog, RemoveOption, SetOption, TableChange, UpdateComment
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.system_database import GLOBAL_TABLES, SYSTEM_DATABASE
from paimon_sql.preprocess import DECLARED_TYPES_PROPERTY
from paimon_sql.procedures import PROCEDURES, STATEMENTS
from paimon_sql.spark.declared_types import apply_declared_types
from paimon_sql.spark.errors import NAMESPACE_EXISTS, NO_SUCH_NAMESPACE, NO_SUCH_TABLE, TABLE_EXISTS, no_such_table
from paimon_sql.spark.jvm import CATALOG, Jvm, python_map
from paimon_sql.spark.procedure_bridge import SparkProcedure, UnknownProcedure
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.table_bridge import GlobalTable, SparkTable, SystemTable, ViewTable, statement_options
from paimon_sql.spark.types import from_struct, read_struct

PROVIDER = "paimon"
VIEWS = frozenset(v.value for v in View if v is not View.ROWS)
# properties Spark hands to every CREATE TABLE beside the user's own
_RESERVED = ("provider", "owner", "comment", "location", "is_managed_location", "external", "table_type")


class SparkCatalog(Proxy):
    """One configured catalog in one Spark session."""

    CARRIERS: ClassVar[Mapping[str, str]] = {
        "alterNamespace": NO_SUCH_NAMESPACE,
        "alterTable": NO_SUCH_TABLE,
        "createNamespace": NAMESPACE_EXISTS,
        "createTable": TABLE_EXISTS,
        "dropNamespace": NO_SUCH_NAMESPACE,
        "listNamespaces": NO_SUCH_NAMESPACE,
        "listTableSummaries": NO_SUCH_NAMESPACE,
        "listTables": NO_SUCH_NAMESPACE,
        "loadNamespaceMetadata": NO_SUCH_NAMESPACE,
        "renameTable": NO_SUCH_TABLE,
    }

    def __init__(self, jvm: Jvm, session: SessionBridge, name: str, load: Callable[[], Catalog]) -> None:
        super().__init__(jvm)
        self.session, self.catalog_name, self._load = session, name, load

    @cached_property
    def catalog(self) -> Catalog:
        """Made when it is first used: until then its configuration may be incomplete."""
        return self._load()

    # -- CatalogPlugin ------------------------------------------------------------------------------------------------
    def initialize(self, name: str, options: Any) -> None:
        """Configured when it is made; Spark calls this only for classes it loads itself."""

    def name(self) -> str:
        return self.catalog_name

    def defaultNamespace(self) -> Any:
        return self.jvm.strings(["default"])

    # -- SupportsNamespaces -------------------------------------------------------------------------------------------
    def listNamespaces(self, namespace: Any = None) -> Any:
        names = [] if namespace else self.catalog.list_databases()
        if namespace:
            self._database(namespace)
        return self.jvm.array("[Ljava.lang.String;", [self.jvm.strings([n]) for n in names])

    def namespaceExists(self, namespace: Any) -> bool:
        parts = list(namespace)
        try:
            return len(parts) == 1 and (parts[0] == SYSTEM_DATABASE or self.catalog.database_exists(parts[0]))
        except InvalidNameError:
            return False

    def loadNamespaceMetadata(self, namespace: Any) -> Any:
        return self.jvm.map(self.catalog.database_properties(self._database(namespace)))

    def createNamespace(self, namespace: Any, metadata: Any) -> None:
        properties = {k: v for k, v in python_map(metadata).items() if k not in ("owner",)}
        self.catalog.create_database(_single(namespace), properties, ignore_if_exists=False)

    def alterNamespace(self, namespace: Any, changes: Any) -> None:
        self._database(namespace)
        raise UnsupportedFeatureError(
            f"Database {_single(namespace)!r} keeps no properties in a filesystem catalog: they cannot be altered."
        )

    def dropNamespace(self, namespace: Any, cascade: bool) -> bool:
        self.catalog.drop_database(self._database(namespace), cascade=cascade)
        return True

    # -- TableCatalog -------------------------------------------------------------------------------------------------
    def capabilities(self) -> Any:
        return self.jvm.constants(f"{CATALOG}.TableCatalogCapability", "SUPPORT_COLUMN_DEFAULT_VALUE")

    def tableStateOptionKeys(self) -> Any:
        return self.jvm.constant("java.util.Collections", "EMPTY_SET")

    def changelogStateOptionKeys(self) -> Any:
        return self.jvm.constant("java.util.Collections", "EMPTY_SET")

    def useNullableQuerySchema(self) -> bool:
        return True

    def listTables(self, namespace: Any) -> Any:
        is_system = list(namespace) == [SYSTEM_DATABASE]
        database = SYSTEM_DATABASE if is_system else self._database(namespace)
        names = sorted(GLOBAL_TABLES) if is_system else self.catalog.list_tables(database)
        identifiers = [self.jvm.identifier([database], t) for t in names]
        return self.jvm.array(f"{CATALOG}.Identifier", identifiers)

    def listTableSummaries(self, namespace: Any) -> Any:
        database = self._database(namespace)
        summary = self.jvm.java_class(f"{CATALOG}.TableSummary")
        tables = self.catalog.list_tables(database)
        summaries = [summary.of(self.jvm.identifier([database], t), "MANAGED") for t in tables]
        return self.jvm.array(f"{CATALOG}.TableSummary", summaries)

    def loadTable(self, identifier: Any, *context: Any) -> Any:
        """(ident), (ident, version), (ident, micros), (ident, privileges) or (ident, TableContext, options)."""
        try:
            if list(identifier.namespace()) == [SYSTEM_DATABASE]:
                return GlobalTable(self.jvm, self.session, self.catalog, identifier.name())
            ours = self._identifier(identifier)
            options = self.session.table_options(self.catalog_name, ours) | statement_options(context)
            table = self.catalog.load_table(ours)
            if (ours.system_table or "").lower() in VIEWS:
                return ViewTable(self.jvm, self.session, table, ours, options)
            if ours.system_table is not None:
                return SystemTable(self.jvm, self.session, table, ours, options)
            return SparkTable(self.jvm, self.session, self.catalog_name, table, options)
        except (TableNotFoundError, DatabaseNotFoundError, InvalidNameError) as e:
            # a name that cannot be ours may be another source's: parquet.`/path`
            raise no_such_table(self.jvm, e) from e

    def invalidateTable(self, identifier: Any) -> None:
        """Nothing is cached that can change: the latest snapshot is looked up per statement."""

    def tableExists(self, identifier: Any) -> bool:
        try:
            return self.catalog.table_exists(self._identifier(identifier))
        except (DatabaseNotFoundError, InvalidNameError):
            return False

    def createTable(self, identifier: Any, info: Any) -> Any:
        ours = self._identifier(identifier)
        properties = python_map(info.properties())
        self._check_provider(ours, properties)
        schema = new_table_schema(
            apply_declared_types(
                from_struct(read_struct(info.schema().json())), properties.pop(DECLARED_TYPES_PROPERTY, None)
            ),
            partition_keys=_partition_columns(info.partitions()),
            options={k: v for k, v in properties.items() if k not in _RESERVED and not k.startswith("option.")},
            comment=properties.get("comment"),
        )
        self.catalog.create_table(ours, schema, ignore_if_exists=False)
        return SparkTable(self.jvm, self.session, self.catalog_name, self.catalog.load_table(ours), {})

    def createTableLike(self, identifier: Any, info: Any, source: Any) -> Any:
        return self.createTable(identifier, info)

    def alterTable(self, identifier: Any, changes: Any) -> Any:
        self.catalog.alter_table(self._identifier(identifier), [_change(c) for c in changes])
        return self.loadTable(identifier)

    def dropTable(self, identifier: Any) -> bool:
        ours = self._identifier(identifier)
        if not self.catalog.table_exists(ours):
            return False
        self.catalog.drop_table(ours)
        return True

    def purgeTable(self, identifier: Any) -> bool:
        return self.dropTable(identifier)

    def renameTable(self, source: Any, target: Any) -> None:
        self.catalog.rename_table(self._identifier(source), self._identifier(target))

    # -- ProcedureCatalog ---------------------------------------------------------------------------------------------
    def loadProcedure(self, identifier: Any) -> Any:
        namespace, name = list(identifier.namespace()), identifier.name()
        procedure = PROCEDURES.get(name) or STATEMENTS.get(name)
        if namespace != [SYSTEM_DATABASE] or procedure is None:
            return UnknownProcedure(self.jvm, ".".join([*namespace, name]))
        return SparkProcedure(self.jvm, self.session, self.catalog, procedure)

    def listProcedures(self, namespace: Any) -> Any:
        names = sorted(PROCEDURES) if list(namespace) == [SYSTEM_DATABASE] else []
        identifiers = [self.jvm.identifier([SYSTEM_DATABASE], n) for n in names]
        return self.jvm.array(f"{CATALOG}.Identifier", identifiers)

    class Java:
        implements = [f"{CATALOG}.TableCatalog", f"{CATALOG}.SupportsNamespaces", f"{CATALOG}.ProcedureCatalog"]

    # -- ours ---------------------------------------------------------------------------------------------------------
    def _database(self, namespace: Any) -> str:
        database = _single(namespace)
        if not self.catalog.database_exists(database):
            raise DatabaseNotFoundError(f"Catalog {self.catalog_name} has no database {database!r}.")
        return database

    def _identifier(self, identifier: Any) -> Identifier:
        return Identifier.of(_single(identifier.namespace()), identifier.name())

    def _check_provider(self, identifier: Identifier, properties: Mapping[str, str]) -> None:
        provider = properties.get("provider", PROVIDER).lower()
        if provider not in (PROVIDER, self.session.default_source()):
            raise UnsupportedFeatureError(
                f"Table {identifier} cannot be created with USING {provider}: catalog {self.catalog_name} makes Paimon"
                " tables. Leave USING out, or write USING paimon."
            )
        if "location" in properties:
            raise UnsupportedFeatureError(
                f"Table {identifier} cannot have a LOCATION: a filesystem catalog keeps its tables below its warehouse."
            )


def _single(namespace: Any) -> str:
    parts = list(namespace)
    if len(parts) != 1:
        raise DatabaseNotFoundError(f"A Paimon catalog has databases of one name, not {'.'.join(parts) or 'none'!r}.")
    return str(parts[0])


def _partition_columns(transforms: Any) -> tuple[str, ...]:
    names = []
    for transform in transforms:
        if transform.name() != "identity":
            raise UnsupportedFeatureError(
                f"PARTITIONED BY {transform.toString()}: Paimon partitions by columns. Add one that holds the value."
            )
        names.append(".".join(transform.references()[0].fieldNames()))
    return tuple(names)


def _change(change: Any) -> TableChange:
    kind = change.getClass().getSimpleName()
    if kind in ("SetProperty", "RemoveProperty") and change.property() == "comment":
        return UpdateComment(change.value() if kind == "SetProperty" else None)
    if kind == "SetProperty":
        return SetOption(change.property(), change.value())
    if kind == "RemoveProperty":
        return RemoveOption(change.property())
    raise UnsupportedFeatureError(f"ALTER TABLE with {kind} is not supported yet: options can be set and unset.")
