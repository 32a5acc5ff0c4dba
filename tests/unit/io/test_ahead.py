"""Files that are read before they are opened."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyarrow import NativeFile

from paimon_core.io import ahead
from paimon_core.io import threads as threads_module
from paimon_core.io.ahead import FilesAhead
from paimon_core.io.file_io import storage_error
from tests.support.counted_requests import CountingIO
from tests.support.waiting import wait_until


def files_of(folder: Path, sizes: list[int]) -> list[tuple[str, int]]:
    paths = [str(folder / f"{number}") for number in range(len(sizes))]
    for path, size in zip(paths, sizes, strict=True):
        Path(path).write_bytes(bytes([size]) * size)
    return list(zip(paths, sizes, strict=True))


def content(io: FilesAhead, path: str) -> bytes:
    with io.open_input(path) as file:
        return bytes(file.read())


def test_each_file_is_read_once_and_kept_until_it_is_opened(tmp_path: Path) -> None:
    io, files = CountingIO(), files_of(tmp_path, [1, 2, 3, 4])
    reader = FilesAhead(io, files)
    with io.counted() as made:
        assert [content(reader, path) for path, _ in files] == [bytes([n]) * n for n in (1, 2, 3, 4)]
    assert (made.count, made.chain) == (4, 1)
    with io.counted() as made:
        assert content(reader, files[0][0]) == b"\1"  # again, as another reader would
    assert made.count == 1


def test_memory_bounds_what_is_read_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_MOST_HELD", 100)
    monkeypatch.setattr(ahead, "_MOST_EACH", 60)
    io, files = CountingIO(), files_of(tmp_path, [50, 40, 30, 61, 20])
    reader = FilesAhead(io, files)
    with io.counted() as made:
        assert content(reader, files[0][0]) == bytes([50]) * 50
    assert (made.count, made.chain) == (2, 1)  # with the second file, and without the third
    with io.counted() as made:
        assert content(reader, files[3][0]) == bytes([61]) * 61  # too large to be kept
    assert made.count == 1
    for number in (4, 2, 1):
        size = files[number][1]
        assert content(reader, files[number][0]) == bytes([size]) * size


def test_a_file_that_differs_from_metadata_is_opened_by_the_reader_itself(tmp_path: Path) -> None:
    files = files_of(tmp_path, [1, 2, 3, 4])
    Path(files[1][0]).unlink()
    Path(files[2][0]).write_bytes(b"short"[:2])
    Path(files[3][0]).write_bytes(b"longer than before")
    reader = FilesAhead(CountingIO(), files)
    assert content(reader, files[0][0]) == b"\1"
    with pytest.raises(FileNotFoundError):
        content(reader, files[1][0])
    assert content(reader, files[2][0]) == b"sh"
    assert content(reader, files[3][0]) == b"longer than before"


class FailingIO(CountingIO):
    """A storage with files whose reading fails."""

    def __init__(self, errors: dict[str, BaseException]) -> None:
        super().__init__()
        self.errors = errors

    def read_bytes(self, path: str, most: int = 2**26) -> bytes:
        if path in self.errors:
            raise self.errors[path]
        return super().read_bytes(path, most)


def test_a_file_that_cannot_be_read_ahead_does_not_fail_the_others(tmp_path: Path) -> None:
    files = files_of(tmp_path, [1, 2, 3])
    reader = FilesAhead(FailingIO({files[1][0]: storage_error("read", files[1][0], "it is busy")}), files)
    assert [content(reader, path) for path, _ in files] == [bytes([n]) * n for n in (1, 2, 3)]


def test_an_error_that_no_storage_raises_is_not_lost(tmp_path: Path) -> None:
    files = files_of(tmp_path, [1, 2, 3])
    reader = FilesAhead(FailingIO({files[2][0]: ZeroDivisionError("a mistake")}), files)
    with pytest.raises(ZeroDivisionError):
        content(reader, files[0][0])
    assert [content(reader, path) for path, _ in files] == [bytes([n]) * n for n in (1, 2, 3)]  # the lock is free


def test_an_interrupt_leaves_a_reader_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = files_of(tmp_path, [1, 2, 3])
    reader = FilesAhead(CountingIO(), files)

    def interrupt(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(threads_module, "wait", interrupt)
        with pytest.raises(KeyboardInterrupt):
            content(reader, files[0][0])
    assert [content(reader, path) for path, _ in files] == [bytes([n]) * n for n in (1, 2, 3)]


def test_threads_that_open_files_at_once_read_each_file_once_and_leave_no_thread(tmp_path: Path) -> None:
    io, files = NotingIO(), files_of(tmp_path, list(range(1, 65)))
    reader, before = FilesAhead(io, files), set(threading.enumerate())
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda file: content(reader, file[0]), files))
    assert found == [bytes([n]) * n for n in range(1, 65)]
    assert sorted(io.read) == sorted(path for path, _ in files)
    wait_until(lambda: set(threading.enumerate()) <= before, threading.enumerate)


class NotingIO(CountingIO):
    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []

    def read_bytes(self, path: str, most: int = 2**26) -> bytes:
        self.read.append(path)
        return self.inner.read_bytes(path, most)

    def open_input(self, path: str, size: int | None = None) -> NativeFile:
        self.read.append(path)
        return self.inner.open_input(path, size)
