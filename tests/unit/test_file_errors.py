"""Damage, a later version and an unfamiliar form are three errors of each kind of file; only damage means a backup."""

from __future__ import annotations

import ast
import gzip
import re
import struct
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap

from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import CorruptFileError, UnfamiliarFormError, UnreadableFileError, UnsupportedVersionError
from paimon_core.formats.avro.records import write_records
from paimon_core.formats.blob import BlobFile
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.reading import read_errors
from paimon_core.formats.registry import FORMATS
from paimon_core.indexes.deletion_vector import DeletionVectorMeta, decode_vector, decode_vectors
from paimon_core.indexes.file_index.container import encode_container, head_size
from paimon_core.indexes.file_index.cursor import ByteCursor
from paimon_core.indexes.global_index import bitmap, btree
from paimon_core.indexes.global_index.blocks import Codec, seal, unseal
from paimon_core.io.local import LocalFileIO
from paimon_core.manifests.entries import decode_entries
from paimon_core.manifests.record_files import decode_file, encode_avro, encode_columns
from paimon_core.options import TableOptions
from paimon_core.spec import index_manifest, manifest
from paimon_core.spec.binary_row import EMPTY_ROW
from paimon_core.spec.index_manifest import INDEX_MANIFEST_ENTRY, IndexFileMeta, IndexManifestEntry
from paimon_core.spec.manifest import (
    MANIFEST_ENTRY,
    MANIFEST_FILE_META,
    DataFileMeta,
    FileKind,
    ManifestEntry,
    ManifestFileMeta,
)
from paimon_core.spec.schema import decode_schema
from paimon_core.spec.snapshot import decode_snapshot
from paimon_core.spec.statistics import decode_statistics
from paimon_core.spec.stats import EMPTY_STATS
from paimon_core.spec.tag import decode_tag
from paimon_core.spec.types import INT, STRING, DataField
from paimon_core.store.consumers import decode_consumer
from paimon_core.store.snapshots import earliest_snapshot, latest_snapshot
from paimon_core.store.streams import decode_stream_commit
from paimon_sql.catalog.function import decode_function
from paimon_sql.catalog.view import decode_view
from tests.support.java_json import document
from tests.support.stored import create_table, insert, open_table
from tests.support.tables import fields

ROOT = Path(__file__).parents[2]
DAMAGED, LATER, UNFAMILIAR = CorruptFileError, UnsupportedVersionError, UnfamiliarFormError
PATH = "/w/db.db/t/file"
Decode = Callable[[bytes], Any]


@dataclass(frozen=True)
class Case:
    """Bytes of a kind of file, and the class of error that they give."""

    kind: str
    decode: Decode
    data: bytes
    error: type[UnreadableFileError]


