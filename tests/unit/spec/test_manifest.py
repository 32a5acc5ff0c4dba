from __future__ import annotations

import io
from copy import deepcopy
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

import fastavro
import numpy as np
import pytest

from paimon_core.errors import CorruptFileError, UnfamiliarFormError
from paimon_core.manifests.vectorized import find_entries
from paimon_core.spec.binary_row import EMPTY_ROW, encode_row
from paimon_core.spec.manifest import DataFileMeta, FileKind, FileSource, ManifestEntry, ManifestFileMeta, live_entries
from paimon_core.spec.stats import EMPTY_STATS, SimpleStats
from paimon_core.spec.types import INT
from tests.support.golden_files import manifest_files, manifest_list_files, manifest_lists, manifests, table_of
from tests.support.manifests import decode_manifest, decode_manifest_list, encode_manifest, encode_manifest_list

PATH = "db.db/t/manifest/manifest-x"
STATS = SimpleStats(min_values=encode_row([INT], [1]), max_values=encode_row([INT], [9]), null_counts=(0, None, 3))
FULL = DataFileMeta(
    file_name="data-x-0.parquet",
    file_size=2**40,
    row_count=10,
    min_key=encode_row([INT], [1]),
    max_key=encode_row([INT], [9]),
    key_stats=STATS,
    value_stats=replace(STATS, null_counts=None),
    min_sequence_number=0,
    max_sequence_number=2**60,
    schema_id=3,
    level=5,
    extra_files=("data-x-0.index", "b"),
    creation_time=datetime(2024, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC),
    delete_row_count=2,
    embedded_file_index=b"\x00\xff",
    file_source=FileSource.COMPACT.value,
    value_stats_cols=("a", "b"),
    external_path="s3://bucket/x",
    first_row_id=100,
    write_cols=(),
)
BARE = DataFileMeta(
    file_name="data-y-0.parquet", file_size=1, row_count=1, min_sequence_number=0, max_sequence_number=0, schema_id=0
)
OPTIONAL_FILE_COLUMNS = {
    "_CREATION_TIME": "creation_time",
    "_DELETE_ROW_COUNT": "delete_row_count",
    "_EMBEDDED_FILE_INDEX": "embedded_file_index",
    "_FILE_SOURCE": "file_source",
    "_VALUE_STATS_COLS": "value_stats_cols",
    "_EXTERNAL_PATH": "external_path",
    "_FIRST_ROW_ID": "first_row_id",
    "_WRITE_COLS": "write_cols",
}


def entry(file: DataFileMeta, kind: FileKind = FileKind.ADD, **more: Any) -> ManifestEntry:
    given: dict[str, Any] = {"partition": EMPTY_ROW, "bucket": 0, "total_buckets": 1}
    return ManifestEntry(kind=kind, file=file, **given | more)


def rewritten(data: bytes, change: Any, drop: tuple[str, ...] = (), types: dict[str, Any] | None = None) -> bytes:
    """An Avro file written anew by another writer: without columns of the files, or with other types of them."""
    reader = fastavro.reader(io.BytesIO(data))
    rows, schema = [change(r) for r in reader], deepcopy(reader.writer_schema)
    file = next((f["type"] for f in schema["fields"] if f["name"] == "_FILE"), schema)
    kept = [f for f in file["fields"] if f["name"] not in drop]
    file["fields"] = [f | {"type": (types or {}).get(f["name"], f["type"])} for f in kept]
    out = io.BytesIO()
    fastavro.writer(out, schema, rows)
    return out.getvalue()


@pytest.mark.parametrize("codec", ["zstd", "deflate", "null"])
def test_every_attribute_both_ways(codec: str) -> None:
    entries = [entry(FULL, FileKind.DELETE, partition=encode_row([INT], [7]), bucket=-2, total_buckets=4), entry(BARE)]
    assert list(decode_manifest(PATH, encode_manifest(entries, codec))) == entries
    assert all(getattr(FULL, f.name) != f.default for f in fields(FULL))
    assert list(decode_manifest(PATH, encode_manifest([], codec))) == []


