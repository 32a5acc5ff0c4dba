"""CREATE TABLE where a dropped table has left versions, and where another client creates the table at the same time."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from paimon_core.errors import StorageError, TableExistsError
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.catalog import schema_files
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.catalog.hive.entries import Place
from paimon_sql.catalog.hive.registry import EntryRegistry
from paimon_sql.catalog.load import load_catalog
from paimon_sql.catalog.schema_files import SchemaFiles
from tests.support.tables import data_file, fields, info, message
from tests.unit.catalog.test_dropped_databases import catalog_of, opened

SCHEMA = new_table_schema(fields(k=INT, v=INT, p=INT, n=INT))
T = Identifier("db", "t")
LEFT = ["snapshot/snapshot-1", "changelog/changelog-1", "tag/tag-old", "branch/branch-b/schema/schema-0"]


def leave(io: Any, path: str) -> None:
    io.make_dirs(path.rpartition("/")[0])
    io.write_bytes(path, b"{}")


@pytest.mark.parametrize("left", LEFT)
@pytest.mark.parametrize("storage", ["local", "hdfs", "sftp", "objects"])
def test_versions_behind_a_drop_are_not_shown_by_a_new_table(
    storage: str, left: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that looked before the drop publishes after it."""
    io, warehouse = opened(storage, tmp_path / "wh", monkeypatch)
    catalog = catalog_of(io, warehouse)
    catalog.create_database("db")
    catalog.create_table(T, SCHEMA)
    catalog.drop_table(T)
    folder = catalog._folders.table(T)
    leave(io, f"{folder}/{left}")
    name = left.partition("/")[0]
    with pytest.raises(StorageError, match=rf"table db\.t: .*/db.db/t has no schema, but files in '{name}' of a table"):
        catalog.create_table(T, SCHEMA)
    assert not catalog.table_exists(T) and io.read_bytes(f"{folder}/{left}") == b"{}"
    io.delete_dir(folder)
    catalog.create_table(T, SCHEMA)
    with pytest.raises(TableExistsError):
        catalog.create_table(T, SCHEMA)


@pytest.mark.parametrize("left", ["snapshot/LATEST", "tag", "manifest/manifest-1", "bucket-0/data-1"])
def test_files_that_no_table_shows_do_not_stop_a_new_table(left: str, tmp_path: Path) -> None:
    io, catalog = LocalFileIO(), catalog_of(LocalFileIO(), str(tmp_path))
    catalog.create_database("db")
    leave(io, f"{catalog._folders.table(T)}/{left}")
    catalog.create_table(T, SCHEMA)
    assert catalog.load_table(T).latest_snapshot() is None


@pytest.mark.parametrize("storage", ["local", "hdfs", "sftp"])
def test_a_table_that_another_client_creates_and_fills_meanwhile_exists(
    storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no schema when the first listing looks, and snapshots when the second one does."""
    io, warehouse = opened(storage, tmp_path / "wh", monkeypatch)
    catalog, other = catalog_of(io, warehouse), catalog_of(io, warehouse)
    catalog.create_database("db")
    real, filled = schema_files.schema_ids, list[str]()
    monkeypatch.setattr(FileSystemCatalog, "_turn", lambda *_: nullcontext())  # the other client has another machine

    def look(storage_of: Any, path: str) -> list[int]:
        found = real(storage_of, path)
        if path.endswith("/t") and not filled:
            filled.append(path)
            other.create_table(T, SCHEMA)
            table = other.load_table(T)
            table.commit([message(table.store, data_file(table.store, 0, 9, rows=10))], info())
        return found

    monkeypatch.setattr(schema_files, "schema_ids", look)
    monkeypatch.setattr(schema_files, "both", lambda _, first, second: (first(), second()))  # one after the other
    with pytest.raises(TableExistsError):
        catalog.create_table(T, SCHEMA)
    other.drop_table(T)
    filled.clear()
    catalog.create_table(T, SCHEMA, ignore_if_exists=True)
    snapshot = catalog.load_table(T).latest_snapshot()
    assert filled and snapshot is not None and snapshot.total_record_count == 10


@pytest.mark.parametrize("left", LEFT)
def test_a_jdbc_catalog_refuses_versions_of_a_dropped_table(left: str, tmp_path: Path) -> None:
    uri = f"jdbc:sqlite:{tmp_path}/catalog.sqlite"
    catalog = load_catalog({"warehouse": str(tmp_path / "wh"), "metastore": "jdbc", "uri": uri})
    catalog.create_database("db")
    catalog.create_table(T, SCHEMA)
    root = catalog.load_table(T).store.root
    catalog.drop_table(T)
    leave(LocalFileIO(), f"{root}/{left}")
    with pytest.raises(StorageError, match="has no schema, but files in"):
        catalog.create_table(T, SCHEMA)
    assert not catalog.table_exists(T) and Path(f"{root}/{left}").exists()
    LocalFileIO().delete_dir(root)
    catalog.create_table(T, SCHEMA)
    assert catalog.load_table(T).latest_snapshot() is None


@pytest.mark.parametrize("left", LEFT)
@pytest.mark.parametrize("is_own", [False, True])
def test_a_hive_catalog_refuses_versions_of_a_dropped_table(left: str, is_own: bool, tmp_path: Path) -> None:
    files = SchemaFiles(LocalFileIO())
    warehouse: Any = SimpleNamespace(
        locked=lambda _: nullcontext(), check_lock=lambda _: None, storage=lambda _: files.io, folder=str(tmp_path)
    )
    inserted = list[str]()

    class Registry(EntryRegistry):
        def _found(self, name: Identifier) -> Any:
            return None

        def _insert(self, identifier: Identifier, schema: Any, place: Place) -> None:
            inserted.append(str(identifier))

    registry = Registry(warehouse, SimpleNamespace(), lambda *_: files, SimpleNamespace())  # type: ignore[arg-type]
    path = f"{tmp_path}/t"
    create = partial(registry._create, files.prepare(T, path, SCHEMA), Place(path, is_own, is_own))
    leave(files.io, f"{path}/{left}")
    with pytest.raises(StorageError, match="has no schema, but files in"):
        create()
    assert not inserted and not Path(f"{path}/schema").exists()
    files.io.delete_dir(path)
    create()
    assert inserted == ["db.t"]
