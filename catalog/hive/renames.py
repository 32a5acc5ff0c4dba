"""Renaming a table: the metastore says first that it has the new name and place, then its folder is moved there.

    1  one call gives the entry its new name and location, and says in `MOVED_FROM` where the folder still is
    2  the folder is moved
    3  another call removes `MOVED_FROM`

Whoever finds an entry with `MOVED_FROM` takes its locks and goes on. The metastore moves no folder itself, as the
location changes in the same call.
"""

from __future__ import annotations

from paimon_core.errors import TableExistsError
from paimon_core.io.file_io import FileIO
from paimon_core.store.schemas import schema_ids
from paimon_sql.catalog.hive.entries import MOVED_FROM, Entry, read_entry, renamed
from paimon_sql.catalog.hive.metastore import Metastore
from paimon_sql.catalog.moves import ends_forward


def finish_move(io: FileIO, metastore: Metastore, entry: Entry) -> None:
    """Move the folder of an entry whose name has changed, as far as it is not moved yet. Under the locks of its tables.

    Raises `StorageError`; then the entry still says what is to be done.
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
    """The table whose folder is still to be moved away from a path. Looks at all databases: for folders that nothing
    else explains."""
    for database in metastore.databases():
        names = metastore.tables(database)
        for table in metastore.each_table(database, names):
            if (table.parameters or {}).get(MOVED_FROM) == path:
                return read_entry(table)
    return None
