"""Append tables with buckets and without a bucket key, as Paimon 0.4 to 0.8 created them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import InvalidOptionError
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.binary_row import encode_body
from paimon_core.spec.hashing.murmur import murmur3_row
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import INT, STRING, CollectionType, Kind
from paimon_core.store.ddl.new_schema import check_schema, new_table_schema
from paimon_core.store.ddl.schema_changes import (
    AddColumn,
    DropColumn,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateComment,
    apply_changes,
)
from paimon_core.store.schemas import create_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.load import load_catalog
from paimon_sql.spark.tables.definitions import schema_like
from tests.support.data import files_of, make_batch, read_rows
from tests.support.row_changes import delete, merge, update
from tests.support.stored import T, compact, insert, open_table, read
from tests.support.tables import fields

ARRAY = CollectionType(Kind.ARRAY, element=INT)


def old_schema(version: int, types: dict[str, Any], **options: str) -> TableSchema:
    """A schema as `version` has it, with the defaults of that version in its options."""
    return replace(new_table_schema(fields(**types)), version=version, options=options)


def old_table(warehouse: Path, version: int = 1, **options: str) -> Table:
    """`default.t` of k INT, v STRING, in buckets that no key decides."""
    schema = old_schema(version, {"k": INT, "v": STRING}, **({"bucket": "1", "file.format": "orc"} | options))
    load_catalog({"warehouse": str(warehouse)})
    assert create_schema(LocalFileIO(), f"{warehouse}/default.db/t", schema)
    return open_table(str(warehouse))


@pytest.mark.parametrize(("version", "buckets"), [(1, "1"), (1, "3"), (2, "2"), (3, "1")])
def test_rows_are_inserted_changed_and_compacted(tmp_path: Path, version: int, buckets: str) -> None:
    table = old_table(tmp_path, version, bucket=buckets)
    for k in range(6):
        insert(table, [(k, f"v{k}")])
    update(table, {1}).commit(table)
    delete(table, {0, 2}).commit(table)
    merge(table, 3, 4).commit(table)
    before = read(table)
    assert [k for k, _ in before] == [1, 3, 5]
    compact(table)
    assert read(table) == before


def test_all_rows_of_one_bucket_are_in_bucket_0(tmp_path: Path) -> None:
    table = old_table(tmp_path)
    insert(table, [(k, "x") for k in range(50)])
    assert {p.parent.name for p in Path(table.store.root).rglob("data-*")} == {"bucket-0"}


def test_all_columns_that_hash_decide_among_several_buckets(tmp_path: Path) -> None:
    schema = old_schema(1, {"a": INT, "b": STRING, "c": ARRAY}, bucket="4")
    store = TableStore.of(LocalFileIO(), str(tmp_path), schema)
    rows = [(i, f"name {i % 5}", [i]) for i in range(60)]
    writer = open_writer(store, sequence_start=0)
    writer.write(make_batch(store, rows))
    for (partition, bucket), files in files_of(writer.finish()).items():
        expected = [r for r in rows if abs(murmur3_row(encode_body([INT, STRING], r[:2]))) % 4 == bucket]
        assert read_rows(store, {(partition, bucket): files}) == expected


def test_several_buckets_of_newer_tables_still_need_a_key(tmp_path: Path) -> None:
    table = old_table(tmp_path, 3, bucket="2")
    with pytest.raises(InvalidOptionError, match="needs 'bucket-key'"):
        insert(table, [(1, "a")])


CHANGES: list[SchemaChange] = [
    AddColumn(("w",), INT),
    DropColumn(("v",)),
    RenameColumn(("v",), "value"),
    SetOption("snapshot.time-retained", "2 h"),
    UpdateComment("old"),
]


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("change", CHANGES, ids=lambda c: type(c).__name__)
def test_tables_are_altered_and_keep_the_version_that_allows_their_buckets(version: int, change: SchemaChange) -> None:
    schema = old_schema(version, {"k": INT, "v": STRING}, bucket="1")
    changed = apply_changes(schema, [change], 7)
    assert (changed.id, changed.version, changed.options["bucket"]) == (1, version, "1")


def test_no_change_makes_other_keyless_buckets() -> None:
    with pytest.raises(InvalidOptionError, match="'bucket-key'"):
        apply_changes(old_schema(1, {"k": INT}, bucket="1"), [SetOption("bucket", "2")], 7)
    with pytest.raises(InvalidOptionError, match="'bucket-key'"):
        apply_changes(new_table_schema(fields(k=INT)), [SetOption("bucket", "2")], 7, has_snapshots=False)
    with pytest.raises(InvalidOptionError, match="'bucket-key'"):
        new_table_schema(fields(k=INT), options={"bucket": "1"})


def test_copies_of_definitions() -> None:
    schema = old_schema(1, {"k": INT}, bucket="1")
    check_schema(schema)  # a clone keeps the version and the buckets
    like = schema_like(schema, {}, None, (), names_type=False)
    assert (like.version, like.options) == (3, {}), "a new table has the buckets of today"


def test_the_table_is_found_again_after_it_was_altered(tmp_path: Path) -> None:
    table = old_table(tmp_path)
    insert(table, [(1, "a")])
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.alter_table(T, [AddColumn(("w",), INT)])
    again = open_table(str(tmp_path))
    assert (again.schema.id, again.schema.version) == (1, 1)
    assert read(again) == [(1, "a")]
