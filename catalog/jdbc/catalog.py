"""A catalog that keeps names in the rows of a database. A table exists when it has a row; the schema files in its
folder define it.

Folders are the same as in a filesystem catalog, `WAREHOUSE/NAME.db/TABLE`. Every change of a name holds the lock of the
table. If a crash leaves rows and files that do not match, the next process that uses the table mends them:

- CREATE: the row is inserted, the schema written, the transaction committed. A schema without a row does not stop a
  later CREATE. A folder that has snapshots but no row is refused: `register_table` takes it.
- DROP: files first, versions before schemas, the row last. A row without a schema is dropped again.
- RENAME: a note beside the row says where the folder is moved to (`rows.RENAMED_TO`; no folder was there before), the
  folder is moved, and in one transaction the rows get the new name and the note goes. See `moves`.

Source: `JdbcCatalog` of Paimon.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TypeVar

from sqlalchemy import Connection

from paimon_core.commit.publish import CatalogLock, Publisher, UnsafePublisher, publisher_for
from paimon_core.errors import (
    DatabaseExistsError,
    DatabaseNotFoundError,
    InvalidOptionError,
    PaimonError,
    TableExistsError,
    TableNotFoundError,
)
from paimon_core.io.file_io import FileIO
from paimon_core.options import COMMIT_UNSAFE_STORAGE
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.paths import check_name
from paimon_core.spec.schema import TableSchema
from paimon_core.store.allowed import Allowed
from paimon_core.store.cache import MetadataCache
from paimon_core.store.schemas import latest_schema, schema_ids
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_sql.catalog.base import (
    DEFAULT_DATABASE,
    StagedTable,
    check_dropped_database,
    check_is_empty,
    check_new_database,
)
from paimon_sql.catalog.definitions import FUNCTIONS, VIEWS, KeepsFunctions, KeepsViews
from paimon_sql.catalog.function import Function
from paimon_sql.catalog.jdbc import rows
from paimon_sql.catalog.jdbc.database import Database, RowExists, check_driver
from paimon_sql.catalog.jdbc.definitions import JdbcDefinitions, JdbcViews
from paimon_sql.catalog.jdbc.locks import JdbcLocks
from paimon_sql.catalog.jdbc.settings import JdbcSettings, read_settings
from paimon_sql.catalog.jdbc.tables import NAME_LENGTH, VALUE_LENGTH
from paimon_sql.catalog.moves import ends_forward
from paimon_sql.catalog.named_tables import NamedTables
from paimon_sql.catalog.outcomes import OutcomeUnknown, settle
from paimon_sql.catalog.schema_files import (
    OpenIceberg,
    SchemaFiles,
    check_is_table,
    follow_name,
    publish_schema,
    table_defaults,
)

_SUFFIX = ".db"
_LOCATION = "location"
_T = TypeVar("_T")


@dataclass(frozen=True)
class JdbcCatalog(NamedTables, KeepsViews, KeepsFunctions):
    """A catalog with databases, tables, views and functions in an SQL database; `default` always exists."""

    io: FileIO
    warehouse: str
    settings: JdbcSettings
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    cache: MetadataCache = field(default_factory=MetadataCache, repr=False, compare=False)
    allowed: Allowed = field(default_factory=Allowed)
    open_iceberg: OpenIceberg | None = field(default=None, repr=False, compare=False)

    def close(self) -> None:
        """Close the connections to the database."""
        self._database.close()

    # -- databases ----------------------------------------------------------------------------------------------------
    def list_databases(self) -> list[str]:
        return sorted(self._read(rows.databases) | {DEFAULT_DATABASE})

    def database_exists(self, name: str) -> bool:
        self._database_dir(name)
        return name == DEFAULT_DATABASE or self._read(rows.has_database, name)

    def database_properties(self, name: str) -> dict[str, str]:
        self._check_database(name)
        found = self._read(rows.database_properties, name)
        return {_LOCATION: self._database_dir(name)} | {k: v for k, v in found.items() if k != rows.EXISTS}

    def create_database(
        self, name: str, properties: Mapping[str, str] | None = None, ignore_if_exists: bool = False
    ) -> None:
        check_new_database(name)
        given, location = dict(properties or {}), self._database_dir(name)
        self._check_properties(name, given)
        try:
            settle(
                partial(self._write, rows.insert_database, name, {_LOCATION: location, **given}),
                lambda: given.items() <= self._read(rows.database_properties, name).items(),
            )
        except RowExists as error:
            if not ignore_if_exists:
                raise DatabaseExistsError(f"Database {name} already exists.") from error

    def alter_database(self, name: str, properties: Mapping[str, str], removed: Sequence[str] = ()) -> None:
        """Set and remove properties of a database."""
        self._check_database(name)
        self._check_properties(name, properties)
        kept = {rows.EXISTS, _LOCATION}

        def alter(connection: Connection, key: str) -> None:
            rows.set_database_properties(connection, key, name, properties)
            rows.remove_database_properties(connection, key, name, [k for k in removed if k not in kept])

        self._write_surely(alter)

    def drop_database(self, name: str, cascade: bool = False) -> None:
        check_dropped_database(name)
        self._check_database(name)
        if cascade:
            for table in self.list_tables(name):
                self.drop_table(Identifier(name, table), ignore_if_not_exists=True)
        self._write_surely(partial(self._delete_database, name, cascade))
        self.io.delete_empty_dir_below(self.warehouse, self._database_dir(name))

    def _delete_database(self, name: str, cascade: bool, connection: Connection, key: str) -> None:
        rows.delete_database(connection, key, name)
        kinds = (rows.VIEWS_KEPT, rows.FUNCTIONS_KEPT)
        if cascade:
            for kept in kinds:
                rows.delete_definitions(connection, key, kept, name)
        left = [rows.tables(connection, key, name), *(rows.definitions(connection, key, kept, name) for kept in kinds)]
        check_is_empty(name, *map(sorted, left))

    def list_tables(self, database: str) -> list[str]:
        self._database_dir(database)
        found = self._read(rows.tables, database)
        if not found:
            self._check_database(database)
        return sorted(found)

    # -- tables -------------------------------------------------------------------------------------------------------
    def table_exists(self, identifier: Identifier) -> bool:
        path = self._path(identifier)
        if not self._has_row(identifier):
            return False
        return identifier.branch is None or self._files.exists(identifier, path)

    def load_table(self, identifier: Identifier) -> Table:
        path = self._path(identifier)
        for is_last in (False, True):
            is_there, is_moving = self._read(rows.look_up, identifier)
            table = self._files.load(identifier, path) if is_there and not is_moving else None
            if table is not None:
                return table
            if is_last or not self._end_rename(identifier):
                break
        self._check_database(identifier.database)
        raise self._without_schema(identifier) if is_there else self._not_found(identifier)

    def drop_table(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        check_is_table(identifier)
        path = self._path(identifier)
        self._end_rename(identifier)
        with self._locks.held(identifier):
            if self._has_row(identifier):
                self._files.drop(path)
                self._locks.lock(identifier).check()
                self._write_surely(rows.delete_table, identifier)
                return
        if not ignore_if_not_exists:
            self._check_database(identifier.database)
            raise self._not_found(identifier)

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        check_is_table(source)
        check_is_table(target)
        old, new = self._path(source), self._path(target)
        for name in (source, target):
            self._end_rename(name)
        with self._locks.held(source, target):
            self._check_database(source.database)
            if not self._has_row(source):
                raise self._not_found(source)
            self._check_database(target.database)
            if source == target or self._read(rows.has_any, target) or self.io.exists(new):
                raise self._exists(target)
            settle(
                partial(self._write, rows.note_rename, source, target),
                lambda: self._read(rows.noted_rename, source) == (source, target),
            )
            try:
                self._files.rename(old, new, target)
            except PaimonError:
                self._settle(source, target)
                raise
            try:
                self._write(rows.rename_table, source, target)
            except OutcomeUnknown:
                if self._read(rows.noted_rename, source) is not None:
                    self._settle(source, target)
        follow_name(partial(self._files.load, target, new), old)

    # -- views and functions ------------------------------------------------------------------------------------------
    @cached_property
    def _views(self) -> JdbcViews:
        how = (self.settings, self._read, self._write, self._check_database, self._locks, self._end_rename)
        return JdbcViews(VIEWS, rows.VIEWS_KEPT, *how)

    @cached_property
    def _functions(self) -> JdbcDefinitions[Function]:
        how = (self.settings, self._read, self._write, self._check_database)
        return JdbcDefinitions(FUNCTIONS, rows.FUNCTIONS_KEPT, *how)

    # -- folders that lost their rows ---------------------------------------------------------------------------------
    def register_table(self, identifier: Identifier) -> None:
        """Bring the rows of a table in line with its folder: insert missing rows, and write the properties anew. Raises
        `TableNotFoundError` if the folder has no table."""
        check_is_table(identifier)
        path = self._path(identifier)
        self._end_rename(identifier)
        with self._locks.held(identifier):
            schema = latest_schema(self.io, path)
            if schema is None:
                raise TableNotFoundError(f"There is no table in {path}: it has no schema file.")
            self._check_kept(identifier, schema)
            self._write(partial(self._insert, identifier, schema, True))

    def unregistered_tables(self, database: str) -> list[str]:
        """The tables that have a folder in the database's folder, but no row."""
        folders = [f for f in self.io.list(self._database_dir(database)) if f.is_dir]
        known = set(self._read(rows.tables, database))
        return sorted(f.name for f in folders if f.name not in known and schema_ids(self.io, f.path))

    # -- changes ------------------------------------------------------------------------------------------------------
    def _staged(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool = False) -> StagedTable:
        check_is_table(identifier)
        self._locks.lock(identifier)
        self._check_database(identifier.database)
        table = self._files.prepare(identifier, self._path(identifier), schema)
        create = partial(self._create, table)
        return StagedTable(table, partial(self._create_unless_there, identifier, create, ignore_if_exists))

    def _check_free(self, table: Table) -> None:
        if self._read(rows.has_any, table.identifier.base):
            raise self._exists(table.identifier)

    def _files_of(self, identifier: Identifier, path: str | None = None) -> SchemaFiles:
        return self._files

    def _create(self, table: Table) -> None:
        """Make a prepared table: insert its row, and write its schema while no other process can insert the row."""
        identifier, schema = table.identifier, table.schema
        self._end_rename(identifier)
        with self._locks.held(identifier):
            try:
                settle(
                    partial(self._write, partial(self._insert_and_publish, table)),
                    lambda: self._has_row(identifier) and latest_schema(self.io, table.store.root) == schema,
                )
            except RowExists as error:
                raise self._exists(identifier) from error

    def _insert_and_publish(self, table: Table, connection: Connection, key: str) -> None:
        self._insert(table.identifier, table.schema, False, connection, key)
        self._files.clear_remains(table.identifier, table.store.root)
        # other processes wait for the row, so none of them writes there
        if not publish_schema(table, UnsafePublisher(self.io)):
            raise self._exists(table.identifier)

    def _insert(
        self, identifier: Identifier, schema: TableSchema, may_exist: bool, connection: Connection, key: str
    ) -> None:
        """Insert the rows of a table. Raises if a row exists and must not, or if a view has the name."""
        if rows.definition(connection, key, rows.VIEWS_KEPT, identifier) is not None:
            raise self._exists(identifier)
        if not (may_exist and rows.has_table(connection, key, identifier)):
            rows.insert_table(connection, key, identifier)
        if self.settings.sync_properties:
            rows.set_table_properties(connection, key, identifier, properties_of(schema))

    def _change(self, identifier: Identifier, change: Callable[[], None]) -> None:
        """Change the definition of a table, and its properties in the database with it."""
        with self._locks.held(identifier):
            change()
            schema = latest_schema(self.io, self._path(identifier))
            if self.settings.sync_properties and schema is not None:
                self._write_surely(rows.set_table_properties, identifier.base, properties_of(schema))

    def _end_rename(self, identifier: Identifier) -> bool:
        """End a rename of this table that another process began; return whether there was one."""
        found = self._read(rows.noted_rename, identifier.base)
        if found is None:
            return False
        with self._locks.held(*found):
            if self._read(rows.noted_rename, identifier.base) == found:
                self._settle(*found)
        return True

    def _settle(self, source: Identifier, target: Identifier) -> None:
        """End a move under both locks."""
        if ends_forward(self.io, self._path(source), self._path(target)):
            self._write(rows.rename_table, source, target)
        else:
            self._write_surely(rows.forget_rename, source)

    # -- locks --------------------------------------------------------------------------------------------------------
    def _publisher(self, store: TableStore) -> Publisher:
        identifier = replace(store.identifier, branch=store.branch or None)
        lock: CatalogLock | None = self._locks.lock(identifier) if self.settings.lock_enabled else None
        return publisher_for(store.io, lock, store.options[COMMIT_UNSAFE_STORAGE])

    # -- the database -------------------------------------------------------------------------------------------------
    def _read(self, act: Callable[..., _T], *arguments: object) -> _T:
        return self._database.read(lambda c: act(c, self.settings.catalog_key, *arguments))

    def _write(self, act: Callable[..., _T], *arguments: object) -> _T:
        return self._database.write(lambda c: act(c, self.settings.catalog_key, *arguments))

    def _write_surely(self, act: Callable[..., _T], *arguments: object) -> _T:
        """Make a change that may be made twice: without an answer it is made again."""
        try:
            return self._write(act, *arguments)
        except OutcomeUnknown:
            return self._write(act, *arguments)

    def _has_row(self, identifier: Identifier) -> bool:
        return self._read(rows.has_table, identifier)

    @cached_property
    def _database(self) -> Database:
        return Database(self.settings)

    @cached_property
    def _locks(self) -> JdbcLocks:
        return JdbcLocks(self._database)

    # -- paths and checks ---------------------------------------------------------------------------------------------
    @cached_property
    def _files(self) -> SchemaFiles:
        defaults = table_defaults(self.options)
        common = (self.io, self.cache, self.allowed, defaults, self._publisher, self._check_kept)
        return SchemaFiles(*common, iceberg_catalogs=self.open_iceberg and self.open_iceberg(self.options))

    def _check_kept(self, identifier: Identifier, schema: TableSchema) -> None:
        """Raises `InvalidOptionError` for options that do not fit into their columns."""
        if self.settings.sync_properties:
            _check_lengths(
                f"table {identifier}", properties_of(schema), "set 'sync-all-properties' = 'false' in the catalog"
            )

    def _check_properties(self, name: str, given: Mapping[str, str]) -> None:
        if given.get(_LOCATION, self._database_dir(name)) != self._database_dir(name):
            raise InvalidOptionError(
                f"Database {name} cannot have a location of its own: this catalog keeps it in {self.warehouse}."
            )
        if rows.EXISTS in given:
            raise InvalidOptionError(
                f"Database {name} cannot have the property {rows.EXISTS!r}: the catalog has it itself."
            )
        _check_lengths(f"database {name}", given, "give it a shorter value")

    def _check_database(self, name: str) -> None:
        if not self.database_exists(name):
            raise DatabaseNotFoundError(f"There is no database {name} in the catalog {self.settings.address}.")

    def _not_found(self, identifier: Identifier) -> TableNotFoundError:
        return TableNotFoundError(f"There is no table {identifier.base} in the catalog {self.settings.address}.")

    def _without_schema(self, identifier: Identifier) -> TableNotFoundError:
        return TableNotFoundError(
            f"Table {identifier.base} is known to the catalog, but {self._path(identifier)} has no schema file: a "
            "DROP was interrupted, or the folder was removed. Drop the table, or restore its folder."
        )

    def _exists(self, identifier: Identifier) -> TableExistsError:
        return TableExistsError(
            f"Table {identifier} already exists, or there is a view or another table's folder of that name."
        )

    def _database_dir(self, name: str) -> str:
        return f"{self.warehouse}/{check_name('database', name)}{_SUFFIX}"

    def _path(self, identifier: Identifier) -> str:
        return f"{self._database_dir(identifier.database)}/{check_name('table', identifier.table)}"


