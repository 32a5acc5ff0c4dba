"""`snapshot/snapshot-N`: the JSON of one committed version of a table, one object in UTF-8.

    {"version": 3, "uuid", "id": N, "schemaId", "baseManifestList": file name, "baseManifestListSize": bytes,
     "deltaManifestList", "deltaManifestListSize", "changelogManifestList", "changelogManifestListSize",
     "indexManifest", "commitUser", "writerVersion", "commitIdentifier",
     "commitKind": APPEND, COMPACT, OVERWRITE or ANALYZE, "timeMillis": epoch ms,
     "totalRecordCount": rows, "deltaRecordCount": rows, "changelogRecordCount": rows,
     "watermark": epoch ms, "statistics": file name, "properties": {text: text}, "nextRowId", "operation"}

What does not apply is left out. Versions 1 (also: no version) and 2 may lack the record counts; a newer one than 3 is
refused. Source: specification, "Snapshot".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from reprlib import repr as shortened
from typing import Any

from paimon_core.errors import CorruptFileError, UnsupportedVersionError
from paimon_core.spec.json_object import decode_json_object, encode_json_object

CURRENT_VERSION = 3
BATCH_COMMIT_IDENTIFIER = 2**63 - 1
WRITER = "paimon-sql"  # `writerVersion` of our snapshots


class CommitKind(StrEnum):
    APPEND = "APPEND"
    COMPACT = "COMPACT"
    OVERWRITE = "OVERWRITE"
    ANALYZE = "ANALYZE"


class Operation(StrEnum):
    """What a snapshot was committed for. Other engines cannot read a table with a snapshot that names another."""

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
    """One version of a table. Record counts are of rows in files, before merging; times are epoch milliseconds."""

    id: int
    schema_id: int
    base_manifest_list: str
    delta_manifest_list: str
    commit_user: str
    commit_identifier: int
    commit_kind: CommitKind
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


# (attribute, JSON key, type, required): one line per field, in the order of the file
_FIELDS: tuple[tuple[str, str, type, bool], ...] = (
    ("version", "version", int, False),
    ("uuid", "uuid", str, False),
    ("id", "id", int, True),
    ("schema_id", "schemaId", int, True),
    ("base_manifest_list", "baseManifestList", str, True),
    ("base_manifest_list_size", "baseManifestListSize", int, False),
    ("delta_manifest_list", "deltaManifestList", str, True),
    ("delta_manifest_list_size", "deltaManifestListSize", int, False),
    ("changelog_manifest_list", "changelogManifestList", str, False),
    ("changelog_manifest_list_size", "changelogManifestListSize", int, False),
    ("index_manifest", "indexManifest", str, False),
    ("commit_user", "commitUser", str, True),
    ("writer_version", "writerVersion", str, False),
    ("commit_identifier", "commitIdentifier", int, True),
    ("commit_kind", "commitKind", str, True),
    ("time_millis", "timeMillis", int, True),
    ("total_record_count", "totalRecordCount", int, False),
    ("delta_record_count", "deltaRecordCount", int, False),
    ("changelog_record_count", "changelogRecordCount", int, False),
    ("watermark", "watermark", int, False),
    ("statistics", "statistics", str, False),
    ("properties", "properties", dict, False),
    ("next_row_id", "nextRowId", int, False),
    ("operation", "operation", str, False),
)
_OLD_DEFAULTS = {"version": 1, "total_record_count": 0, "delta_record_count": 0}  # versions 1 and 2 lack them


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """The file's bytes: indented JSON, missing fields left out."""
    fields = {key: getattr(snapshot, name) for name, key, _, _ in _FIELDS}
    return encode_json_object({k: v for k, v in fields.items() if v is not None})


def decode_snapshot(path: str, data: bytes) -> Snapshot:
    """The snapshot a file holds. Raises `CorruptFileError`, `UnsupportedVersionError`, both naming `path`."""
    node = decode_json_object(path, data)
    version = node.get("version", 1)
    if isinstance(version, int) and version > CURRENT_VERSION:
        raise UnsupportedVersionError(
            path,
            f"it has snapshot version {version}, this library knows versions up to {CURRENT_VERSION}",
        )
    values: dict[str, Any] = {}
    for name, key, kind, required in _FIELDS:
        value = node.get(key)
        if value is None:
            if required:
                raise CorruptFileError(path, f"a snapshot without {key!r}")
            value = _OLD_DEFAULTS.get(name)
        elif not isinstance(value, kind) or isinstance(value, bool):
            raise CorruptFileError(path, f"{key!r} is {shortened(value)}, not of type {kind.__name__}")
        values[name] = value
    if not all(isinstance(v, str) for v in (values["properties"] or {}).values()):
        raise CorruptFileError(path, f"'properties' are {shortened(values['properties'])}, not texts")
    try:
        values["commit_kind"] = CommitKind(values["commit_kind"])
    except ValueError as e:
        raise CorruptFileError(path, f"{shortened(values['commit_kind'])} is not a commit kind") from e
    return Snapshot(**values)
