"""DROP DATABASE without CASCADE beside a client that creates a table, a view or a function in the database."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import DatabaseNotEmptyError, PaimonError, StorageError
from paimon_core.io import hdfs
from paimon_core.io.file_io import FileIO
from paimon_core.io.fsspec import FsspecFileIO
from paimon_core.io.hdfs import HdfsFileIO
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.catalog.filesystem import FileSystemCatalog
from tests.support.fake_hdfs import FakeHdfs
from tests.support.interleaving import MemoryIO
from tests.support.tables import fields

SCHEMA = new_table_schema(fields(k=INT))
T = Identifier("db", "t")


class Meanwhile:
    """A storage that runs `act` before call number `at` (from 1), without the queue of this machine's writers."""

    def __init__(self, inner: FileIO, at: int, act: Callable[[], object]) -> None:
        self.inner, self.at, self.act, self.calls = inner, at, act, 0

    @property
    def atomic_create(self) -> bool:
        return True

    @property
    def requests_at_once(self) -> int:
        return 1

    @property
    def is_near(self) -> bool:
        return self.inner.is_near

    def writer_slot(self, path: str) -> Any:
        return MemoryIO().writer_slot(path)

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.inner, name)

        def counted(*arguments: Any) -> Any:
            self.calls += 1
            if self.calls == self.at:
                self.act()
            return call(*arguments)

        return counted


class Objects(MemoryIO):
    """Objects in memory, which one request lists. A folder exists if an object is below it, its marker for one."""

    def files_below(self, path: str) -> builtins.list[str] | None:
        return [p for p in self.files if p.startswith(f"{path}/")]

    def make_dirs(self, path: str) -> None:
        self.files[f"{path}/.folder"] = b"", 0


class OlderObjects(Objects):
    """The same, with more objects than one request lists."""

    def files_below(self, path: str) -> builtins.list[str] | None:
        return None


def catalog_of(io: Any, warehouse: str) -> FileSystemCatalog:
    return FileSystemCatalog(io, warehouse)


@pytest.mark.parametrize("storage", [LocalFileIO, Objects, OlderObjects])
def test_a_table_that_another_client_creates_meanwhile_is_whole_or_refused(
    storage: Callable[[], Any], tmp_path: Path
) -> None:
    """The second client runs before each call of DROP DATABASE. If its CREATE returns, the table stays as it is."""
    at, calls, kept = 0, 1, 0
    while at < calls:
        at += 1
        io, warehouse = storage(), str(tmp_path / str(at))
        other = catalog_of(io, warehouse)
        other.create_database("db")
        io.write_bytes(f"{warehouse}/db.db/left/over", b"x")  # of a table that is not a table any more
        created = []

        def create(other: FileSystemCatalog = other, created: list[Identifier] = created) -> None:
            with suppress(PaimonError):
                other.create_table(T, SCHEMA)
                created.append(T)

        meanwhile = Meanwhile(io, at, create)
        dropped = True
        try:
            catalog_of(meanwhile, warehouse).drop_database("db")
        except (DatabaseNotEmptyError, StorageError):
            dropped = False
        calls = meanwhile.calls
        assert other.table_exists(T) == bool(created), at
        assert not (dropped and created), at
        if created:
            kept += 1
            assert other.load_table(T).schema.fields == SCHEMA.fields
        else:
            assert not io.exists(f"{warehouse}/db.db"), at
    assert kept > 0


def opened(storage: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, str]:
    """Return a new storage and its warehouse. Memory stands in for SFTP: it refuses to delete a folder with content."""
    if storage == "hdfs":
        hdfs._client.cache_clear()
        monkeypatch.setattr(hdfs, "_native", FakeHdfs().library)
        return HdfsFileIO("hdfs://nn:8020"), "hdfs://nn:8020/wh"
    if storage == "sftp":
        return FsspecFileIO("memory"), f"memory:/{folder}"
    return (Objects() if storage == "objects" else LocalFileIO()), str(folder)


@pytest.mark.parametrize("storage", ["local", "hdfs", "sftp", "objects"])
def test_a_table_that_another_client_has_begun_to_create_is_whole_or_refused(
    storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second client makes folders before one call of DROP DATABASE, and files before another one."""
    at, calls = 0, 3
    while at < calls - 1:
        at += 1
        for later in range(at + 1, calls + 1):
            io, warehouse = opened(storage, tmp_path / f"{at}-{later}", monkeypatch)
            other = catalog_of(io, warehouse)
            other.create_database("db")
            created: list[Identifier] = []

            def create(other: FileSystemCatalog = other, created: list[Identifier] = created) -> None:
                with suppress(PaimonError):
                    other.create_table(T, SCHEMA)
                    created.append(T)

            half = Meanwhile(io, at, partial(io.make_dirs, f"{warehouse}/db.db/t/schema"))
            both = Meanwhile(half, later, create)
            dropped = True
            try:
                catalog_of(both, warehouse).drop_database("db")
            except (DatabaseNotEmptyError, StorageError):
                dropped = False
            calls = max(calls, both.calls)
            assert other.table_exists(T) == bool(created), (at, later)
            assert not (dropped and created) or later > both.calls, (at, later)
            hdfs._client.cache_clear()


def test_links_and_empty_folders_go_with_a_database(tmp_path: Path) -> None:
    catalog, outside = catalog_of(LocalFileIO(), str(tmp_path / "wh")), tmp_path / "outside"
    catalog.create_database("db")
    outside.mkdir()
    (outside / "precious").write_text("x")
    folder = tmp_path / "wh" / "db.db"
    (folder / "empty" / "deep").mkdir(parents=True)
    (folder / "link").symlink_to(outside)
    catalog.drop_database("db")
    assert (outside / "precious").exists() and not folder.exists()


def test_a_broken_link_keeps_its_database(tmp_path: Path) -> None:
    catalog = catalog_of(LocalFileIO(), str(tmp_path))
    catalog.create_database("db")
    (tmp_path / "db.db" / "broken").symlink_to(tmp_path / "nothing")
    with pytest.raises(StorageError, match="broken links"):
        catalog.drop_database("db")
    catalog.drop_database("db", cascade=True)
    assert not (tmp_path / "db.db").exists()


def test_a_view_keeps_its_database(tmp_path: Path) -> None:
    catalog = catalog_of(LocalFileIO(), str(tmp_path))
    catalog.create_database("db")
    (tmp_path / "db.db" / "$views").mkdir()
    (tmp_path / "db.db" / "$views" / "v.json").write_text("{}")
    with pytest.raises(DatabaseNotEmptyError, match="1 views, v among them"):
        catalog.drop_database("db")
    assert (tmp_path / "db.db" / "$views" / "v.json").exists()
