"""The catalog that is a folder: `WAREHOUSE/NAME.db/TABLE`; a table is there when its folder has a schema file."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from paimon_core.errors import (
    DatabaseExistsError,
    DatabaseNotFoundError,
    InvalidOptionError,
    StorageError,
    TableExistsError,
    TableNotFoundError,
)
from paimon_core.io.file_io import FileIO
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.paths import check_name
from paimon_core.spec.schema import TableSchema
from paimon_core.store.allowed import Allowed
from paimon_core.store.cache import MetadataCache
from paimon_core.store.schemas import schema_ids
from paimon_core.table import Table
from paimon_sql.catalog.base import (
    DEFAULT_DATABASE,
    StagedTable,
    check_dropped_database,
    check_is_empty,
    check_new_database,
)
from paimon_sql.catalog.definition_files import DefinitionFiles, KeptInFiles, ViewsInFiles
from paimon_sql.catalog.definitions import FUNCTIONS, VIEWS, KeepsFunctions, KeepsViews
from paimon_sql.catalog.function import Function
from paimon_sql.catalog.named_tables import NamedTables
from paimon_sql.catalog.replacing import between
from paimon_sql.catalog.schema_files import OpenIceberg, SchemaFiles, check_is_table, follow_name, table_defaults

_LOG = logging.getLogger(__name__)
_SUFFIX = ".db"


@dataclass(frozen=True)
class FileSystemCatalog(NamedTables, KeepsViews, KeepsFunctions):
    """A catalog with databases in one folder. Database properties are not kept; `default` always exists."""

    io: FileIO
    warehouse: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    cache: MetadataCache = field(default_factory=MetadataCache, repr=False, compare=False)
    allowed: Allowed = field(default_factory=Allowed)
    open_iceberg: OpenIceberg | None = field(default=None, repr=False, compare=False)

    # -- databases ----------------------------------------------------------------------------------------------------
    def list_databases(self) -> list[str]:
        folders = (f.name for f in self.io.list(self.warehouse) if f.is_dir)
        found = {n.removesuffix(_SUFFIX) for n in folders if n.endswith(_SUFFIX) and n != _SUFFIX}
        return sorted(found | {DEFAULT_DATABASE})

    def database_exists(self, name: str) -> bool:
        return name == DEFAULT_DATABASE or self.io.exists(self._database_dir(name))

    def database_properties(self, name: str) -> dict[str, str]:
        self._check_database(name)
        return {"location": self._database_dir(name)}

    def create_database(
        self, name: str, properties: Mapping[str, str] | None = None, ignore_if_exists: bool = False
    ) -> None:
        if "location" in (properties or {}):
            raise InvalidOptionError(
                f"Database {name} cannot have a location of its own: this catalog keeps it in {self.warehouse}."
            )
        check_new_database(name)
        path = self._database_dir(name)
        self.io.make_dirs(self.warehouse)
        with self.io.writer_slot(self.warehouse):  # creators on this machine queue: one of them makes it
            if self.io.exists(path):
                if ignore_if_exists:
                    return
                raise DatabaseExistsError(f"Database {name} already exists.")
            self.io.make_dirs(path)
        if properties:
            names = ", ".join(sorted(properties))
            _LOG.warning("Database %s is created without %s: a filesystem catalog keeps no properties.", name, names)

    def drop_database(self, name: str, cascade: bool = False) -> None:
        check_dropped_database(name)
        self._check_database(name)
        if not cascade:
            check_is_empty(
                name, self.list_tables(name), self._views.files.names(name), self._functions.files.names(name)
            )
        self.io.delete_dir(self._database_dir(name))

    def list_tables(self, database: str) -> list[str]:
        self._check_database(database)
        folders = [f for f in self.io.list(self._database_dir(database)) if f.is_dir]
        names = [f.name for f in folders if self._may_be_table(f.path)]
        replacing = between(names)  # loading one of these completes the replacement
        return sorted(replacing.get(n, n) for n in names)

    # -- tables -------------------------------------------------------------------------------------------------------
    def table_exists(self, identifier: Identifier) -> bool:
        if not self.database_exists(identifier.database):
            return False
        return self._files.exists(identifier, self._path(identifier))

    def load_table(self, identifier: Identifier) -> Table:
        self._check_database(identifier.database)
        table = self._files.load(identifier, self._path(identifier))
        if table is None:
            raise self._not_found(identifier)
        return table

    def stage_replace(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        staged = super().stage_replace(identifier, schema)
        finish, discard = (partial(self._in_turn, identifier, act) for act in (staged.finish, staged.discard))
        return replace(staged, finish=finish, discard=discard)

    def drop_table(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        check_is_table(identifier)
        if not ignore_if_not_exists:
            self._check_database(identifier.database)
        with self._turn(identifier):
            if self.table_exists(identifier):
                self._files.drop(self._path(identifier))
            elif not ignore_if_not_exists:
                raise self._not_found(identifier)

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        check_is_table(source)
        check_is_table(target)
        self._check_database(source.database)
        self._check_database(target.database)
        with self._turn(source, target):
            if not self._may_be_table(self._path(source)):
                raise self._not_found(source)
            if self.table_exists(target):
                raise TableExistsError(f"Table {target} already exists.")
            self._check_no_view(target)
            self._files.rename(self._path(source), self._path(target), target)
        follow_name(partial(self._files.load, target, self._path(target)), self._path(source))

    # -- new tables and their names -----------------------------------------------------------------------------------
    def _staged(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool = False) -> StagedTable:
        check_is_table(identifier)
        self._check_database(identifier.database)
        table = self._files.prepare(identifier, self._path(identifier), schema)

        def publish() -> None:
            with self._turn(identifier):
                self._check_no_view(identifier)
                self._files.create(table, ignore_if_exists)

        return StagedTable(table, publish)

    def _check_free(self, table: Table) -> None:
        self._check_no_view(table.identifier)
        if self._files.exists(table.identifier, table.store.root):
            raise TableExistsError(f"Table {table.identifier} already exists.")

    def _files_of(self, identifier: Identifier, path: str | None = None) -> SchemaFiles:
        return self._files

    # -- views and functions ------------------------------------------------------------------------------------------
    @cached_property
    def _views(self) -> ViewsInFiles:
        return ViewsInFiles(VIEWS, self._definitions("view"), self._turn, self._check_database, self.table_exists)

    @cached_property
    def _functions(self) -> KeptInFiles[Function]:
        files = self._definitions("function")
        return KeptInFiles(FUNCTIONS, files, self._turn, self._check_database, self.table_exists)

    def _definitions(self, kind: str) -> DefinitionFiles:
        return DefinitionFiles(self.io, self._database_dir, kind)

    def _check_no_view(self, identifier: Identifier) -> None:
        if self._views.files.exists(identifier):
            raise TableExistsError(f"Table {identifier} cannot be created: there is a view of that name.")

    # -- turns --------------------------------------------------------------------------------------------------------
    @contextmanager
    def _turn(self, *tables: Identifier) -> Iterator[None]:
        """Queue with those on this machine who make, move and delete tables and views of the same databases: a name is
        given once, and a folder is not deleted, or moved away, that another has just made."""
        with ExitStack() as turns:
            if any(t.database == DEFAULT_DATABASE for t in tables):  # which is there before its folder is
                default = self._database_dir(DEFAULT_DATABASE)
                if not self.io.exists(default):
                    self.io.make_dirs(default)
            for folder in sorted({self._database_dir(t.database) for t in tables}):
                turns.enter_context(self.io.writer_slot(folder))
            yield

    def _in_turn(self, table: Identifier, act: Callable[[], None]) -> None:
        with self._turn(table):
            act()

    # -- paths --------------------------------------------------------------------------------------------------------
    @cached_property
    def _files(self) -> SchemaFiles:
        common = (self.io, self.cache, self.allowed, table_defaults(self.options))
        return SchemaFiles(*common, iceberg_catalogs=self.open_iceberg and self.open_iceberg(self.options))

    def _may_be_table(self, path: str) -> bool:
        """Whether a folder has schemas, or cannot be looked into: a table there may be is listed, as others are."""
        try:
            return bool(schema_ids(self.io, path))
        except StorageError:
            return True

    def _not_found(self, identifier: Identifier) -> TableNotFoundError:
        return TableNotFoundError(f"There is no table {identifier.base} in the warehouse {self.warehouse}.")

    def _check_database(self, name: str) -> None:
        if not self.database_exists(name):
            raise DatabaseNotFoundError(f"There is no database {name} in the warehouse {self.warehouse}.")

    def _database_dir(self, name: str) -> str:
        return f"{self.warehouse}/{check_name('database', name)}{_SUFFIX}"

    def _path(self, identifier: Identifier) -> str:
        return f"{self._database_dir(identifier.database)}/{check_name('table', identifier.table)}"
