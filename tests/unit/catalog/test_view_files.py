"""The files of a filesystem catalog's views."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paimon_core.errors import (
    StorageError,
    UnfamiliarFormError,
    UnreadableFileError,
    ViewExistsError,
    ViewNotFoundError,
)
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT, DataField
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.catalog.view import View
from tests.support.faulty_io import Fault, FaultyIO

V, W = Identifier("db", "v"), Identifier("db", "w")
VIEW = View(fields=(DataField(id=0, name="k", type=INT),), query="SELECT 1 AS k", namespace=("db",))


class DeletesNothing(FaultyIO):
    def delete(self, path: str) -> None:
        raise StorageError("gone")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "db.db" / "$views"


def test_where_they_are(catalog: FileSystemCatalog, folder: Path) -> None:
    catalog.create_view(V, VIEW)
    assert [p.name for p in folder.iterdir()] == ["v.json"]
    assert catalog.list_tables("db") == []
    catalog.drop_view(V)
    assert list(folder.iterdir()) == []


def test_files_of_others(catalog: FileSystemCatalog, folder: Path) -> None:
    """What has no name of a view is not listed, and not touched."""
    catalog.create_view(V, VIEW)
    for name in ("readme.txt", ".json", ".v.json.0123456789abcdef0123456789abcdef.tmp", "a$b.json"):
        (folder / name).write_text("{}")
    (folder / "folder.json").mkdir()
    assert catalog.list_views("db") == ["v"]
    catalog.drop_view(V)
    assert len(list(folder.iterdir())) == 5


@pytest.mark.parametrize("content", [b"", b"{}", b"\x00" * 100, b"[1]"])
def test_damaged_ones(catalog: FileSystemCatalog, folder: Path, content: bytes) -> None:
    catalog.create_view(V, VIEW)
    (folder / "v.json").write_bytes(content)
    assert catalog.list_views("db") == ["v"]
    with pytest.raises(UnreadableFileError, match=r"v\.json .* drop the view and create it again"):
        catalog.load_view(V)
    with pytest.raises(UnreadableFileError):
        catalog.rename_view(V, W)
    with pytest.raises(ViewExistsError):
        catalog.create_view(V, VIEW)
    catalog.replace_view(V, VIEW)
    assert catalog.load_view(V) == VIEW
    (folder / "v.json").write_bytes(content)
    catalog.drop_view(V)
    with pytest.raises(ViewNotFoundError):
        catalog.load_view(V)


def test_a_file_without_end(catalog: FileSystemCatalog, folder: Path) -> None:
    catalog.create_view(V, VIEW)
    with (folder / "v.json").open("r+b") as file:
        file.truncate(2**30)
    with pytest.raises(UnfamiliarFormError, match="more than"):
        catalog.load_view(V)
    (folder / "v.json").unlink()
    os.mkfifo(folder / "v.json")
    with pytest.raises(StorageError, match="pipe"):
        catalog.load_view(V)
    catalog.drop_view(V)


def test_a_rename_that_was_interrupted(catalog: FileSystemCatalog, folder: Path) -> None:
    """Both names have the view; RENAME ends it, but only for the definition that it began with."""
    catalog.create_view(V, VIEW)
    catalog.rename_view(V, W)
    assert "renamed-from" not in (folder / "w.json").read_text()
    catalog.rename_view(W, V)
    with pytest.raises(StorageError, match="gone"):
        FileSystemCatalog(DeletesNothing(LocalFileIO()), catalog.warehouse).rename_view(V, W)
    assert catalog.list_views("db") == ["v", "w"]
    assert catalog.load_view(W) == VIEW
    other = View(fields=VIEW.fields, query="SELECT 2 AS k")
    catalog.replace_view(V, other)
    with pytest.raises(ViewExistsError):
        catalog.rename_view(V, W)
    assert catalog.load_view(V) == other
    catalog.replace_view(V, VIEW)
    catalog.rename_view(V, W)
    assert (catalog.list_views("db"), catalog.load_view(W)) == (["w"], VIEW)


def test_an_answer_that_was_lost(catalog: FileSystemCatalog) -> None:
    """The storage made the file and says that it does not know: the view is there, and it is ours."""
    counted = FaultyIO(LocalFileIO())
    FileSystemCatalog(counted, catalog.warehouse).create_view(V, VIEW)
    moments = counted.moments(Fault.AFTER)
    assert moments
    for moment in moments:
        catalog.drop_view(V)
        FileSystemCatalog(FaultyIO(LocalFileIO(), moment, Fault.AFTER), catalog.warehouse).create_view(V, VIEW)
        assert catalog.load_view(V) == VIEW
