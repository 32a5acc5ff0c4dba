"""Tables by the entries of a Hive metastore: a table exists when it has an entry; the schema files at the entry's
location define it.

Every change of a name holds the lock of the table, if the metastore has locks. If several processes create or rename to
one name, the metastore accepts only one of them. After a crash, the next process mends what it finds:

- CREATE: the schema is written, then the entry is created. A schema without an entry does not stop a later CREATE. A
  folder that has snapshots but no entry is refused: `register` takes it.
- ALTER: the schema is written, then the entry is brought in line with it. The schema counts.
- DROP: files first, versions before schemas, the entry last. An entry without a schema is dropped again. Files of an
  external table stay.
- RENAME: see `syncing`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import (
    InvalidOptionError,
    PaimonError,
    StorageError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from paimon_core.format_table.kind import is_format_table
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.paths import TablePaths
from paimon_core.spec.schema import TableSchema
from paimon_core.store.schemas import latest_schema, schema_ids
from paimon_core.table import Table
from paimon_sql.catalog.base import StagedTable
from paimon_sql.catalog.folders import unnamed_tables
from paimon_sql.catalog.hive import entries
from paimon_sql.catalog.hive.entries import Entry, Place, folded, named, new_name
from paimon_sql.catalog.hive.failures import MetastoreError
from paimon_sql.catalog.hive.format_tables import format_entry, format_of, format_schema, is_readable
from paimon_sql.catalog.hive.iceberg import TABLE_TYPE_ICEBERG
from paimon_sql.catalog.hive.metastore import Metastore
from paimon_sql.catalog.hive.partitions import PartitionSync
from paimon_sql.catalog.hive.settings import HiveSettings
from paimon_sql.catalog.hive.syncing import finish_move, properties_ever, sync_entry, table_moved_from
from paimon_sql.catalog.hive.view_entries import is_view
from paimon_sql.catalog.hive.warehouse import Warehouse
from paimon_sql.catalog.named_tables import KeptRegistry
from paimon_sql.catalog.outcomes import settle
from paimon_sql.catalog.schema_files import SchemaFiles, follow_name, publish_schema


@dataclass(frozen=True)
class EntryRegistry(KeptRegistry):
    """The tables of a metastore; see `Registry`.

    `open_files` opens the tables of a storage; `partitions` copies partitions to the metastore.
    """

    warehouse: Warehouse
    metastore: Metastore
    open_files: Callable[..., SchemaFiles]
    partitions: PartitionSync

    @property
    def settings(self) -> HiveSettings:
        return self.metastore.settings

    def names(self, database: str) -> list[str]:
        """The names of all tables of a database, sorted. Raises `DatabaseNotFoundError`."""
        found = self.metastore.tables_with(database, entries.TABLE_TYPE, entries.TABLE_TYPE_VALUE)
        ours = set(found or ())
        if found is None or self.settings.format_tables:
            others = sorted(set(self.metastore.tables(database)) - ours)
        else:  # tables that also have an entry for Iceberg's readers
            others = self.metastore.tables_with(database, entries.TABLE_TYPE, TABLE_TYPE_ICEBERG) or []
        if others:
            each = self.metastore.each_table(database, others)
            ours |= {t.tableName for t in each if entries.is_paimon(t) or self._is_format_table(t)}
        if not ours:
            self.warehouse.database(database)
        return sorted(ours)

    def exists(self, identifier: Identifier) -> bool:
        name = named(identifier)
        found = self._found(name)
        if found is None or not entries.is_paimon(found):
            return found is not None and identifier.branch is None and self._is_format_table(found)
        entry = entries.read_entry(found)
        return identifier.branch is None or self._files(entry.location).exists(name, entry.location)

    def load(self, identifier: Identifier) -> Table:
        identifier = named(identifier)
        found = self._found(identifier)
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

    # -- new tables ---------------------------------------------------------------------------------------------------
    def new(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        identifier = self._new_name(identifier)
        place = entries.place_of(schema, self.warehouse.location_of(identifier), self.settings)
        table = self._files(place.location).prepare(identifier, place.location, schema)
        return StagedTable(table, partial(self._create, table, place))

    def check_free(self, identifier: Identifier) -> None:
        if (found := self._found(identifier)) is not None:
            raise self._exists(identifier, found)

    def _create(self, table: Table, place: Place) -> None:
        """Create a prepared table: first its schema, then its entry.

        The folder of an external table may already have a schema.
        """
        identifier, path = table.identifier, place.location
        if is_format_table(table.schema.options):
            self._insert(identifier, table.schema, place)
            return
        with self.warehouse.locked(identifier):
            self.check_free(identifier)
            there = latest_schema(self.warehouse.storage(path), path)
            if there is not None and place.is_own:
                _check_same(identifier, path, there, table.schema)
                self._insert(identifier, there, place)
                return
            if there is not None:
                self._check_not_moving(identifier, path)
                self._files(path).clear_remains(identifier, path)
            elif self._files(path).has_schemas(identifier, path):  # another catalog has created it meanwhile
                raise self._exists(identifier, None)
            self.warehouse.check_lock(identifier)
            if not publish_schema(table):
                raise self._exists(identifier, None)
            try:
                self._insert(identifier, table.schema, place)
            except MetastoreError:
                table.store.io.delete(TablePaths(path).schema(table.schema.id))
                raise

    def _insert(self, identifier: Identifier, schema: TableSchema, place: Place) -> None:
        """Create the entry of a table. Its schema is written already."""
        make = format_entry if is_format_table(schema.options) else entries.new_entry
        entry = make(identifier, schema, place, self.settings, zones=self.metastore.has_zones_for(schema.fields))

        def is_there() -> bool:
            found = self._found(identifier)
            if found is None or found.sd is None or is_view(found):
                return False
            return entries.read_entry(found).location == place.location

        self.metastore.name(
            partial(self.metastore.change, "create_table", entry),
            is_done=is_there,
            is_taken=lambda: self._found(identifier) is not None,
            taken=lambda: self._exists(identifier, self._found(identifier)),
        )

    # -- tables that exist --------------------------------------------------------------------------------------------
    def remove(self, identifier: Identifier) -> bool:
        name = named(identifier)
        found = self._found(name)
        if found is None or is_view(found):
            return False
        if self._is_format_table(found):
            self._drop_entry(name, not entries.is_external(found))
            return True
        self._paimon_entry(name, found)
        with self.warehouse.locked(name):
            entry = self._moved(self._entry(name))
            if not entry.is_external:
                self._delete_files(entry)
            self.warehouse.check_lock(name)
            delete_folder = self.settings.location_in_properties and not entry.is_external  # of the metastore's own
            self._drop_entry(name, delete_folder)
        return True

    def _drop_entry(self, name: Identifier, delete_folder: bool) -> None:
        drop = partial(self.metastore.change, "drop_table", name.database, name.table, delete_folder)
        settle(drop, lambda: self._found(name) is None)

    def _delete_files(self, entry: Entry) -> None:
        """Delete the files of a table.

        Raises `StorageError` if its folder contains other folders than the table's own.
        """
        io, path = self.warehouse.storage(entry.location), entry.location
        around = [self.warehouse.folder, self.warehouse.location(entry.identifier.database)]
        if any(f"{folder}/".startswith(f"{path}/") for folder in around) or path.count("/") < 2:
            raise StorageError(
                f"Table {entry.identifier} is not dropped: by the metastore, its folder is {path}, and this folder "
                "also contains folders of databases or other tables. Correct the table's location in the metastore."
            )
        if schema_ids(io, path):
            self._files(path).drop(path)
        else:
            with suppress(OSError):  # the folder has no table
                io.delete_empty_dir_below(path.rpartition("/")[0], path)

    def rename(self, source: Identifier, target: Identifier) -> None:
        source, target = named(source), self._new_name(target)
        with self.warehouse.locked(source, target):
            entry = self._moved(self._entry(source))
            new = entry.location if entry.is_external else self.warehouse.location_of(target)
            taken, io = self._found(target), self.warehouse.storage(new)
            if taken is not None or (new != entry.location and io.exists(new)):
                raise self._exists(target, taken)
            if new != entry.location:
                self._files(entry.location).check_renamed(entry.location)
            self._rename_entry(entry, target, new)
            if new != entry.location:
                moving = replace(self._entry(target), moved_from=entry.location)
                try:
                    self._finish_move(moving)
                except PaimonError:
                    if not schema_ids(io, new):
                        self._rename_entry(moving, source, entry.location)
                    raise
        follow_name(partial(self._files(new).load, target, new), entry.location)

    def _rename_entry(self, entry: Entry, target: Identifier, location: str) -> None:
        """Give an entry another name and location. The same call records that its folder must still move."""
        source = entry.identifier
        moved_from = entry.location if location != entry.location and entry.moved_from != location else None
        table = entries.renamed(entry, target, location, moved_from, self.settings)
        self.metastore.name(
            partial(self.metastore.alter_table, source.database, source.table, table),
            is_done=lambda: self._found(source) is None,
            is_taken=lambda: self._found(target) is not None,
            taken=lambda: self._exists(target, None),
        )

    def change(self, identifier: Identifier, act: Callable[[], None]) -> None:
        identifier = named(identifier)
        with self.warehouse.locked(identifier):
            entry = self._settled(identifier)
            io = self.warehouse.storage(entry.location)
            before = latest_schema(io, entry.location)
            act()
            schema = latest_schema(io, entry.location)
            if schema is not None:
                known = frozenset() if before is None else frozenset(entries.properties_of(before, self.settings))
                now = self._entry(identifier)  # another writer may have changed its Iceberg metadata since
                sync_entry(self.metastore, now, schema, known)

    def definitions(self, identifier: Identifier, path: str | None = None) -> SchemaFiles:
        return self._files(self.loaded_to_alter(identifier).store.root if path is None else path)

    def loaded_to_alter(self, identifier: Identifier) -> Table:
        table = self.load(identifier)
        if is_format_table(table.schema.options):
            raise UnsupportedFeatureError(
                f"Table {identifier} is a format table, which only Hive defines: alter it with ALTER TABLE in Hive."
            )
        return table

    def check_replaced(self, old: Table, schema: TableSchema) -> None:
        if is_format_table(old.schema.options) or is_format_table(schema.options):
            raise UnsupportedFeatureError(
                f"Table {old.identifier} cannot be replaced: a format table has no versions. Drop it and create "
                "it again."
            )

    # -- folders that lost their entries ------------------------------------------------------------------------------
    def register(self, identifier: Identifier) -> None:
        name = named(identifier)
        with self.warehouse.locked(name):
            found = self._found(name)
            entry = None if found is None else self._moved(self._paimon_entry(name, found))
            location = self.warehouse.location_of(name) if entry is None else entry.location
            files = self._files(location)
            schema = files.registered_schema(location)
            entries.check_kept(name, schema, self.settings)
            if entry is not None:
                sync_entry(self.metastore, entry, schema, properties_ever(files.io, location, self.settings))
            else:
                self._check_not_moving(name, location)
                self._insert(name, schema, entries.place_of(schema, location, self.settings))
            self._follow(self._entry(name))

    def unregistered(self, database: str) -> list[str]:
        location, known = self.warehouse.location(database), set(self.metastore.tables(folded("database", database)))
        return unnamed_tables(self.warehouse.storage(location), location, lambda name: name.lower() in known)

    # -- entries ------------------------------------------------------------------------------------------------------
    def _found(self, name: Identifier) -> Any | None:
        return self.metastore.table(name.database, name.table)

    def _entry(self, identifier: Identifier, found: Any = None) -> Entry:
        """Return the entry of a table, read from `found` if given.

        Raises `TableNotFoundError`, `DatabaseNotFoundError`.
        """
        found = found or self._found(identifier)
        if found is None:
            self.warehouse.database(identifier.database)
            raise self._not_found(identifier)
        return self._paimon_entry(identifier, found)

    def _paimon_entry(self, identifier: Identifier, found: object) -> Entry:
        if not entries.is_paimon(found):
            raise TableNotFoundError(
                f"There is no Paimon table {identifier.base} in the metastore {self.settings.address}: "
                f"{entries.kind_of(found)} has that name."
            )
        return replace(entries.read_entry(found), identifier=identifier.base)

    def _settled(self, identifier: Identifier, found: Any = None) -> Entry:
        """Return the entry of a table with its folder at its location: complete a rename that another process began."""
        entry = self._entry(identifier, found)
        if entry.moved_from is None:
            return entry
        with self.warehouse.locked(identifier):
            return self._moved(self._entry(identifier))

    def _moved(self, entry: Entry) -> Entry:
        """Complete a rename as `_settled` does, under the lock of the table."""
        if entry.moved_from is None:
            return entry
        self._finish_move(entry)
        return self._entry(entry.identifier)

    def _finish_move(self, entry: Entry) -> None:
        finish_move(self.warehouse.storage(entry.location), self.metastore, entry)
        if entry.table.partitionKeys:
            self._follow(entry)

    def _follow(self, entry: Entry) -> None:
        """Update the partitions of a table in the metastore.

        If this fails, log it: the statement on the table itself succeeded.
        """
        table = self._files(entry.location).load(entry.identifier, entry.location)
        if table is not None:
            table.store.notify(lambda _: self.partitions.bring_in_line(table.store))

    def _check_not_moving(self, identifier: Identifier, path: str) -> None:
        """Complete the rename of a table that still has its folder at `path`, and raise `TableExistsError`."""
        moving = table_moved_from(self.metastore, path)
        if moving is not None:
            self._settled(moving.identifier)
            raise TableExistsError(
                f"{path} was the folder of table {moving.identifier}: its rename from {identifier} was "
                "interrupted and has now been completed. Run the statement again."
            )

    # -- format tables, which have nothing but an entry ---------------------------------------------------------------
    def _is_format_table(self, found: Any) -> bool:
        return self.settings.format_tables and not entries.is_paimon(found) and is_readable(found)

    def _format_table(self, identifier: Identifier, found: Any) -> Table:
        schema, location = format_schema(found, format_of(found) or "")
        return self._files(location).at(identifier.base, location, schema)

    # -- checks -------------------------------------------------------------------------------------------------------
    def _files(self, path: str) -> SchemaFiles:
        return self.open_files(self.warehouse.storage(path), self._check_kept)

    def _check_kept(self, identifier: Identifier, schema: TableSchema) -> None:
        """Raise an error for a definition that the metastore cannot store, or that changes the partition columns of its
        entry.
        """
        if is_format_table(schema.options) and not self.settings.format_tables:
            raise UnsupportedFeatureError(
                f"Table {identifier}: the catalog's option 'format-table.enabled' is false. Set it to true to have "
                "format tables."
            )
        entries.check_kept(identifier, schema, self.settings)
        if identifier.branch is not None:
            return
        found = self._found(identifier)
        if found is not None and entries.is_paimon(found):
            entries.check_partitions_kept(identifier, schema, found)

    def _new_name(self, identifier: Identifier) -> Identifier:
        """Return the name of a table to create. Raises `InvalidNameError`, `DatabaseNotFoundError`."""
        self.warehouse.database(identifier.database)
        return replace(named(identifier), table=new_name("table", identifier.table))

    def missing(self, identifier: Identifier) -> PaimonError:
        self._entry(named(identifier))  # raises for a view, which `remove` leaves
        return self._not_found(identifier)

    def _not_found(self, identifier: Identifier) -> TableNotFoundError:
        return TableNotFoundError(f"There is no table {identifier.base} in the metastore {self.settings.address}.")

    def _exists(self, identifier: Identifier, found: object | None) -> TableExistsError:
        if found is not None and not entries.is_paimon(found):
            return TableExistsError(
                f"Table {identifier} already exists in the metastore: it is {entries.kind_of(found)}."
            )
        return TableExistsError(f"Table {identifier} already exists, or the folder of another table has that name.")


def _check_same(identifier: Identifier, path: str, there: TableSchema, wanted: TableSchema) -> None:
    """Raise `InvalidOptionError` if the folder already has a table with another definition."""
    if [(f.name, f.type) for f in there.fields] != [(f.name, f.type) for f in wanted.fields] or (
        there.partition_keys != wanted.partition_keys or there.primary_keys != wanted.primary_keys
    ):
        raise InvalidOptionError(
            f"Table {identifier} cannot be created at {path}: the folder has a table with other columns or keys. "
            "Choose another location."
        )
