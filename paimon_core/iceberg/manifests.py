"""Iceberg's manifests and manifest lists. Source: Iceberg's table specification, version 2, "Manifests".

An entry is an Avro record: `{"status": 1, "snapshot_id": 7, "data_file": {...}}`. A manifest lists the files that a
snapshot added, files that it keeps from earlier snapshots, and files that it removed, which readers ignore.
"""

from __future__ import annotations

import io
import json
import re
import uuid
from collections.abc import Sequence
from functools import partial
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import CorruptFileError, UnfamiliarFormError
from paimon_core.formats.avro.codecs import UnknownCodecError
from paimon_core.formats.avro.container import ContainerReader
from paimon_core.formats.avro.records import read_records, write_records
from paimon_core.formats.iceberg_types import Node, avro_type, bound_of, iceberg_schema, value_order
from paimon_core.io.file_io import MOST_METADATA, FileIO
from paimon_core.io.load import normalize
from paimon_core.secrets import without_secrets
from paimon_core.spec.avro_types import UnfamiliarSchemaError
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataField, DataType

EXISTING, ADDED, DELETED = 0, 1, 2  # the status of an entry
FIRST_PARTITION_ID = 1000
_CODEC = "deflate"  # every reader supports it
_AVRO_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Layout:
    """The common properties of a table's manifests: their folder, and the table's current schema."""

    folder: str
    schema: TableSchema

    @property
    def partition_fields(self) -> tuple[DataField, ...]:
        return self.schema.partition_fields

    @property
    def partition_names(self) -> list[str]:
        """Return valid Avro names of the partition columns; readers find columns by their ids."""
        return [f.name if _AVRO_NAME.fullmatch(f.name) else f"_{n}" for n, f in enumerate(self.partition_fields)]

    @property
    def spec(self) -> list[Node]:
        """Return the partition fields in the form of Iceberg's metadata."""
        return [
            {"name": f.name, "transform": "identity", "source-id": f.id, "field-id": FIRST_PARTITION_ID + n}
            for n, f in enumerate(self.partition_fields)
        ]


def _field(identity: int, name: str, kind: Any, *, optional: bool = False, **more: Any) -> Node:
    if optional:
        return {"name": name, "type": ["null", kind], "default": None, "field-id": identity, **more}
    return {"name": name, "type": kind, "field-id": identity, **more}


def _by_column(identity: int, name: str, key_id: int, value: str) -> Node:
    """Return an optional field that maps column ids to values.

    It is a list of pairs, because Avro's maps only have text keys.
    """
    pairs = [_field(key_id, "key", "int"), _field(key_id + 1, "value", value)]
    record = {"type": "record", "name": f"k{key_id}_v{key_id + 1}", "fields": pairs}
    return _field(identity, name, {"type": "array", "items": record, "logicalType": "map"}, optional=True)


def _entry_schema(layout: Layout) -> Node:
    partition = [
        _field(FIRST_PARTITION_ID + n, name, avro_type(field.type), optional=True)
        for n, (name, field) in enumerate(zip(layout.partition_names, layout.partition_fields, strict=True))
    ]
    file = [
        _field(134, "content", "int"),
        _field(100, "file_path", "string"),
        _field(101, "file_format", "string"),
        _field(102, "partition", {"type": "record", "name": "r102", "fields": partition}),
        _field(103, "record_count", "long"),
        _field(104, "file_size_in_bytes", "long"),
        _by_column(110, "null_value_counts", 121, "long"),
        _by_column(125, "lower_bounds", 126, "bytes"),
        _by_column(128, "upper_bounds", 129, "bytes"),
    ]
    fields = [
        _field(0, "status", "int"),
        _field(1, "snapshot_id", "long", optional=True),
        _field(3, "sequence_number", "long", optional=True),
        _field(4, "file_sequence_number", "long", optional=True),
        _field(2, "data_file", {"type": "record", "name": "r2", "fields": file}),
    ]
    return {"type": "record", "name": "manifest_entry", "fields": fields}


def _summary_schema() -> Node:
    fields = [
        _field(509, "contains_null", "boolean"),
        _field(518, "contains_nan", "boolean", optional=True),
        _field(510, "lower_bound", "bytes", optional=True),
        _field(511, "upper_bound", "bytes", optional=True),
    ]
    return {"type": "record", "name": "r508", "fields": fields}


_LIST_SCHEMA: Node = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        _field(500, "manifest_path", "string"),
        _field(501, "manifest_length", "long"),
        _field(502, "partition_spec_id", "int"),
        _field(517, "content", "int"),
        _field(515, "sequence_number", "long"),
        _field(516, "min_sequence_number", "long"),
        _field(503, "added_snapshot_id", "long"),
        _field(504, "added_files_count", "int"),
        _field(505, "existing_files_count", "int"),
        _field(506, "deleted_files_count", "int"),
        _field(512, "added_rows_count", "long"),
        _field(513, "existing_rows_count", "long"),
        _field(514, "deleted_rows_count", "long"),
        _field(507, "partitions", {"type": "array", "items": _summary_schema(), "element-id": 508}, optional=True),
    ],
}


