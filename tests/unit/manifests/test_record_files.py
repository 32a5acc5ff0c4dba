"""Manifests and their lists as Parquet and ORC: records come back, the columns are those of a golden file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

from paimon_core.errors import (
    CorruptFileError,
    InvalidOptionError,
    PaimonError,
    UnfamiliarFormError,
    UnsupportedFeatureError,
    UnsupportedVersionError,
)
from paimon_core.manifests.entries import decode_entries
from paimon_core.manifests.record_files import decode_columns, decode_file, encode_avro, encode_columns
from paimon_core.spec.index_manifest import ENTRY_VERSION as INDEX_VERSION
from paimon_core.spec.index_manifest import INDEX_MANIFEST_ENTRY, IndexManifestEntry
from paimon_core.spec.manifest import (
    BARE_MANIFEST_FILE_META,
    ENTRY_VERSION,
    LIST_VERSION,
    MANIFEST_ENTRY,
    MANIFEST_FILE_META,
    ManifestEntry,
    ManifestFileMeta,
)
from paimon_core.spec.records import Record
from tests.support.golden import GOLDEN_DATABASE
from tests.support.golden_files import manifest_lists, manifests
from tests.support.manifests import decode_index_manifest

FORMATS = ("parquet", "orc")


def entries() -> list[ManifestEntry]:
    return [e for found in manifests().values() for e in found]


def lists() -> list[ManifestFileMeta]:
    return [m for found in manifest_lists().values() for m in found]


def index_entries() -> list[IndexManifestEntry]:
    files = sorted(GOLDEN_DATABASE.glob("*/manifest/index-manifest-*"))
    return [e for f in files for e in decode_index_manifest(str(f), f.read_bytes())]


@pytest.mark.parametrize("file_format", ["avro", *FORMATS])
@pytest.mark.parametrize(
    ("record", "version", "values", "noun"),
    [
        (MANIFEST_ENTRY, ENTRY_VERSION, entries, "manifest entries"),
        (MANIFEST_FILE_META, LIST_VERSION, lists, "names of manifests"),
        (INDEX_MANIFEST_ENTRY, INDEX_VERSION, index_entries, "index manifest entries"),
    ],
)
@pytest.mark.parametrize("older", [1, 2, 100])
def test_records_of_versions_that_java_refuses_are_refused(
    file_format: str, record: Record[Any], version: int, values: Any, noun: str, older: int
) -> None:
    """Java reads one version: 2 of manifests and lists, 1 of index manifests."""
    given, number = values()[:3], version - older
    data = (
        encode_avro(record, number, given, "null")
        if file_format == "avro"
        else encode_columns(record, number, given, file_format, "none")
    )
    with pytest.raises(UnfamiliarFormError, match=f"File f has.*it has {noun} of version {number}, and only version"):
        list(decode_file(record, version, "f", data))
    if record is MANIFEST_ENTRY:
        with pytest.raises(UnfamiliarFormError, match=f"of version {number}, and only version {version}.*create the"):
            decode_entries("f", data)


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize(
    ("record", "version", "values"),
    [
        (MANIFEST_ENTRY, ENTRY_VERSION, entries),
        (MANIFEST_FILE_META, LIST_VERSION, lists),
        (INDEX_MANIFEST_ENTRY, INDEX_VERSION, index_entries),
    ],
)
def test_records_of_golden_tables_come_back(file_format: str, record: Record[Any], version: int, values: Any) -> None:
    given = values()
    assert len(given) > 20
    data = encode_columns(record, version, given, file_format, "zstd")
    assert list(decode_columns(record, version, "f", data)) == given
    assert list(decode_columns(record, version, "f", encode_columns(record, version, [], file_format, "none"))) == []


def test_snappy_needs_no_package() -> None:
    given = entries()[:9]
    data = encode_avro(MANIFEST_ENTRY, ENTRY_VERSION, given, "snappy")
    assert list(decode_file(MANIFEST_ENTRY, ENTRY_VERSION, "f", data)) == given
    assert len(decode_entries("f", data)) == len(given)
    with pytest.raises(CorruptFileError, match="m-1"):
        list(decode_file(MANIFEST_ENTRY, ENTRY_VERSION, "m-1", data[:-20] + bytes(20)))


def test_the_columns_are_those_of_a_golden_file(tmp_path: Path) -> None:
    root = GOLDEN_DATABASE / "manifest_parquet" / "manifest"
    for pattern, record, values in (
        ("manifest-list-*", BARE_MANIFEST_FILE_META, lists()),
        ("manifest-[!l]*", MANIFEST_ENTRY, entries()),
    ):
        (tmp_path / "f").write_bytes(encode_columns(record, 2, values[:3], "parquet", "zstd"))
        golden = pq.ParquetFile(next(root.glob(pattern))).schema_arrow
        ours = pq.ParquetFile(tmp_path / "f").schema_arrow
        assert ours.to_string(show_field_metadata=True) == golden.to_string(show_field_metadata=True)


def test_columns_of_later_versions_are_none_in_earlier_files() -> None:
    (meta,) = lists()[:1]
    table = pq.read_table(pa.BufferReader(encode_columns(MANIFEST_FILE_META, 2, [meta], "parquet", "zstd")))
    sink = pa.BufferOutputStream()
    pq.write_table(table.drop_columns(["_MIN_ROW_ID", "_MAX_ROW_ID", "_MIN_LEVEL", "_MAX_LEVEL"]), sink)
    (found,) = decode_columns(MANIFEST_FILE_META, 2, "f", bytes(sink.getvalue()))
    assert found == replace(meta, min_row_id=None, max_row_id=None, min_level=None, max_level=None)


@pytest.mark.parametrize("file_format", FORMATS)
def test_moments_in_nanoseconds_are_rounded_down(file_format: str) -> None:
    """Paimon 0.5 wrote them into ORC manifests."""
    given = entries()[:20]
    rows = pq.read_table(pa.BufferReader(encode_columns(MANIFEST_ENTRY, 2, given, "parquet", "none")))
    file = rows["_FILE"].combine_chunks()
    types = {f.name: pa.timestamp("ns") if f.name == "_CREATION_TIME" else f.type for f in file.type}
    nanos = [file.field(n).cast(t) for n, t in types.items()]
    index = [*types].index("_CREATION_TIME")
    nanos[index] = pc.add(nanos[index], pa.scalar(999_999, pa.duration("ns")))
    changed = pa.StructArray.from_arrays(nanos, names=[*types])
    sink = pa.BufferOutputStream()
    write = po.write_table if file_format == "orc" else pq.write_table
    write(rows.set_column(rows.column_names.index("_FILE"), "_FILE", changed), sink)
    assert list(decode_columns(MANIFEST_ENTRY, 2, "f", bytes(sink.getvalue()))) == given


def test_values_of_a_later_version_are_refused() -> None:
    """As in Avro: such a column changes what the others mean."""
    rows = pq.read_table(pa.BufferReader(encode_columns(MANIFEST_ENTRY, 2, entries()[:1], "parquet", "none")))
    file, place = rows["_FILE"].combine_chunks(), rows.column_names.index("_FILE")
    for later in (None, [1]):
        columns = [*file.flatten(), pa.array([later], pa.list_(pa.int64()))]
        changed = pa.StructArray.from_arrays(columns, names=[*(f.name for f in file.type), "_WRITE_COLS_SEQUENCES"])
        sink = pa.BufferOutputStream()
        pq.write_table(rows.set_column(place, "_FILE", changed), sink)
        data = bytes(sink.getvalue())
        if later is None:
            assert list(decode_columns(MANIFEST_ENTRY, 2, "f", data)) == entries()[:1]
        else:
            with pytest.raises(UnsupportedFeatureError, match="a value in _WRITE_COLS_SEQUENCES"):
                list(decode_columns(MANIFEST_ENTRY, 2, "f", data))


def test_what_is_wrong_is_named() -> None:
    data = encode_columns(MANIFEST_ENTRY, 3, entries()[:2], "parquet", "zstd")
    with pytest.raises(UnsupportedVersionError, match=r"f .*version 3"):
        list(decode_columns(MANIFEST_ENTRY, 2, "f", data))
    with pytest.raises(UnfamiliarFormError, match="f has a form.*column _KIND is of type string"):
        list(decode_columns(MANIFEST_ENTRY, 2, "f", encode_columns(MANIFEST_FILE_META, 2, lists()[:2], "orc", "zstd")))
    with pytest.raises(InvalidOptionError, match="manifest.compression.*'rar' for orc"):
        encode_columns(MANIFEST_ENTRY, 2, [], "orc", "rar")


@pytest.mark.parametrize("file_format", FORMATS)
def test_damage_is_named(file_format: str) -> None:
    random = np.random.default_rng(5)
    data = encode_columns(MANIFEST_ENTRY, 2, entries()[:3], file_format, "zstd")
    for offset in random.integers(0, len(data), 150).tolist():
        damaged = data[:offset] + bytes([data[offset] ^ (1 << offset % 8)]) + data[offset + 1 :]
        try:
            list(decode_columns(MANIFEST_ENTRY, 2, "manifest-7", damaged))
        except PaimonError as error:
            assert "manifest-7" in str(error)
