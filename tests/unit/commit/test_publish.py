"""Publishing: one winner, lost races as values, unknown outcomes as errors, and who may publish at all."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import pytest

from paimon_core.commit.publish import (
    AtomicPublisher,
    LockedPublisher,
    Publisher,
    PublishOutcome,
    UnsafePublisher,
    publisher_for,
)
from paimon_core.errors import CommitUnknownError, PaimonError, StorageError, StorageRefusedError, UnsafeStorageError
from paimon_core.io.file_io import FileIO
from paimon_core.io.fsspec import FsspecFileIO
from paimon_core.io.local import LocalFileIO
from tests.support.faulty_io import Fault, FaultyIO, SimulatedCrash

pytest.importorskip("fsspec", reason='needs pip install "paimon-sql[fsspec]"')
NOT_ATOMIC = FsspecFileIO("file")


class Lock:
    """A lock that keeps a diary; `fails_on` is "enter", "check" or "exit"."""

    def __init__(self, fails_on: str = ""):
        self.fails_on, self.diary = fails_on, list[str]()

    @property
    def held(self) -> bool:
        return self.diary[-1:] == ["enter"]

    def check(self) -> None:
        if self.fails_on == "check":
            raise StorageRefusedError("the lock was lost before the write")

    def __enter__(self) -> None:
        if self.fails_on == "enter":
            raise PaimonError("the lock is taken")
        self.diary.append("enter")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.diary.append("exit")
        if self.fails_on == "exit":
            raise StorageError("the lock was lost")


PUBLISHERS: dict[str, Callable[[FileIO], Publisher]] = {
    "atomic": AtomicPublisher,
    "locked": lambda io: LockedPublisher(io, Lock()),
    "unsafe": UnsafePublisher,
}
WORKING = [
    ("atomic", LocalFileIO()),
    ("locked", LocalFileIO()),
    ("locked", NOT_ATOMIC),
    ("unsafe", LocalFileIO()),
    ("unsafe", NOT_ATOMIC),
]


@pytest.fixture(params=WORKING, ids=lambda pair: f"{pair[0]} {type(pair[1]).__name__}")
def publisher(request: pytest.FixtureRequest) -> Publisher:
    kind, io = request.param
    return PUBLISHERS[kind](io)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return f"{tmp_path}/t/snapshot/snapshot-1"


def test_the_first_one_is_published(publisher: Publisher, path: str) -> None:
    assert publisher.publish(path, b"first") is PublishOutcome.PUBLISHED
    assert publisher.publish(path, b"second") is PublishOutcome.LOST_RACE
    assert Path(path).read_bytes() == b"first"
    assert publisher.publish(path.replace("-1", "-2"), b"second") is PublishOutcome.PUBLISHED


@pytest.mark.parametrize("kind", PUBLISHERS)
def test_a_full_disk_published_nothing(path: str, kind: str) -> None:
    with pytest.raises(StorageRefusedError, match="No space left on device; free space"):
        PUBLISHERS[kind](FaultyIO(LocalFileIO(), fail_at=1, mode=Fault.NO_SPACE)).publish(path, b"mine")
    assert not LocalFileIO().exists(path)


@pytest.mark.parametrize("kind", PUBLISHERS)
@pytest.mark.parametrize("mode", [Fault.BEFORE, Fault.AFTER])
def test_a_failing_call_is_an_unknown_outcome(path: str, kind: str, mode: Fault) -> None:
    io = FaultyIO(LocalFileIO(), fail_at=1, mode=mode)
    with pytest.raises(
        CommitUnknownError, match=r"unknown whether .*snapshot-1 was published.*latest snapshots"
    ) as caught:
        PUBLISHERS[kind](io).publish(path, b"mine")
    assert isinstance(caught.value.__cause__, StorageError)
    assert LocalFileIO().exists(path) is (mode is Fault.AFTER)


@pytest.mark.parametrize(
    ("fail_at", "mode", "content"),
    [
        (1, Fault.BEFORE, None),
        (2, Fault.BEFORE, None),
        (2, Fault.AFTER, None),
        (3, Fault.BEFORE, None),
        (3, Fault.TORN, b"mi"),
        (3, Fault.AFTER, b"mine"),
    ],
)
def test_check_then_write_never_loses_track(path: str, fail_at: int, mode: Fault, content: bytes | None) -> None:
    """Its calls are: create (refused), exists, write. Whichever fails, neither success nor a lost race is reported."""
    io = FaultyIO(NOT_ATOMIC, fail_at=fail_at, mode=mode)
    with pytest.raises(CommitUnknownError):
        UnsafePublisher(io).publish(path, b"mine")
    assert (Path(path).read_bytes() if Path(path).exists() else None) == content


def test_a_crash_is_not_caught(path: str) -> None:
    io = FaultyIO(LocalFileIO(), fail_at=1, mode=Fault.CRASH)
    with pytest.raises(SimulatedCrash):
        AtomicPublisher(io).publish(path, b"mine")


@pytest.mark.parametrize("io", [LocalFileIO(), NOT_ATOMIC], ids=["local", "not atomic"])
def test_the_lock_is_held_and_given_back(path: str, io: FileIO) -> None:
    lock = Lock()
    seen: list[bool] = []

    class Watching(FaultyIO):
        def call(self, *args: object, **named: object) -> object:  # type: ignore[override]
            seen.append(lock.held)
            return super().call(*args, **named)  # type: ignore[arg-type]

    publisher = LockedPublisher(Watching(io), lock)
    assert publisher.publish(path, b"first") is PublishOutcome.PUBLISHED
    assert publisher.publish(path, b"second") is PublishOutcome.LOST_RACE
    assert seen
    assert all(seen)
    assert lock.diary == ["enter", "exit"] * 2


def test_without_the_lock_nothing_is_tried(path: str) -> None:
    io = FaultyIO(LocalFileIO())
    with pytest.raises(PaimonError, match="the lock is taken"):
        LockedPublisher(io, Lock("enter")).publish(path, b"mine")
    assert io.calls == 0


def test_a_lock_lost_on_the_way_is_an_unknown_outcome(path: str) -> None:
    with pytest.raises(CommitUnknownError, match="the lock was lost"):
        LockedPublisher(LocalFileIO(), Lock("exit")).publish(path, b"mine")
    assert Path(path).read_bytes() == b"mine"


def test_who_has_lost_the_lock_does_not_write(path: str) -> None:
    lock = Lock("check")
    with pytest.raises(StorageRefusedError, match="lost before the write"):
        LockedPublisher(NOT_ATOMIC, lock).publish(path, b"mine")
    assert not Path(path).exists()
    assert lock.diary == ["enter", "exit"]


def test_the_lock_is_given_back_after_a_failure(path: str) -> None:
    lock = Lock()
    with pytest.raises(CommitUnknownError):
        LockedPublisher(FaultyIO(LocalFileIO(), fail_at=1), lock).publish(path, b"mine")
    assert lock.diary == ["enter", "exit"]


def test_who_publishes() -> None:
    lock = Lock()
    assert publisher_for(LocalFileIO(), None, False) == AtomicPublisher(LocalFileIO())
    assert publisher_for(LocalFileIO(), lock, True) == LockedPublisher(LocalFileIO(), lock)
    assert publisher_for(NOT_ATOMIC, lock, False) == LockedPublisher(NOT_ATOMIC, lock)
    assert publisher_for(NOT_ATOMIC, None, True) == UnsafePublisher(NOT_ATOMIC)
    with pytest.raises(
        UnsafeStorageError, match=r"FsspecFileIO\(scheme='file'\).*local disk.*'commit\.unsafe-storage' = 'true'"
    ):
        publisher_for(NOT_ATOMIC, None, False)


def test_an_atomic_publisher_refuses_a_storage_that_is_not(path: str) -> None:
    with pytest.raises(UnsafeStorageError):
        AtomicPublisher(NOT_ATOMIC).publish(path, b"mine")
    assert not Path(path).exists()


def test_publishers_are_values() -> None:
    publisher = publisher_for(LocalFileIO(), None, False)
    assert pickle.loads(pickle.dumps(publisher)) == publisher  # noqa: S301
