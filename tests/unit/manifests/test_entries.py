from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import fastavro
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.errors import UnfamiliarFormError, UnsupportedFeatureError
from paimon_core.formats.avro.records import write_records
from paimon_core.manifests import entries as entries_module
from paimon_core.manifests.entries import DecodedEntries, EntryColumns, decode_entries, live_rows
from paimon_core.manifests.record_files import decode_file
from paimon_core.spec.binary_row import encode_row
from paimon_core.spec.manifest import ENTRY_VERSION, MANIFEST_ENTRY, DataFileMeta, FileKind, ManifestEntry, live_entries
from paimon_core.spec.stats import SimpleStats
from paimon_core.spec.types import INT, STRING
from tests.support.examples import examples
from tests.support.golden import GOLDEN
from tests.support.golden_files import manifests
from tests.support.manifests import encode_manifest


@pytest.fixture(scope="module", autouse=True, params=[0, 2**30], ids=["by-columns", "one-by-one"])
def most_decoded_bytes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Small manifests are decoded one by one, others by columns: both give the same."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(entries_module, "_FEW", request.param)
        yield


AVRO = [f for f in sorted(GOLDEN.glob("**/manifest/manifest-*")) if not f.name.startswith("manifest-list")]
longs = st.integers(-(2**63), 2**63 - 1)
rows = st.binary(max_size=200)
names = st.lists(st.text(max_size=5), max_size=4).map(tuple)


def optional(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


stats = st.builds(
    SimpleStats,
    min_values=rows,
    max_values=rows,
    null_counts=optional(st.lists(optional(longs), max_size=9).map(tuple)),
)
files = st.builds(
    DataFileMeta,
    file_name=st.text(max_size=80) | st.sampled_from(["data-1.parquet", "data-2.parquet"]),
    file_size=longs,
    row_count=st.integers(0, 300),
    min_key=rows,
    max_key=rows,
    key_stats=stats,
    value_stats=stats,
    min_sequence_number=longs,
    max_sequence_number=longs,
    schema_id=st.integers(0, 3),
    level=st.integers(0, 5),
    extra_files=names,
    creation_time=optional(st.just(datetime(2024, 1, 2, 3, 4, 5, 6000, tzinfo=UTC))),
    delete_row_count=optional(longs),
    embedded_file_index=optional(rows),
    file_source=optional(st.integers(0, 1)),
    value_stats_cols=optional(names),
    external_path=optional(st.text(max_size=5)),
    first_row_id=optional(longs),
    write_cols=optional(names),
)
entries = st.builds(
    ManifestEntry,
    kind=st.sampled_from(FileKind),
    partition=st.builds(lambda p, s: encode_row([INT, STRING], [p, s]), st.integers(0, 2), st.text(max_size=20)),
    bucket=st.integers(-2, 3),
    total_buckets=st.integers(-2, 300),
    file=files,
)


def every(columns: EntryColumns) -> list[ManifestEntry]:
    return columns.entries(np.arange(len(columns)))


def answers(columns: EntryColumns) -> list[Any]:
    plain = [columns.added, columns.buckets, columns.total_buckets, columns.levels, columns.schema_ids]
    lists = [(codes.tolist(), found) for codes, found in map(columns.lists, ("_VALUE_STATS_COLS", "_WRITE_COLS"))]
    in_words = [[found[c] if c >= 0 else None for c in codes] for codes, found in lists]
    bounds = [b.to_pylist() for name in ("_KEY_STATS", "_VALUE_STATS") for b in columns.bounds(name)]
    partitions = [columns.partitions[c] for c in columns.partition_codes.tolist()]
    return [*(p.tolist() for p in plain), columns.max_sequence_numbers.tolist(), partitions, in_words, bounds]


@settings(max_examples=examples(40))
@given(st.lists(entries, max_size=6), st.sampled_from(["null", "deflate", "zstd"]))
def test_columns_are_those_of_the_entries(made: list[ManifestEntry], codec: str) -> None:
    columns = decode_entries("f", encode_manifest(made, codec))
    assert every(columns) == made
    decoded = EntryColumns(DecodedEntries(tuple(made)), len(made))
    assert answers(columns) == answers(decoded)
    rows = np.arange(0, len(made), 2)
    locations = [(e.partition, e.bucket, e.file.file_name, e.file.external_path, e.file.extra_files) for e in made[::2]]
    assert columns.locations(rows) == decoded.locations(rows) == locations


def with_later_column(made: list[ManifestEntry], values: list[list[int] | None]) -> bytes:
    """A manifest whose files have a column of Paimon 2.1."""
    schema = MANIFEST_ENTRY.avro()
    schema["fields"].insert(0, {"name": "_VERSION", "type": "int"})
    longs = ["null", {"type": "array", "items": "long"}]
    schema["fields"][-1]["type"]["fields"].append({"name": "_WRITE_COLS_SEQUENCES", "type": longs, "default": None})
    records = [{"_VERSION": ENTRY_VERSION, **MANIFEST_ENTRY.to_avro(entry)} for entry in made]
    for record, value in zip(records, values, strict=True):
        record["_FILE"]["_WRITE_COLS_SEQUENCES"] = value
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), records)
    return out.getvalue()


