"""The atomic step of a commit: a snapshot file appears under its number once, whole, or not at all.

A race is decided by the storage's `create_exclusive`, or under the catalog's lock where the storage has no such step.
Losing it is an outcome; not knowing is `CommitUnknownError`, which the commit resolves by reading the snapshot back:
its `uuid` says whose it is.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from paimon_core.errors import CommitUnknownError, StorageRefusedError, UnsafeStorageError
from paimon_core.io.file_io import FileIO


class PublishOutcome(enum.Enum):
    """What became of a publish call."""

    PUBLISHED = "published"
    LOST_RACE = "lost race"


class Publisher(Protocol):
    """Makes one file visible under a name that must be free."""

    def publish(self, path: str, data: bytes) -> PublishOutcome:
        """Publish `data` as `path`; LOST_RACE where the name is taken.

        Raises `CommitUnknownError` where the call failed and the file may or may not be visible; `StorageRefusedError`
        where the storage says that it is not, `UnsafeStorageError` where it cannot promise a single winner.
        """


class CatalogLock(Protocol):
    """A table's lock, held by one writer of all catalogs at a time; it can be entered again.

    Entering raises a `PaimonError` where the lock cannot be had; leaving raises `StorageError` where it was lost.
    """

    def check(self) -> None:
        """Raises `StorageRefusedError` where the lock was lost, as that of a process which did not run for a while is:
        another writer may hold it, and nothing may be written. Asked last before a write that is not conditional."""

    def __enter__(self) -> object: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool | None: ...


@dataclass(frozen=True, slots=True)
class AtomicPublisher:
    """Publishes by the storage's own atomic create."""

    io: FileIO

    def publish(self, path: str, data: bytes) -> PublishOutcome:
        with _unknown_outcome(path):
            return _outcome(self.io.create_exclusive(path, data))


@dataclass(frozen=True, slots=True)
class LockedPublisher:
    """Publishes under the catalog's lock; safe where every writer of the table takes that lock."""

    io: FileIO
    lock: CatalogLock

    def publish(self, path: str, data: bytes) -> PublishOutcome:
        held = ExitStack()
        held.enter_context(self.lock)  # outside: without the lock nothing was tried
        with _unknown_outcome(path), held:
            return _outcome(create_new(self.io, path, data, self.lock.check))


@dataclass(frozen=True, slots=True)
class UnsafePublisher:
    """Publishes where two commits at once can overwrite each other unnoticed (`commit.unsafe-storage` = true).

    For tables that one process writes at a time. The storage's atomic create is still used where it has one.
    """

    io: FileIO

    def publish(self, path: str, data: bytes) -> PublishOutcome:
        with _unknown_outcome(path):
            return _outcome(create_new(self.io, path, data))


def publisher_for(io: FileIO, lock: CatalogLock | None, allow_unsafe: bool) -> Publisher:
    """The safest publisher a storage allows. Raises `UnsafeStorageError` where there is none and the user has not
    accepted the risk."""
    if lock is not None:
        return LockedPublisher(io, lock)
    if allow_unsafe:
        return UnsafePublisher(io)
    if io.atomic_create:
        return AtomicPublisher(io)
    raise UnsafeStorageError(
        f"{io!r} cannot create a file atomically: two commits at once could overwrite each other. Keep the table on a "
        "local disk, S3, Google or Azure storage, or accept the risk for a table that one process writes at a time "
        "with 'commit.unsafe-storage' = 'true'."
    )


def create_new(io: FileIO, path: str, data: bytes, check: Callable[[], None] = lambda: None) -> bool:
    """Create a file; False where it exists. Atomic where the storage can, else a look-up and a write.

    For callers that hold a lock or have accepted the risk, and for files where losing a race costs nothing. `check`
    is called between the two, and raises where the lock is lost.
    """
    try:
        return io.create_exclusive(path, data)
    except UnsafeStorageError:
        if io.exists(path):
            return False
        check()
        io.write_bytes(path, data)
        return True


def _outcome(created: bool) -> PublishOutcome:
    return PublishOutcome.PUBLISHED if created else PublishOutcome.LOST_RACE


@contextmanager
def _unknown_outcome(path: str) -> Iterator[None]:
    try:
        yield
    except StorageRefusedError:
        raise
    except FileNotFoundError as error:
        raise StorageRefusedError(
            f"Cannot create {path}: its bucket or folder is not there. If the table was dropped, create it again."
        ) from error
    except OSError as error:
        raise CommitUnknownError(
            f"Whether {path} was published is not known: {error} Read the table's latest snapshots before you run the "
            "statement again: the commit may be visible."
        ) from error
