"""Writers that do not queue, on a storage whose every call takes a while: none gives up, and no commit is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from paimon_core.io.file_io import MOST_TEXT, FileStatus
from paimon_core.io.local import LocalFileIO
from paimon_core.store.snapshots import list_snapshots
from tests.support.stored import commit, create_table, insert, open_table, read, write

WRITERS, COMMITS, LATENCY = 8, 6, 0.005  # seconds
MOST_WRITERS, MOST_COMMITS = 16, 20


class SlowIO(LocalFileIO):
    """A disk as far away as an object store."""

    def writer_slot(self, path: str) -> AbstractContextManager[bool]:
        return nullcontext(False)

    def read_bytes(self, path: str, most: int = MOST_TEXT) -> bytes:
        time.sleep(LATENCY)
        return LocalFileIO.read_bytes(self, path, most)

    def write_bytes(self, path: str, data: bytes) -> None:
        time.sleep(LATENCY)
        LocalFileIO.write_bytes(self, path, data)

    def replace_file(self, path: str, data: bytes) -> None:
        time.sleep(LATENCY)
        LocalFileIO.write_bytes(self, path, data)

    def create_exclusive(self, path: str, data: bytes) -> bool:
        time.sleep(LATENCY)
        return LocalFileIO.create_exclusive(self, path, data)

    def exists(self, path: str) -> bool:
        time.sleep(LATENCY)
        return LocalFileIO.exists(self, path)

    def list(self, path: str) -> Iterator[FileStatus]:
        time.sleep(LATENCY)
        return LocalFileIO.list(self, path)


def test_every_writer_commits(tmp_path: Path) -> None:
    create_table(str(tmp_path), write_only="true", commit__max_retry_wait="10 ms")  # short, as against far storages

    def work(writer: int) -> None:
        table = open_table(str(tmp_path), SlowIO())
        for n in range(COMMITS):
            insert(table, [(writer * COMMITS + n, "x")])

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(work, range(WRITERS)))
    table = open_table(str(tmp_path))
    assert [k for k, _ in read(table)] == list(range(WRITERS * COMMITS))
    assert [s.id for s in list_snapshots(table.store)] == list(range(1, WRITERS * COMMITS + 1))


@pytest.mark.slow
def test_sixteen_writers(tmp_path: Path) -> None:
    """Twenty appends each, on a plain disk: all succeed. `-s` shows how long commits took."""
    create_table(str(tmp_path), write_only="true")
    seconds = list[float]()

    def work(writer: int) -> None:
        table = open_table(str(tmp_path))
        for n in range(MOST_COMMITS):
            messages = write(table, [(writer * MOST_COMMITS + n, "x")])
            started = time.monotonic()
            assert commit(table, messages, f"writer-{writer}") is not None
            seconds.append(time.monotonic() - started)

    began = time.monotonic()
    with ThreadPoolExecutor(MOST_WRITERS) as pool:
        list(pool.map(work, range(MOST_WRITERS)))
    total, ordered = time.monotonic() - began, sorted(seconds)
    table = open_table(str(tmp_path))
    assert [k for k, _ in read(table)] == list(range(MOST_WRITERS * MOST_COMMITS))
    assert len(list_snapshots(table.store)) == len(seconds) == MOST_WRITERS * MOST_COMMITS
    middle, late = ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100]
    print(f"{len(seconds)} commits in {total:.1f} s; median {middle:.2f} s, 99 % below {late:.2f} s")
