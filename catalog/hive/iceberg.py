"""Entries of a metastore with the Iceberg metadata of a table, for Iceberg's Hive catalogs, in the form of Paimon's
Java.

If the Iceberg table has the name of the table in the same metastore, both share one entry: Paimon recognises it by its
formats, Iceberg by its parameters. To change an entry: take its lock (Iceberg's writers do, too), check that our
metadata is still the latest, then compare and set if the metastore can. So an entry never returns to older metadata.

Source: `IcebergHiveMetadataCommitter` of Paimon; `HiveTableOperations` of Iceberg.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

from pymetastore.hive_metastore import ttypes

from paimon_core.dataclass import dataclass
from paimon_core.errors import (
    InvalidNameError,
    InvalidOptionError,
    NotAllowedError,
    PaimonError,
    StorageError,
    UnsupportedFeatureError,
)
from paimon_core.iceberg.manifests import uri
from paimon_core.iceberg.metadata import metadata_folder, metadata_folders
from paimon_core.io.load import normalize
from paimon_core.options import (
    HIVE_CATALOG,
    ICEBERG_DATABASE,
    ICEBERG_GLUE_SKIP_ARCHIVE,
    ICEBERG_HIVE_CLIENT,
    ICEBERG_HIVE_CONF_DIR,
    ICEBERG_HIVE_SKIP_STATS,
    ICEBERG_STORAGE,
    ICEBERG_TABLE,
    ICEBERG_URI,
)
from paimon_core.secrets import without_secrets
from paimon_core.spec.identifier import Identifier
from paimon_core.store.allowed import ICEBERG_CATALOGS
from paimon_core.store.schemas import latest_schema
from paimon_core.store.table_store import TableStore
from paimon_sql.catalog.hive.entries import (
    TABLE_TYPE,
    Place,
    column_of,
    empty_entry,
    is_paimon,
    kind_of,
    new_name,
    read_entry,
)
from paimon_sql.catalog.hive.failures import Answer, MetastoreError
from paimon_sql.catalog.hive.hive_site import read_hive_site
from paimon_sql.catalog.hive.locks import HiveLocks
from paimon_sql.catalog.hive.metastore import Metastore, cause_of
from paimon_sql.catalog.hive.settings import Address, HiveSettings, addresses_of, hive_options, read_settings
from paimon_sql.catalog.outcomes import settle

TABLE_TYPE_ICEBERG = "ICEBERG"
METADATA, PREVIOUS = "metadata_location", "previous_metadata_location"
_CLIENT = "org.apache.hadoop.hive.metastore.HiveMetaStoreClient"
_SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
_INPUT, _OUTPUT = "org.apache.hadoop.mapred.FileInputFormat", "org.apache.hadoop.mapred.FileOutputFormat"
_THRIFT = "thrift://"
_ATTEMPTS = 10
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class OwnMetastore:
    """The metastore in which the catalog stores its tables."""

    metastore: Metastore
    locks: HiveLocks


@dataclass(frozen=True)
class IcebergEntries:
    """The entries of a table in a metastore, by their names. `is_own`: the table's catalog uses this metastore, too."""

    metastore: Metastore
    locks: HiveLocks
    names: tuple[Identifier, ...]
    is_own: bool

    def publish(self, store: TableStore, metadata: str, is_latest: Callable[[], bool]) -> None:
        """Update the entries; see `IcebergCatalogs`.

        If the update of one name fails, the other names are still updated.
        """
        failed: list[StorageError] = []
        try:
            for name in self.names:
                try:
                    self._bring_in_line(store, name, metadata, is_latest)
                except PaimonError as error:
                    failed.append(self._behind(store, name, error))
        finally:
            if not self.is_own:
                self.metastore.close()
        if failed:
            raise failed[0]

    def _behind(self, store: TableStore, name: Identifier, error: PaimonError) -> StorageError:
        behind = StorageError(
            f"The Iceberg table {name} in the metastore {self.metastore.settings.address} is not updated: "
            f"{cause_of(error)} The next commit to {store.name} brings it in line."
        )
        behind.__cause__ = error
        return behind

    def _bring_in_line(self, store: TableStore, name: Identifier, metadata: str, is_latest: Callable[[], bool]) -> None:
        with self.locks.held_or_queued((name,), lambda database: nullcontext(), quiet=True):
            for _ in range(_ATTEMPTS):
                found = self.metastore.table(name.database, name.table)
                if not is_latest():
                    return
                if self._created(store, name, metadata) if found is None else self._altered(store, found, metadata):
                    return
        raise StorageError("Other writers keep changing the table's entry in the metastore.")

    def _created(self, store: TableStore, name: Identifier, metadata: str) -> bool:
        """Create the entry. Return False if an entry has the name by now."""
        place = metadata.rpartition("/")[0].rpartition("/")[0]
        if self.metastore.database(name.database) is None:
            self._create_database(name.database, place.rpartition("/")[0])
        entry = _new_entry(store, name, uri(place), metadata, self.metastore)
        try:
            settle(partial(self.metastore.change, "create_table", entry), lambda: self._named(name) is not None)
        except MetastoreError as error:
            if error.answer is Answer.TAKEN or self._named(name) is not None:
                return False
            raise
        return True

    def _create_database(self, name: str, location: str) -> None:
        made = ttypes.Database(name=name, locationUri=uri(location), parameters={})
        create = partial(self.metastore.change, "create_database", made)
        try:
            settle(create, lambda: self.metastore.database(name) is not None)
        except MetastoreError:
            if self.metastore.database(name) is None:
                raise

    def _altered(self, store: TableStore, found: Any, metadata: str) -> bool:
        """Change the entry. Return False if another writer has changed it since it was `found`."""
        name = Identifier(found.dbName, found.tableName)
        _check_is_of(store, found)
        before, entry = _location(found), _renewed(store, found, metadata, self.metastore)
        if entry == found:
            return True
        try:
            settle(partial(self._alter, store, entry, before), lambda: self._named(name) == uri(metadata))
        except MetastoreError as error:
            if self._named(name) != before:
                return False
            if error.answer is not Answer.INVALID or entry.sd.cols == found.sd.cols:
                raise
            _LOG.info("The metastore keeps older columns of the Iceberg table %s: %s", name, error)
            entry.sd.cols = found.sd.cols  # readers of Iceberg find them in the metadata
            self._alter(store, entry, before)
        return True

    def _alter(self, store: TableStore, entry: Any, before: str) -> None:
        context = {
            "CASCADE": "true",
            "skipAWSGlueArchive": str(store.options[ICEBERG_GLUE_SKIP_ARCHIVE]).lower(),
            "DO_NOT_UPDATE_STATS": str(store.options[ICEBERG_HIVE_SKIP_STATS]).lower(),
        }
        if before:  # Hive 2.3.10 and 4.0 compare it, other versions ignore it
            context |= {"expected_parameter_key": METADATA, "expected_parameter_value": before}
        arguments = (entry.dbName, entry.tableName, entry, ttypes.EnvironmentContext(context))
        self.metastore.change("alter_table_with_environment_context", *arguments)

    def _named(self, name: Identifier) -> str | None:
        """Return the metadata that an entry names: "" if it has none, None if the entry does not exist."""
        found = self.metastore.table(name.database, name.table)
        return None if found is None else _location(found)


