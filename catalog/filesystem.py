"""The catalog that is a folder: `WAREHOUSE/NAME.db/TABLE`. A table exists when its folder has a schema file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from paimon_core.dataclass import dataclass
from paimon_core.errors import (
    DatabaseExistsError,
    DatabaseNotFoundError,
    InvalidOptionError,
    PaimonError,
    StorageError,
    TableExistsError,
    TableNotFoundError,
)
from paimon_core.io.file_io import FileIO
from paimon_core.io.side_by_side import both, side_by_side
from paimon_core.lazy import ImportedOnCall, cached_property, logger
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.store.schemas import schema_ids
from paimon_core.table import Table
from paimon_sql.catalog.base import (
    DEFAULT_DATABASE,
    StagedTable,
    check_dropped_database,
    check_is_empty,
    check_new_database,
)
from paimon_sql.catalog.definitions import FUNCTIONS, VIEWS, KeepsFunctions, KeepsViews
from paimon_sql.catalog.folders import DATABASE_SUFFIX, LOCATION, Folders, Listed, delete_folders
from paimon_sql.catalog.named_tables import CatalogTables, Registry
from paimon_sql.catalog.schema_files import SchemaFiles, follow_name

if TYPE_CHECKING:
    from paimon_sql.catalog.definition_files import DefinitionFiles, KeptInFiles, ViewsInFiles
    from paimon_sql.catalog.function import Function
    from paimon_sql.catalog.replacing import between
else:
    between = ImportedOnCall("paimon_sql.catalog.replacing", "between")
    DefinitionFiles = ImportedOnCall("paimon_sql.catalog.definition_files", "DefinitionFiles")
    KeptInFiles = ImportedOnCall("paimon_sql.catalog.definition_files", "KeptInFiles")
    ViewsInFiles = ImportedOnCall("paimon_sql.catalog.definition_files", "ViewsInFiles")

_LOG = logger(__name__)
_MOST_EXPECTED = 100  # folders of a database that are looked at beside the listing of the database


@dataclass(frozen=True)
class FileSystemCatalog(CatalogTables, KeepsViews, KeepsFunctions):
    """A catalog of databases in one folder.

    It stores no properties of databases; the database `default` always exists.
    """

    io: FileIO
    warehouse: str

    # -- databases ----------------------------------------------------------------------------------------------------
    def list_databases(self) -> list[str]:
        folders = (f.name for f in self.io.list(self.warehouse) if f.is_dir)
        found = {n.removesuffix(DATABASE_SUFFIX) for n in folders if n.endswith(DATABASE_SUFFIX)} - {""}
        return sorted(found | {DEFAULT_DATABASE})

    def database_exists(self, name: str) -> bool:
        return name == DEFAULT_DATABASE or self.io.exists(self._folders.database(name))

    def database_properties(self, name: str) -> dict[str, str]:
        self._check_database(name)
        return {LOCATION: self._folders.database(name)}

    def create_database(
        self, name: str, properties: Mapping[str, str] | None = None, ignore_if_exists: bool = False
    ) -> None:
        if LOCATION in (properties or {}):
            raise InvalidOptionError(
                f"Database {name} cannot have a location of its own: this catalog keeps it in {self.warehouse}."
            )
        check_new_database(name)
        path = self._folders.database(name)
        self.io.make_dirs(self.warehouse)
        with self.io.writer_slot(self.warehouse):  # processes of this machine queue, so that one of them creates it
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
        folder = self._folders.database(name)
        if cascade:
            self.io.delete_dir(folder)
            return
        with self.io.writer_slot(folder):
            listed = Listed.below(self.io, folder)  # before the check, so files of tables that come after it are kept
            self._check_is_empty(name)
            listed.delete(self.warehouse)
            if self.io.exists(folder):
                self._check_is_empty(name)
                delete_folders(self.io, self.warehouse, folder)

    def _check_is_empty(self, name: str) -> None:
        check_is_empty(name, self.list_tables(name), self._views.files.names(name), self._functions.files.names(name))

    def list_tables(self, database: str) -> list[str]:
        path, known = self._folders.database(database), self.cache.listed_folders
        # the folders of the last listing are looked at beside this listing
        expected = known.get(path) or () if self.io.requests_at_once > 1 else ()
        found, are_tables = both(self.io, lambda: list(self.io.list(path)), partial(self._may_be_tables, expected))
        folders = [f.path for f in found if f.is_dir]
        if not folders:  # a folder in it shows that the database exists
            self._check_database(database)
        looks = dict(zip(expected, are_tables, strict=True))
        others = [folder for folder in folders if folder not in looks]
        looks |= zip(others, self._may_be_tables(others), strict=True)
        known.put(path, tuple(folders[:_MOST_EXPECTED]))
        names = [folder.rpartition("/")[2] for folder in folders if looks[folder]]
        replacing = between(names)  # loading one of these completes the replacement
        return sorted(replacing.get(n, n) for n in names)

    def _may_be_tables(self, folders: Sequence[str]) -> list[bool]:
        return side_by_side(self.io, partial(_may_be_table, self.io), folders)

    def list_relations(self, database: str) -> tuple[list[str], list[str]]:
        look = partial(self.list_tables, database), partial(self._views.files.names, database)
        return both(self.io, *look)

    def _check_database(self, name: str) -> None:
        if not self.database_exists(name):
            raise DatabaseNotFoundError(f"There is no database {name} in the warehouse {self.warehouse}.")

    # -- tables, views and functions ----------------------------------------------------------------------------------
    @cached_property
    def _registry(self) -> FolderRegistry:
        return FolderRegistry(self._files, self._folders, self._check_database, self._turn, self._view_files)

    def _view_files(self) -> DefinitionFiles:
        return self._views.files

    def stage_replace(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        staged = super().stage_replace(identifier, schema)
        finish, discard = (partial(self._in_turn, identifier, act) for act in (staged.finish, staged.discard))
        return replace(staged, finish=finish, discard=discard)

    def _in_turn(self, table: Identifier, act: Callable[[], None]) -> None:
        with self._turn(table):
            act()

    @cached_property
    def _files(self) -> SchemaFiles:
        return self._schema_files(self.io)

    @cached_property
    def _views(self) -> ViewsInFiles:
        return ViewsInFiles(VIEWS, self._definitions("view"), self._turn, self._check_database, self.table_exists)

    @cached_property
    def _functions(self) -> KeptInFiles[Function]:
        files = self._definitions("function")
        return KeptInFiles(FUNCTIONS, files, self._turn, self._check_database, self.table_exists)

    def _definitions(self, kind: str) -> DefinitionFiles:
        return DefinitionFiles(self.io, self._folders.database, kind)

    @property
    def _folders(self) -> Folders:
        return Folders(self.warehouse)

    @contextmanager
    def _turn(self, *tables: Identifier) -> Iterator[None]:
        """Queue with the processes of this machine that create, move or delete tables and views of the same databases.

        So each name is used once, and no process deletes or moves a folder that another process has just created."""
        with ExitStack() as turns:
            if self.io.is_near and any(t.database == DEFAULT_DATABASE for t in tables):  # it exists without a folder
                default = self._folders.database(DEFAULT_DATABASE)
                if not self.io.exists(default):
                    self.io.make_dirs(default)
            for folder in sorted({self._folders.database(t.database) for t in tables}):
                turns.enter_context(self.io.writer_slot(folder))
            yield


@dataclass(frozen=True)
class FolderRegistry(Registry):
    """The tables of a warehouse, which have the names of their folders.

    `turn` makes processes of this machine queue for names. A table cannot have the name of one of the `views`.
    """

    files: SchemaFiles
    folders: Folders
    check_database: Callable[[str], None]
    turn: Callable[..., AbstractContextManager[None]]
    views: Callable[[], DefinitionFiles]

    def exists(self, identifier: Identifier) -> bool:
        return self._has(identifier)  # then its database exists, too

    def load(self, identifier: Identifier) -> Table:
        table = self.files.load(identifier, self.folders.table(identifier))
        if table is None:
            raise self.missing(identifier)
        return table

    def new(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        table = self.files.prepare(identifier, self.folders.table(identifier), schema)

        def publish() -> None:
            with self.turn(identifier):
                self.files.create(table, partial(self._check_name, identifier))

        return StagedTable(table, publish)

    def check_free(self, identifier: Identifier) -> None:
        check, look = partial(self._check_name, identifier), partial(self._has, identifier)
        _, is_there = both(self.files.io, check, look)
        if is_there:
            raise TableExistsError(f"Table {identifier} already exists.")

    def rename(self, source: Identifier, target: Identifier) -> None:
        self.check_database(source.database)
        self.check_database(target.database)
        old, new = self.folders.table(source), self.folders.table(target)
        with self.turn(source, target):
            if not _may_be_table(self.files.io, old):
                raise self._not_found(source)
            if self._has(target):
                raise TableExistsError(f"Table {target} already exists.")
            self._check_no_view(target)
            self.files.rename(old, new, target)
        follow_name(partial(self.files.load, target, new), old)

    def remove(self, identifier: Identifier) -> bool:
        with self.turn(identifier):
            return self.files.drop_if_there(identifier, self.folders.table(identifier))

    def missing(self, identifier: Identifier) -> PaimonError:
        self.check_database(identifier.database)
        return self._not_found(identifier)

    def definitions(self, identifier: Identifier, path: str | None = None) -> SchemaFiles:
        return self.files

    def _has(self, identifier: Identifier) -> bool:
        return self.files.exists(identifier, self.folders.table(identifier))

    def _check_name(self, identifier: Identifier) -> None:
        """Check that the database of a new table exists, and that no view has the table's name."""
        check_database = partial(self.check_database, identifier.database)
        both(self.files.io, check_database, partial(self._check_no_view, identifier))

    def _check_no_view(self, identifier: Identifier) -> None:
        if self.views().exists(identifier):
            raise TableExistsError(f"Table {identifier} cannot be created: a view has that name.")

    def _not_found(self, identifier: Identifier) -> TableNotFoundError:
        return TableNotFoundError(f"There is no table {identifier.base} in the warehouse {self.folders.warehouse}.")


def _may_be_table(io: FileIO, path: str) -> bool:
    """Return whether a folder has schemas, or cannot be read: a folder that may be a table is listed, too."""
    try:
        return bool(schema_ids(io, path))
    except StorageError:
        return True
