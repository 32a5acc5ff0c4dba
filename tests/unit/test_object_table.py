"""Object tables without Spark: the files below a folder, whatever their names, as rows."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import (
    InvalidOptionError,
    InvalidSchemaError,
    NotAllowedError,
    UnsupportedFeatureError,
)
from paimon_core.io.local import LocalFileIO
from paimon_core.object_table import OBJECT_FIELDS, ObjectTable, object_schema
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT, STRING
from paimon_core.store.allowed import Allowed
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import AddColumn, SetOption
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.load import load_catalog
from tests.support.tables import fields

T = Identifier("db", "o")


def definition(**options: str) -> Any:
    spelled = {k.replace("_", "-"): v for k, v in options.items()}
    return new_table_schema((), options={"type": "object-table", **spelled})


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    catalog = load_catalog({"warehouse": str(tmp_path / "wh"), "table-default.file.compression": "lz4"})
    catalog.create_database("db")
    return catalog


def paths(table: Table) -> list[str]:
    found: list[str] = ObjectTable.of(table.store, {}).read().column("path").to_pylist()
    return found


def put(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode("utf-8", "surrogateescape"))


def test_files_are_rows_without_the_definition(catalog: Catalog, tmp_path: Path) -> None:
    catalog.create_table(T, definition())
    table, root = catalog.load_table(T), tmp_path / "wh" / "db.db" / "o"
    assert paths(table) == []
    put(root, "b.txt", "a/deep/x.bin", "schema/notes", "schema-0", ".hidden", "a/schema/schema-0")
    os.utime(root / "b.txt", ns=(0, 1_700_000_000_123_000_000))
    rows = ObjectTable.of(table.store, {}).read()
    assert rows.column_names == ["path", "name", "length", "mtime", "atime", "owner"]
    assert rows.column("path").to_pylist() == [
        ".hidden",
        "a/deep/x.bin",
        "a/schema/schema-0",
        "b.txt",
        "schema-0",
        "schema/notes",
    ]
    assert rows.to_pylist()[3] == {
        "path": "b.txt", "name": "b.txt", "length": 5, "mtime": 1_700_000_000_123, "atime": 0, "owner": None,
    }  # fmt: skip
    assert rows.column("name").to_pylist()[1] == "x.bin"


def test_files_of_any_name(catalog: Catalog, tmp_path: Path) -> None:
    names = ["a\nb", "%41", "a?b#c", " ", "ü/é", "back\\slash", "..x", "'; DROP TABLE o; --", os.fsdecode(b"\xff\xfe")]
    folder = tmp_path / "f"
    put(folder, *names)
    catalog.create_table(T, definition(path=str(folder)))
    shown = ["\ufffd\ufffd" if n.startswith("\udcff") else n for n in names]
    assert paths(catalog.load_table(T)) == sorted(shown, key=lambda n: n.encode())


def test_links_to_files_are_files_and_links_to_folders_are_not_followed(catalog: Catalog, tmp_path: Path) -> None:
    folder = tmp_path / "f"
    put(folder, "real")
    put(tmp_path / "outside", "secret")
    (folder / "link").symlink_to(tmp_path / "outside" / "secret")
    (folder / "loop").symlink_to(folder)
    (folder / "out").symlink_to(tmp_path / "outside")
    (folder / "nowhere").symlink_to(tmp_path / "gone")
    catalog.create_table(T, definition(path=f"file://{folder}/"))
    assert paths(catalog.load_table(T)) == ["link", "real"]


def test_the_option_of_older_versions(catalog: Catalog, tmp_path: Path) -> None:
    put(tmp_path / "f", "x")
    catalog.create_table(T, definition(object_location=str(tmp_path / "f")))
    table = catalog.load_table(T)
    assert table.schema.options["path"] == str(tmp_path / "f") and "object-location" not in table.schema.options
    assert [f.name for f in table.schema.fields] == [f.name for f in OBJECT_FIELDS] and paths(table) == ["x"]
    older = new_table_schema(
        fields(path=STRING, parent_path=STRING, generation=INT),
        options={"type": "object-table", "object-location": str(tmp_path / "f")},
    )
    stored = TableStore.of(LocalFileIO(), str(tmp_path / "t"), older, identifier=T)
    assert ObjectTable.of(stored, {}).read().column("path").to_pylist() == ["x"]


def test_what_a_definition_cannot_have(catalog: Catalog) -> None:
    for schema, says in (
        (new_table_schema(fields(path=STRING, mine=INT), options={"type": "object-table"}), "column 'mine'"),
        (new_table_schema(fields(path=STRING), options={"type": "object-table"}, primary_keys=["path"]), "keys"),
        (new_table_schema(fields(path=STRING, name=STRING), ["name"], {"type": "object-table"}), "keys"),
    ):
        with pytest.raises(InvalidSchemaError, match=says):
            catalog.create_table(T, schema)
    with pytest.raises(InvalidOptionError, match="password") as raised:
        catalog.create_table(T, definition(path="s3://key:hidden@bucket/x"))
    assert "hidden" not in str(raised.value)
    assert object_schema(T, definition()).fields == OBJECT_FIELDS
    assert not catalog.table_exists(T)


def test_it_takes_no_rows_and_no_columns(catalog: Catalog, tmp_path: Path) -> None:
    catalog.create_table(T, definition())
    table = catalog.load_table(T)
    with pytest.raises(UnsupportedFeatureError, match="cannot be written"):
        table.check_writable()
    with pytest.raises(UnsupportedFeatureError, match="an object table"):
        catalog.alter_table(T, [AddColumn(("n",), INT)])
    for old, new in ((T, new_table_schema(fields(k=INT))), (Identifier("db", "t"), definition())):
        if old != T:
            catalog.create_table(old, new_table_schema(fields(k=INT)))
        with pytest.raises(UnsupportedFeatureError, match="only be read"):
            catalog.stage_replace(old, new)
    catalog.alter_table(T, [SetOption("mine", "x")])
    assert catalog.load_table(T).schema.options["mine"] == "x"


def test_the_catalog_says_which_folders_may_be_listed(catalog: Catalog, tmp_path: Path) -> None:
    catalog.create_table(T, definition(path=str(tmp_path / "private")))
    store = catalog.load_table(T).store
    for allowed, refused in ((("/data",), True), ((str(tmp_path),), False), (None, False)):
        bound = replace(store, allowed=Allowed(external_paths=allowed))
        if refused:
            with pytest.raises(NotAllowedError, match="allowed-external-paths"):
                ObjectTable.of(bound, {})
        else:
            assert ObjectTable.of(bound, {}).read().num_rows == 0


def test_dropping_keeps_objects_that_are_elsewhere(catalog: Catalog, tmp_path: Path) -> None:
    put(tmp_path / "f", "x")
    catalog.create_table(T, definition(path=str(tmp_path / "f")))
    catalog.drop_table(T)
    assert (tmp_path / "f" / "x").exists() and not catalog.table_exists(T)
