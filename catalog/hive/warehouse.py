"""The databases of a metastore and the storages of their tables, for all parts of a Hive catalog."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import field
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import DatabaseNotFoundError
from paimon_core.io.file_io import FileIO
from paimon_core.io.load import load_file_io
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.hive.databases import location_of_database
from paimon_sql.catalog.hive.entries import folded, storage_of
from paimon_sql.catalog.hive.locks import HiveLocks
from paimon_sql.catalog.hive.metastore import Metastore


@dataclass(frozen=True)
class Warehouse:
    """The folder of new databases, with the metastore and its locks of names.

    `options` are used to open other storages.
    """

    io: FileIO
    folder: str
    options: Mapping[str, str] = field(repr=False)
    metastore: Metastore
    locks: HiveLocks

    def database(self, name: str) -> Any:
        """Return the metastore's entry of a database. Raises `DatabaseNotFoundError`."""
        found = self.metastore.database(folded("database", name))
        if found is None:
            raise DatabaseNotFoundError(
                f"There is no database {name} in the metastore {self.metastore.settings.address}."
            )
        return found

    def location(self, database: str) -> str:
        """Return the folder of a database's tables. Raises `DatabaseNotFoundError`."""
        return location_of_database(self.database(database))

    def location_of(self, table: Identifier) -> str:
        """Return the folder of a new table without a location of its own. Raises `DatabaseNotFoundError`."""
        return f"{self.location(table.database)}/{table.table}"

    def storage(self, path: str) -> FileIO:
        """Return the storage of a path, which may differ from the warehouse's storage."""
        return self.io if storage_of(path) == storage_of(self.folder) else load_file_io(path, self.options)

    def locked(self, *tables: Identifier) -> AbstractContextManager[None]:
        """Hold the locks of tables. If the metastore has no locks, queue with the other writers of this machine."""

        def queue(database: str) -> AbstractContextManager[object]:
            folder = self.location(database)
            return self.storage(folder).writer_slot(folder)

        return self.locks.held_or_queued(tables, queue)

    def check_lock(self, table: Identifier) -> None:
        """Raise `StorageRefusedError` if the lock was lost."""
        lock = self.locks.lock(table)
        if lock.is_held:
            lock.check()