def open_catalog(
    io: FileIO, warehouse: str, options: Mapping[str, str], open_iceberg: OpenIceberg | None = None
) -> JdbcCatalog:
    """The catalog of some options; nothing is asked of the database yet. Raises `InvalidOptionError`,
    `UnsupportedFeatureError`."""
    is_shared = "://" in warehouse and not warehouse.startswith(("hdfs://", "viewfs://"))
    settings = read_settings(options, locks=is_shared or not io.atomic_create)
    check_driver(settings)
    return JdbcCatalog(io, warehouse, settings, dict(options), allowed=Allowed.of(options), open_iceberg=open_iceberg)


def properties_of(schema: TableSchema) -> dict[str, str]:
    """Return the database's copy of a table's definition, for people and tools that read the database."""
    keys = {"primary-key": schema.primary_keys, "partition": schema.partition_keys, "bucket-key": schema.bucket_keys}
    return {**schema.options, **{k: ",".join(columns) for k, columns in keys.items() if columns}}


def _check_lengths(owner: str, properties: Mapping[str, str], advice: str) -> None:
    for key, value in properties.items():
        if len(key) > NAME_LENGTH:
            raise InvalidOptionError(f"The key {key[:40]!r}… of {owner} is longer than {NAME_LENGTH} characters.")
        if len(value) > VALUE_LENGTH:
            raise InvalidOptionError(
                f"The value of {key!r} of {owner} has {len(value)} characters, and the catalog's database keeps "
                f"{VALUE_LENGTH}: {advice}."
            )
