"""The atomic step of a commit: a snapshot file appears under its number once, whole, or not at all.

The storage's `create_exclusive` decides a race; without such a call, the catalog's lock decides. A lost race is an
outcome. If the outcome is unknown, `CommitUnknownError` is raised, and the commit reads the snapshot back: its `uuid`
identifies the draft.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import TracebackType
from typing import Protocol

from paimon_core.dataclass import dataclass
from paimon_core.errors import CommitUnknownError, StorageError, StorageRefusedError, UnsafeStorageError
from paimon_core.io.file_io import FileIO


class PublishOutcome(enum.Enum):
    """The outcome of a publish call."""

    PUBLISHED = "published"
    LOST_RACE = "lost race"


class Publisher(Protocol):
    """Makes one file visible under a name that must be free."""

    def publish(self, path: str, data: bytes) -> PublishOutcome:
        """Publish `data` as `path`. Return LOST_RACE if the name is taken.

        Raises `CommitUnknownError` if the call failed and the file may be visible, `StorageRefusedError` if the storage
        reports that it is not, `UnsafeStorageError` if the storage cannot promise a single winner.
        """


def publishes(publisher: Publisher, path: str, data: bytes) -> bool:
    """Publish `data` as `path`, and return whether the name was free. Raises the errors of `Publisher.publish`."""
    return publisher.publish(path, data) is PublishOutcome.PUBLISHED


class CatalogLock(Protocol):
    """A table's lock. Only one writer among all catalogs holds it at a time, and its holder can enter it again.

    Entering raises a `PaimonError` if the lock cannot be acquired; leaving raises `StorageError` if the lock was lost.
    """

    def check(self) -> None:
        """Raise `StorageRefusedError` if the lock was lost, for example because this process was paused for a while.

        Another writer may then hold the lock, so nothing may be written. If a write has no condition, call this
        directly before it.
        """

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
    """Publishes under the catalog's lock. Safe if every writer of the table takes that lock."""

    io: FileIO
    lock: CatalogLock

    def publish(self, path: str, data: bytes) -> PublishOutcome:
        held = ExitStack()
        held.enter_context(self.lock)  # outside, because without the lock nothing was tried
        with _unknown_outcome(path), held:
            return _outcome(create_new(self.io, path, data, self.lock.check))


@dataclass(frozen=True, slots=True)
class UnsafePublisher:
    """Publishes without protection: two commits at once can overwrite each other unnoticed (`commit.unsafe-storage` =
    true).

    For tables with only one writing process at a time. It still uses the storage's atomic create if there is one.
    """

    io: FileIO

    def publish(self, path: str, data: bytes) -> PublishOutcome:
        with _unknown_outcome(path):
            return _outcome(create_new(self.io, path, data))


def publisher_for(io: FileIO, lock: CatalogLock | None, allow_unsafe: bool) -> Publisher:
    """Return the safest publisher that a storage allows.

    Raises `UnsafeStorageError` if the storage has no safe publisher and the user has not accepted the risk."""
    if lock is not None:
        return LockedPublisher(io, lock)
    if allow_unsafe:
        return UnsafePublisher(io)
    if io.atomic_create:
        return AtomicPublisher(io)
    raise UnsafeStorageError(
        f"{io!r} cannot create a file atomically: two commits at once could overwrite each other. Keep the table on a "
        "local disk, S3, Google or Azure storage, use a JDBC or Hive catalog with 'lock.enabled' = 'true', or accept "
        "the risk for a table that one process writes at a time with 'commit.unsafe-storage' = 'true'."
    )


def create_new(io: FileIO, path: str, data: bytes, check: Callable[[], None] = lambda: None) -> bool:
    """Create a file. Return False if it exists.

    If the storage has no atomic create, check for the file and then write it. So callers must hold a lock, must have
    accepted the risk, or must write a file for which a lost race has no cost. `check` is called between the two steps,
    and raises if the lock is lost.
    """
    try:
        return io.create_exclusive(path, data)
    except UnsafeStorageError:
        if io.exists(path):
            return False
        check()
        io.write_bytes(path, data)
        return True


def create_if_missing(io: FileIO, path: str, data: bytes) -> bool:
    """Create a file, if it makes no difference which writer creates it with this content.

    Return False if the file exists. On an object store, this call itself may have created that file: the client repeats
    a request without an answer, and the repeated request finds the file.
    """
    try:
        return create_new(io, path, data)
    except StorageRefusedError:
        raise
    except StorageError:
        with suppress(StorageError, FileNotFoundError):
            if io.read_bytes(path) == data:
                return False
        raise


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
            f"Cannot create {path}: its bucket or folder does not exist. If the table was dropped, create it again."
        ) from error
    except OSError as error:
        raise CommitUnknownError(
            f"It is unknown whether {path} was published: {error} The commit may be visible: read the table's latest "
            "snapshots before you run the statement again."
        ) from error
