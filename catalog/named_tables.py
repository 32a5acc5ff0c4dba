"""Tables by name, for all catalogs: the statements that do not depend on where a catalog stores its names.

`NamedTables` has the statements. A `Registry` has the names: in folders, in rows of a database, in entries of a
metastore, or at a server. Definitions of tables are schema files (`SchemaFiles`), or belong to a server.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

from paimon_core.dataclass import dataclass
from paimon_core.errors import PaimonError, TableExistsError
from paimon_core.io.file_io import FileIO
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import BLOB_VIEW_FIELD
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.store.allowed import Allowed
from paimon_core.store.cache import MetadataCache
from paimon_core.table import Table
from paimon_sql.catalog.base import Catalog, StagedTable
from paimon_sql.catalog.schema_files import OpenIceberg, SchemaFiles, check_is_table, table_defaults

if TYPE_CHECKING:
    from paimon_core.store.ddl.schema_changes import SchemaChange
    from paimon_sql.catalog.other_tables import Reopen, TablesOfCatalog
else:
    TablesOfCatalog = ImportedOnCall("paimon_sql.catalog.other_tables", "TablesOfCatalog")


class TableChanges(Protocol):
    """An object that changes the definitions of tables; see `SchemaFiles`."""

    def stage_replace(self, old: Table, schema: TableSchema) -> StagedTable: ...

    def alter(self, load: Callable[[], Table], changes: Sequence[SchemaChange]) -> None: ...

    def stage_alter(self, table: Table, changes: Sequence[SchemaChange]) -> StagedTable: ...


class Registry(ABC):
    """The tables of a catalog by name.

    A method that changes a name holds the lock of the name, or the name's turn in the queue of this machine. Methods
    raise the errors of the methods of `Catalog`.
    """

    @abstractmethod
    def exists(self, identifier: Identifier) -> bool:
        """Return whether the table exists. If the identifier names a branch, return whether the branch exists."""

    @abstractmethod
    def load(self, identifier: Identifier) -> Table:
        """Return the table with this name."""

    @abstractmethod
    def new(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        """Return a staged table that `publish` inserts under its name. The name is checked only by `publish`."""

    @abstractmethod
    def check_free(self, identifier: Identifier) -> None:
        """Raise `TableExistsError` if a table or a view already has the name of a new table."""

    @abstractmethod
    def rename(self, source: Identifier, target: Identifier) -> None:
        """Give a table another name, and move its folder."""

    @abstractmethod
    def remove(self, identifier: Identifier) -> bool:
        """Delete a table and its files. Return False if no table has the name."""

    @abstractmethod
    def missing(self, identifier: Identifier) -> PaimonError:
        """Return the error for a name that no table has. Raises `DatabaseNotFoundError`."""

    @abstractmethod
    def definitions(self, identifier: Identifier, path: str | None = None) -> TableChanges:
        """Return the object that changes the definition of a table. `path` is the table's folder, if known."""

    def loaded_to_alter(self, identifier: Identifier) -> Table:
        """Return the table or branch to alter.

        Raises `UnsupportedFeatureError` for a table that cannot be altered here.
        """
        return self.load(identifier)

    def check_replaced(self, old: Table, schema: TableSchema) -> None:  # noqa: B027  most catalogs can replace any table
        """Raise `UnsupportedFeatureError` if a table cannot be replaced by a table of another schema."""

    def change(self, identifier: Identifier, act: Callable[[], None]) -> None:
        """Change the definition of a table under its lock, and the catalog's copy of the definition."""
        act()

    def stage(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        """Return a staged table that is created with its first rows."""
        staged = self.new(identifier, schema)
        self.check_free(staged.table.identifier)
        return staged


class NamedTables(ABC):
    """The methods of `Catalog` that find, create, change, rename and drop tables. `Catalog` lists their errors."""

    @property
    @abstractmethod
    def _registry(self) -> Registry: ...

    def identifier(self, name: str) -> Identifier:
        return Identifier.parse(name)

    def table_exists(self, identifier: Identifier) -> bool:
        return self._registry.exists(identifier)

    def load_table(self, identifier: Identifier) -> Table:
        return self._registry.load(identifier)

    def create_table(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool = False) -> None:
        check_is_table(identifier)
        try:
            self._registry.new(identifier, schema).publish()
        except TableExistsError:
            if not ignore_if_exists or not self.table_exists(identifier):
                raise

    def stage_create(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        check_is_table(identifier)
        return self._registry.stage(identifier, schema)

    def stage_replace(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        check_is_table(identifier)
        old = self.load_table(identifier)
        self._registry.check_replaced(old, schema)
        staged = self._registry.definitions(identifier, old.store.root).stage_replace(old, schema)
        return staged.seen_by(partial(self._registry.change, identifier))

    def alter_table(self, identifier: Identifier, changes: Sequence[SchemaChange]) -> None:
        _check_altered(identifier)
        load = partial(self._registry.loaded_to_alter, identifier)
        self._registry.change(identifier, partial(self._registry.definitions(identifier).alter, load, changes))

    def stage_alter(self, identifier: Identifier, changes: Sequence[SchemaChange]) -> StagedTable:
        _check_altered(identifier)
        table = self._registry.loaded_to_alter(identifier)
        staged = self._registry.definitions(identifier, table.store.root).stage_alter(table, changes)
        return staged.seen_by(partial(self._registry.change, identifier))

    def drop_table(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        check_is_table(identifier)
        if not self._registry.remove(identifier) and not ignore_if_not_exists:
            raise self._registry.missing(identifier)

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        check_is_table(source)
        check_is_table(target)
        self._registry.rename(source, target)


def _check_altered(identifier: Identifier) -> None:
    """Raise `InvalidNameError` for a system table. A branch can be altered."""
    if identifier.system_table is not None:
        check_is_table(identifier)


@dataclass(frozen=True, kw_only=True)
class CatalogTables(NamedTables):
    """A catalog with options that apply to all its tables."""

    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    cache: MetadataCache = field(default_factory=MetadataCache, repr=False, compare=False)
    allowed: Allowed = field(default_factory=Allowed)
    open_iceberg: OpenIceberg | None = field(default=None, repr=False, compare=False)
    reopen: Reopen | None = field(default=None, repr=False, compare=False)

    def load_table(self, identifier: Identifier) -> Table:
        table = super().load_table(identifier)
        if self.reopen is None or not table.schema.options.get(BLOB_VIEW_FIELD.key):
            return table
        others = TablesOfCatalog(cast(Catalog, self), self.options, self.reopen)
        return replace(table, store=replace(table.store, others=others))

    def _schema_files(self, io: FileIO, *own: Callable[[], object], **how: Any) -> SchemaFiles:
        """Return the tables of a storage.

        `own` opens the metastore in which the catalog stores its names, if readers of Iceberg may find tables there.
        `how` are more fields of `SchemaFiles`."""
        iceberg = self.open_iceberg and self.open_iceberg(self.options, *own)
        common = (io, self.cache, self.allowed, table_defaults(self.options))
        return SchemaFiles(*common, iceberg_catalogs=iceberg, **how)


class KeptRegistry(Registry):
    """Names that are stored apart from the folders, so that a folder may lose its name."""

    @abstractmethod
    def register(self, identifier: Identifier) -> None:
        """Update the stored entry of a table from its folder.

        Raises `TableNotFoundError` if the folder has no table.
        """

    @abstractmethod
    def unregistered(self, database: str) -> list[str]:
        """Return the tables in the folder of a database that have no stored name, sorted."""


class RegisteredTables(CatalogTables):
    """A catalog with names that are stored apart from the folders; see `SupportsRegistration`."""

    @property
    @abstractmethod
    def _registry(self) -> KeptRegistry: ...

    def register_table(self, identifier: Identifier) -> None:
        check_is_table(identifier)
        self._registry.register(identifier)

    def unregistered_tables(self, database: str) -> list[str]:
        return self._registry.unregistered(database)
