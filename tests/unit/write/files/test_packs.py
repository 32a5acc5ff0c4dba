"""Writing BLOBs of tables with a primary key: packs, `.blobref` files, and compactions that copy descriptors."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from paimon_core.commit.written_files import LONG_WRITE
from paimon_core.errors import (
    CommitConflictError,
    DataFileMissingError,
    InvalidDataError,
    InvalidOptionError,
    StorageError,
    UnsupportedFeatureError,
)
from paimon_core.formats.blob import BlobFile
from paimon_core.io.local import LocalFileIO
from paimon_core.lsm.strategy import Strategy
from paimon_core.maintenance.copying import copy_files
from paimon_core.spec.binary_row import EMPTY_ROW
from paimon_core.spec.encodings.blob_descriptor import BlobDescriptor
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.types import BYTES, INT
from paimon_core.store.blob import values
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import AddColumn, RemoveOption, SchemaChange, SetOption
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.schemas import create_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.write import key_value
from paimon_core.write.compaction.job import compaction_job, live_buckets
from paimon_core.write.files import packs
from paimon_core.write.files.blob_files import BlobColumnWriter
from paimon_core.write.files.new_paths import NewPaths
from paimon_core.write.files.packs import PackWriter
from paimon_core.write.writer import open_writer
from paimon_sql.catalog import schema_files
from paimon_sql.catalog.load import load_catalog
from tests.support.examples import examples
from tests.support.executors import TextExecutor, run_job
from tests.support.packed import INFO, Rows, files, new_table, on_disk, packs_of, read, write
from tests.support.stored import T, compact
from tests.support.tables import fields

VALUE = st.one_of(st.none(), st.binary(max_size=30))
ROWS = st.dictionaries(st.integers(0, 9), st.tuples(VALUE, VALUE), min_size=1, max_size=6)
STEPS = st.lists(
    st.one_of(st.tuples(st.just("write"), ROWS), st.tuples(st.just("delete"), ROWS), st.just(("compact", {}))),
    min_size=1,
    max_size=7,
)


@settings(
    max_examples=examples(15),
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    steps=STEPS,
    engine=st.sampled_from(["deduplicate", "partial-update", "first-row"]),
    bucket=st.sampled_from(["1", "-1"]),
    vectors=st.booleans(),
    size=st.sampled_from(["1 b", "60 b", "1 mb"]),
)
def test_rows_change_as_in_a_model(
    tmp_path_factory: pytest.TempPathFactory,
    steps: Sequence[tuple[str, Rows]],
    engine: str,
    bucket: str,
    vectors: bool,
    size: str,
) -> None:
    options = {"merge_engine": engine, "bucket": bucket, "blob__target_file_size": size}
    if engine == "deduplicate":
        options["deletion_vectors__enabled"] = str(vectors).lower()
    table = new_table(tmp_path_factory.mktemp("t"), **options)
    model: dict[int, tuple[bytes | None, bytes | None]] = {}
    for step, rows in steps:
        before = on_disk(table)
        if step == "compact":
            compact(table)
            assert on_disk(table) == before  # descriptors were copied, not values
        elif step == "write":
            write(table, rows)
            for k, (v, w) in rows.items():
                old = model.get(k)
                if engine == "partial-update" and old is not None:
                    model[k] = (old[0] if v is None else v, old[1] if w is None else w)
                elif old is None or engine != "first-row":
                    model[k] = (v, w)
        elif engine == "deduplicate":
            write(table, rows, kind=3)
            assert on_disk(table) == before  # deleted rows have no values
            for k in rows:
                model.pop(k, None)
        assert packs_of(table) <= on_disk(table)
    compact(table)
    assert read(table) == model
    values = {p: BlobFile.open(LocalFileIO(), p) for p in packs_of(table)}
    assert all((file.lengths > 0).all() for file in values.values())


def test_the_files_of_a_write(tmp_path: Path) -> None:
    table = new_table(tmp_path, blob__target_file_size="40 b")
    write(table, {1: (b"one", None), 2: (b"x" * 50, b"two"), 3: (None, None), 4: (b"four", b"")})
    names = sorted(p.rpartition("/")[2] for p in on_disk(table))
    (file,) = files(table).values()
    uuid = file.file_name[5:41]
    assert {n[:41] for n in names} == {f"data-{uuid}"} and len(names) == 3  # two of v, one of w
    assert packs_of(table) == on_disk(table)
    described = Table(table.store.with_options({"blob-as-descriptor": "true"}))
    first = BlobDescriptor.decode(read(described)[1][0] or b"")
    assert (first.offset, first.length) == (4, 3)
    assert Path(first.uri).read_bytes()[4:7] == b"one"


def test_values_that_descriptors_name_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST_BYTES", 5)
    table = new_table(tmp_path)
    write(table, {1: (b"one", b"1"), 2: (b"two", None)})
    described = read(Table(table.store.with_options({"blob-as-descriptor": "true"})))
    other = new_table(tmp_path / "other")
    plain = Path(other.store.root, "file")
    plain.write_bytes(b"content")
    write(other, {9: (BlobDescriptor(str(plain)).encode(), None)})
    plain.unlink()
    assert read(other) == {9: (b"content", None)}
    write(table, {k + 10: row for k, row in described.items()})
    assert read(table)[11] == (b"one", b"1")
    assert len(on_disk(table)) == 4
    with pytest.raises(InvalidDataError, match="no such file"):
        write(table, {7: (BlobDescriptor(f"{table.store.root}/none").encode(), None)})
    assert len(on_disk(table)) == 4


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = new_table(tmp_path)

    def fail(*_: object) -> bytes:
        raise OSError("disk full")

    monkeypatch.setattr(packs, "encode_references", fail)
    with pytest.raises(OSError, match="disk full"):
        write(table, {1: (b"one", b"1")})
    assert not list(Path(table.store.root).rglob("data-*"))


def test_a_full_buffer_is_spilled_with_its_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = new_table(tmp_path, write_buffer_size="1 kb")
    rows = {k: (bytes([k]) * 500, None) for k in range(50)}
    writer = key_value.KeyValueWriter(table.store, 0)
    for k, (v, _) in reversed(rows.items()):
        columns = [pa.array([k], pa.int32()), pa.array([v], pa.binary()), pa.nulls(1, pa.binary())]
        writer.write(pa.record_batch(columns, names=["k", "v", "w"]))
    table.commit_or_abort(writer.finish(), INFO)
    assert read(table) == rows


def test_postponed_rows_keep_their_packs(tmp_path: Path) -> None:
    table = new_table(tmp_path, bucket="-2")
    write(table, {1: (b"one", b"1"), 2: (b"two", None)})
    written = on_disk(table)
    assert all("/bucket-postpone/" in p for p in written) and packs_of(table) == written
    moves = table.bucket_moves(TextExecutor(), "test")
    table.commit(moves.compact(PartitionFilter(()), Strategy.FULL), INFO)
    assert read(table) == {1: (b"one", b"1"), 2: (b"two", None)}
    assert packs_of(table) == on_disk(table) == written


def test_deletes_of_columns_that_cannot_be_null(tmp_path: Path) -> None:
    path = f"{tmp_path}/db.db/t"
    given = {"bucket": "1", "blob-field": "v", "write-only": "true"}
    columns = fields(k=INT, v=BYTES.with_nullable(False), w=BYTES)
    schema = new_table_schema(columns, primary_keys=("k",), options=given)
    assert create_schema(LocalFileIO(), path, schema)
    table = Table(TableStore.of(LocalFileIO(), path, schema))
    write(table, {1: (b"one", None), 2: (b"two", None)})
    write(table, {2: (b"two", None)}, kind=3)
    assert read(table) == {1: (b"one", None)}
    compact(table)
    assert read(table) == {1: (b"one", None)}


@pytest.mark.parametrize(
    "options",
    [
        {"changelog-producer": "lookup"},
        {"merge-engine": "aggregation"},
        {"data-file.external-paths": "/elsewhere"},
    ],
)
def test_writers_check_options_of_one_use(tmp_path: Path, options: dict[str, str]) -> None:
    table = new_table(tmp_path)
    table.check_writable()
    with pytest.raises(InvalidOptionError, match="'v' is a BLOB"):
        Table(table.store.with_options(options)).check_writable()


def test_a_long_write_checks_its_packs(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    writer = open_writer(table.store, sequence_start=0)
    columns = [pa.array([1], pa.int32()), pa.array([b"one"], pa.binary()), pa.nulls(1, pa.binary())]
    writer.write(pa.record_batch(columns, names=["k", "v", "w"]))
    messages = writer.finish()
    (pack,) = on_disk(table)
    Path(pack).unlink()
    late = Table(replace(table.store, loaded=time.time() - LONG_WRITE - 1))
    with pytest.raises(CommitConflictError, match=rf"1 of 3 files .* no longer exist, the first is {pack}"):
        late.commit(messages, INFO)
    assert table.latest_snapshot() is None


def test_files_that_rows_name_get_no_other_paths(tmp_path: Path) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    given = {"bucket": "1", "blob-field": "v", "primary-key": "k"}
    schema = new_table_schema(fields(k=INT, v=BYTES), options=given)
    catalog.create_table(T, schema)
    table = catalog.load_table(T)
    with pytest.raises(UnsupportedFeatureError, match="cannot be renamed: its rows contain the paths.*'v'"):
        catalog.rename_table(T, replace(T, table="u"))
    with pytest.raises(UnsupportedFeatureError, match="cannot be copied with its files"):
        copy_files(table.store, None, table.store, PartitionFilter(()))
    parted = new_table_schema(fields(k=INT, v=BYTES, p=INT), partition_keys=("p",), options=given)
    with pytest.raises(UnsupportedFeatureError, match="cannot be replaced"):
        catalog.stage_replace(T, parted)
    assert catalog.load_table(T).schema.fields == table.schema.fields


def test_a_rename_needs_all_schemas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    given = {"bucket": "1", "blob-field": "v", "primary-key": "k"}
    catalog.create_table(T, new_table_schema(fields(k=INT, v=BYTES), options=given))

    def refuse(*_: object) -> None:
        raise StorageError("503 Slow Down")

    monkeypatch.setattr(schema_files, "load_schema", refuse)
    with pytest.raises(StorageError, match="503"):
        catalog.rename_table(T, replace(T, table="u"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ([SetOption("fields.v.aggregate-function", "max")], "'v' cannot have the aggregate function 'max'"),
        ([RemoveOption("fields.v.aggregate-function")], "'v' cannot have the aggregate function 'min'"),
        (
            [AddColumn(("w",), BYTES, "__BLOB_FIELD"), SetOption("fields.n.sequence-group", "v,w")],
            "'w' cannot have the aggregate function 'min'",
        ),
    ],
)
def test_altered_tables_compare_no_descriptors(tmp_path: Path, change: list[SchemaChange], said: str) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    given = {"bucket": "1", "blob-field": "v", "primary-key": "k", "merge-engine": "partial-update"}
    given |= {"fields.n.sequence-group": "v", "fields.default-aggregate-function": "min", "ignore-delete": "true"}
    given |= {"fields.v.aggregate-function": "last_value"}
    catalog.create_table(T, new_table_schema(fields(k=INT, v=BYTES, n=INT), options=given))
    with pytest.raises(InvalidOptionError, match=said):
        catalog.alter_table(T, change)


def new_messages(table: Table, rows: Rows) -> list[CommitMessage]:
    writer = open_writer(table.store, sequence_start=table.max_sequence_number() + 1)
    v, w = (pa.array([r[i] for r in rows.values()], pa.binary()) for i in (0, 1))
    writer.write(pa.record_batch([pa.array(list(rows), pa.int32()), v, w], names=["k", "v", "w"]))
    return writer.finish()


def test_an_abort_deletes_own_packs_only(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    write(table, {1: (b"a", b"b")})
    write(table, {1: (b"c", None), 2: (b"d", b"e")})
    before = on_disk(table)
    table.abort(new_messages(table, {1: (b"x", b"y")}))
    assert on_disk(table) == before
    buckets = live_buckets(table.store, table.latest_snapshot(), PartitionFilter(()))
    compacted = run_job(compaction_job(table.store, buckets, Strategy.FULL))
    assert compacted
    table.abort(compacted)  # its files name packs of others
    assert on_disk(table) == before and packs_of(table) == before
    replaced = new_messages(table, {3: (b"z", None)})
    table.delete_replaced(replaced)
    assert len(on_disk(table) - before) == 1


def test_columns_of_descriptors_name_no_packs_of_the_table(tmp_path: Path) -> None:
    table = new_table(tmp_path, blob_field="w", blob_descriptor_field="v")
    write(table, {1: (None, b"picture")})
    own = read(Table(table.store.with_options({"blob-as-descriptor": "true"})))[1][1]
    with pytest.raises(InvalidDataError, match="'v' is in 'blob-descriptor-field' and cannot refer to .*managed.blob"):
        write(table, {2: (own, None)})
    descriptor = BlobDescriptor.decode(own)
    (tmp_path / "folder").symlink_to(Path(descriptor.uri).parent)
    (tmp_path / "file.bin").symlink_to(descriptor.uri)
    name = descriptor.uri.rpartition("/")[2]
    for uri in (
        f"{tmp_path}/folder/{name}",
        f"{tmp_path}/file.bin",
        descriptor.uri.replace("/bucket-0/", "//bucket-0/./"),
    ):
        with pytest.raises(InvalidDataError, match="'v' is in 'blob-descriptor-field' and cannot refer to"):
            write(table, {2: (replace(descriptor, uri=uri).encode(), None)})
    write(table, {2: (own, None)}, kind=3)  # deletes of such rows of other writers
    other = new_table(tmp_path / "other", blob_field="w", blob_descriptor_field="v")
    write(other, {2: (own, None)})
    assert read(other) == {2: (b"picture", None)}


@pytest.mark.parametrize("keyed", [True, False])
def test_whole_files_are_fetched_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keyed: bool) -> None:
    given = []
    for i in range(3):
        (tmp_path / str(i)).write_bytes(bytes([i]) * 100)
        given.append(BlobDescriptor(str(tmp_path / str(i))).encode())
    fetched = list[int]()
    real = values.DescribedBlobs.resolved

    def resolved(self: Any, some: pa.Array, *checks: Any) -> pa.Array:
        fetched.append(len(some))
        return real(self, some, *checks)

    monkeypatch.setattr(values.DescribedBlobs, "resolved", resolved)
    store = new_table(tmp_path).store
    paths = NewPaths(store, store.bucket_dir(EMPTY_ROW, 0))
    if keyed:
        column = PackWriter(store, paths, 1000)
        column.packed(pa.array([*given, b"a", b"b"]))
        column.close()
    else:
        blobs = BlobColumnWriter(store, store.schema.fields[1], paths, 1000)
        blobs.write(pa.array([*given, b"a", b"b"]), np.array([True] * 5))
        assert [f.row_count for f in blobs.roll()] == [5]
    assert fetched == [1, 1, 1, 2]


def test_readers_of_lost_packs_say_what_to_do(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    write(table, {1: (b"a", None)})
    for path in on_disk(table):
        Path(path).unlink()
    with pytest.raises(DataFileMissingError, match="was deleted, or its snapshot expired"):
        read(table)
