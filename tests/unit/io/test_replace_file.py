"""A small file that others read is replaced whole, also on storages whose writes may stop halfway."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import StorageError
from paimon_core.io.file_io import is_temporary
from paimon_core.io.fsspec import FsspecFileIO

LocalFileSystem = pytest.importorskip("fsspec.implementations.local").LocalFileSystem


def test_a_write_that_stops_halfway_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(fs: Any, path: str, value: bytes, **_: Any) -> None:
        Path(fs._strip_protocol(path)).write_bytes(value[: len(value) // 2])
        raise OSError("the connection is lost")

    io, file = FsspecFileIO("file"), tmp_path / "consumer-me"
    io.replace_file(f"file://{file}", b"old")
    with monkeypatch.context() as patched:
        patched.setattr(LocalFileSystem, "pipe_file", half)
        with pytest.raises(StorageError):
            io.replace_file(f"file://{file}", b"new content")
    assert file.read_bytes() == b"old"
    left = [p for p in tmp_path.iterdir() if p != file]
    assert all(is_temporary(p.name) for p in left)
    io.replace_file(f"file://{file}", b"new content")
    assert file.read_bytes() == b"new content"


def test_a_storage_that_renames_over_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move = LocalFileSystem.mv

    def like_hdfs(fs: Any, path: str, target: str, **more: Any) -> None:
        if fs.exists(target):
            raise FileExistsError(target)
        move(fs, path, target, **more)

    monkeypatch.setattr(LocalFileSystem, "mv", like_hdfs)
    io, file = FsspecFileIO("file"), tmp_path / "consumer-me"
    for content in (b"old", b"new"):
        io.replace_file(f"file://{file}", content)
        assert file.read_bytes() == content
    assert list(tmp_path.iterdir()) == [file]


def test_a_process_that_dies_between_the_steps_of_such_a_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file has its name then, and the whole new one is beside it."""

    def like_hdfs(fs: Any, path: str, target: str, **_: Any) -> None:
        if fs.exists(target):
            raise FileExistsError(target)
        raise KeyboardInterrupt

    io, file = FsspecFileIO("file"), tmp_path / "consumer-me"
    io.replace_file(f"file://{file}", b"old")
    monkeypatch.setattr(LocalFileSystem, "mv", like_hdfs)
    with pytest.raises(KeyboardInterrupt):
        io.replace_file(f"file://{file}", b"new content")
    (left,) = tmp_path.iterdir()
    assert is_temporary(left.name) and left.name.startswith(".consumer-me.") and left.read_bytes() == b"new content"
