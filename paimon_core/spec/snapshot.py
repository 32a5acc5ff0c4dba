"""`snapshot/snapshot-N`: the JSON of one committed version of a table, one object in UTF-8.

    {"version": 3, "uuid", "id": N, "schemaId", "baseManifestList": file name, "baseManifestListSize": bytes,
     "deltaManifestList", "deltaManifestListSize", "changelogManifestList", "changelogManifestListSize",
     "indexManifest", "commitUser", "writerVersion", "commitIdentifier",
     "commitKind": APPEND, COMPACT, OVERWRITE or ANALYZE, "timeMillis": epoch ms,
     "totalRecordCount": rows, "deltaRecordCount": rows, "changelogRecordCount": rows,
     "watermark": epoch ms, "statistics": file name, "properties": {text: text}, "nextRowId", "operation"}

Members that do not apply are left out. Java requires none of the members: missing members are 0 or null there. Here a
snapshot needs its id and its two manifest lists. A newer version than 3 is refused. Source: specification, "Snapshot";
experiments with Java for each member.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import partial
from reprlib import repr as shortened
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnfamiliarFormError, UnsupportedVersionError
from paimon_core.spec.json_object import (
    as_choice,
    as_integer,
    as_text,
    as_texts,
    decode_json_object,
    encode_json_object,
)

CURRENT_VERSION = 3
_NEW_MEMBERS = (  # later than Paimon 0.7, and not content of the table; row ids start at 0 anyhow
    *("uuid", "base_manifest_list_size", "delta_manifest_list_size", "changelog_manifest_list_size"),
    *("writer_version", "properties", "operation", "next_row_id"),
)
BATCH_COMMIT_IDENTIFIER = 2**63 - 1
WRITER = "paimon-sql"  # `writerVersion` of our snapshots
_EXPIRES = "paimon-sql.expires"  # a property: an expiry is about to remove the snapshot
_TRIES = "paimon-sql.tries"  # a property of commits that were tried more than once
_MOST_DIGITS = 9


class CommitKind(StrEnum):
    APPEND = "APPEND"
    COMPACT = "COMPACT"
    OVERWRITE = "OVERWRITE"
    ANALYZE = "ANALYZE"


class Operation(StrEnum):
    """The reason for a snapshot's commit. Other engines cannot read a table with a snapshot of an unknown operation."""

    WRITE = "WRITE"
    OVERWRITE = "OVERWRITE"
    DELETE = "DELETE"
    TRUNCATE = "TRUNCATE"
    UPDATE = "UPDATE"
    MERGE = "MERGE"
    CREATE_TABLE_AS_SELECT = "CREATE_TABLE_AS_SELECT"
    REPLACE_TABLE_AS_SELECT = "REPLACE_TABLE_AS_SELECT"
    CREATE_OR_REPLACE_TABLE_AS_SELECT = "CREATE_OR_REPLACE_TABLE_AS_SELECT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One version of a table. Record counts are rows in files before merging; times are in epoch milliseconds.

    `commit_user` is empty, and `commit_kind` None, if the writer did not store them.
    """

    id: int
    schema_id: int
    base_manifest_list: str
    delta_manifest_list: str
    commit_user: str
    commit_identifier: int
    commit_kind: CommitKind | None
    time_millis: int
    total_record_count: int
    delta_record_count: int
    version: int = CURRENT_VERSION
    uuid: str | None = None
    base_manifest_list_size: int | None = None
    delta_manifest_list_size: int | None = None
    changelog_manifest_list: str | None = None
    changelog_manifest_list_size: int | None = None
    index_manifest: str | None = None
    writer_version: str | None = None
    changelog_record_count: int | None = None
    watermark: int | None = None
    statistics: str | None = None
    properties: dict[str, str] | None = None
    next_row_id: int | None = None
    operation: str | None = None

    @property
    def has_new_members(self) -> bool:
        """Return whether Paimon 0.4 to 0.7 refuses to read the snapshot, because some members are unknown to it."""
        return any(getattr(self, name) is not None for name in _NEW_MEMBERS)

    def without_new_members(self) -> Snapshot:
        """Return the snapshot in the form of Paimon 0.4 to 0.7."""
        removed: dict[str, Any] = dict.fromkeys(_NEW_MEMBERS)
        return replace(self, **removed)

    @property
    def identity(self) -> str:
        """A text that identifies the snapshot: its uuid, or for old writers the name of its manifest list."""
        return self.uuid or self.delta_manifest_list

    @property
    def writer(self) -> str:
        """Return a text about the snapshot's commit, for errors about its files."""
        node = {"writerVersion": self.writer_version, "commitUser": self.commit_user or None}
        return ", ".join(filter(None, (f"the commit of snapshot {self.id}", writer_of(node))))

    def is_same(self, other: Snapshot) -> bool:
        """Return whether this snapshot and another are the same commit of the same writer.

        The name of a snapshot's manifest list is unique, like its uuid.
        """
        return self.uuid == other.uuid and self.delta_manifest_list == other.delta_manifest_list

    @property
    def retries(self) -> int | None:
        """Return how often the commit was tried again, None if its writer does not store it.

        If Java makes a snapshot from a tag, it keeps properties, but not `writerVersion`."""
        text = (self.properties or {}).get(_TRIES)
        if text is None:
            return 0 if self.writer_version == WRITER else None
        is_number = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS and int(text) > 0
        return int(text) - 1 if is_number else None

    @property
    def is_expiring(self) -> bool:
        """Return whether an expiry has marked the snapshot. Later snapshots may be gone already."""
        return _EXPIRES in (self.properties or {})

    def marked(self) -> Snapshot:
        """Return the snapshot with the mark of an expiry."""
        return replace(self, properties={**(self.properties or {}), _EXPIRES: "true"})