def write_manifest(storage: FileIO, layout: Layout, snapshot_id: int, entries: Sequence[Node]) -> Node:
    """Write a manifest, and return its entry for a manifest list."""
    about = {
        "schema": json.dumps(iceberg_schema(layout.schema.id, layout.schema.fields)),
        "schema-id": str(layout.schema.id),
        "partition-spec": json.dumps(layout.spec),
        "partition-spec-id": "0",
        "format-version": "2",
        "content": "data",
    }
    data = write_records(_entry_schema(layout), entries, _CODEC, about)
    path = f"{layout.folder}/{uuid.uuid4()}-m0.avro"
    storage.write_bytes(path, data)
    live = (e["sequence_number"] for e in entries if e["status"] != DELETED)
    counts = {s: [e for e in entries if e["status"] == s] for s in (ADDED, EXISTING, DELETED)}
    named = ((ADDED, "added"), (EXISTING, "existing"), (DELETED, "deleted"))
    return {
        "manifest_path": uri(path),
        "manifest_length": len(data),
        "partition_spec_id": 0,
        "content": 0,
        "sequence_number": snapshot_id,
        "min_sequence_number": min(live, default=snapshot_id),
        "added_snapshot_id": snapshot_id,
        **{f"{name}_files_count": len(counts[status]) for status, name in named},
        **{f"{name}_rows_count": sum(e["data_file"]["record_count"] for e in counts[status]) for status, name in named},
        "partitions": _summaries(layout, [e["data_file"]["partition"] for e in entries]),
    }


def _summaries(layout: Layout, partitions: Sequence[Node]) -> list[Node]:
    """Return the smallest and the largest value of each partition column.

    Java's connector needs them to read a manifest list.
    """
    return [
        _summary(field.type, [p[name] for p in partitions])
        for name, field in zip(layout.partition_names, layout.partition_fields, strict=True)
    ]


def _summary(data_type: DataType, values: Sequence[Any]) -> Node:
    numbers = [v for v in values if v is not None and v == v]  # NaN has no order
    has_nan = any(v is not None and v != v for v in values)
    order = partial(value_order, data_type)
    ordered = sorted(numbers, key=order) if not has_nan else []
    return {
        "contains_null": None in values,
        "contains_nan": has_nan,
        "lower_bound": bound_of(data_type, ordered[0]) if ordered else None,
        "upper_bound": bound_of(data_type, ordered[-1]) if ordered else None,
    }


def write_manifest_list(
    storage: FileIO, folder: str, snapshot_id: int, parent: int | None, manifests: list[Node]
) -> str:
    """Write the list of a snapshot's manifests. Return its path."""
    about = {
        "snapshot-id": str(snapshot_id),
        "parent-snapshot-id": "null" if parent is None else str(parent),
        "sequence-number": str(snapshot_id),
        "format-version": "2",
    }
    path = f"{folder}/snap-{snapshot_id}-{uuid.uuid4()}.avro"
    storage.write_bytes(path, write_records(_LIST_SCHEMA, manifests, _CODEC, about))
    return path


def read_own_records(storage: FileIO, folder: str, place: str) -> list[Node]:
    """Read the records of a manifest list or a manifest in a folder; `place` is a path or a URI.

    Raises `CorruptFileError`, `FileNotFoundError`, and `UnfamiliarFormError` for a file in another folder.
    """
    path = normalize(place)
    if path.rpartition("/")[0] != folder:
        raise UnfamiliarFormError(folder, f"it names {without_secrets(place)!r}, which is in another folder")
    return read_avro_records(storage, path, plain=True)


def read_avro_records(storage: FileIO, path: str, *, plain: bool = False) -> list[Node]:
    """Return the records of a manifest list or a manifest. `read_records` explains `plain`.

    Raises `UnreadableFileError`, `FileNotFoundError`.
    """
    data = storage.read_bytes(path, MOST_METADATA)
    try:
        return [r for r in read_records(ContainerReader(io.BytesIO(data)), plain=plain) if isinstance(r, dict)]
    except (UnfamiliarSchemaError, UnknownCodecError) as e:
        raise UnfamiliarFormError(path, str(e)) from e
    except Exception as e:  # a decoder may raise anything for foreign bytes
        raise CorruptFileError(path, f"it is not a readable Avro file ({e})") from e


def uri(path: str) -> str:
    """Return a path in the form that other engines accept."""
    return f"file://{path}" if path.startswith("/") else path
