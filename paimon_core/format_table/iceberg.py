"""Read an Iceberg table from its metadata: its schemas, and the partitions and data files of its current snapshot.

    TABLE/metadata/version-hint.text, vN.metadata.json or 0000N-UUID.metadata.json   JSON: schemas, specs, snapshots
    snapshot -> manifest list (Avro) -> manifests (Avro) -> data files

Delete files, deletion vectors, partition transforms other than identity, and types that Paimon does not have are
refused with an error that names them. Source: Iceberg's table specification, versions 1 to 3.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import (
    CorruptFileError,
    PaimonError,
    TableNotFoundError,
    UnfamiliarFormError,
    UnreadableFileError,
    UnsupportedFeatureError,
)
from paimon_core.formats.avro.codecs import InflatedError, most_content
from paimon_core.iceberg.manifests import DELETED, read_avro_records
from paimon_core.iceberg.metadata import MAIN
from paimon_core.io.file_io import MOST_HINT, FileIO
from paimon_core.io.load import normalize
from paimon_core.spec.json_object import decode_json_object, member
from paimon_core.spec.types import DataField, parse_field

_METADATA = re.compile(r"v?(\d+)(?:-[^/]*)?(?:\.gz)?\.metadata\.json(?:\.gz)?")
_TYPES = {
    "boolean": "BOOLEAN",
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "string": "STRING",
    "binary": "BYTES",
    "timestamp": "TIMESTAMP(6)",
    "timestamptz": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "timestamp_ns": "TIMESTAMP(9)",
    "timestamptz_ns": "TIMESTAMP(9) WITH LOCAL TIME ZONE",
}
_SIZED = {"decimal": "DECIMAL", "fixed": "BINARY"}


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergFile:
    """A data file of the current snapshot; `partition` has the values of the partition columns."""

    path: str
    file_format: str
    size: int
    rows: int
    partition: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergTable:
    """An Iceberg table.

    `schemas` are the columns of each schema version with Iceberg's ids, the current version last. `metadata` is the
    folder of its metadata."""

    location: str
    metadata: str
    schemas: tuple[tuple[DataField, ...], ...]
    partition_keys: tuple[str, ...]
    files: tuple[IcebergFile, ...]


def read_iceberg_table(storage: FileIO, location: str) -> IcebergTable:
    """Return the table in a folder, or of a metadata file.

    Raises `TableNotFoundError`, `CorruptFileError`, `UnsupportedFeatureError`."""
    path, data = read_metadata_file(storage, location)
    try:
        node = decode_json_object(path, _unpacked(data) if data[:2] == b"\x1f\x8b" else data)
        return _decode(storage, path, node)
    except (OSError, EOFError, zlib.error, InflatedError) as e:
        raise CorruptFileError(path, f"its compressed bytes do not decode ({e})") from e
    except (TypeError, KeyError, ValueError) as e:
        raise UnfamiliarFormError(path, f"it is not valid Iceberg metadata ({e})") from e


def read_metadata_file(storage: FileIO, location: str) -> tuple[str, bytes]:
    """Return the path and content of the table's metadata file. Raises `TableNotFoundError`, `CorruptFileError`."""
    is_file = location.endswith((".metadata.json", ".metadata.json.gz"))
    path = location if is_file else _latest_metadata(storage, location)
    try:
        return path, storage.read_bytes(path)
    except FileNotFoundError:
        raise TableNotFoundError(f"There is no Iceberg metadata file {path}. Check the path.") from None


def _unpacked(data: bytes) -> bytes:
    """Return the content of gzip data. Raises `ValueError` if it is far larger than in honest files."""
    most = most_content(len(data))
    content = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(data, most + 1)
    if len(content) > most:
        raise InflatedError
    return content


def _latest_metadata(storage: FileIO, folder: str) -> str:
    found = {f.name: int(m[1]) for f in storage.list(f"{folder}/metadata") if (m := _METADATA.fullmatch(f.name))}
    if not found:
        raise TableNotFoundError(f"{folder} is not an Iceberg table: it has no metadata/*.metadata.json.")
    try:
        hinted = int(storage.read_bytes(f"{folder}/metadata/version-hint.text", MOST_HINT))
    except (FileNotFoundError, UnreadableFileError, ValueError):
        hinted = max(found.values())
    names = [n for n, number in found.items() if number == hinted] or [max(found, key=lambda n: found[n])]
    if len(names) > 1:
        raise UnfamiliarFormError(
            f"{folder}/metadata",
            f"it has several versions {hinted}: {', '.join(sorted(names))}",
            "name one of the files",
        )
    return f"{folder}/metadata/{names[0]}"