def json_cases(kind: str, decode: Decode, unfamiliar: dict[str, str], later: dict[str, str] | None) -> list[Case]:
    """Of a JSON file: truncated, with a member of another form, and of a later version."""
    data = document(kind, {}).encode()
    cases = [Case(kind, decode, data[: len(data) // 2], DAMAGED), Case(kind, decode, b"\x00" * 40, DAMAGED)]
    cases += [
        Case(kind, decode, document(kind, unfamiliar).encode(), UNFAMILIAR),
        Case(kind, decode, b"[]", UNFAMILIAR),
    ]
    return cases + ([] if later is None else [Case(kind, decode, document(kind, later).encode(), LATER)])


def deletion_vectors() -> list[Case]:
    def vector(magic: bytes, checksum_off: int = 0) -> bytes:
        body = magic + BitMap([1, 2]).serialize()
        return struct.pack(">i", len(body)) + body + struct.pack(">I", (zlib.crc32(body) + checksum_off) % 2**32)

    def decode(data: bytes) -> Any:
        meta = DeletionVectorMeta(data_file="data-1", offset=1, length=len(data) - 8, cardinality=2)
        return decode_vector(PATH, data, meta)

    magic = (1581511376).to_bytes(4, "big")
    decode(vector(magic))
    return [
        Case("deletion vector", decode, vector(magic, 1), DAMAGED),
        Case("deletion vector", decode, vector(b"later"[:4]), UNFAMILIAR),
        Case("deletion vectors", lambda data: decode_vectors(PATH, data, []), b"\x02", LATER),
        Case("deletion vectors", lambda data: decode_vectors(PATH, data, []), b"", DAMAGED),
    ]


def file_indexes() -> list[Case]:
    whole = encode_container({"c": {"bitmap": b"123"}})

    def head(data: bytes) -> Any:
        return head_size(PATH, data)

    def version(data: bytes) -> Any:
        return ByteCursor(PATH, data).version(1, 2)

    head(whole)
    return [
        Case("file index", head, b"\x00" * 16, DAMAGED),
        Case("file index", head, whole[:8] + (2).to_bytes(4, "big") + whole[12:], LATER),
        Case("file index", head, whole[:8] + (-1).to_bytes(4, "big", signed=True) + whole[12:], DAMAGED),
        Case("body of a file index", version, b"\x03", LATER),
        Case("body of a file index", version, b"\x00", DAMAGED),
    ]


def global_indexes() -> list[Case]:
    def of_btree(version: int, magic: int = 0x50425449) -> bytes:
        return struct.pack("<qiqqiqiii", 0, 0, 0, 0, 0, 0, 0, version, magic)

    def of_bitmap(version: int, magic: int = 0x42474958) -> bytes:
        return struct.pack(">qiqiqiiii", 0, 0, 0, 0, 0, 0, 0, version, magic)

    sealed = seal(Codec.NONE, b"body")
    later_codec = seal(9, b"body")  # type: ignore[arg-type]
    return [
        Case("btree", lambda d: btree.decode_footer(PATH, d), of_btree(2), LATER),
        Case("btree", lambda d: btree.decode_footer(PATH, d), of_btree(1, 5), DAMAGED),
        Case("btree", lambda d: btree.decode_footer(PATH, d), of_btree(1)[:-1], DAMAGED),
        Case("bitmap", lambda d: bitmap.decode_footer(PATH, d), of_bitmap(2), LATER),
        Case("bitmap", lambda d: bitmap.decode_footer(PATH, d), of_bitmap(1, 5), DAMAGED),
        Case("block of a global index", lambda d: unseal(PATH, d), sealed[:-1] + b"\x00", DAMAGED),
        Case("block of a global index", lambda d: unseal(PATH, d), later_codec, UNFAMILIAR),
    ]


def data_files() -> list[Case]:
    def raising(error: Exception) -> Decode:
        def decode(data: bytes) -> Any:
            with read_errors("Parquet", PATH):
                raise error

        return decode

    def parquet(data: bytes) -> Any:
        with read_errors("Parquet", PATH):
            return pq.ParquetFile(pa.BufferReader(data)).read()

    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": [1, 2, 3]}), sink)
    whole = sink.getvalue().to_pybytes()
    parquet(whole)
    return [
        Case("Parquet", parquet, whole[:-20], DAMAGED),
        Case("Parquet", parquet, b"junk" * 10, DAMAGED),
        Case("Parquet", raising(pa.ArrowNotImplementedError("codec LZO")), b"", UNFAMILIAR),
        Case("Parquet", raising(OSError("Not yet implemented: Unsupported encoding.")), b"", UNFAMILIAR),
        Case("Parquet", raising(pa.ArrowInvalid("Corrupt snappy compressed data")), b"", DAMAGED),
    ]


def of_another_kind(name: str) -> bytes:
    """A healthy file without the columns of metadata."""
    rows, sink = pa.table({"_VERSION": pa.array([1], pa.int32()), "x": [1]}), pa.BufferOutputStream()
    if name == "avro":
        schema = {"type": "record", "name": "r", "fields": [{"name": "x", "type": "int"}]}
        return write_records(schema, iter([{"x": 1}]), "null")
    po.write_table(rows, sink) if name == "orc" else pq.write_table(rows, sink)
    return sink.getvalue().to_pybytes()


def of_codec(orc: bytes, codec: int) -> bytes:
    """An ORC file with the number of another codec in its postscript."""
    start = len(orc) - 1 - orc[-1]
    known = orc.index(b"\x10", start) + 1
    return orc[:known] + bytes((codec,)) + orc[known + 1 :]


def manifests() -> list[Case]:
    """Of manifests, their lists and index manifests, in each form that `manifest.format` gives them."""
    file = DataFileMeta(
        file_name="data-1.parquet", file_size=1, row_count=1, min_sequence_number=0, max_sequence_number=0, schema_id=0
    )
    entry = ManifestEntry(kind=FileKind.ADD, partition=EMPTY_ROW, bucket=0, total_buckets=1, file=file)
    listed = ManifestFileMeta(
        file_name="manifest-1",
        file_size=1,
        num_added_files=1,
        num_deleted_files=0,
        partition_stats=EMPTY_STATS,
        schema_id=0,
    )
    index = IndexFileMeta(index_type="HASH", file_name="index-1", file_size=4, row_count=1)
    indexed = IndexManifestEntry(kind=FileKind.ADD, partition=EMPTY_ROW, bucket=0, file=index)
    cases = []
    for kind, record, version, value in (
        ("manifest", MANIFEST_ENTRY, manifest.ENTRY_VERSION, entry),
        ("manifest list", MANIFEST_FILE_META, manifest.LIST_VERSION, listed),
        ("index manifest", INDEX_MANIFEST_ENTRY, index_manifest.ENTRY_VERSION, indexed),
    ):

        def decode(data: bytes, record: Any = record, version: int = version) -> Any:
            if record is MANIFEST_ENTRY:
                columns = decode_entries(PATH, data)
                return columns.entries(np.arange(len(columns)))
            return list(decode_file(record, version, PATH, data))

        for name in ("avro", "parquet", "orc"):

            def encode(version: int, name: str = name, record: Any = record, value: Any = value) -> bytes:
                if name == "avro":
                    return encode_avro(record, version, [value], "zstd")
                return encode_columns(record, version, [value], name, "zstd")

            whole, form = encode(version), f"{name} {kind}"
            assert len(list(decode(whole))) == 1
            cases += [Case(form, decode, of_codec(whole, 3), UNFAMILIAR)] if name == "orc" else []
            cases += [
                Case(form, decode, whole[: len(whole) // 2], DAMAGED),
                Case(form, decode, whole[:4] + bytes(byte ^ 255 for byte in whole[4:]), DAMAGED),
                Case(form, decode, encode(version + 1), LATER),
                Case(form, decode, of_another_kind(name), UNFAMILIAR),
            ]
        cases.append(Case(kind, decode, b"", DAMAGED))
    return cases


def files_of_formats() -> list[Case]:
    """Data files of the other formats, by the readers that tables have."""
    columns = (DataField(id=0, name="k", type=INT), DataField(id=1, name="v", type=STRING))
    rows = pa.table({"k": pa.array([1, 2], pa.int32()), "v": ["a", "b"]}, schema=arrow_schema(columns))

    def reading(name: str, ending: str) -> Decode:
        def decode(data: bytes) -> Any:
            with tempfile.TemporaryDirectory() as folder:
                path = f"{folder}/file.{ending}"
                Path(path).write_bytes(data)
                try:
                    return list(FORMATS[name].read(LocalFileIO(), ReadRequest(path, columns, row_count=2)))
                except UnreadableFileError as error:
                    raise error.changed(path=PATH) from error

        return decode

    def written(name: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            writer = FORMATS[name].open_writer(LocalFileIO(), f"{folder}/file", columns, TableOptions({}))
            writer.write(rows)
            return Path(writer.close().path).read_bytes()

    cases = []
    for name in ("avro", "orc", "parquet"):
        decode, whole = reading(name, name), written(name)
        assert sum(batch.num_rows for batch in decode(whole)) == 2
        cases += [
            Case(f"{name} data file", decode, data, DAMAGED)
            for data in (b"", b"junk" * 10, whole[: len(whole) // 2], whole[:-1])
        ]
    avro = reading("avro", "avro")
    cases += [
        Case("avro data file", avro, written("avro").replace(b'"record"', b'"reword"'), UNFAMILIAR),
        Case("orc data file", reading("orc", "orc"), written("orc")[:-2] + b"\xff\xff", DAMAGED),
        *(Case("orc data file", reading("orc", "orc"), of_codec(written("orc"), n), UNFAMILIAR) for n in (3, 6)),
        Case("orc data file", reading("orc", "orc"), of_codec(written("orc"), 99), DAMAGED),
    ]
    for name in ("csv", "json", "text"):
        decode = reading(name, f"{name}.gz")
        whole = gzip.compress(b'{"k":1,"v":"a"}\n{"k":2,"v":"b"}\n' if name == "json" else b"1,a\n2,b\n")
        cases += [
            Case(f"{name} data file", decode, whole[:-12], DAMAGED),
            Case(f"{name} data file", decode, b"junk", DAMAGED),
        ]
    return cases


CASES = [
    *json_cases("snapshot", lambda d: decode_snapshot(PATH, d), {"commitKind": '"x"'}, {"version": "4"}),
    *json_cases("tag", lambda d: decode_tag(PATH, d, "t"), {"tagCreateTime": '"x"'}, {"version": "4"}),
    *json_cases("schema", lambda d: decode_schema(PATH, d), {"fields": "5"}, {"version": "4"}),
    *json_cases("consumer", lambda d: decode_consumer(PATH, d), {"nextSnapshot": "{}"}, None),
    *json_cases("statistics", lambda d: decode_statistics(PATH, d), {"colStats": "[]"}, None),
    Case("view", lambda d: decode_view(PATH, d), b"{", DAMAGED),
    Case("view", lambda d: decode_view(PATH, d), b'{"fields": 5}', UNFAMILIAR),
    Case("function", lambda d: decode_function(PATH, d), b"{", DAMAGED),
    Case("function", lambda d: decode_function(PATH, d), b'{"definitions": 5}', UNFAMILIAR),
    Case("stream", lambda d: decode_stream_commit(PATH, 1, d), b"{", DAMAGED),
    Case("stream", lambda d: decode_stream_commit(PATH, 1, d), b'{"made": "x"}', UNFAMILIAR),
    *deletion_vectors(),
    *file_indexes(),
    *global_indexes(),
    *data_files(),
    *files_of_formats(),
    *manifests(),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.kind}-{c.error.__name__}")
def test_each_kind_of_file_tells_the_three_apart(case: Case) -> None:
    with pytest.raises(UnreadableFileError) as caught:
        case.decode(case.data)
    assert type(caught.value) is case.error, caught.value
    check_words(caught.value)


SHOWN_BY_READERS = ("Parquet",)  # cases without a file, of which the reader around them gives the size


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.error is DAMAGED and c.kind not in SHOWN_BY_READERS], ids=lambda c: c.kind
)
def test_damage_is_shown_by_a_number(case: Case) -> None:
    """A checksum, an offset or a size: it tells a file that is cut off from one that is changed."""
    with pytest.raises(CorruptFileError) as caught:
        case.decode(case.data)
    assert re.search(r"\d", caught.value.cause), caught.value


def check_words(error: UnreadableFileError) -> None:
    text = str(error).lower()
    assert PATH in text
    if isinstance(error, CorruptFileError):
        assert "is corrupt" in text
        return
    assert [word for word in ("corrupt", "restore", "backup", "damaged") if word in text] == []
    assert "left as it is" in text


@pytest.mark.parametrize(("version", "error"), [(1, None), (2, LATER), (0, DAMAGED), (200, DAMAGED)])
def test_versions_of_blob_files(tmp_path: Path, version: int, error: type[UnreadableFileError] | None) -> None:
    path = tmp_path / "a.blob"
    path.write_bytes((0).to_bytes(4, "little") + bytes((version,)))
    if error is None:
        assert len(BlobFile.open(LocalFileIO(), str(path)).lengths) == 0
        return
    with pytest.raises(error) as caught:
        BlobFile.open(LocalFileIO(), str(path))
    assert type(caught.value) is error


def raised_calls() -> list[tuple[str, str, str]]:
    """The module, the class and the words of each error of a file in the code."""
    found = []
    names = {"CorruptFileError", "UnsupportedVersionError", "UnfamiliarFormError"}
    for folder in ("paimon_core", "paimon_sql", "catalog", "procedures"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            for node in ast.walk(ast.parse(source)) if any(name in source for name in names) else ():
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                    texts = [
                        n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)
                    ]
                    found.append((str(path.relative_to(ROOT)), node.func.id, " ".join(texts).lower()))
    return found


def test_no_healthy_file_is_called_corrupt_in_the_code() -> None:
    calls = raised_calls()
    assert len(calls) > 70
    healthy = [c for c in calls if c[1] != "CorruptFileError"]
    assert [c for c in healthy if any(word in c[2] for word in ("corrupt", "restore", "backup", "damage"))] == []


def test_the_classes_have_their_own_advice() -> None:
    assert "backup" in CorruptFileError.default_advice
    for kind in (UnsupportedVersionError, UnfamiliarFormError):
        assert "backup" not in kind.default_advice and "issue tracker" in kind.default_advice


@pytest.mark.parametrize("name", ["parquet", "orc"])
def test_errors_name_the_software_that_wrote_the_file(name: str, tmp_path: Path) -> None:
    """Of data files and of manifests, if their footer is whole."""
    writer = "parquet-cpp-arrow" if name == "parquet" else "ORC C++"
    path = tmp_path / f"data.{name}"
    path.write_bytes(of_another_kind(name))
    with pytest.raises(
        CorruptFileError, match=f"(?s)metadata lists 7; it has [0-9]+ bytes .written by {re.escape(writer)}"
    ):
        list(FORMATS[name].read(LocalFileIO(), ReadRequest(str(path), tuple(fields(x=INT)), row_count=7)))
    with pytest.raises(UnfamiliarFormError, match=f"written by {re.escape(writer)}"):
        decode_entries(PATH, of_another_kind(name))


@pytest.mark.parametrize("hint", [b"", b"junk", b"-1", b"99", b"\xff\xfe", b"1 2", b"9" * 40, b"0" * 5000])
def test_hints_are_never_an_error(tmp_path: Path, hint: bytes) -> None:
    """A hint only saves a listing: whatever it says, the snapshots are found."""
    table = create_table(str(tmp_path))
    for key in range(2):
        insert(table, [(key, "a")])
    for path in (table.store.paths.latest_hint, table.store.paths.earliest_hint):
        Path(path).write_bytes(hint)
    store = open_table(str(tmp_path)).store
    latest, earliest = latest_snapshot(store), earliest_snapshot(store)
    assert latest is not None and earliest is not None
    assert (latest.id, earliest.id) == (2, 1)
