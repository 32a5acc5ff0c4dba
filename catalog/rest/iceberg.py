"""Tables at a server with Iceberg's REST API, which have the Iceberg metadata of Paimon tables.

A table is registered at the server with its metadata. Each later commit is one request, which adds the new snapshots
and removes the expired ones. The server refuses the request if its table has changed since it was read. Iceberg has no
rollback. So after a rollback, the table is dropped at the server, without its files, and registered again.

Java's connector creates an empty table instead, and adds columns and snapshots to it. Source:
`IcebergRestMetadataCommitter` of Paimon; Iceberg's REST API.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any
from urllib.parse import urlsplit

from paimon_core.dataclass import dataclass
from paimon_core.errors import (
    InvalidNameError,
    InvalidOptionError,
    NotAllowedError,
    PaimonError,
    StorageError,
    UnsupportedFeatureError,
)
from paimon_core.iceberg.metadata import metadata_folder, metadata_folders, read_metadata
from paimon_core.io.load import normalize
from paimon_core.options import (
    ICEBERG_DATABASE,
    ICEBERG_DELETE_AFTER_COMMIT,
    ICEBERG_PREVIOUS_VERSIONS,
    ICEBERG_REST,
    ICEBERG_STORAGE,
    ICEBERG_TABLE,
    REST_CATALOG,
)
from paimon_core.options.iceberg import iceberg_properties
from paimon_core.secrets import without_secrets
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.json_object import encode_json_object
from paimon_core.store.allowed import ICEBERG_CATALOGS
from paimon_core.store.table_store import TableStore
from paimon_sql.catalog.outcomes import OutcomeUnknown
from paimon_sql.catalog.rest.client import Node
from paimon_sql.catalog.rest.failures import Refused
from paimon_sql.catalog.rest.iceberg_calls import CREDENTIAL, OAUTH, TOKEN, IcebergServer, connected
from paimon_sql.catalog.rest.iceberg_updates import registered, update_of
from paimon_sql.catalog.rest.settings import RestSettings, read_settings

_URI = "uri"
_ADDRESSES = (_URI, OAUTH)
_OF_CATALOGS = (*_ADDRESSES, TOKEN, CREDENTIAL)  # a table at its catalog's server does not set these options
_ATTEMPTS = 10


@dataclass(frozen=True)
class IcebergTableAtServer:
    """The name of a table at a server, from the table's options. `given` are the options of Iceberg's client."""

    given: Mapping[str, str] = field(repr=False)
    settings: RestSettings
    name: Identifier

    def publish(self, store: TableStore, metadata: str, is_latest: Callable[[], bool]) -> None:
        """Update the table at the server; see `IcebergCatalogs`."""
        try:
            server = connected(self.settings, self.given, self.name)
            try:
                self._bring_in_line(server, store, metadata, is_latest)
            finally:
                server.client.close()
        except PaimonError as error:
            raise StorageError(
                f"The Iceberg table {self.name} at {self.settings.uri} is not updated: {str(error).rstrip('.')}. The "
                f"next commit to {store.name} brings it in line."
            ) from error

    def _bring_in_line(
        self, server: IcebergServer, store: TableStore, metadata: str, is_latest: Callable[[], bool]
    ) -> None:
        for _ in range(_ATTEMPTS):
            found = server.load()
            if not is_latest():
                return
            here = read_metadata(store.io, metadata)
            if here is None:
                return  # another writer replaced it and registers the new metadata
            wanted = {**here.node, "properties": _properties(store)}
            if found is not None:
                _check_is_of(store, self.name, found)
                changed = _changed(server, found, wanted)
                if changed is not None:
                    if changed:
                        return
                    continue
            if _registered(server, store, metadata, wanted, is_there=found is not None):
                return
        raise StorageError("Other writers keep changing the table at the server.")


def _changed(server: IcebergServer, there: Node, here: Node) -> bool | None:
    """Update the table at the server.

    Return False if another writer changed it meanwhile, and None if an update cannot make it equal to our metadata.
    """
    try:
        update = update_of(there, here)
    except (KeyError, TypeError, StopIteration, ValueError, AttributeError, RecursionError) as error:
        raise StorageError(f"The server returned invalid table metadata ({error!r}).") from error
    if update is not None:
        if not update.updates:
            return True
        try:
            return server.commit(update.requirements, update.updates)
        except Refused as error:
            if error.status != 400:
                raise
    return None


def _registered(server: IcebergServer, store: TableStore, metadata: str, here: Node, *, is_there: bool) -> bool:
    """Register metadata. If `is_there`, drop the present table at the server first.

    Return False if another writer was faster, or if the answer is lost. Try to register before the drop, too: a server
    that can register tables then answers that the name is taken. Only then is the table dropped.
    """
    folder, _, name = metadata.rpartition("/")
    path = f"{folder}/rest-register-{name.partition('.')[0]}-{uuid.uuid4()}.metadata.json"  # the name that Java uses
    store.io.write_bytes(path, encode_json_object(registered(here)))
    try:
        if server.register(path):
            return True
        if is_there:
            server.drop()
            if server.register(path):
                return True
    except OutcomeUnknown:
        return False  # the server may have registered it; the next attempt finds out
    except PaimonError:
        store.io.delete_below(folder, path)
        raise
    store.io.delete_below(folder, path)
    return False


def _properties(store: TableStore) -> dict[str, str]:
    """Return the options that limit the metadata files that a server keeps, and the properties that the table's options
    name. Java's connector sends both, too.
    """
    return {
        "write.metadata.delete-after-commit.enabled": str(store.options[ICEBERG_DELETE_AFTER_COMMIT]).lower(),
        "write.metadata.previous-versions-max": str(store.options[ICEBERG_PREVIOUS_VERSIONS]),
        **iceberg_properties(store.options.values),
    }


def _check_is_of(store: TableStore, name: Identifier, there: Node) -> None:
    """Raise `UnsupportedFeatureError` if the table at the server is another table."""
    if _path(there.get("location")) == store.root:
        return
    snapshots = there.get("snapshots")
    lists = [s.get("manifest-list") for s in snapshots if isinstance(s, dict)] if isinstance(snapshots, list) else []
    folders = metadata_folders(store)
    if lists and all(_path(place).rpartition("/")[0] in folders for place in lists):
        return
    raise UnsupportedFeatureError(
        f"The server's table {name} is another table, in {_shown(there.get('location'))}. Drop it at the server, "
        f"or set '{ICEBERG_TABLE.key}' or '{ICEBERG_DATABASE.key}' of {store.name}."
    )


def _shown(place: Any) -> str:
    return without_secrets(str(place))[:300]


def _path(place: Any) -> str:
    try:
        return normalize(place) if isinstance(place, str) else ""
    except InvalidOptionError:
        return ""


def table_at_server(store: TableStore, options: Mapping[str, str]) -> IcebergTableAtServer:
    """Return the table at a server that the options of a table or of its catalog name. Sends no request yet.

    Raises `InvalidOptionError`, `InvalidNameError`, `NotAllowedError`, `UnsupportedFeatureError`.
    """
    metadata_folder(store)
    given = _given(store, options)
    if given.get("rest.sigv4-enabled", "").lower() == "true" or given.get("rest.auth.type", "oauth2") not in (
        *("oauth2", "none"),
    ):
        raise UnsupportedFeatureError(
            f"Table {store.name}: its Iceberg server cannot be called with this '{ICEBERG_REST}rest.auth.type', or "
            "with signatures of AWS. Use none, or oauth2 with a token or a credential."
        )
    try:
        token = {TOKEN: given[TOKEN]} if given.get(TOKEN) else {}
        settings = read_settings({_URI: given[_URI], **token, **{k: v for k, v in given.items() if _is_header(k)}})
    except InvalidOptionError as error:
        raise InvalidOptionError(
            f"Table {store.name} cannot be registered at the server of its Iceberg metadata: {error}"
        ) from error
    return IcebergTableAtServer(given, settings, _name(store))


def _is_header(key: str) -> bool:
    return key.startswith("header.")


def _name(store: TableStore) -> Identifier:
    database = store.options[ICEBERG_DATABASE] or store.identifier.database_name
    table = store.options[ICEBERG_TABLE] or store.identifier.table
    if ";" in database or not table.strip() or not database.strip():
        raise InvalidNameError(
            f"Table {store.name} can have only one name at an Iceberg server: '{ICEBERG_DATABASE.key}' cannot be "
            f"{database!r}."
        )
    return Identifier(database, table)


def _given(store: TableStore, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of Iceberg's client.

    The server's address and its secrets must come from one source: either all from the catalog, or all from the table.
    """
    catalogs = _rest_options(options)
    own = _rest_options(store.options.values)
    if own.get(_URI) in (None, catalogs.get(_URI)):
        if _URI not in catalogs:
            raise InvalidOptionError(
                f"Table {store.name} has '{ICEBERG_STORAGE.key}' = '{REST_CATALOG}' and no server: set "
                f"'{ICEBERG_REST}{_URI}', such as https://host/api, on its catalog, or on the table."
            )
        return {**catalogs, **{k: v for k, v in own.items() if k not in _OF_CATALOGS}}
    declared = _rest_options(store.schema.options)
    for key in _ADDRESSES:
        if key in own and own[key] == declared.get(key) and not store.allowed.takes_iceberg_server(own[key]):
            raise NotAllowedError(
                f"Table {store.name} cannot be registered at {urlsplit(own[key]).netloc}, which its "
                f"'{ICEBERG_REST}{key}' names: the catalog's option '{ICEBERG_CATALOGS}' must list that address or a "
                f"prefix of it. Add it there, or set '{ICEBERG_REST}{key}' on the catalog, or "
                f"'spark.paimon.{ICEBERG_REST}{key}' for this session."
            )
    return own


def _rest_options(options: Mapping[str, str]) -> dict[str, str]:
    return {k.removeprefix(ICEBERG_REST): v for k, v in options.items() if k.startswith(ICEBERG_REST)}
