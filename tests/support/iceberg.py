"""Iceberg tables, written according to its specification: schemas, data files with field ids, manifests, a snapshot."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

Node = dict[str, Any]


def column(identity: int, name: str, kind: Any, **more: Any) -> Node:
    return {"id": identity, "name": name, "type": kind, "required": False, **more}


OLD = [column(1, "id", "int"), column(2, "name", "string"), column(3, "day", "date"), column(4, "gone", "string")]
NEW = [
    column(1, "id", "long", doc="the key"),
    column(2, "title", "string"),
    column(3, "day", "date"),
    column(5, "s", {"type": "struct", "fields": [column(6, "x", "decimal(9, 2)")]}),
]
BY_DAY = [{"source-id": 3, "field-id": 1000, "transform": "identity", "name": "day"}]


def data_file(root: Path, name: str, content: pa.Table, ids: Sequence[int], partition: Node) -> Node:
    """Write a Parquet file with field ids for its columns; nested columns have the ids that follow. Return its entry in
    a manifest.
    """
    path = root / "data" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(content.cast(pa.schema([_with_id(f, i) for f, i in zip(content.schema, ids, strict=True)])), path)
    return {
        "content": 0,
        "file_path": f"file://{path}",
        "file_format": "PARQUET",
        "partition": partition,
        "record_count": content.num_rows,
        "file_size_in_bytes": path.stat().st_size,
    }


def _with_id(field: pa.Field, identity: int) -> pa.Field:
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([_with_id(f, identity + n) for n, f in enumerate(kind, 1)])
    return pa.field(field.name, kind, metadata={"PARQUET:field_id": str(identity)})


def write_table(
    root: Path,
    schemas: Sequence[list[dict[str, Any]]],
    spec: list[dict[str, Any]],
    files: Sequence[dict[str, Any]],
    partition_types: Sequence[Any] = (),
    **manifest: Any,
) -> Path:
    """Write the metadata of a table with these schemas (the last one is current) and files. Return the metadata file.

    `partition_types` are the Avro types of the partition columns, dates by default.
    """
    folder = root / "metadata"
    folder.mkdir(parents=True)
    names = [f["name"] for f in spec]
    types = partition_types or [{"type": "int", "logicalType": "date"}] * len(names)
    partition = {"type": "record", "name": "r102", "fields": list(map(_avro, names, types))}
    texts, longs = ["file_path", "file_format"], ["record_count", "file_size_in_bytes"]
    data = [{"name": "content", "type": "int"}, *({"name": n, "type": "string"} for n in texts)]
    data += [{"name": "partition", "type": partition}, *({"name": n, "type": "long"} for n in longs)]
    entry = {"name": "data_file", "type": {"type": "record", "name": "r2", "fields": data}}
    _write(
        folder / "m0.avro",
        [{"name": "status", "type": "int"}, entry],
        [{"status": f.pop("status", 1), "data_file": f} for f in map(dict, files)],
    )
    listed = {"manifest_path": f"file://{folder}/m0.avro", "partition_spec_id": 0, "content": 0, **manifest}
    kinds = {str: "string", int: "int"}
    _write(folder / "snap.avro", [{"name": k, "type": kinds[type(v)]} for k, v in listed.items()], [listed])
    metadata = {
        "format-version": 2,
        "location": f"file://{root}",
        "schemas": [{"type": "struct", "schema-id": i, "fields": s} for i, s in enumerate(schemas)],
        "current-schema-id": len(schemas) - 1,
        "partition-specs": [{"spec-id": 0, "fields": spec}],
        "default-spec-id": 0,
        "current-snapshot-id": 7,
        "snapshots": [{"snapshot-id": 7, "manifest-list": f"file://{folder}/snap.avro"}],
    }
    (folder / "v1.metadata.json").write_text("{}")
    path = folder / "v2.metadata.json"
    path.write_text(json.dumps(metadata))
    return path


def _avro(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": ["null", kind], "default": None}


def _write(path: Path, fields: list[dict[str, Any]], records: list[dict[str, Any]]) -> None:
    sink = io.BytesIO()
    fastavro.writer(sink, {"type": "record", "name": "r", "fields": fields}, records)
    path.write_bytes(sink.getvalue())


def evolved_table(root: Path) -> Path:
    """Write a table of five rows. Two are older than changes of columns: one was renamed, one made wider, one dropped
    and one added. Return its metadata file.
    """
    ids = pa.array([1, 2], pa.int32())
    first = pa.table({"id": ids, "name": ["a", None], "day": _days([0, 0]), "gone": ["x", "y"]})
    struct = pa.array([{"x": None}, None, {"x": 1}], pa.struct([("x", pa.decimal128(9, 2))]))
    second = pa.table({"id": [3, 4, 5], "title": ["c", "d", "e"], "day": _days([None] * 3), "s": struct})
    day = pa.scalar(0, pa.date32()).as_py()
    files = [
        data_file(root, "day=1970-01-01/0.parquet", first, [1, 2, 3, 4], {"day": day}),
        data_file(root, "day=null/1.parquet", second, [1, 2, 3, 5], {"day": None}),
        data_file(root, "day=null/2.parquet", second, [1, 2, 3, 5], {"day": None}) | {"status": 2},
    ]
    return write_table(root, [OLD, NEW], BY_DAY, files)


def _days(values: list[int | None]) -> pa.Array:
    return pa.array(values, pa.int32()).cast(pa.date32())
