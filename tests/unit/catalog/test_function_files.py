"""The files of a filesystem catalog's functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.errors import StorageError, UnreadableFileError
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.catalog.function import Function
from tests.support.faulty_io import Fault, FaultyIO

F = Identifier("db", "f")
FUNCTION = Function(parameters=(), results=None, comment="one")
OTHER = Function(parameters=(), results=None, comment="other")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "db.db" / "$functions"


def test_where_they_are(catalog: FileSystemCatalog, folder: Path) -> None:
    catalog.create_function(F, FUNCTION)
    assert [p.name for p in folder.iterdir()] == ["f.json"]
    assert (catalog.list_tables("db"), catalog.list_views("db")) == ([], [])
    for name in ("readme.txt", ".json", "a$b.json"):
        (folder / name).write_text("{}")
    assert catalog.list_functions("db") == ["f"]
    catalog.drop_function(F)
    assert len(list(folder.iterdir())) == 3


@pytest.mark.parametrize("content", [b"", b'{"definitions": 1}', b"\x00" * 100])
def test_damaged_ones(catalog: FileSystemCatalog, folder: Path, content: bytes) -> None:
    """What cannot be read is listed, and can be replaced and dropped."""
    catalog.create_function(F, FUNCTION)
    (folder / "f.json").write_bytes(content)
    assert catalog.list_functions("db") == ["f"] and catalog.function_exists(F)
    with pytest.raises(UnreadableFileError, match=r"f\.json"):
        catalog.load_function(F)
    catalog.replace_function(F, OTHER)
    assert catalog.load_function(F) == OTHER
    (folder / "f.json").write_bytes(content)
    catalog.drop_function(F)
    assert catalog.list_functions("db") == []


@pytest.mark.parametrize("call", range(6))
def test_every_call_that_fails(tmp_path: Path, call: int) -> None:
    """Wherever a statement is cut off, there is one of the definitions or none, and it succeeds the next time."""
    plain = FileSystemCatalog(LocalFileIO(), str(tmp_path))
    plain.create_database("db")
    for before, act, left in (
        (None, "create_function", [None, FUNCTION]),
        (OTHER, "replace_function", [OTHER, FUNCTION]),
    ):
        plain.drop_function(F, ignore_if_not_exists=True)
        if before is not None:
            plain.create_function(F, before)
        broken = FileSystemCatalog(FaultyIO(LocalFileIO(), call, Fault.BEFORE), str(tmp_path))
        try:
            getattr(broken, act)(F, FUNCTION)
        except StorageError:
            found = plain.load_function(F) if plain.function_exists(F) else None
            assert found in left
            plain.replace_function(F, FUNCTION, create=True)
        assert plain.load_function(F) == FUNCTION
