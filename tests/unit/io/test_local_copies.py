"""Copies of remote files: made once, kept within bounds, never in the way."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

from paimon_core.io.local import LocalFileIO
from paimon_core.io.local_copies import LocalCopies
from tests.support.faulty_io import FaultyIO

HOUR = 3_600_000
LONG_USED = 600  # seconds


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "local").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "local"))


def file(folder: Path, name: str, size: int = 10) -> tuple[str, int]:
    path = folder / name
    path.write_bytes(name[0].encode() * size)
    return str(path), size


def copies(folder: Path) -> list[Path]:
    return sorted(folder.glob("local/*/*"))


def test_a_copy_is_made_once(tmp_path: Path) -> None:
    remote = FaultyIO(LocalFileIO())
    kept = LocalCopies(remote, 1000, HOUR)
    path, size = file(tmp_path, "a")
    copy = kept.copy_of(path, size)
    assert copy is not None and Path(copy).read_bytes() == b"a" * 10
    calls = remote.calls
    assert kept.copy_of(path, size) == copy and remote.calls == calls
    assert [str(p) for p in copies(tmp_path)] == [copy]
    assert os.stat(copies(tmp_path)[0].parent).st_mode & 0o077 == 0


def test_copies_stay_within_their_bounds(tmp_path: Path) -> None:
    kept = LocalCopies(LocalFileIO(), 25, HOUR)
    first, second, third = (kept.copy_of(*file(tmp_path, name)) for name in "abc")
    assert len(copies(tmp_path)) == 3  # they were asked for just now
    assert first is not None and second is not None and third is not None
    for copy, ago in ((first, LONG_USED), (second, LONG_USED + 1), (third, LONG_USED - 1)):
        os.utime(copy, times=(time.time() - ago,) * 2)
    assert kept.copy_of(str(tmp_path / "a"), 10) == first
    fourth = kept.copy_of(*file(tmp_path, "d"))
    assert sorted(map(str, copies(tmp_path))) == sorted([str(first), str(fourth)])
    os.utime(first, times=(time.time() - 2 * HOUR / 1000,) * 2)
    fifth = kept.copy_of(*file(tmp_path, "e", size=1))
    assert sorted(map(str, copies(tmp_path))) == sorted([str(fourth), str(fifth)])
    assert kept.copy_of(*file(tmp_path, "f", size=26)) is None


def test_what_cannot_be_copied_is_read_where_it_is(tmp_path: Path) -> None:
    kept = LocalCopies(LocalFileIO(), 1000, HOUR)
    path, size = file(tmp_path, "a")
    assert kept.copy_of(str(tmp_path / "missing"), 10) is None
    assert kept.copy_of(path, size + 1) is None  # not what metadata says
    assert LocalCopies(FaultyIO(LocalFileIO(), fail_at=1), 1000, HOUR).copy_of(path, size) is None
    assert not copies(tmp_path)
    folder = next((tmp_path / "local").iterdir())
    folder.chmod(0o777)
    assert kept.copy_of(path, size) is None  # others could have put it there