def test_every_attribute_of_a_list_both_ways() -> None:
    full = ManifestFileMeta(
        file_name="manifest-x-0",
        file_size=1,
        num_added_files=2,
        num_deleted_files=3,
        partition_stats=STATS,
        schema_id=4,
        min_bucket=0,
        max_bucket=5,
        min_level=0,
        max_level=6,
        min_row_id=7,
        max_row_id=8,
    )
    bare = ManifestFileMeta(
        file_name="m", file_size=1, num_added_files=0, num_deleted_files=0, partition_stats=EMPTY_STATS, schema_id=0
    )
    assert list(decode_manifest_list(PATH, encode_manifest_list([full, bare]))) == [full, bare]


def test_golden_manifests_both_ways() -> None:
    assert sum(map(len, manifests().values())) > 300
    for path, entries in manifests().items():
        assert list(decode_manifest(PATH, encode_manifest(entries))) == list(entries), path


def test_golden_lists_both_ways() -> None:
    for path, metas in manifest_lists().items():
        assert list(decode_manifest_list(PATH, encode_manifest_list(metas))) == list(metas), path


def test_golden_lists_describe_their_manifests() -> None:
    checked = 0
    for path, metas in manifest_lists().items():
        for meta in metas:
            manifest = path.parent / meta.file_name
            entries = manifests()[manifest]
            kinds = [e.kind for e in entries]
            assert manifest.stat().st_size == meta.file_size
            counts = (kinds.count(FileKind.ADD), kinds.count(FileKind.DELETE))
            assert counts == (meta.num_added_files, meta.num_deleted_files)
            buckets, levels = [e.bucket for e in entries], [e.file.level for e in entries]
            assert (min(buckets), max(buckets)) == (meta.min_bucket, meta.max_bucket)
            assert (min(levels), max(levels)) == (meta.min_level, meta.max_level)
            checked += 1
    assert checked > 300


def _schema(data: bytes) -> Any:
    """A file's Avro schema without what only annotates it."""

    def plain(node: Any) -> Any:
        if isinstance(node, list):
            return [plain(n) for n in node]
        if isinstance(node, dict):
            return {k: plain(v) for k, v in node.items() if not k.startswith("__")}
        return node

    return plain(fastavro.reader(io.BytesIO(data)).writer_schema)


@pytest.mark.parametrize(("table", "name"), [("part_pk", "manifest"), ("part_pk", "list")])
def test_the_avro_schema_is_that_of_golden_files(table: str, name: str) -> None:
    files = manifest_files() if name == "manifest" else manifest_list_files()
    golden = next(p for p in files if table_of(p) == table)
    own = encode_manifest([entry(BARE)]) if name == "manifest" else encode_manifest_list([])
    assert _schema(own) == _schema(golden.read_bytes())


@pytest.mark.parametrize("column", [*OPTIONAL_FILE_COLUMNS, None])
def test_manifests_of_old_writers_lack_columns(column: str | None) -> None:
    path = next(p for p in manifest_files() if table_of(p) == "part_pk")
    drop = tuple(OPTIONAL_FILE_COLUMNS) if column is None else (column,)
    old = rewritten(path.read_bytes(), lambda r: r, drop=drop)
    missing: dict[str, Any] = {OPTIONAL_FILE_COLUMNS[c]: None for c in drop}
    expected = [replace(e, file=replace(e.file, **missing)) for e in manifests()[path]]
    assert list(decode_manifest(PATH, old)) == expected