def _decode(storage: FileIO, path: str, node: Mapping[str, Any]) -> IcebergTable:
    schemas = {s.get("schema-id", 0): s for s in node.get("schemas") or [member(node, "schema", dict)]}
    current = node.get("current-schema-id", 0)
    known = [*(s for i, s in sorted(schemas.items()) if i != current), schemas[current]]
    specs = {s["spec-id"]: s["fields"] for s in node.get("partition-specs") or ()}
    spec = node.get("default-spec-id", 0)
    keys = _partition_keys(path, specs.get(spec, []), schemas[current])
    snapshot = _current_snapshot(node)
    return IcebergTable(
        location=normalize(member(node, "location", str)),
        metadata=path.rpartition("/")[0],
        schemas=tuple(_columns(path, s) for s in known),
        partition_keys=keys,
        files=() if snapshot is None else tuple(_files(storage, path, snapshot, spec)),
    )


def _current_snapshot(node: Mapping[str, Any]) -> Mapping[str, Any] | None:
    number = node.get("refs", {}).get(MAIN, {}).get("snapshot-id", node.get("current-snapshot-id"))
    if number in (None, -1):
        return None
    found: Mapping[str, Any] | None = next((s for s in node["snapshots"] if s["snapshot-id"] == number), None)
    if found is None:
        raise ValueError(f"its current snapshot {number} is not among its snapshots")
    return found


def _partition_keys(path: str, spec: Sequence[Mapping[str, Any]], schema: Mapping[str, Any]) -> tuple[str, ...]:
    names = {f["id"]: f["name"] for f in schema["fields"]}
    for field in spec:
        if field["transform"] != "identity":
            raise UnsupportedFeatureError(
                f"The Iceberg table of {path} cannot be migrated: it is partitioned by {field['transform']} of "
                f"{names.get(field['source-id'])!r}, but Paimon partitions by whole values only."
            )
    return tuple(names[f["source-id"]] for f in spec)


def _columns(path: str, schema: Mapping[str, Any]) -> tuple[DataField, ...]:
    try:
        return tuple(parse_field(_field(f)) for f in schema["fields"])
    except PaimonError as e:
        raise UnsupportedFeatureError(f"The Iceberg table of {path} cannot be migrated: {e}") from e


def _field(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return a field in the form of Paimon's JSON."""
    if node.get("initial-default") is not None:
        raise UnsupportedFeatureError(f"column {node['name']!r} has an initial default, which its files do not have.")
    made = {"id": node["id"], "name": node["name"], "type": _type(node["type"], node["name"], node["required"])}
    return made | ({"description": node["doc"]} if node.get("doc") else {})


def _type(node: Any, name: str, required: bool) -> Any:
    """Return a type in the form of Paimon's JSON."""
    mark = " NOT NULL" if required else ""
    if isinstance(node, str):
        match = re.fullmatch(r"(\w+)(?:\(([\d, ]+)\)|\[(\d+)\])?", node)
        plain = node if match is None else match[1]
        if plain in _SIZED and match is not None:
            return f"{_SIZED[plain]}({(match[2] or match[3]).replace(' ', '')}){mark}"
        if node not in _TYPES:
            raise UnsupportedFeatureError(
                f"column {name!r} has Iceberg's type {node}, which Paimon's files cannot store."
            )
        return f"{_TYPES[node]}{mark}"
    match node["type"]:
        case "struct":
            return {"type": f"ROW{mark}", "fields": [_field(f) for f in node["fields"]]}
        case "list":
            return {"type": f"ARRAY{mark}", "element": _type(node["element"], name, node["element-required"])}
        case "map":
            value = _type(node["value"], name, node["value-required"])
            return {"type": f"MAP{mark}", "key": _type(node["key"], name, True), "value": value}
    raise UnsupportedFeatureError(f"column {name!r} has Iceberg's type {node['type']}, which Paimon does not have.")


def _files(storage: FileIO, path: str, snapshot: Mapping[str, Any], spec: int) -> Iterator[IcebergFile]:
    if "manifest-list" not in snapshot:
        raise UnsupportedFeatureError(
            f"The Iceberg table of {path} cannot be migrated: its metadata file lists the manifests itself, without "
            "a manifest list. Rewrite its manifests first."
        )
    for manifest in read_avro_records(storage, normalize(snapshot["manifest-list"])):
        manifest_path = normalize(manifest["manifest_path"])
        live = [e for e in read_avro_records(storage, manifest_path) if e["status"] != DELETED]
        if live and (manifest.get("content") or any(e["data_file"].get("content") for e in live)):
            raise UnsupportedFeatureError(
                f"The Iceberg table of {path} cannot be migrated: it has delete files or deletion vectors. Rewrite its "
                "data files (rewrite_data_files), and expire their snapshots first."
            )
        if live and manifest.get("partition_spec_id", spec) != spec:
            raise UnsupportedFeatureError(
                f"The Iceberg table of {path} cannot be migrated: some of its files have an older partitioning. "
                "Rewrite its data files first."
            )
        for entry in live:
            file = entry["data_file"]
            yield IcebergFile(
                path=normalize(file["file_path"]),
                file_format=str(file["file_format"]).lower(),
                size=file["file_size_in_bytes"],
                rows=file["record_count"],
                partition=tuple(file["partition"].values()),
            )
