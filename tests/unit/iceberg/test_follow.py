"""What a reader of Iceberg (pyiceberg) sees of a table, after each kind of change to it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.table import StaticTable

from paimon_core.arrow.types import arrow_schema
from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.iceberg.follow import follow, follow_rename
from paimon_core.iceberg.metadata import metadata_folder
from paimon_core.io.file_io import FileStatus
from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance.rollback import roll_back
from paimon_core.maintenance.snapshot_expiry import Retention, expire_snapshots
from paimon_core.maintenance.tags import create_tag, delete_tags
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT, STRING, MapType
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import SetOption
from paimon_core.store.snapshots import read_snapshot
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.load import load_catalog
from tests.support.iceberg_reader import iceberg_rows, open_iceberg
from tests.support.stored import Row, T, commit, compact, create_table, insert, open_table, read
from tests.support.tables import fields

IN_TABLE = {"metadata__iceberg__storage": "table-location"}
KEY = STRING.with_nullable(False)
KEYED = {"primary_key": "k", "bucket": "2", **IN_TABLE}


def folder_of(table: Table) -> Path:
    return Path(table.store.root, "metadata")


def iceberg(table: Table, folder: Path | None = None) -> StaticTable:
    return open_iceberg(folder or folder_of(table))


def seen(table: Table, snapshot: int | None = None) -> list[Any]:
    return iceberg_rows(folder_of(table), "k", "v", snapshot_id=snapshot)


def rows(*keys: int) -> list[Row]:
    return [(k, f"v{k}") for k in keys]


def names(table: Table) -> set[str]:
    return {p.name for p in folder_of(table).iterdir()}


def test_rows_of_each_snapshot(tmp_path: Path) -> None:
    table = create_table(str(tmp_path), **IN_TABLE)
    for n in range(3):
        insert(table, rows(n))
        assert seen(table) == read(table)
    assert seen(table, 1) == rows(0) and seen(table, 2) == rows(0, 1), "earlier snapshots are there"
    found = iceberg(table)
    assert found.scan(row_filter=EqualTo("k", 2)).to_arrow().num_rows == 1
    assert len(list(found.scan(row_filter=EqualTo("k", 2)).plan_files())) == 1, "files are skipped by their bounds"
    assert found.current_snapshot().summary["total-records"] == "3"  # type: ignore[union-attr, index]
    assert {n for n in names(table) if n.startswith("v")} == {"v3.metadata.json", "version-hint.text"}


def test_files_that_are_compacted_are_replaced(tmp_path: Path) -> None:
    table = create_table(str(tmp_path), bucket="1", bucket_key="k", **IN_TABLE)
    for n in range(4):
        insert(table, rows(n))
    assert compact(table) is not None
    assert seen(table) == read(table) == rows(0, 1, 2, 3)
    assert len(list(iceberg(table).scan().plan_files())) == 1
    assert seen(table, 4) == read(table)


def test_of_keyed_tables_what_is_compacted(tmp_path: Path) -> None:
    """Each key once: what an upsert replaced is not seen beside what replaced it."""
    table = create_table(str(tmp_path), **KEYED)
    insert(table, rows(1, 2))
    assert seen(table) == []
    compact(table)
    assert seen(table) == rows(1, 2)
    insert(table, [(2, "new"), (3, "new")])
    assert seen(table) == rows(1, 2), "not until the next full compaction"
    compact(table)
    assert seen(table) == read(table) == [(1, "v1"), (2, "new"), (3, "new")]


def test_in_the_folder_of_a_hadoop_catalog(tmp_path: Path) -> None:
    table = create_table(str(tmp_path), metadata__iceberg__storage="hadoop-catalog")
    insert(table, rows(1))
    folder = tmp_path / "iceberg" / "default" / "t" / "metadata"
    assert iceberg(table, folder).scan().to_arrow().num_rows == 1
    assert not folder_of(table).exists()


def test_tags_are_tags(tmp_path: Path) -> None:
    table = create_table(str(tmp_path), **IN_TABLE)
    insert(table, rows(1))
    insert(table, rows(2))
    create_tag(table.store, "first", read_snapshot(table.store, 1))
    assert iceberg(table).snapshot_by_name("first").snapshot_id == 1  # type: ignore[union-attr]
    insert(table, rows(3))
    assert set(iceberg(table).refs()) == {"main", "first"}
    delete_tags(table.store, ["first"])
    assert set(iceberg(table).refs()) == {"main"}


def test_a_rollback_is_followed_at_once(tmp_path: Path) -> None:
    table = create_table(str(tmp_path), **IN_TABLE)
    for n in range(3):
        insert(table, rows(n))
    identity = iceberg(table).metadata.table_uuid
    roll_back(table.store, snapshot_id=2)
    assert seen(table) == rows(0, 1) and "v3.metadata.json" not in names(table)
    insert(table, rows(7))
    assert seen(table) == read(table) == rows(0, 1, 7)
    assert iceberg(table).metadata.table_uuid == identity


def test_expired_snapshots_are_no_longer_offered(tmp_path: Path) -> None:
    table = create_table(str(tmp_path), **IN_TABLE)
    for n in range(4):
        insert(table, rows(n))
    expire_snapshots(table.store, Retention(least=1, most=1, older_than=0, limit=100), 0)
    assert [s.snapshot_id for s in iceberg(table).snapshots()] == [4]
    assert seen(table) == read(table)


def test_manifests_that_nothing_names_are_removed_once_they_are_old(tmp_path: Path) -> None:
    table = create_table(str(tmp_path), bucket="1", bucket_key="k", **IN_TABLE)
    for n in range(4):
        insert(table, rows(n))
    compact(table)
    (folder_of(table) / "mine.avro").touch()
    before = names(table)
    expire_snapshots(table.store, Retention(least=1, most=1, older_than=0, limit=100), 0)
    assert names(table) == before, "another process may be about to name them"
    for path in folder_of(table).iterdir():
        os.utime(path, (1, 1))
    insert(table, rows(9))
    lists = [n for n in names(table) if n.startswith("snap-")]
    assert len(lists) == len(iceberg(table).snapshots()) < 6
    assert seen(table) == read(table) and "mine.avro" in names(table)


def test_many_manifests_are_merged(tmp_path: Path) -> None:
    table = create_table(str(tmp_path), **IN_TABLE, **{"metadata__iceberg__compaction__max__file-num": "3"})
    for n in range(9):
        insert(table, rows(n))
    snapshot = iceberg(table).current_snapshot()
    assert snapshot is not None and len(snapshot.manifests(iceberg(table).io)) <= 5
    assert seen(table) == read(table)


def test_a_table_that_gets_the_option_later(tmp_path: Path) -> None:
    table = create_table(str(tmp_path))
    for n in range(3):
        insert(table, rows(n))
    table = Table(table.store.with_options({"metadata.iceberg.storage": "table-location"}))
    follow(table.store)
    assert seen(table) == read(table)


@pytest.mark.parametrize("name", ["v2.metadata.json", "snap", "-m0"])
def test_what_is_damaged_is_made_anew(tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    table = create_table(str(tmp_path), **IN_TABLE)
    insert(table, rows(1))
    insert(table, rows(2))
    for path in folder_of(table).iterdir():
        if name in path.name:
            path.write_bytes(b"damaged")
    insert(table, rows(3))
    compact(table)
    assert seen(table) == read(table)


def test_metadata_that_names_files_elsewhere_is_not_gone_on_from(tmp_path: Path) -> None:
    table = create_table(str(tmp_path), **IN_TABLE)
    insert(table, rows(1))
    path = folder_of(table) / "v1.metadata.json"
    (elsewhere := tmp_path / "elsewhere").mkdir()
    for found in folder_of(table).glob("snap-*"):
        found.rename(elsewhere / found.name)
    path.write_text(path.read_text().replace(f"{folder_of(table)}/snap-", f"{elsewhere}/snap-"))
    insert(table, rows(2))
    assert seen(table) == read(table)
    assert all(
        folder_of(table) == Path(s.manifest_list.removeprefix("file:")).parent for s in iceberg(table).snapshots()[1:]
    )


class Losing(LocalFileIO):
    """Fails to write what has `part` in its path."""

    part = "nothing"

    def _check(self, path: str) -> None:
        if self.part in path:
            raise OSError("no space left")

    def write_bytes(self, path: str, data: bytes) -> None:
        self._check(path)
        super().write_bytes(path, data)

    def replace_file(self, path: str, data: bytes) -> None:
        self._check(path)
        super().replace_file(path, data)

    def create_exclusive(self, path: str, data: bytes) -> bool:
        self._check(path)
        return super().create_exclusive(path, data)

    def list(self, path: str) -> Iterator[FileStatus]:
        return super().list(path)


@pytest.mark.parametrize("part", ["metadata/snap-", "-m0.avro", ".metadata.json", "version-hint"])
def test_a_commit_does_not_fail_with_its_metadata_and_the_next_one_mends_it(
    tmp_path: Path, part: str, caplog: pytest.LogCaptureFixture
) -> None:
    table = create_table(str(tmp_path), **IN_TABLE)
    insert(table, rows(1))
    losing = open_table(str(tmp_path), Losing())
    losing.store.io.__class__.part = part  # type: ignore[attr-defined]
    try:
        with caplog.at_level(logging.WARNING):
            assert insert(losing, rows(2)) is not None
    finally:
        losing.store.io.__class__.part = "nothing"  # type: ignore[attr-defined]
    assert "failed (update the Iceberg metadata)" in caplog.text
    assert seen(table) == rows(1), "readers see what was there before"
    insert(table, rows(3))
    assert seen(table) == read(table) == rows(1, 2, 3)


def test_two_that_follow_at_once_write_it_once(tmp_path: Path) -> None:
    table = create_table(str(tmp_path))
    insert(table, rows(1))
    option = {"metadata.iceberg.storage": "table-location"}

    class Overtaken(LocalFileIO):
        def create_exclusive(self, path: str, data: bytes) -> bool:
            if path.endswith("v1.metadata.json"):
                follow(replace(table.store, turn=Alone()).with_options(option))
            return super().create_exclusive(path, data)

    class Alone:
        is_alone = False

        def check(self) -> None: ...

    follow(replace(table.store, io=Overtaken()).with_options(option))
    assert seen(table) == rows(1)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"deletion_vectors__enabled": "true"}, "deletion vectors"),
        ({"file__format": "orc"}, "in Parquet only"),
    ],
)
def test_what_readers_of_iceberg_would_misread_is_not_written(
    tmp_path: Path, options: dict[str, str], reason: str
) -> None:
    table = create_table(str(tmp_path), **IN_TABLE, **options)
    with pytest.raises(UnsupportedFeatureError, match=reason):
        insert(table, rows(1))


def test_files_with_a_column_per_key_of_a_map_are_not_listed(tmp_path: Path) -> None:
    """They were written before the table got Iceberg metadata: later files have MAPs."""
    catalog, columns = load_catalog({"warehouse": str(tmp_path)}), fields(k=INT, m=MapType(key=KEY, value=INT))
    options = {"fields.m.map.storage-layout": "shared-shredding"}
    catalog.create_table(T, new_table_schema(columns, options=options))
    insert_maps(open_table(str(tmp_path)))
    catalog.alter_table(T, [SetOption("metadata.iceberg.storage", "table-location")])
    table = open_table(str(tmp_path))
    with pytest.raises(UnsupportedFeatureError, match="a column per key of the MAP 'm', .*full compaction"):
        follow(table.store)
    table.truncate(CommitInfo(user="tester"))
    insert_maps(table)
    assert iceberg_rows(folder_of(table), "k", "m") == [(1, [("a", 1)])]


def insert_maps(table: Table) -> None:
    writer = open_writer(table.store, sequence_start=0)
    rows = pa.table([pa.array([1], pa.int32()), [[("a", 1)]]], schema=arrow_schema(table.schema.fields))
    writer.write(rows.to_batches()[0])
    commit(table, writer.finish(), "tester")


PARTITIONED = {"partition": "v", **IN_TABLE}


def files_of(table: Table) -> set[str]:
    return {p.name for p in Path(metadata_folder(table.store)).iterdir()}


@pytest.mark.parametrize("storage", ["table-location", "hadoop-catalog"])
@pytest.mark.parametrize("options", [IN_TABLE, KEYED, PARTITIONED], ids=["append", "keyed", "partitioned"])
def test_a_renamed_table_names_the_files_of_its_new_folder_at_once(
    tmp_path: Path, options: dict[str, str], storage: str
) -> None:
    table = create_table(str(tmp_path), **{**options, "metadata__iceberg__storage": storage})
    for n in range(2):
        insert(table, rows(n))
    compact(table)
    expected = read(table)
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.rename_table(T, Identifier("default", "other"))
    renamed = catalog.load_table(Identifier("default", "other"))
    found = iceberg(renamed, Path(metadata_folder(renamed.store)))
    assert iceberg_rows(Path(metadata_folder(renamed.store)), "k", "v") == expected
    paths = [task.file.file_path.removeprefix("file://") for task in found.scan().plan_files()]
    assert paths and all(path.startswith(f"{renamed.store.root}/") for path in paths)
    before = files_of(renamed)
    follow(renamed.store)
    assert files_of(renamed) == before, "nothing is left to be done"
    insert(renamed, rows(7))
    compact(renamed)
    assert iceberg_rows(Path(metadata_folder(renamed.store)), "k", "v") == read(renamed)


IN_WAREHOUSE = {"metadata__iceberg__storage": "hadoop-catalog"}
OTHER = Identifier("default", "other")


def test_a_renamed_table_is_no_longer_found_by_its_former_name(tmp_path: Path) -> None:
    table = create_table(str(tmp_path), **IN_WAREHOUSE)
    for n in range(2):
        insert(table, rows(n))
    former = Path(metadata_folder(table.store))
    load_catalog({"warehouse": str(tmp_path)}).rename_table(T, OTHER)
    assert not former.parent.exists()
    assert [p.name for p in former.parent.parent.iterdir()] == ["other"]


def test_a_file_of_another_name_stays_behind_a_rename(tmp_path: Path) -> None:
    table = create_table(str(tmp_path), **IN_WAREHOUSE)
    insert(table, rows(1))
    former = Path(metadata_folder(table.store))
    (former / "notes.txt").write_text("mine")
    load_catalog({"warehouse": str(tmp_path)}).rename_table(T, OTHER)
    assert [p.name for p in former.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("why", ["another table is there again", "its metadata is another table's"])
def test_what_belongs_to_another_table_stays_behind_a_rename(tmp_path: Path, why: str) -> None:
    table = create_table(str(tmp_path), **IN_WAREHOUSE)
    insert(table, rows(1))
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.rename_table(T, OTHER)
    again = create_table(str(tmp_path), **IN_WAREHOUSE)
    insert(again, rows(2))
    if why != "another table is there again":
        (tmp_path / "default.db" / "t").rename(tmp_path / "default.db" / "moved")
    before = files_of(again)
    follow_rename(catalog.load_table(OTHER).store, again.store.root)
    assert files_of(again) == before
