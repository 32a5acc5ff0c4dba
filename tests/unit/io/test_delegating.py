"""Storages that hand their calls to another one."""

from __future__ import annotations

import inspect
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import NoPrivilegeError, StorageError
from paimon_core.io.delegating import DelegatingFileIO
from paimon_core.io.file_io import FileIO
from paimon_core.io.fsspec import FsspecFileIO
from paimon_core.io.hdfs import HdfsFileIO
from paimon_core.io.local import LocalFileIO
from paimon_core.io.objects.store import ObjectStoreFileIO
from paimon_core.io.read_only import ReadOnlyFileIO
from paimon_core.io.scratch import ScratchFileIO

CALLS = sorted(name for name in vars(FileIO) if not name.startswith("_"))
PROPERTIES = {"atomic_create", "is_near", "requests_at_once"}
READS = PROPERTIES | {
    "exists",
    "files_below",
    "list",
    "open_input",
    "read_bytes",
    "read_tagged",
    "read_ranges",
    "status",
    "writer_slot",
}


class Noting:
    """Notes each call and answers with its name."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[object, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        return name if name in PROPERTIES else partial(self._answer, name)

    def _answer(self, name: str, *arguments: object) -> str:
        self.asked.append((name, arguments))
        return name


class Delegating(DelegatingFileIO):
    """Hands everything on."""

    def __init__(self) -> None:
        self.inner = Noting()

    def _io(self) -> Any:
        return self.inner


def _arguments(name: str) -> list[str]:
    taken = inspect.signature(getattr(FileIO, name)).parameters
    return [f"/{argument}" for argument in taken if argument != "self"]


def test_the_protocol_has_calls() -> None:
    assert len(CALLS) > 15 and set(CALLS) > READS


@pytest.mark.parametrize("io", [LocalFileIO, FsspecFileIO, ObjectStoreFileIO, HdfsFileIO])
def test_every_storage_has_every_call(io: type[FileIO]) -> None:
    assert [name for name in CALLS if not hasattr(io, name)] == []


@pytest.mark.parametrize("name", CALLS)
def test_every_call_is_handed_on_with_its_arguments(name: str) -> None:
    io, call = Delegating(), getattr(FileIO, name)
    if isinstance(call, property):
        assert getattr(io, name) == name
        return
    given = _arguments(name)
    answer = getattr(io, name)(*given)
    assert io.inner.asked == [(name, tuple(given))]
    assert answer == (None if inspect.signature(call).return_annotation == "None" else name)


@pytest.mark.parametrize("name", [name for name in CALLS if name not in READS])
def test_who_may_only_read_is_refused_every_call_that_is_not_known_to_read(name: str, tmp_path: Path) -> None:
    there = tmp_path / "path"
    there.write_bytes(b"x")
    io = ReadOnlyFileIO(LocalFileIO(), "not for you")
    with pytest.raises(NoPrivilegeError, match="not for you"):
        getattr(io, name)(*(str(tmp_path / argument[1:]) for argument in _arguments(name)))
    assert [p.name for p in tmp_path.iterdir()] == ["path"] and there.read_bytes() == b"x"


def test_who_may_only_read_reads(tmp_path: Path) -> None:
    (tmp_path / "path").write_bytes(b"x")
    io: FileIO = ReadOnlyFileIO(LocalFileIO(), "not for you")
    assert io.read_bytes(str(tmp_path / "path")) == b"x" and io.exists(str(tmp_path))
    with io.writer_slot(str(tmp_path)) as is_alone:
        assert not is_alone


@pytest.mark.parametrize("name", [name for name in CALLS if name not in READS])
def test_a_trial_hands_on_no_call_that_is_not_known_to_read(name: str, tmp_path: Path) -> None:
    """Such a call changes the copy in memory, or is refused."""
    there = tmp_path / "path"
    there.write_bytes(b"x")
    io = ScratchFileIO(LocalFileIO())
    values = {"data": b"y", "paths": [str(there)], "tag": None}
    given = [values.get(a[1:], str(tmp_path / a[1:])) for a in _arguments(name)]
    with suppress(StorageError):
        getattr(io, name)(*given)
    assert [p.name for p in tmp_path.iterdir()] == ["path"] and there.read_bytes() == b"x"