@settings(max_examples=examples(10))
@given(st.lists(entries, min_size=2, max_size=4))
def test_columns_of_later_versions_are_left_out_while_they_say_nothing(made: list[ManifestEntry]) -> None:
    nothing: list[list[int] | None] = [None] * len(made)
    data = with_later_column(made, nothing)
    assert every(decode_entries("f", data)) == made == list(decode_file(MANIFEST_ENTRY, ENTRY_VERSION, "f", data))
    later = with_later_column(made, [*nothing[1:], [4, 5]])
    with pytest.raises(UnsupportedFeatureError, match="_WRITE_COLS_SEQUENCES.*later version"):
        decode_entries("f", later)


@pytest.mark.parametrize("folder", sorted({f.parent.parent.name for f in AVRO}))
def test_columns_of_files_that_java_wrote(folder: str) -> None:
    for file in (f for f in AVRO if f.parent.parent.name == folder):
        data = file.read_bytes()
        if data.startswith(b"Obj"):
            assert every(decode_entries(str(file), data)) == list(
                decode_file(MANIFEST_ENTRY, ENTRY_VERSION, str(file), data)
            )


@settings(max_examples=examples(40))
@given(st.lists(st.lists(entries, max_size=6), max_size=3))
def test_live_rows_are_the_live_entries(manifests: list[list[ManifestEntry]]) -> None:
    columns = [decode_entries("f", encode_manifest(m)) for m in manifests]
    live = [e for c, r in zip(columns, live_rows(columns), strict=True) for e in c.entries(r)]
    expected = live_entries(e for m in manifests for e in m)
    assert {e.identifier: e for e in live} == {i: e for i, e in expected.items() if e.kind is FileKind.ADD}
    assert len({e.identifier for e in live}) == len(live)


def added(name: str) -> ManifestEntry:
    file = DataFileMeta(
        file_name=name, file_size=1, row_count=1, min_sequence_number=0, max_sequence_number=0, schema_id=0
    )
    return ManifestEntry(kind=FileKind.ADD, partition=encode_row([], []), bucket=0, total_buckets=1, file=file)


def test_a_file_is_the_same_beside_longer_names() -> None:
    short, long = added("short"), added("long" * 20)
    manifests = [[short], [long, replace(short, kind=FileKind.DELETE)]]
    columns = [decode_entries("f", encode_manifest(m)) for m in manifests]
    assert [r.tolist() for r in live_rows(columns)] == [[], [0]]


def test_files_of_one_name_are_in_several_folders() -> None:
    here = added("one")
    there, index, extra = (
        replace(here, file=replace(here.file, **{name: value}))
        for name, value in (("external_path", ""), ("embedded_file_index", b""), ("extra_files", ("one",)))
    )
    columns = decode_entries("f", encode_manifest([here, there, index, extra, replace(here, kind=FileKind.DELETE)]))
    assert [r.tolist() for r in live_rows([columns])] == [[1, 2, 3]]


@pytest.mark.parametrize("same", ["hash", "beginning"])
def test_numbers_that_collide_are_distinguished(monkeypatch: pytest.MonkeyPatch, same: str) -> None:
    adds = [added(f"{'long' * 20}-{number}") for number in range(3)]
    made = [*adds, *(replace(add, kind=FileKind.DELETE) for add in adds[:2])]
    if same == "hash":
        monkeypatch.setattr(EntryColumns, "identities", property(lambda self: np.zeros(len(self), dtype=np.uint64)))
    columns = decode_entries("f", encode_manifest(made))
    assert [r.tolist() for r in live_rows([columns])] == [[2]]


@pytest.mark.parametrize("name", ["_PARTITION", "_KIND", "_BUCKET", "_FILE_NAME", "_LEVEL"])
def test_entries_of_no_file_are_refused(name: str) -> None:
    content = encode_manifest([added("one"), added("two")])
    with pytest.raises(UnfamiliarFormError, match=f"^File manifest-1 has a form .*column {name} is missing"):
        decode_entries("manifest-1", content.replace(name.encode(), b"^" + name[1:].encode()))


@pytest.mark.parametrize("first", ["_KIND", "_BUCKET", "_FILE"])
def test_entries_of_an_unknown_kind_are_refused_wherever_the_column_is(first: str) -> None:
    """An entry that is neither ADD nor DELETE must not be taken for a DELETE."""
    schema = MANIFEST_ENTRY.avro()
    schema["fields"].sort(key=lambda f: f["name"] != first)
    schema["fields"].append({"name": "_VERSION", "type": "int"})
    made = next(m for m in manifests().values() if len(m) > 1)
    records = [{"_VERSION": ENTRY_VERSION, **MANIFEST_ENTRY.to_avro(entry)} for entry in made]
    assert every(decode_entries("f", write_records(schema, records, "null"))) == list(made)
    records[-1]["_KIND"] = 2
    data = write_records(schema, records, "null")
    with pytest.raises(UnfamiliarFormError, match=r"File f has a form .*_KIND is 2, and must be one of 0 \(ADD\), 1"):
        decode_entries("f", data)
