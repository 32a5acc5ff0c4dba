"""A catalog with its names in a Hive metastore: its databases, and the parts for tables and views.

Names have no case, as in Hive. Source: `HiveCatalog` of Paimon.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from paimon_core.dataclass import dataclass
from paimon_core.errors import DatabaseExistsError
from paimon_core.io.file_io import FileIO
from paimon_core.io.load import normalize
from paimon_core.lazy import cached_property
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.store.allowed import Allowed
from paimon_sql.catalog.base import SYSTEM_DATABASE, check_dropped_database, check_new_database
from paimon_sql.catalog.definitions import KeepsViews
from paimon_sql.catalog.folders import DATABASE_SUFFIX, needs_locks
from paimon_sql.catalog.hive import databases
from paimon_sql.catalog.hive.entries import folded, new_name
from paimon_sql.catalog.hive.iceberg import OwnMetastore
from paimon_sql.catalog.hive.locks import HiveLocks
from paimon_sql.catalog.hive.metastore import Metastore
from paimon_sql.catalog.hive.partitions import PartitionSync
from paimon_sql.catalog.hive.registry import EntryRegistry
from paimon_sql.catalog.hive.settings import HiveSettings, read_settings
from paimon_sql.catalog.hive.views import HiveViews
from paimon_sql.catalog.hive.warehouse import Warehouse
from paimon_sql.catalog.named_tables import RegisteredTables
from paimon_sql.catalog.outcomes import settle
from paimon_sql.catalog.schema_files import OpenIceberg, SchemaFiles


@dataclass(frozen=True)
class HiveCatalog(RegisteredTables, KeepsViews):
    """A catalog with databases, tables and views in a Hive metastore."""

    io: FileIO
    warehouse: str
    settings: HiveSettings

    def close(self) -> None:
        """Close the connections to the metastore."""
        self._metastore.close()

    def check_location(self, location: str) -> None:
        """Raise an error for a location that no table can have; see `SupportsLocations`."""
        self._warehouse.storage(normalize(location))

    # -- databases ----------------------------------------------------------------------------------------------------
    def list_databases(self) -> list[str]:
        return sorted(name for name in self._metastore.databases() if name != SYSTEM_DATABASE)

    def database_exists(self, name: str) -> bool:
        return self._metastore.database(folded("database", name)) is not None

    def database_properties(self, name: str) -> dict[str, str]:
        return databases.database_properties(self._warehouse.database(name))

    def create_database(
        self, name: str, properties: Mapping[str, str] | None = None, ignore_if_exists: bool = False
    ) -> None:
        name = new_name("database", name)
        check_new_database(name)
        default = f"{self.warehouse}/{name}{DATABASE_SUFFIX}"
        made, location = databases.new_database(name, properties or {}, default, self.settings)

        def is_made() -> bool:
            found = self._metastore.database(name)
            return found is not None and databases.location_of_database(found) == location

        try:
            self._metastore.name(
                partial(self._metastore.change, "create_database", made),
                is_done=is_made,
                is_taken=lambda: self.database_exists(name),
                taken=lambda: DatabaseExistsError(f"Database {name} already exists."),
            )
        except DatabaseExistsError:
            if not ignore_if_exists:
                raise
            return
        if self.settings.location_in_properties:
            self._warehouse.storage(location).make_dirs(location)

    def alter_database(self, name: str, properties: Mapping[str, str], removed: Sequence[str] = ()) -> None:
        """Set and remove properties of a database."""
        changed = databases.altered_database(self._warehouse.database(name), properties, removed)
        self._metastore.change("alter_database", changed.name, changed)

    def drop_database(self, name: str, cascade: bool = False) -> None:
        name = folded("database", name)
        check_dropped_database(name)
        location = self._warehouse.location(name)
        if cascade:
            for table in self.list_tables(name):
                self.drop_table(Identifier(name, table), ignore_if_not_exists=True)
            for view in self.list_views(name):
                self.drop_view(Identifier(name, view), ignore_if_not_exists=True)
        if left := sorted(self._metastore.tables(name)):
            raise databases.not_dropped(name, self.list_tables(name), self.list_views(name), left)
        drop = partial(self._metastore.change, "drop_database", name, False, False)
        settle(drop, lambda: self._metastore.database(name) is None)
        with suppress(OSError):  # the database is dropped
            self._warehouse.storage(location).delete_empty_dir_below(location.rpartition("/")[0], location)

    def list_tables(self, database: str) -> list[str]:
        return self._registry.names(folded("database", database))

    # -- tables and views ---------------------------------------------------------------------------------------------
    @cached_property
    def _registry(self) -> EntryRegistry:
        partitions = PartitionSync(self._metastore)
        own = partial(OwnMetastore, self._metastore, self._locks)

        def open_files(io: FileIO, accept: Callable[[Identifier, TableSchema], None]) -> SchemaFiles:
            how = {"publishing": self._locks.publisher, "own_paths": True, "watcher": partitions}
            return self._schema_files(io, own, accept=accept, **how)

        return EntryRegistry(self._warehouse, self._metastore, open_files, partitions)

    @cached_property
    def _views(self) -> HiveViews:
        return HiveViews(self._metastore, self._warehouse)

    @cached_property
    def _warehouse(self) -> Warehouse:
        return Warehouse(self.io, self.warehouse, self.options, self._metastore, self._locks)

    @cached_property
    def _metastore(self) -> Metastore:
        return Metastore(self.settings)

    @cached_property
    def _locks(self) -> HiveLocks:
        return HiveLocks(self._metastore)


def open_catalog(
    io: FileIO, warehouse: str, options: Mapping[str, str], open_iceberg: OpenIceberg | None = None
) -> HiveCatalog:
    """Return the catalog for options from `hive_options`, without a call to the metastore.

    Raises `InvalidOptionError`.
    """
    settings = read_settings(options, locks=needs_locks(io, warehouse))
    return HiveCatalog(
        io, warehouse, settings, options=dict(options), allowed=Allowed.of(options), open_iceberg=open_iceberg
    )
