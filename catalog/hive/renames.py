"""Renaming a table: the metastore gets the new name and place first, then the folder moves there.

    1  one call gives the entry its new name and location, and says in `MOVED_FROM` where the folder still is
    2  the folder is moved
    3  another call removes `MOVED_FROM`

A process that finds an entry with `MOVED_FROM` takes its locks and completes the rename. The metastore itself does not
move the folder, as the location changes in the same call.
"""

from __future__ import annotations

from paimon_core.errors import TableExistsError
from paimon_core.io.file_io import FileIO
from paimon_core.store.schemas import schema_ids
from paimon_sql.catalog.hive.entries import MOVED_FROM, Entry, read_entry, renamed
from paimon_sql.catalog.hive.metastore import Metastore
from paimon_sql.catalog.moves import ends_forward


def finish_move(io: FileIO, metastore: Metastore, entry: Entry) -> None:
    """Move the folder of a renamed entry, as far as it has not moved yet. Call it under the locks of both tables.

    Raises `StorageError`; then the entry keeps `MOVED_FROM`, so that another process can complete the move.
    """
    old, new = entry.moved_from, entry.location
    if old is not None and not ends_forward(io, old, new) and schema_ids(io, old):
        try:
            io.rename_dir(old, new)
        except FileExistsError as error:
            raise TableExistsError(f"The folder of table {entry.identifier} already exists.") from error
    settled = renamed(entry, entry.identifier, new, None, metastore.settings)
    metastore.alter_table(entry.identifier.database, entry.identifier.table, settled)


def table_moved_from(metastore: Metastore, path: str) -> Entry | None:
    """Return the table that waits for its folder to move away from a path. Searches all databases, so call it only if
    nothing else explains a folder."""
    for database in metastore.databases():
        names = metastore.tables(database)
        for table in metastore.each_table(database, names):
            if (table.parameters or {}).get(MOVED_FROM) == path:
                return read_entry(table)
    return None
