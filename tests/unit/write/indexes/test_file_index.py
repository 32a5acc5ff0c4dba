"""File indexes of tables: written with the files, kept by compaction, rewritten, and used by plans."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import CorruptFileError, DataFileMissingError, InvalidOptionError
from paimon_core.expressions.predicate import And, Compare, In, IsNull, Or, Predicate
from paimon_core.indexes.file_index.container import BodyLocation, encode_container
from paimon_core.indexes.file_index.options import indexed_columns
from paimon_core.options import TableOptions
from paimon_core.scan.read import read_split
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.types import BIGINT, BYTES, DOUBLE, INT, STRING, MapType
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.indexes.file_indexes import read_file_index
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter
from paimon_core.table import Table
from paimon_core.write.compaction.job import live_buckets
from paimon_core.write.deletion import delete_rows
from paimon_core.write.file_index_job import file_index_job
from paimon_core.write.indexes.file_index import FileIndexBuilder
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.load import load_catalog
from tests.support import stored
from tests.support.executors import run_job
from tests.support.tables import fields


def files(table: Table) -> list[DataFileMeta]:
    return [e.file for e in live_files(table.store, table.latest_snapshot()).values()]


def indexes(table: Table) -> dict[str, list[tuple[str, str]]]:
    """The columns and types of the indexes of each file."""
    found = {}
    for entry in live_files(table.store, table.latest_snapshot()).values():
        folder = table.store.bucket_dir(entry.partition, entry.bucket)
        index = read_file_index(table.store, folder, entry.file, lambda _: False)
        found[entry.file.file_name] = [] if index is None else [(p.column, p.index_type) for p in index.locations]
    return found


def kept(table: Table, predicate: Predicate, **options: str) -> int:
    """How many files a plan reads."""
    return table.with_options(options).plan(table.latest_snapshot(), predicate).files_kept


def rewrite(warehouse: str, **options: str) -> Table:
    table = stored.open_table(warehouse)
    table = Table(table.store.with_options({k.replace("_", "-"): v for k, v in options.items()}))
    buckets = live_buckets(table.store, table.latest_snapshot(), PartitionFilter(()))
    table.commit(run_job(file_index_job(table.store, buckets)), CommitInfo(user="tester"))
    return stored.open_table(warehouse)


@pytest.mark.parametrize("threshold", ["1 mb", "1 b"])
def test_files_of_append_tables_are_left_out(warehouse: str, threshold: str) -> None:
    stored.create_table(warehouse, file_index__bitmap__columns="k", file_index__in_manifest_threshold=threshold)
    for rows in ([(1, "a"), (9, "b")], [(2, "c"), (8, "d")], [(0, "e"), (7, "f")]):
        stored.insert(stored.open_table(warehouse), rows)
    table = stored.open_table(warehouse)
    assert {(f.embedded_file_index is None, len(f.extra_files)) for f in files(table)} == {
        (False, 0) if threshold == "1 mb" else (True, 1)
    }
    two = Compare("k", "=", 2)
    assert kept(table, two) == 1
    assert kept(table, two, **{"file-index.read.enabled": "false"}) == 3
    assert kept(table, Or((two, Compare("k", "=", 7)))) == 2
    assert kept(table, And((In("k", (1, 2)), Compare("v", "!=", "x")))) == 2
    assert kept(table, IsNull("k")) == 0
    stored.compact(table)
    table = stored.open_table(warehouse)
    (file,) = files(table)
    assert file.row_count == 6 and indexes(table)[file.file_name] == [("k", "bitmap")]
    assert kept(table, Compare("k", "=", 4)) == 0 and kept(table, two) == 1


def test_keyed_files_have_indexes_and_changelogs_none(warehouse: str) -> None:
    stored.create_table(
        warehouse,
        primary_key="k",
        bucket="1",
        changelog_producer="input",
        file_index__bloom_filter__columns="v",
        file_index__bloom_filter__v__items="10",
    )
    for value in "ab":
        messages = stored.write(stored.open_table(warehouse), [(1, value), (2, f"{value}2")])
        assert all(f.embedded_file_index for m in messages for f in m.new_files)
        assert not any(f.embedded_file_index or f.extra_files for m in messages for f in m.new_changelog)
        stored.commit(stored.open_table(warehouse), messages, "tester")
    table = stored.open_table(warehouse)
    # the newer row of a key decides, whatever the older file's index says
    assert kept(table, Compare("v", "=", "a")) == 2 and kept(table, Compare("v", "=", "zz")) == 0
    stored.compact(table)
    table = stored.open_table(warehouse)
    assert kept(table, Compare("v", "=", "a")) == 0 and kept(table, Compare("v", "=", "b2")) == 1


def test_rewriting_follows_the_options(warehouse: str) -> None:
    stored.create_table(warehouse)
    stored.insert(stored.open_table(warehouse), [(1, "a"), (5, "b")])
    (before,) = files(stored.open_table(warehouse))
    table = rewrite(warehouse, **{"file_index.bsi.columns": "k", "file_index.bitmap.columns": "v"})
    (after,) = files(table)
    assert (after.file_name, after.file_size, after.level) == (before.file_name, before.file_size, before.level)
    assert sorted(indexes(table)[after.file_name]) == [("k", "bsi"), ("v", "bitmap")]
    assert stored.read(table) == [(1, "a"), (5, "b")]
    snapshot = table.latest_snapshot()
    assert snapshot is not None and (snapshot.commit_kind, snapshot.delta_record_count) == ("COMPACT", 0)
    table = rewrite(warehouse, **{"file_index.bsi.columns": "k", "file_index.in_manifest_threshold": "1 b"})
    folder = Path(table.store.bucket_dir(b"\0" * 12, 0))
    (name,) = files(table)[0].extra_files
    assert [p.name for p in folder.glob("*.index")] == [name]
    assert kept(table, Compare("k", ">", 5)) == 0
    table = rewrite(warehouse)
    assert files(table) == [before]
    assert stored.read(table) == [(1, "a"), (5, "b")]


def test_damaged_and_missing_indexes_are_told(warehouse: str) -> None:
    stored.create_table(warehouse, file_index__bitmap__columns="k", file_index__in_manifest_threshold="1 b")
    stored.insert(stored.open_table(warehouse), [(1, "a"), (5, "b")])
    table = stored.open_table(warehouse)
    (path,) = Path(table.store.root).rglob("*.index")
    content = path.read_bytes()
    path.write_bytes(content[:30])
    with pytest.raises(CorruptFileError, match=f"{path.name}.*rewrite_file_index"):
        kept(table, Compare("k", "=", 3))
    assert kept(table, Compare("k", "=", 3), **{"file-index.read.enabled": "false"}) == 1
    path.unlink()
    with pytest.raises(DataFileMissingError, match=f"{path.name}.*rewrite_file_index"):
        kept(table, Compare("k", "=", 3))
    assert kept(table, Compare("v", "=", "a")) == 1


def test_files_of_a_write_that_fails_go(warehouse: str) -> None:
    stored.create_table(warehouse, file_index__bitmap__columns="k", file_index__in_manifest_threshold="1 b")
    table = stored.open_table(warehouse)
    messages = stored.write(table, [(1, "a")])
    assert len(list(Path(table.store.root).rglob("*.index"))) == 1
    table.abort(messages)
    assert not list(Path(table.store.root).rglob("data-*"))


def test_values_of_maps_have_indexes() -> None:
    schema = new_table_schema(
        fields(m=MapType(key=STRING, value=INT), k=INT),
        options={
            "file-index.bitmap.columns": "m[a], m[b],k",
            "file-index.bitmap.m.version": "1",
            "file-index.bitmap.m[b].version": "2",
        },
    )
    columns = indexed_columns(TableOptions(schema.options), schema)
    builder = FileIndexBuilder(columns)
    maps: list[Any] = [[("a", 1), ("b", 2)], None, [("b", 5)], []]
    builder.add(
        pa.table({"m": pa.array(maps, pa.map_(pa.string(), pa.int32())), "k": pa.array([1, 2, 3, 4], pa.int32())})
    )
    bodies = builder.bodies()
    assert bodies.keys() == {"m[a]", "m[b]", "k"}
    versions = {c: body[0] for c, types in bodies.items() for body in types.values() if body}
    assert versions == {"m[a]": 1, "m[b]": 2, "k": 2}
    assert len(encode_container(bodies)) > 100 and BodyLocation("m[a]", "bitmap", 0, 0).column in bodies


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"file-index.bitmap.columns": "missing"}, "no such column"),
        ({"file-index.bitmap.columns": "k,"}, "it has an empty name"),
        ({"file-index.bitmap.columns": "b"}, "BYTES"),
        ({"file-index.bsi.columns": "v"}, "bsi indexes do not support STRING"),
        ({"file-index.hash.columns": "k"}, "bitmap, bloom-filter, bsi, range-bitmap"),
        ({"file-index.bitmap.columns": "k[a]"}, "is not a MAP"),
        ({"file-index.bitmap.columns": "n[a]"}, "keys are not strings"),
        ({"file-index.bloom-filter.k.items": "5"}, "Add it to 'file-index.bloom-filter.columns'"),
        ({"file-index.bitmap.columns": "k", "file-index.bitmap.k.version": "3"}, "version"),
        ({"file-index.bloom-filter.columns": "k", "file-index.bloom-filter.k.fpp": "x"}, "fpp"),
    ],
)
def test_options_that_cannot_be(options: dict[str, str], message: str) -> None:
    columns = fields(k=INT, v=STRING, b=BYTES, d=DOUBLE, n=MapType(key=INT, value=INT))
    with pytest.raises(InvalidOptionError, match=message):
        new_table_schema(columns, options=options)


def test_rows_that_bitmaps_leave_without_the_deleted_ones(warehouse: str) -> None:
    stored.create_table(warehouse, deletion_vectors__enabled="true", file_index__bitmap__columns="k")
    stored.insert(stored.open_table(warehouse), [(n % 5, f"{n}") for n in range(20)])
    table = stored.open_table(warehouse)
    (entry,) = live_files(table.store, table.latest_snapshot()).values()
    positions = {(entry.partition, entry.bucket): {entry.file.file_name: np.array([0, 1])}}
    table.commit(delete_rows(table.store, table.latest_snapshot(), positions), CommitInfo(user="tester"))
    (split,) = table.plan(table.latest_snapshot()).splits
    rows = [b.to_pylist() for b in read_split(table.store, split, ["v"], Compare("k", "=", 0))]
    # k is not read: only the index chooses; the rows at 0 and 1, "0" and "10", are deleted
    assert rows == [[{"v": "15"}, {"v": "5"}]]
    whole = read_split(table.store, split, ["v"], Compare("k", "<=>", 9))
    assert list(whole) == []


def test_values_of_maps_choose_files_and_rows(warehouse: str) -> None:
    """A predicate names `m[a]`; `m` had another name, or another type of values, when a file was written."""
    catalog = load_catalog({"warehouse": warehouse})
    options = {"file-index.bitmap.columns": "m[a]", "deletion-vectors.enabled": "true"}
    maps = MapType(key=STRING, value=INT)
    catalog.create_table(stored.T, new_table_schema(fields(m=maps), options=options))
    for base in (0, 10):
        table = stored.open_table(warehouse)
        writer = open_writer(table.store, sequence_start=0)
        rows: list[Any] = [[("a", base)], [("b", base + 1)], None, [("a", base + 3)]]
        writer.write(pa.record_batch([pa.array(rows, pa.map_(pa.string(), pa.int32()))], names=["m"]))
        stored.commit(table, writer.finish(), "tester")
    assert kept(table, Compare("m[a]", "=", 13)) == 1 and kept(table, Compare("m[b]", "=", 99)) == 2
    assert kept(table, And((IsNull("m[a]"), In("m[a]", (0, 10))))) == 0
    (split,) = table.plan(table.latest_snapshot(), Compare("m[a]", "=", 3)).splits
    assert [len(b) for b in read_split(table.store, split, ["m"], Compare("m[a]", "=", 3))] == [1]

    def altered(**change: Any) -> Table:
        field = replace(table.schema.fields[0], **change)
        schema = replace(table.schema, id=1, fields=(field,))
        new = replace(schema, options={**options, "file-index.bitmap.columns": f"{field.name}[a]"})
        return Table(replace(table.store, schema=new, options=TableOptions(new.options)))

    assert kept(altered(name="mm"), Compare("mm[a]", "=", 13)) == 1
    assert kept(altered(type=MapType(key=STRING, value=BIGINT)), Compare("m[a]", "=", 13)) == 2
