"""A catalog with its names in the rows of an SQL database: its databases, and the parts for tables, views and
functions.

Source: `JdbcCatalog` of Paimon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from sqlalchemy import Connection

from paimon_core.dataclass import dataclass
from paimon_core.errors import DatabaseExistsError, DatabaseNotFoundError, InvalidOptionError
from paimon_core.io.file_io import FileIO
from paimon_core.lazy import cached_property
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.store.allowed import Allowed
from paimon_sql.catalog.base import DEFAULT_DATABASE, check_dropped_database, check_is_empty, check_new_database
from paimon_sql.catalog.definitions import FUNCTIONS, VIEWS, KeepsFunctions, KeepsViews
from paimon_sql.catalog.folders import LOCATION, Folders, needs_locks
from paimon_sql.catalog.function import Function
from paimon_sql.catalog.jdbc import rows
from paimon_sql.catalog.jdbc.database import CatalogRows, Database, RowExists, check_driver
from paimon_sql.catalog.jdbc.definitions import JdbcDefinitions, JdbcViews
from paimon_sql.catalog.jdbc.locks import JdbcLocks
from paimon_sql.catalog.jdbc.registry import RowRegistry
from paimon_sql.catalog.jdbc.settings import JdbcSettings, read_settings
from paimon_sql.catalog.jdbc.tables import NAME_LENGTH, VALUE_LENGTH
from paimon_sql.catalog.named_tables import RegisteredTables
from paimon_sql.catalog.option_values import Lengths, check_lengths
from paimon_sql.catalog.outcomes import settle
from paimon_sql.catalog.schema_files import OpenIceberg, properties_of

_KEPT = Lengths("the catalog's database", key=NAME_LENGTH, value=VALUE_LENGTH)


@dataclass(frozen=True)
class JdbcCatalog(RegisteredTables, KeepsViews, KeepsFunctions):
    """A catalog with databases, tables, views and functions in an SQL database; `default` always exists."""

    io: FileIO
    warehouse: str
    settings: JdbcSettings

    def close(self) -> None:
        """Close the connections to the database."""
        self._database.close()

    # -- databases ----------------------------------------------------------------------------------------------------
    def list_databases(self) -> list[str]:
        return sorted(self._rows.read(rows.databases) | {DEFAULT_DATABASE})

    def database_exists(self, name: str) -> bool:
        self._folders.database(name)
        return name == DEFAULT_DATABASE or self._rows.read(rows.has_database, name)

    def database_properties(self, name: str) -> dict[str, str]:
        self._check_database(name)
        found = self._rows.read(rows.database_properties, name)
        return {LOCATION: self._folders.database(name)} | {k: v for k, v in found.items() if k != rows.EXISTS}

    def create_database(
        self, name: str, properties: Mapping[str, str] | None = None, ignore_if_exists: bool = False
    ) -> None:
        check_new_database(name)
        given, location = dict(properties or {}), self._folders.database(name)
        self._check_properties(name, given)
        try:
            settle(
                partial(self._rows.write, rows.insert_database, name, {LOCATION: location, **given}),
                lambda: given.items() <= self._rows.read(rows.database_properties, name).items(),
            )
        except RowExists as error:
            if not ignore_if_exists:
                raise DatabaseExistsError(f"Database {name} already exists.") from error

    def alter_database(self, name: str, properties: Mapping[str, str], removed: Sequence[str] = ()) -> None:
        """Set and remove properties of a database."""
        self._check_database(name)
        self._check_properties(name, properties)
        kept = {rows.EXISTS, LOCATION}

        def alter(connection: Connection, key: str) -> None:
            rows.set_database_properties(connection, key, name, properties)
            rows.remove_database_properties(connection, key, name, [k for k in removed if k not in kept])

        self._rows.write_surely(alter)

    def drop_database(self, name: str, cascade: bool = False) -> None:
        check_dropped_database(name)
        self._check_database(name)
        if cascade:
            for table in self.list_tables(name):
                self.drop_table(Identifier(name, table), ignore_if_not_exists=True)
        self._rows.write_surely(partial(self._delete_database, name, cascade))
        with suppress(OSError):  # the database is dropped
            self.io.delete_empty_dir_below(self.warehouse, self._folders.database(name))

    def _delete_database(self, name: str, cascade: bool, connection: Connection, key: str) -> None:
        rows.delete_database(connection, key, name)
        kinds = (rows.VIEWS_KEPT, rows.FUNCTIONS_KEPT)
        if cascade:
            for kept in kinds:
                rows.delete_definitions(connection, key, kept, name)
        left = [rows.tables(connection, key, name), *(rows.definitions(connection, key, kept, name) for kept in kinds)]
        check_is_empty(name, *map(sorted, left))

    def list_tables(self, database: str) -> list[str]:
        self._folders.database(database)
        found = self._rows.read(rows.tables, database)
        if not found:
            self._check_database(database)
        return sorted(found)

    def _check_database(self, name: str) -> None:
        if not self.database_exists(name):
            raise DatabaseNotFoundError(f"There is no database {name} in the catalog {self.settings.address}.")

    def _check_properties(self, name: str, given: Mapping[str, str]) -> None:
        self._folders.check_location(name, given)
        if rows.EXISTS in given:
            raise InvalidOptionError(
                f"Database {name} cannot have the property {rows.EXISTS!r}: the catalog uses this name itself."
            )
        check_lengths(f"database {name}", given, _KEPT, "give it a shorter value")

    # -- tables, views and functions ----------------------------------------------------------------------------------
    @cached_property
    def _registry(self) -> RowRegistry:
        files = self._schema_files(self.io, publishing=self._locks.publisher, accept=self._check_kept)
        return RowRegistry(files, self._folders, self.settings, self._rows, self._locks, self._check_database)

    @cached_property
    def _views(self) -> JdbcViews:
        how = (self.settings, self._rows, self._check_database, self._locks, self._registry.end_rename)
        return JdbcViews(VIEWS, rows.VIEWS_KEPT, *how)

    @cached_property
    def _functions(self) -> JdbcDefinitions[Function]:
        return JdbcDefinitions(FUNCTIONS, rows.FUNCTIONS_KEPT, self.settings, self._rows, self._check_database)

    @property
    def _folders(self) -> Folders:
        return Folders(self.warehouse)

    @cached_property
    def _rows(self) -> CatalogRows:
        return CatalogRows(self._database, self.settings.catalog_key)

    @cached_property
    def _database(self) -> Database:
        return Database(self.settings)

    @cached_property
    def _locks(self) -> JdbcLocks:
        return JdbcLocks(self._database)

    def _check_kept(self, identifier: Identifier, schema: TableSchema) -> None:
        """Raise `InvalidOptionError` for options that do not fit into the columns of the database."""
        if self.settings.sync_properties:
            advice = "set 'sync-all-properties' = 'false' in the catalog"
            check_lengths(f"table {identifier}", properties_of(schema), _KEPT, advice)


def open_catalog(
    io: FileIO, warehouse: str, options: Mapping[str, str], open_iceberg: OpenIceberg | None = None
) -> JdbcCatalog:
    """Return the catalog for options, without a connection to the database.

    Raises `InvalidOptionError`, `UnsupportedFeatureError`."""
    settings = read_settings(options, locks=needs_locks(io, warehouse))
    check_driver(settings)
    return JdbcCatalog(
        io, warehouse, settings, options=dict(options), allowed=Allowed.of(options), open_iceberg=open_iceberg
    )
