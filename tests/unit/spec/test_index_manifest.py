from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import fastavro
import pytest

from paimon_core.errors import CorruptFileError, UnfamiliarFormError, UnsupportedVersionError
from paimon_core.spec.binary_row import encode_row
from paimon_core.spec.index_manifest import (
    INDEX_FILE_META,
    DeletionVectorMeta,
    GlobalIndexMeta,
    IndexFileMeta,
    IndexManifestEntry,
)
from paimon_core.spec.manifest import FileKind
from paimon_core.spec.types import INT
from tests.support.golden_files import metadata_files
from tests.support.manifests import decode_index_manifest, encode_index_manifest

FILE = IndexFileMeta(
    index_type="DELETION_VECTORS",
    file_name="index-1-0",
    file_size=65,
    row_count=2,
    dv_ranges=(
        DeletionVectorMeta(data_file="data-1.parquet", offset=1, length=22, cardinality=3),
        DeletionVectorMeta(data_file="data-2.parquet", offset=31, length=26),
    ),
    external_path="s3://elsewhere/index-1-0",
    global_index=GlobalIndexMeta(
        row_range_start=5, row_range_end=9, index_field_id=2, extra_field_ids=(3, 4), index_meta=b"\0\1"
    ),
)
ENTRY = IndexManifestEntry(kind=FileKind.ADD, partition=encode_row([INT], [7]), bucket=3, file=FILE)
BARE = replace(ENTRY, file=IndexFileMeta(index_type="HASH", file_name="index-2-0", file_size=8, row_count=2))


def avro(data: bytes) -> tuple[Any, list[Any]]:
    reader = fastavro.reader(io.BytesIO(data))
    return reader.writer_schema, list(reader)


@pytest.mark.parametrize("codec", ["zstd", "null"])
def test_both_ways(codec: str) -> None:
    assert list(decode_index_manifest("p", encode_index_manifest([ENTRY, BARE], codec))) == [ENTRY, BARE]
    assert list(decode_index_manifest("p", encode_index_manifest([]))) == []


def test_the_same_schema_and_records_as_golden_ones() -> None:
    paths = metadata_files("*/manifest/index-manifest-*")
    for path in paths:
        data = path.read_bytes()
        assert avro(encode_index_manifest(decode_index_manifest(str(path), data))) == avro(data)
    assert len(paths) > 15


def test_files_as_json_both_ways() -> None:
    for file in (FILE, BARE.file):
        assert INDEX_FILE_META.from_json(INDEX_FILE_META.to_json(file)) == file
    node = INDEX_FILE_META.to_json(FILE)
    for broken in (5, {}, [5], [{"f0": "a"}]):
        with pytest.raises((TypeError, ValueError)):
            INDEX_FILE_META.from_json(node | {"_DELETIONS_VECTORS_RANGES": broken})


def test_newer_versions_and_other_files_are_refused() -> None:
    schema, records = avro(encode_index_manifest([ENTRY]))
    newer = io.BytesIO()
    fastavro.writer(newer, fastavro.parse_schema(schema), [records[0] | {"_VERSION": 2}])
    with pytest.raises(UnsupportedVersionError, match="version 2"):
        list(decode_index_manifest("p", newer.getvalue()))
    with pytest.raises(CorruptFileError, match="File p is corrupt"):
        list(decode_index_manifest("p", b"Obj\1"))


@pytest.mark.parametrize(
    "wrong", ["string", {"type": "array", "items": "string"}, ["null", {"type": "map", "values": "string"}]]
)
def test_vectors_of_other_types_are_refused(wrong: Any) -> None:
    schema, records = avro(encode_index_manifest([BARE], "null"))
    (column,) = [f for f in schema["fields"] if f["name"] == "_DELETIONS_VECTORS_RANGES"]
    column["type"], sample = wrong, {"string": "x", "array": [], "map": {}}
    column.pop("default")
    value = sample[wrong if isinstance(wrong, str) else wrong["type"] if isinstance(wrong, dict) else "map"]
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), [records[0] | {"_DELETIONS_VECTORS_RANGES": value}])
    with pytest.raises(UnfamiliarFormError, match="column _DELETIONS_VECTORS_RANGES"):
        list(decode_index_manifest("p", out.getvalue()))