def test_lists_of_old_writers_lack_ranges() -> None:
    path = next(p for p in manifest_list_files() if table_of(p) == "part_pk" and manifest_lists()[p])
    names = tuple(f"_{end}_{what}" for end in ("MIN", "MAX") for what in ("BUCKET", "LEVEL", "ROW_ID"))
    old = rewritten(path.read_bytes(), lambda r: r, drop=names)
    missing: dict[str, Any] = {n[1:].lower(): None for n in names}
    expected = [replace(m, **missing) for m in manifest_lists()[path]]
    assert list(decode_manifest_list(PATH, old)) == expected


def test_moments_without_a_logical_type() -> None:
    path = next(p for p in manifest_files() if table_of(p) == "part_pk")

    def bare(row: Any) -> Any:
        row["_FILE"]["_CREATION_TIME"] = round(row["_FILE"]["_CREATION_TIME"].timestamp() * 1000)
        return row

    old = rewritten(path.read_bytes(), bare, types={"_CREATION_TIME": ["null", "long"]})
    assert list(decode_manifest(PATH, old)) == list(manifests()[path])


def test_a_column_that_is_needed_is_named() -> None:
    path = next(p for p in manifest_files() if table_of(p) == "part_pk")
    for column in ("_FILE_NAME", "_SCHEMA_ID", "_ROW_COUNT"):
        with pytest.raises(UnfamiliarFormError, match=f"{PATH} has a form.*column {column} is missing"):
            list(decode_manifest(PATH, rewritten(path.read_bytes(), lambda r: r, drop=(column,))))


@pytest.mark.parametrize("millis", [10**15, -(10**15), 2**62])
def test_a_time_outside_of_all_years_is_unfamiliar(millis: int) -> None:
    """The bytes are whole, so the time does not show damage."""
    later = lambda r: r | {"_FILE": r["_FILE"] | {"_CREATION_TIME": millis}}  # noqa: E731
    data = rewritten(encode_manifest([entry(BARE)]), later, types={"_CREATION_TIME": ["null", "long"]})
    for decode in (lambda: find_entries(PATH, data).make(np.arange(1)), lambda: list(decode_manifest(PATH, data))):
        with pytest.raises(UnfamiliarFormError, match=f"a time of {millis} milliseconds since 1970 is not in"):
            decode()


def test_an_unknown_kind_is_unfamiliar() -> None:
    data = rewritten(encode_manifest([entry(BARE)]), lambda r: r | {"_KIND": 2})
    with pytest.raises(UnfamiliarFormError, match=rf"{PATH} has a form .*_KIND is 2, and must be one of 0 \(ADD\), 1"):
        list(decode_manifest(PATH, data))


def test_manifest_and_list_are_not_taken_for_each_other() -> None:
    with pytest.raises(UnfamiliarFormError, match=PATH):
        list(decode_manifest(PATH, next(p for p in manifest_list_files() if manifest_lists()[p]).read_bytes()))
    with pytest.raises(UnfamiliarFormError, match=PATH):
        list(decode_manifest_list(PATH, manifest_files()[0].read_bytes()))


def test_every_truncation_is_noticed() -> None:
    data, empty = encode_manifest([entry(FULL), entry(BARE)]), len(encode_manifest([]))
    for size in (*range(0, len(data), 7), len(data) - 1):
        if size != empty:
            with pytest.raises(CorruptFileError, match=PATH):
                list(decode_manifest(PATH, data[:size]))


def test_a_delete_cancels_its_add() -> None:
    a, b = entry(FULL), entry(BARE)
    deleted, elsewhere = replace(a, kind=FileKind.DELETE), entry(replace(FULL, file_name="z"), FileKind.DELETE)
    assert list(live_entries([a, b, deleted]).values()) == [b]
    assert list(live_entries([elsewhere, b]).values()) == [elsewhere, b]
    upgraded = replace(a, file=replace(FULL, level=6))
    assert list(live_entries([a, deleted, upgraded]).values()) == [upgraded]
    assert list(live_entries([a, replace(deleted, bucket=1)]).values()) == [a, replace(deleted, bucket=1)]
    assert live_entries([a, deleted, a]) == {a.identifier: a}
