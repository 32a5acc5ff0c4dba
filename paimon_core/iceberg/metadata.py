"""The metadata file of an Iceberg table: `vN.metadata.json`. Source: Iceberg's specification, "Table Metadata"."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnfamiliarFormError, UnsupportedFeatureError
from paimon_core.formats.iceberg_types import Node, iceberg_schema
from paimon_core.iceberg.manifests import FIRST_PARTITION_ID, Layout, uri
from paimon_core.io.file_io import FileIO
from paimon_core.options import ICEBERG_STORAGE, ICEBERG_STORAGE_LOCATION, TABLE_LOCATION
from paimon_core.spec.json_object import decode_json_object, member
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.tag import Tag
from paimon_core.store.table_store import TableStore

_VERSION = re.compile(r"v(\d{1,19})\.metadata\.json")
_IDENTITY = "paimon-commit-identity"  # the Paimon snapshot: a rollback makes its number free again
HINT = "version-hint.text"
MAIN = "main"


@dataclass(frozen=True, slots=True)
class IcebergSnapshot:
    """A snapshot in the metadata. Its number and identity are the Paimon snapshot's."""

    node: Node

    @property
    def id(self) -> int:
        return int(self.node["snapshot-id"])

    @property
    def identity(self) -> str | None:
        return (self.node.get("summary") or {}).get(_IDENTITY)

    @property
    def manifest_list(self) -> str:
        return str(self.node["manifest-list"])


@dataclass(frozen=True, slots=True)
class Metadata:
    """The content of a metadata file."""

    node: Node

    @property
    def uuid(self) -> str:
        return str(self.node["table-uuid"])

    @property
    def snapshots(self) -> list[IcebergSnapshot]:
        return [IcebergSnapshot(n) for n in self.node["snapshots"]]

    @property
    def current(self) -> IcebergSnapshot:
        return next(s for s in self.snapshots if s.id == self.node["current-snapshot-id"])


def metadata_folder(store: TableStore) -> str:
    """Return the folder of a table's Iceberg metadata. Raises `UnsupportedFeatureError`."""
    given, location = store.options[ICEBERG_STORAGE], store.options[ICEBERG_STORAGE_LOCATION]
    if (location or given) == TABLE_LOCATION:
        return _folder_in_table(store)
    folder = folder_in_warehouse(store.root)
    if folder is None:
        raise UnsupportedFeatureError(
            f"Table {store.name} cannot have '{ICEBERG_STORAGE.key}' = '{given}': the table is not in a folder "
            f"WAREHOUSE/DATABASE.db. Set '{ICEBERG_STORAGE_LOCATION.key}' to '{TABLE_LOCATION}'."
        )
    return folder


def metadata_folders(store: TableStore) -> frozenset[str]:
    """Return the folders that contain Iceberg metadata of a table: now, or under earlier options."""
    return frozenset(filter(None, (_folder_in_table(store), folder_in_warehouse(store.root))))


def _folder_in_table(store: TableStore) -> str:
    return f"{store.root}/metadata"


def folder_in_warehouse(root: str) -> str | None:
    """Return the folder in an Iceberg Hadoop catalog for the table in the folder `root`.

    Return None if `root` is not in a database's folder.
    """
    database, _, table = root.rpartition("/")
    warehouse, _, name = database.rpartition("/")
    return f"{warehouse}/iceberg/{name.removesuffix('.db')}/{table}/metadata" if name.endswith(".db") else None


def version_of(name: str) -> int | None:
    """Return the version of a metadata file, by its name, or None for any other file."""
    match = _VERSION.fullmatch(name)
    return int(match[1]) if match else None


def version_path(folder: str, version: int) -> str:
    return f"{folder}/v{version}.metadata.json"


def identity_of(snapshot: Snapshot) -> str:
    """Return a text that no other snapshot with the same number has, in the form of Paimon's Java connector."""
    return snapshot.uuid or f"{snapshot.commit_user}:{snapshot.commit_identifier}:{snapshot.time_millis}"


def read_metadata(storage: FileIO, path: str) -> Metadata | None:
    """Read metadata. Return None if the file does not exist. Raises `CorruptFileError`, `UnfamiliarFormError`."""
    try:
        node = decode_json_object(path, storage.read_bytes(path))
    except FileNotFoundError:
        return None
    found = Metadata(node)
    try:
        member(node, "snapshots", list)
        _ = found.uuid, found.current.manifest_list, [(s.id, s.identity, s.manifest_list) for s in found.snapshots]
    except (KeyError, TypeError, ValueError, AttributeError, StopIteration) as e:
        raise UnfamiliarFormError(path, f"it is not valid Iceberg metadata ({e!r})") from e
    return found


def snapshot_node(snapshot: Snapshot, parent: int | None, manifest_list: str, summary: dict[str, Any]) -> Node:
    """Return a snapshot in the form of the metadata."""
    node = {
        "sequence-number": snapshot.id,
        "snapshot-id": snapshot.id,
        "timestamp-ms": snapshot.time_millis,
        "summary": {k: str(v) for k, v in summary.items()} | {_IDENTITY: identity_of(snapshot)},
        "manifest-list": uri(manifest_list),
        "schema-id": snapshot.schema_id,
    }
    return node if parent is None else node | {"parent-snapshot-id": parent}


def metadata_node(
    store: TableStore, uuid: str, layout: Layout, schemas: Sequence[TableSchema], history: Sequence[Node], refs: Node
) -> Node:
    """Return the metadata of a table. Its latest snapshot is the last one in `history`."""
    current = history[-1]
    return {
        "format-version": 2,
        "table-uuid": uuid,
        "location": uri(store.root),
        "last-sequence-number": current["sequence-number"],
        "last-updated-ms": current["timestamp-ms"],
        "last-column-id": schemas[-1].highest_field_id,
        "schemas": list(_schemas(schemas)),
        "current-schema-id": schemas[-1].id,
        "partition-specs": [{"spec-id": 0, "fields": layout.spec}],
        "default-spec-id": 0,
        "last-partition-id": FIRST_PARTITION_ID - 1 + len(layout.partition_fields),
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "snapshots": list(history),
        "current-snapshot-id": current["snapshot-id"],
        "refs": {MAIN: {"snapshot-id": current["snapshot-id"], "type": "branch"}, **refs},
        "properties": {},
    }


def tag_refs(history: Iterable[Node], tags: Collection[Tag]) -> Node:
    """Return the tags of snapshots in the metadata. A tag with Iceberg's name for the table itself is left out."""
    known = {(s.id, s.identity) for s in map(IcebergSnapshot, history)}
    return {
        t.name: {"snapshot-id": t.snapshot.id, "type": "tag"}
        for t in sorted(tags, key=lambda t: t.name)
        if (t.snapshot.id, identity_of(t.snapshot)) in known and t.name != MAIN
    }


def _schemas(schemas: Sequence[TableSchema]) -> Iterator[Node]:
    """Yield the schemas that Iceberg can represent. The last schema is always among them."""
    for schema in schemas[:-1]:
        try:
            yield iceberg_schema(schema.id, schema.fields)
        except UnsupportedFeatureError:
            continue
    yield iceberg_schema(schemas[-1].id, schemas[-1].fields)