def iceberg_entries(store: TableStore, options: Mapping[str, str], own: OwnMetastore | None) -> IcebergEntries:
    """Return the entries that the options of a table or of its catalog name, without a call to the metastore.

    Raises `InvalidOptionError`, `InvalidNameError`, `NotAllowedError`, `UnsupportedFeatureError`.
    """
    client = store.options[ICEBERG_HIVE_CLIENT]
    if client and client.strip() != _CLIENT:
        raise UnsupportedFeatureError(
            f"Table {store.name} cannot be written: '{ICEBERG_HIVE_CLIENT.key}' = {client!r} is a class of Java. This "
            "version speaks Thrift with Hive's metastore itself: remove the option, or write the table with Java."
        )
    metadata_folder(store)
    names = _names(store)
    settings = _settings(store, options, own)
    if own is not None and (settings is None or settings.addresses == own.metastore.settings.addresses):
        return IcebergEntries(own.metastore, own.locks, names, is_own=True)
    if settings is None:
        raise InvalidOptionError(
            f"Table {store.name} has '{ICEBERG_STORAGE.key}' = '{HIVE_CATALOG}' and no metastore: set "
            f"'{ICEBERG_URI.key}', such as thrift://host:9083, or '{ICEBERG_HIVE_CONF_DIR.key}' on its catalog, or on "
            "the table."
        )
    metastore = Metastore(settings)
    return IcebergEntries(metastore, HiveLocks(metastore), names, is_own=False)


def _names(store: TableStore) -> tuple[Identifier, ...]:
    given = [name.strip() for name in (store.options[ICEBERG_DATABASE] or "").split(";")]
    try:
        table = new_name("table", store.options[ICEBERG_TABLE] or store.identifier.table)
        wanted = [name for name in given if name] or [store.identifier.database_name]
        databases = [new_name("database", name) for name in wanted]
    except InvalidNameError as error:
        raise InvalidNameError(
            f"Table {store.name} has no name for Iceberg's readers in a metastore: {error} Set "
            f"'{ICEBERG_DATABASE.key}' and '{ICEBERG_TABLE.key}'."
        ) from error
    return tuple(Identifier(database, table) for database in dict.fromkeys(databases))


