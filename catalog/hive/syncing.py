"""Update the entry of a table from its schema, and move its folder to the entry's location.

RENAME changes the metastore first, then the folder:

    1  one call gives the entry its new name and location, and notes in `MOVED_FROM` where the folder still is
    2  the folder is moved
    3  another call removes `MOVED_FROM`

A process that finds an entry with `MOVED_FROM` takes its locks and completes the rename. The metastore itself does not
move the folder, as the location changes in the same call.
"""

from __future__ import annotations

import logging
from contextlib import suppress

from paimon_core.errors import PaimonError, TableExistsError
from paimon_core.io.file_io import FileIO
from paimon_core.spec.schema import TableSchema
from paimon_core.store.schemas import load_schema, schema_ids
from paimon_sql.catalog.hive import entries
from paimon_sql.catalog.hive.entries import MOVED_FROM, Entry, read_entry, renamed
from paimon_sql.catalog.hive.failures import Answer, MetastoreError
from paimon_sql.catalog.hive.metastore import Metastore
from paimon_sql.catalog.hive.settings import HiveSettings
from paimon_sql.catalog.moves import ends_forward

_LOG = logging.getLogger(__name__)


def sync_entry(metastore: Metastore, entry: Entry, schema: TableSchema, known: frozenset[str]) -> None:
    """Write a schema into an entry. `known` are the properties that the table had before."""
    settings = metastore.settings
    gone = known - set(entries.properties_of(schema, settings))
    changed = entries.described(entry, schema, gone, settings, zones=metastore.has_zones_for(schema.fields))
    if changed == entry.table:
        return
    name = entry.identifier
    try:
        metastore.alter_table(name.database, name.table, changed)
    except MetastoreError as error:
        if error.answer is not Answer.INVALID:
            raise
        _LOG.warning(
            "Table %s is altered, but the metastore keeps its older columns for Hive and other engines that read "
            "them there: %s If that is 'hive.metastore.disallow.incompatible.col.type.changes', set it to false "
            "in the metastore and run CALL sys.repair('%s').",
            name,
            error,
            name,
        )


def properties_ever(io: FileIO, path: str, settings: HiveSettings) -> frozenset[str]:
    """Return the properties that any version of a table's schema had."""
    found: set[str] = set()
    for number in schema_ids(io, path):
        with suppress(PaimonError, FileNotFoundError):  # skip unreadable versions
            found |= entries.properties_of(load_schema(io, path, number), settings).keys()
    return frozenset(found)


def finish_move(io: FileIO, metastore: Metastore, entry: Entry) -> None:
    """Move the folder of a renamed entry, unless it has moved already. Call this under the locks of both tables.

    Raises `StorageError`; then the entry keeps `MOVED_FROM`, so that another process can complete the move.
    """
    old, new = entry.moved_from, entry.location
    if old is not None and not ends_forward(io, old, new) and schema_ids(io, old):
        try:
            io.rename_dir(old, new)
        except FileExistsError as error:
            raise TableExistsError(
                f"Table {entry.identifier} was renamed, but its folder {new} already exists. Move this folder away, "
                "then use the table again."
            ) from error
    settled = renamed(entry, entry.identifier, new, None, metastore.settings)
    metastore.alter_table(entry.identifier.database, entry.identifier.table, settled)


def table_moved_from(metastore: Metastore, path: str) -> Entry | None:
    """Return the renamed table that still has its folder at a path, or None.

    This searches all databases, so call it only if nothing else explains a folder.
    """
    for database in metastore.databases():
        names = metastore.tables(database)
        for table in metastore.each_table(database, names):
            if (table.parameters or {}).get(MOVED_FROM) == path:
                return read_entry(table)
    return None
