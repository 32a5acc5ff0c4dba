"""A catalog that keeps names in a Hive metastore. A table exists when it has an entry; the schema files at the entry's
location define it.

Names have no case, as in Hive. Every change of a name holds the lock of the table, if the metastore has locks. If
several processes create or rename to one name, the metastore accepts only one of them. After a crash, the next process
mends what it finds:

- CREATE: the schema is written, then the entry is created. A schema without an entry does not stop a later CREATE. A
  folder that has snapshots but no entry is refused: `register_table` takes it.
- ALTER: the schema is written, then the entry is brought in line with it. The schema counts.
- DROP: files first, versions before schemas, the entry last. An entry without a schema is dropped again. Files of an
  external table stay.
- RENAME: see `renames`.

Source: `HiveCatalog` of Paimon.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from paimon_core.commit.publish import CatalogLock, Publisher, publisher_for
from paimon_core.errors import (
    DatabaseExistsError,
    DatabaseNotFoundError,
    InvalidOptionError,
    PaimonError,
    StorageError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from paimon_core.format_table.options import is_format_table
from paimon_core.io.file_io import FileIO
from paimon_core.io.load import load_file_io, normalize
from paimon_core.options import COMMIT_UNSAFE_STORAGE
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.paths import TablePaths
from paimon_core.spec.schema import TableSchema
from paimon_core.store.allowed import Allowed
from paimon_core.store.cache import MetadataCache
from paimon_core.store.schemas import latest_schema, schema_ids
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_sql.catalog.base import SYSTEM_DATABASE, StagedTable, check_dropped_database, check_new_database
from paimon_sql.catalog.definitions import KeepsViews
from paimon_sql.catalog.hive import databases, entries
from paimon_sql.catalog.hive.entries import Entry, Place
from paimon_sql.catalog.hive.failures import MetastoreError
from paimon_sql.catalog.hive.format_tables import format_entry, format_of, format_schema, is_readable
from paimon_sql.catalog.hive.iceberg import TABLE_TYPE_ICEBERG, OwnMetastore
from paimon_sql.catalog.hive.locks import HiveLocks
from paimon_sql.catalog.hive.metastore import Metastore
from paimon_sql.catalog.hive.names import folded, named, new_name
from paimon_sql.catalog.hive.partitions import PartitionSync
from paimon_sql.catalog.hive.renames import finish_move, table_moved_from
from paimon_sql.catalog.hive.settings import HiveSettings, read_settings
from paimon_sql.catalog.hive.syncing import properties_ever, sync_entry
from paimon_sql.catalog.hive.view_entries import is_view
from paimon_sql.catalog.hive.views import HiveViews
from paimon_sql.catalog.named_tables import NamedTables
from paimon_sql.catalog.outcomes import settle
from paimon_sql.catalog.schema_files import (
    OpenIceberg,
    SchemaFiles,
    check_is_table,
    follow_name,
    publish_schema,
    table_defaults,
)

_LOG = logging.getLogger(__name__)
_SUFFIX = ".db"


@dataclass(frozen=True)
class HiveCatalog(NamedTables, KeepsViews):
    """A catalog with databases, tables and views in a Hive metastore."""

    io: FileIO
    warehouse: str
    settings: HiveSettings
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    cache: MetadataCache = field(default_factory=MetadataCache, repr=False, compare=False)
    allowed: Allowed = field(default_factory=Allowed)
    open_iceberg: OpenIceberg | None = field(default=None, repr=False, compare=False)

    def close(self) -> None:
        """Close the connections to the metastore."""
        self._metastore.close()

    def check_location(self, location: str) -> None:
        """See `SupportsLocations`."""
        self._io(normalize(location))

    # -- databases ----------------------------------------------------------------------------------------------------
    def list_databases(self) -> list[str]:
        return sorted(name for name in self._metastore.databases() if name != SYSTEM_DATABASE)

    def database_exists(self, name: str) -> bool:
        return self._metastore.database(folded("database", name)) is not None

    def database_properties(self, name: str) -> dict[str, str]:
        return databases.database_properties(self._database(name))

    def create_database(
        self, name: str, properties: Mapping[str, str] | None = None, ignore_if_exists: bool = False
    ) -> None:
        name = new_name("database", name)
        check_new_database(name)
        default = f"{self.warehouse}/{name}{_SUFFIX}"
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
            self._io(location).make_dirs(location)

    def alter_database(self, name: str, properties: Mapping[str, str], removed: Sequence[str] = ()) -> None:
        """Set and remove properties of a database."""
        changed = databases.altered_database(self._database(name), properties, removed)
        self._metastore.change("alter_database", changed.name, changed)

    def drop_database(self, name: str, cascade: bool = False) -> None:
        name = folded("database", name)
        check_dropped_database(name)
        location = databases.location_of_database(self._database(name))
        if cascade:
            for table in self.list_tables(name):
                self.drop_table(Identifier(name, table), ignore_if_not_exists=True)
            for view in self.list_views(name):
                self.drop_view(Identifier(name, view), ignore_if_not_exists=True)
        if left := sorted(self._metastore.tables(name)):
            raise databases.not_dropped(name, self.list_tables(name), self.list_views(name), left)
        drop = partial(self._metastore.change, "drop_database", name, False, False)
        settle(drop, lambda: self._metastore.database(name) is None)
        self._io(location).delete_empty_dir_below(location.rpartition("/")[0], location)

    def list_tables(self, database: str) -> list[str]:
        database = folded("database", database)
        found = self._metastore.tables_with(database, entries.TABLE_TYPE, entries.TABLE_TYPE_VALUE)
        ours = set(found or ())
        if found is None or self.settings.format_tables:
            others = sorted(set(self._metastore.tables(database)) - ours)
        else:  # those that are named for Iceberg's readers, too
            others = self._metastore.tables_with(database, entries.TABLE_TYPE, TABLE_TYPE_ICEBERG) or []
        if others:
            each = self._metastore.each_table(database, others)
            ours |= {t.tableName for t in each if entries.is_paimon(t) or self._is_format_table(t)}
        if not ours:
            self._database(database)
        return sorted(ours)

    # -- tables -------------------------------------------------------------------------------------------------------
    def table_exists(self, identifier: Identifier) -> bool:
        name = named(identifier)
        found = self._metastore.table(name.database, name.table)
        if found is None or not entries.is_paimon(found):
            return found is not None and identifier.branch is None and self._is_format_table(found)
        entry = entries.read_entry(found)
        return identifier.branch is None or self._files(entry.location).exists(name, entry.location)

    def load_table(self, identifier: Identifier) -> Table:
        identifier = named(identifier)
        found = self._metastore.table(identifier.database, identifier.table)
        if found is not None and identifier.branch is None and self._is_format_table(found):
            return self._format_table(identifier, found)
        entry = self._settled(identifier, found)
        table = self._files(entry.location).load(identifier, entry.location)
        if table is None:
            raise TableNotFoundError(
                f"Table {identifier.base} is known to the metastore, but {entry.location} has no schema file: a DROP "
                "was interrupted, or the folder was removed. Drop the table, or restore its folder."
            )
        return table

    def drop_table(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        check_is_table(identifier)
        name = named(identifier)
        found = self._metastore.table(name.database, name.table)
        if ignore_if_not_exists and (found is None or is_view(found)):
            return
        if found is not None and self._is_format_table(found):
            self._drop_entry(name, not entries.is_external(found))
            return
        self._entry(name, found)
        with self._locked(name):
            entry = self._moved(self._entry(name))
            if not entry.is_external:
                self._delete_files(entry)
            self._check_lock(name)
            delete_folder = self.settings.location_in_properties and not entry.is_external  # of the metastore's own
            self._drop_entry(name, delete_folder)

    def _drop_entry(self, name: Identifier, delete_folder: bool) -> None:
        drop = partial(self._metastore.change, "drop_table", name.database, name.table, delete_folder)
        settle(drop, lambda: not self._has(name))

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        check_is_table(source)
        source, target = named(source), self._new(target)
        with self._locked(source, target):
            entry = self._moved(self._entry(source))
            new = entry.location if entry.is_external else self._default_location(target)
            taken = self._metastore.table(target.database, target.table)
            if taken is not None or (new != entry.location and self._io(new).exists(new)):
                raise self._exists(target, taken)
            self._rename(entry, target, new)
            if new != entry.location:
                moving = replace(self._entry(target), moved_from=entry.location)
                try:
                    self._finish_move(moving)
                except PaimonError:
                    if not schema_ids(self._io(new), new):
                        self._rename(moving, source, entry.location)
                    raise
        follow_name(partial(self._files(new).load, target, new), entry.location)

    # -- folders that lost their entries ------------------------------------------------------------------------------
    def register_table(self, identifier: Identifier) -> None:
        """Bring the entry of a table in line with its folder; create a missing entry."""
        check_is_table(identifier)
        name = named(identifier)
        with self._locked(name):
            found = self._metastore.table(name.database, name.table)
            entry = None if found is None else self._moved(self._paimon_entry(name, found))
            location = self._default_location(name) if entry is None else entry.location
            schema = latest_schema(self._io(location), location)
            if schema is None:
                raise TableNotFoundError(f"There is no table in {location}: it has no schema file.")
            entries.check_kept(name, schema, self.settings)
            if entry is not None:
                sync_entry(self._metastore, entry, schema, properties_ever(self._io(location), location, self.settings))
            else:
                self._check_not_moving(name, location)
                self._insert(name, schema, entries.place_of(schema, location, self.settings))
            self._follow(self._entry(name))

    def unregistered_tables(self, database: str) -> list[str]:
        """The tables that have a folder in the database's folder, but no entry."""
        location = databases.location_of_database(self._database(database))
        io, known = self._io(location), set(self._metastore.tables(folded("database", database)))
        folders = [f for f in io.list(location) if f.is_dir]
        return sorted(f.name for f in folders if f.name.lower() not in known and schema_ids(io, f.path))

    # -- changes ------------------------------------------------------------------------------------------------------
    def _staged(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool = False) -> StagedTable:
        identifier = self._new(identifier)
        place = entries.place_of(schema, self._default_location(identifier), self.settings)
        table = self._files(place.location).prepare(identifier, place.location, schema)
        create = partial(self._create, table, place)
        return StagedTable(table, partial(self._create_unless_there, identifier, create, ignore_if_exists))

    def _check_free(self, table: Table) -> None:
        identifier = table.identifier
        if (found := self._metastore.table(identifier.database, identifier.table)) is not None:
            raise self._exists(identifier, found)

    def _check_replaced(self, old: Table, schema: TableSchema) -> None:
        if is_format_table(old.schema.options) or is_format_table(schema.options):
            raise UnsupportedFeatureError(
                f"Table {old.identifier} cannot be replaced: a format table keeps no versions. Drop it and create it "
                "anew."
            )

    def _files_of(self, identifier: Identifier, path: str | None = None) -> SchemaFiles:
        return self._files(self._altered(identifier).store.root if path is None else path)

    def _create(self, table: Table, place: Place) -> None:
        """Make a prepared table: its schema, then its entry. An external one may be there already."""
        identifier, path = table.identifier, place.location
        if is_format_table(table.schema.options):
            self._insert(identifier, table.schema, place)
            return
        with self._locked(identifier):
            self._check_free(table)
            there = latest_schema(self._io(path), path)
            if there is not None and place.is_own:
                _check_same(identifier, path, there, table.schema)
                self._insert(identifier, there, place)
                return
            if there is not None:
                self._check_not_moving(identifier, path)
                self._files(path).clear_remains(identifier, path)
            self._check_lock(identifier)
            if not publish_schema(table):
                raise self._exists(identifier, None)
            try:
                self._insert(identifier, table.schema, place)
            except MetastoreError:
                self._io(path).delete(TablePaths(path).schema(table.schema.id))
                raise

    def _insert(self, identifier: Identifier, schema: TableSchema, place: Place) -> None:
        """Create the entry of a table. Its schema is written already."""
        make = format_entry if is_format_table(schema.options) else entries.new_entry
        entry = make(identifier, schema, place, self.settings, zones=self._metastore.has_zones_for(schema.fields))

        def is_there() -> bool:
            found = self._metastore.table(identifier.database, identifier.table)
            if found is None or found.sd is None or is_view(found):
                return False
            return entries.read_entry(found).location == place.location

        self._metastore.name(
            partial(self._metastore.change, "create_table", entry),
            is_done=is_there,
            is_taken=partial(self._has, identifier),
            taken=lambda: self._exists(identifier, self._metastore.table(identifier.database, identifier.table)),
        )

    def _rename(self, entry: Entry, target: Identifier, location: str) -> None:
        """Give an entry another name and place; the same call notes that its folder waits for the move."""
        source, settings = entry.identifier, self.settings
        moved_from = entry.location if location != entry.location and entry.moved_from != location else None
        table = entries.renamed(entry, target, location, moved_from, settings)
        self._metastore.name(
            partial(self._metastore.alter_table, source.database, source.table, table),
            is_done=lambda: not self._has(source),
            is_taken=partial(self._has, target),
            taken=lambda: self._exists(target, None),
        )

    def _has(self, identifier: Identifier) -> bool:
        """Whether the metastore has a table, or a view, of that name."""
        return self._metastore.table(identifier.database, identifier.table) is not None

    def _delete_files(self, entry: Entry) -> None:
        """Delete the files of a table. Raises `StorageError` where its folder has others than its own below it."""
        io, path = self._io(entry.location), entry.location
        around = [self.warehouse, databases.location_of_database(self._database(entry.identifier.database))]
        if any(f"{folder}/".startswith(f"{path}/") for folder in around) or path.count("/") < 2:
            raise StorageError(
                f"Table {entry.identifier} is not dropped: the metastore says that its files are in {path}, which is a "
                "folder of others, too. Correct the location of the table there."
            )
        if schema_ids(io, path):
            self._files(path).drop(path)
        else:
            io.delete_empty_dir_below(path.rpartition("/")[0], path)

    def _change(self, identifier: Identifier, change: Callable[[], None]) -> None:
        """Change the definition of a table, and its entry with it."""
        identifier = named(identifier)
        with self._locked(identifier):
            entry = self._settled(identifier)
            before = latest_schema(self._io(entry.location), entry.location)
            change()
            schema = latest_schema(self._io(entry.location), entry.location)
            if schema is not None:
                known = frozenset() if before is None else frozenset(entries.properties_of(before, self.settings))
                now = self._entry(identifier)  # which may name other Iceberg metadata since
                sync_entry(self._metastore, now, schema, known)

    # -- entries ------------------------------------------------------------------------------------------------------
    def _entry(self, identifier: Identifier, found: Any = None) -> Entry:
        """The entry of a table, which may have been `found`. Raises `TableNotFoundError`, `DatabaseNotFoundError`."""
        found = found or self._metastore.table(identifier.database, identifier.table)
        if found is None:
            self._database(identifier.database)
            raise self._not_found(identifier)
        return self._paimon_entry(identifier, found)

    def _paimon_entry(self, identifier: Identifier, found: object) -> Entry:
        if not entries.is_paimon(found):
            raise TableNotFoundError(
                f"There is no table {identifier.base} of Paimon's in the metastore {self.settings.address}: what has "
                f"that name is {entries.kind_of(found)}."
            )
        return replace(entries.read_entry(found), identifier=identifier.base)

    def _settled(self, identifier: Identifier, found: Any = None) -> Entry:
        """The entry of a table, after the end of a rename that another process began: the folder is at its location."""
        entry = self._entry(identifier, found)
        if entry.moved_from is None:
            return entry
        with self._locked(identifier):
            return self._moved(self._entry(identifier))

    def _moved(self, entry: Entry) -> Entry:
        """As `_settled`, under the lock of the table."""
        if entry.moved_from is None:
            return entry
        self._finish_move(entry)
        return self._entry(entry.identifier)

    def _finish_move(self, entry: Entry) -> None:
        finish_move(self._io(entry.location), self._metastore, entry)
        if entry.table.partitionKeys:
            self._follow(entry)

    def _follow(self, entry: Entry) -> None:
        """Bring the partitions of an entry in line with the table, which does not fail because they do."""
        table = self._files(entry.location).load(entry.identifier, entry.location)
        if table is not None:
            table.store.tell(lambda _: self._partitions.bring_in_line(table.store))

    def _check_not_moving(self, identifier: Identifier, path: str) -> None:
        """Raises `TableExistsError` where a folder belongs to a table that is being renamed; that is ended first."""
        moving = table_moved_from(self._metastore, path)
        if moving is not None:
            self._settled(moving.identifier)
            raise TableExistsError(
                f"{path} was the folder of table {moving.identifier}: its renaming from {identifier} was not complete. "
                "It is now: run the statement again."
            )

    # -- format tables, which have nothing but an entry ---------------------------------------------------------------
    def _is_format_table(self, found: Any) -> bool:
        return self.settings.format_tables and not entries.is_paimon(found) and is_readable(found)

    def _format_table(self, identifier: Identifier, found: Any) -> Table:
        schema, location = format_schema(found, format_of(found) or "")
        return self._files(location).at(identifier.base, location, schema)

    # -- locks --------------------------------------------------------------------------------------------------------
    def _locked(self, *tables: Identifier) -> AbstractContextManager[None]:
        """Hold the locks of tables; if the metastore has no locks, queue with the other writers of this machine."""

        def queue(database: str) -> AbstractContextManager[object]:
            folder = databases.location_of_database(self._database(database))
            return self._io(folder).writer_slot(folder)

        return self._locks.held_or_queued(tables, queue)

    def _check_lock(self, table: Identifier) -> None:
        """Raises `StorageRefusedError` if the lock was lost."""
        lock = self._locks.lock(table)
        if lock.is_held:
            lock.check()

    def _publisher(self, store: TableStore) -> Publisher:
        lock: CatalogLock | None = self._locks.lock(store.identifier) if self.settings.lock_enabled else None
        return publisher_for(store.io, lock, store.options[COMMIT_UNSAFE_STORAGE])

    @cached_property
    def _metastore(self) -> Metastore:
        return Metastore(self.settings)

    @cached_property
    def _partitions(self) -> PartitionSync:
        return PartitionSync(self._metastore)

    @cached_property
    def _views(self) -> HiveViews:
        return HiveViews(self._metastore, self._locked, self._check_lock, self._database)

    @cached_property
    def _locks(self) -> HiveLocks:
        return HiveLocks(self._metastore)

    # -- paths and checks ---------------------------------------------------------------------------------------------
    def _io(self, path: str) -> FileIO:
        """Return the storage of a path, which may differ from the warehouse's storage."""
        is_same = entries.storage_of(path) == entries.storage_of(self.warehouse)
        return self.io if is_same else load_file_io(path, self.options)

    def _files(self, path: str) -> SchemaFiles:
        io = self._io(path)
        defaults = table_defaults(self.options)
        common = (io, self.cache, self.allowed, defaults, self._publisher, self._check_kept)
        own = partial(OwnMetastore, self._metastore, self._locks)
        iceberg = self.open_iceberg and self.open_iceberg(self.options, own)
        return SchemaFiles(*common, own_paths=True, watcher=self._partitions, iceberg_catalogs=iceberg)

    def _altered(self, identifier: Identifier) -> Table:
        table = super()._altered(identifier)
        if is_format_table(table.schema.options):
            raise UnsupportedFeatureError(
                f"Table {identifier} is a format table, whose definition is Hive's: alter it by Hive's own ALTER TABLE."
            )
        return table

    def _check_kept(self, identifier: Identifier, schema: TableSchema) -> None:
        """Raises for a definition that the metastore cannot keep, or not for a table that it has already."""
        if is_format_table(schema.options) and not self.settings.format_tables:
            raise UnsupportedFeatureError(f"Table {identifier}: the catalog's 'format-table.enabled' is false.")
        entries.check_kept(identifier, schema, self.settings)
        if identifier.branch is not None:
            return
        found = self._metastore.table(identifier.database, identifier.table)
        if found is not None and entries.is_paimon(found):
            entries.check_partitions_kept(identifier, schema, found)

    def _new(self, identifier: Identifier) -> Identifier:
        """Return the name of a table to create. Raises `InvalidNameError`, `DatabaseNotFoundError`."""
        check_is_table(identifier)
        self._database(identifier.database)
        return replace(named(identifier), table=new_name("table", identifier.table))

    def _database(self, name: str) -> object:
        """Raises `DatabaseNotFoundError`."""
        found = self._metastore.database(folded("database", name))
        if found is None:
            raise DatabaseNotFoundError(f"There is no database {name} in the metastore {self.settings.address}.")
        return found

    def _default_location(self, identifier: Identifier) -> str:
        return f"{databases.location_of_database(self._database(identifier.database))}/{identifier.table}"

    def _not_found(self, identifier: Identifier) -> TableNotFoundError:
        return TableNotFoundError(f"There is no table {identifier.base} in the metastore {self.settings.address}.")

    def _exists(self, identifier: Identifier, found: object | None) -> TableExistsError:
        if found is not None and not entries.is_paimon(found):
            return TableExistsError(
                f"Table {identifier} already exists in the metastore: it is {entries.kind_of(found)}."
            )
        return TableExistsError(f"Table {identifier} already exists, or there is another table's folder of that name.")


def open_catalog(
    io: FileIO, warehouse: str, options: Mapping[str, str], open_iceberg: OpenIceberg | None = None
) -> HiveCatalog:
    """The catalog of some `hive_options`; nothing is asked of the metastore yet. Raises `InvalidOptionError`."""
    is_shared = "://" in warehouse and not warehouse.startswith(("hdfs://", "viewfs://"))
    settings = read_settings(options, locks=is_shared or not io.atomic_create)
    return HiveCatalog(io, warehouse, settings, dict(options), allowed=Allowed.of(options), open_iceberg=open_iceberg)


def _check_same(identifier: Identifier, path: str, there: TableSchema, wanted: TableSchema) -> None:
    """Raises `InvalidOptionError` where a table's files are there under another definition."""
    if [(f.name, f.type) for f in there.fields] != [(f.name, f.type) for f in wanted.fields] or (
        there.partition_keys != wanted.partition_keys or there.primary_keys != wanted.primary_keys
    ):
        raise InvalidOptionError(
            f"Table {identifier} cannot be created at {path}: there is a table with other columns or keys."
        )