def _settings(store: TableStore, options: Mapping[str, str], own: OwnMetastore | None) -> HiveSettings | None:
    """Return the settings of the metastore.

    Return None if no option names one, so that the catalog's own metastore is used.
    """
    address, folder = store.options[ICEBERG_URI], store.options[ICEBERG_HIVE_CONF_DIR]
    by_table = {
        option.key
        for option, value in ((ICEBERG_URI, address), (ICEBERG_HIVE_CONF_DIR, folder))
        if value and value == store.schema.options.get(option.key)
    }
    if not address and not folder:
        address, folder = options.get(ICEBERG_URI.key), options.get(ICEBERG_HIVE_CONF_DIR.key)
    given = {k: v for k, v in options.items() if k.startswith("hive.") and k != "hive.metastore.uris"}
    if folder:
        given |= read_hive_site(folder)
    elif not address:
        if own is not None:
            return None
        given |= hive_options({})
    if address:
        given["uri"] = address
    if not given.get("uri") and not given.get("hive.metastore.uris"):
        return None
    try:
        settings = read_settings(given, locks=False)
    except InvalidOptionError as error:
        raise InvalidOptionError(f"Table {store.name}, metastore of its Iceberg metadata: {error}") from error
    if by_table:
        _check_allowed(store, options, own, settings.addresses, ", ".join(f"'{key}'" for key in sorted(by_table)))
    return settings


def _check_allowed(
    store: TableStore,
    options: Mapping[str, str],
    own: OwnMetastore | None,
    addresses: tuple[Address, ...],
    keys: str,
) -> None:
    """Raise `NotAllowedError` for a metastore that is only in the table's schema, because another writer may have put
    it there.
    """
    known = [a for a in store.allowed.iceberg_catalogs if a.startswith(_THRIFT)]
    if options.get(ICEBERG_URI.key):
        known.append(options[ICEBERG_URI.key])
    allowed = {*addresses_of(",".join(known))} if known else set()
    if own is not None:
        allowed |= {*own.metastore.settings.addresses}
    for address in addresses:
        if address not in allowed:
            raise NotAllowedError(
                f"Table {store.name} cannot be registered in the metastore {address}, which its {keys} names: the "
                f"catalog's option '{ICEBERG_CATALOGS}' must list that address. Add it there, or set "
                f"'{ICEBERG_URI.key}' on the catalog, or 'spark.paimon.{ICEBERG_URI.key}' for this session."
            )


def _check_is_of(store: TableStore, found: Any) -> None:
    """Raise `UnsupportedFeatureError` if an entry belongs to another table."""
    if is_paimon(found):
        location = read_entry(found).location
        if location == store.root:
            return
        what = f"is the Paimon table in {location}"
    elif (found.parameters or {}).get(TABLE_TYPE, "").upper() != TABLE_TYPE_ICEBERG:
        what = f"is {kind_of(found)}"
    else:
        named = _location(found)
        if not named or normalize(named).rpartition("/")[0] in metadata_folders(store):
            return
        what = f"points to {without_secrets(named)}, the metadata of another table"
    raise UnsupportedFeatureError(
        f"The entry with that name {what}. Drop it from the metastore, or set '{ICEBERG_TABLE.key}' or "
        f"'{ICEBERG_DATABASE.key}' of {store.name}."
    )


def _location(entry: Any) -> str:
    return str((entry.parameters or {}).get(METADATA, ""))


def _renewed(store: TableStore, found: Any, metadata: str, metastore: Metastore) -> Any:
    """Return an entry with other metadata."""
    entry, before, now = copy.deepcopy(found), _location(found), uri(metadata)
    named = {TABLE_TYPE: TABLE_TYPE_ICEBERG, METADATA: now}
    if before not in ("", now):
        named[PREVIOUS] = before
    entry.parameters = {**(found.parameters or {}), **named}
    if not is_paimon(found):  # Paimon's own entry keeps the columns of the table
        entry.sd.cols = _columns(store, metastore)
    return entry


def _new_entry(store: TableStore, name: Identifier, location: str, metadata: str, metastore: Metastore) -> Any:
    table = empty_entry(name, Place(location, is_external=True), metastore.settings)
    table.parameters |= {
        "DO_NOT_UPDATE_STATS": str(store.options[ICEBERG_HIVE_SKIP_STATS]).lower(),
        TABLE_TYPE: TABLE_TYPE_ICEBERG,
        METADATA: uri(metadata),
    }
    table.sd.location, table.sd.cols = location, _columns(store, metastore)
    table.sd.inputFormat, table.sd.outputFormat = _INPUT, _OUTPUT
    table.sd.serdeInfo = ttypes.SerDeInfo(serializationLib=_SERDE, parameters={})
    return table


def _columns(store: TableStore, metastore: Metastore) -> list[Any]:
    """Return the columns of the table's latest schema for the metastore, with its partition columns."""
    schema = latest_schema(store.io, store.root) or store.schema
    zones = metastore.has_zones_for(schema.fields)
    return [column_of(field, zones=zones) for field in schema.fields]
