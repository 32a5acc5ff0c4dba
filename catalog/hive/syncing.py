"""Bringing the entry of a table in line with its schema, which counts."""

from __future__ import annotations

import logging
from contextlib import suppress

from paimon_core.errors import PaimonError
from paimon_core.io.file_io import FileIO
from paimon_core.spec.schema import TableSchema
from paimon_core.store.schemas import load_schema, schema_ids
from paimon_sql.catalog.hive import entries
from paimon_sql.catalog.hive.entries import Entry
from paimon_sql.catalog.hive.failures import Answer, MetastoreError
from paimon_sql.catalog.hive.metastore import Metastore
from paimon_sql.catalog.hive.settings import HiveSettings

_LOG = logging.getLogger(__name__)


def sync_entry(metastore: Metastore, entry: Entry, schema: TableSchema, known: frozenset[str]) -> None:
    """Write what a schema says into an entry; `known` are the properties that the table had before."""
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
    """The properties that any version of a table's schema had."""
    found: set[str] = set()
    for number in schema_ids(io, path):
        with suppress(PaimonError, FileNotFoundError):  # skip unreadable versions
            found |= entries.properties_of(load_schema(io, path, number), settings).keys()
    return frozenset(found)
