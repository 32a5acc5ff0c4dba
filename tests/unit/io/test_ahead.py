"""Files that are read before they are opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.io import ahead
from paimon_core.io.ahead import FilesAhead
from tests.support.counted_requests import CountingIO


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
