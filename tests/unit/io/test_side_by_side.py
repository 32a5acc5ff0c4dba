from __future__ import annotations

from collections.abc import Collection
from contextvars import ContextVar
from threading import Barrier, Event, current_thread
from threading import enumerate as enumerate_threads
from time import sleep

import pytest

from paimon_core.errors import StorageError
from paimon_core.io.delegating import DelegatingFileIO
from paimon_core.io.file_io import FileIO
from paimon_core.io.fsspec import FsspecFileIO
from paimon_core.io.local import LocalFileIO
from paimon_core.io.side_by_side import batched_side_by_side, beside, both, delete_side_by_side, side_by_side
from tests.support.counted_requests import CountingIO

REMOTE = CountingIO()
HELD_UP = 60  # seconds: only a failing test waits that long


def test_requests_to_a_remote_storage_are_sent_at_once() -> None:
    asked = Barrier(16)

    def request(number: int) -> int:
        asked.wait(HELD_UP)
        return -number

    assert side_by_side(REMOTE, request, range(16)) == [-n for n in range(16)]


def test_a_local_disk_is_asked_in_order_by_the_caller() -> None:
    order, caller = list[int](), current_thread()
    assert side_by_side(LocalFileIO(), lambda n: order.append(n) or current_thread(), range(40)) == [caller] * 40
    assert order == list(range(40))


def test_the_first_error_ends_all_that_have_not_begun() -> None:
    begun, failed = list[int](), Event()

    def request(number: int) -> None:
        begun.append(number)
        if number == 3:
            failed.set()
            raise OSError(f"number {number} fails")
        failed.wait(HELD_UP)
        if number >= REMOTE.requests_at_once:
            sleep(0.01)

    before = set(enumerate_threads())
    with pytest.raises(OSError, match="number 3 fails"):
        side_by_side(REMOTE, request, range(1000))
    assert len(begun) < 1000
    assert set(enumerate_threads()) <= before


def test_results_in_memory_are_as_many_as_requests_at_once() -> None:
    asked = list[int]()
    results = batched_side_by_side(REMOTE, lambda n: asked.append(n) or n, iter(range(100)))
    assert next(results) == 0
    assert len(asked) == REMOTE.requests_at_once
    assert list(results) == list(range(1, 100))


def test_both_results() -> None:
    assert both(REMOTE, lambda: 1, lambda: "a") == (1, "a")


def test_a_call_runs_beside_a_block_and_has_ended_after_it() -> None:
    begun, done = Event(), list[str]()

    def act() -> None:
        begun.set()
        done.append("act")

    with beside(REMOTE, act):
        assert begun.wait(HELD_UP)
        done.append("block")
    assert sorted(done) == ["act", "block"]
    with beside(LocalFileIO(), act):
        assert done[2:] == ["act"]


def test_a_block_that_fails_hides_the_error_of_the_call_beside_it() -> None:
    def fail() -> None:
        raise StorageError("beside")

    with pytest.raises(ValueError, match="block"), beside(REMOTE, fail):
        raise ValueError("block")
    with pytest.raises(StorageError, match="beside"), beside(REMOTE, fail):
        pass


def test_calls_see_the_context_of_their_caller() -> None:
    seen = ContextVar("seen", default=0)
    token = seen.set(7)
    assert side_by_side(REMOTE, lambda _: seen.get(), range(3)) == [7, 7, 7]
    seen.reset(token)


def test_storages_of_fsspec_are_asked_side_by_side_except_memory() -> None:
    assert FsspecFileIO("sftp").requests_at_once == 16
    assert FsspecFileIO("memory").requests_at_once == 1


class Deleting(DelegatingFileIO):
    """A remote storage that deletes a file by each request, at most 16 at once, and keeps the files in `kept`."""

    requests_at_once = 16

    def __init__(self, kept: Collection[str] = ()) -> None:
        self.kept, self.begun, self.together = kept, list[str](), Barrier(16)

    def _io(self) -> FileIO:
        return LocalFileIO()

    def delete_below(self, root: str, path: str) -> None:
        self.begun.append(path)
        self.together.wait(HELD_UP)
        if path in self.kept:
            raise StorageError(f"{path} stays")


def test_files_are_deleted_side_by_side_and_each_error_is_returned() -> None:
    io, paths = Deleting(kept=("f7", "f1599")), [f"f{number}" for number in range(1600)]
    errors = delete_side_by_side(io, "", paths)
    assert {path: str(error) for path, error in errors.items()} == {"f7": "f7 stays", "f1599": "f1599 stays"}
    assert sorted(io.begun) == sorted(paths)


def test_the_deletion_of_no_files_sends_no_request() -> None:
    assert delete_side_by_side(Deleting(), "", []) == {}