def properties_of_try(number: int) -> Mapping[str, str]:
    """Return the properties of a snapshot that the try of this number publishes. The first try has none."""
    return {_TRIES: str(number)} if number > 1 else {}


def _commit_kind(key: str, value: Any) -> CommitKind | None:
    name = as_choice(key, value, list(CommitKind))
    return None if name is None else CommitKind(name)


def _operation(key: str, value: Any) -> str | None:
    """Return the name of an operation. Unknown names are allowed, because no code depends on them."""
    return value if isinstance(value, str) and value.isidentifier() else as_choice(key, value, list(Operation))


# (attribute, JSON key, reader of a value): one line per field, in the order of the file
_FIELDS: tuple[tuple[str, str, Callable[[str, Any], Any]], ...] = (
    ("version", "version", partial(as_integer, bits=32)),
    ("uuid", "uuid", as_text),
    ("id", "id", as_integer),
    ("schema_id", "schemaId", as_integer),
    ("base_manifest_list", "baseManifestList", as_text),
    ("base_manifest_list_size", "baseManifestListSize", as_integer),
    ("delta_manifest_list", "deltaManifestList", as_text),
    ("delta_manifest_list_size", "deltaManifestListSize", as_integer),
    ("changelog_manifest_list", "changelogManifestList", as_text),
    ("changelog_manifest_list_size", "changelogManifestListSize", as_integer),
    ("index_manifest", "indexManifest", as_text),
    ("commit_user", "commitUser", as_text),
    ("writer_version", "writerVersion", as_text),
    ("commit_identifier", "commitIdentifier", as_integer),
    ("commit_kind", "commitKind", _commit_kind),
    ("time_millis", "timeMillis", as_integer),
    ("total_record_count", "totalRecordCount", as_integer),
    ("delta_record_count", "deltaRecordCount", as_integer),
    ("changelog_record_count", "changelogRecordCount", as_integer),
    ("watermark", "watermark", as_integer),
    ("statistics", "statistics", as_text),
    ("properties", "properties", as_texts),
    ("next_row_id", "nextRowId", as_integer),
    ("operation", "operation", _operation),
)
_DEFAULTS: Mapping[str, Any] = {  # defaults for members that older versions and other writers leave out
    "version": 1,
    "schema_id": 0,
    "commit_user": "",
    "commit_identifier": 0,
    "time_millis": 0,
    "total_record_count": 0,
    "delta_record_count": 0,
}
_REQUIRED = frozenset(("id", "base_manifest_list", "delta_manifest_list"))


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """Return the file's bytes: indented JSON without missing fields."""
    fields = {key: getattr(snapshot, name) for name, key, _ in _FIELDS}
    return encode_json_object({k: v for k, v in fields.items() if v is not None})


def decode_snapshot(path: str, data: bytes) -> Snapshot:
    """Return the snapshot in a file.

    Raises `CorruptFileError`, `UnsupportedVersionError`, `UnfamiliarFormError`, all naming `path`.
    """
    return snapshot_of(path, decode_json_object(path, data))


def snapshot_of(path: str, node: Mapping[str, Any]) -> Snapshot:
    """Convert a JSON object to a snapshot. Raises `UnsupportedVersionError`, `UnfamiliarFormError`, naming `path`."""
    values: dict[str, Any] = {}
    for name, key, read in _FIELDS:
        try:
            value = read(key, node.get(key))
        except TypeError as e:
            raise UnfamiliarFormError(path, f"as a snapshot, {e}", writer=writer_of(node)) from e
        if name == "version" and value is not None and value > CURRENT_VERSION:
            cause = f"it has snapshot version {value}, this library supports versions up to {CURRENT_VERSION}"
            raise UnsupportedVersionError(path, cause, writer=writer_of(node))
        if value is None and name in _REQUIRED:
            raise UnfamiliarFormError(path, f"as a snapshot, it has no {key!r}", writer=writer_of(node))
        values[name] = _DEFAULTS.get(name) if value is None else value
    return Snapshot(**values)


def writer_of(node: Mapping[str, Any]) -> str:
    """Return the software that wrote a snapshot, or "" if its JSON does not contain it."""
    parts = (("writerVersion", node.get("writerVersion")), ("commit user", node.get("commitUser")))
    return ", ".join(f"{name} {shortened(value)}" for name, value in parts if value is not None)
