"""Locks of tables in a metastore. A lock lasts as long as its holder shows signs of life.

The rules that hold for every metastore: threads of a process queue before one of them calls the metastore. The thread
that has a lock may take it again. A timer renews the lock, and `check` renews it once more before a write that nothing
else guards. The metastore returns a token for each lock; a lock is never renewed or released by another lock's token.

A holder marks its lock for the other processes of its machine (`paimon_core.io.holders`). They free the lock of a
holder that is proven dead; all other locks must expire.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from paimon_core.commit.publish import CatalogLock, Publisher, publisher_for
from paimon_core.dataclass import dataclass
from paimon_core.errors import CommitConflictError, PaimonError, StorageError, StorageRefusedError
from paimon_core.io.holders import Deaths, Mark
from paimon_core.options import COMMIT_UNSAFE_STORAGE
from paimon_core.options.option import boolean, duration, integer
from paimon_core.spec.identifier import Identifier
from paimon_core.store.table_store import TableStore
from paimon_sql.catalog.option_values import option_value

_LOG = logging.getLogger(__name__)
_FIRST_WAIT = 0.01  # seconds
_MOST_EXPIRY = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MetastoreSettings:
    """The options of every catalog with a metastore. Times are in milliseconds."""

    pool_size: int = 2
    sync_properties: bool = True
    lock_enabled: bool = False  # whether commits take locks
    acquire_timeout: int = 480_000
    max_sleep: int = 8_000

    @property
    def lock_expiry(self) -> int:
        """The time after which a lock without a sign of life is free, in whole seconds."""
        return max(1, min(self.acquire_timeout, _MOST_EXPIRY) // 1000)


def metastore_options(options: Mapping[str, str], *, locks: bool) -> dict[str, Any]:
    """Return the fields of `MetastoreSettings` from options. `locks`: whether commits take locks if `lock.enabled` is
    not set.

    Raises `InvalidOptionError`.
    """
    return {
        "pool_size": option_value(options, "client-pool-size", integer, 2),
        "sync_properties": option_value(options, "sync-all-properties", boolean, True),
        "lock_enabled": option_value(options, "lock.enabled", boolean, locks),
        "acquire_timeout": option_value(options, "lock-acquire-timeout", duration, 480_000),
        "max_sleep": option_value(options, "lock-check-max-sleep", duration, 8_000),
    }


class LeasedLock(ABC):
    """The lock of one table, a `CatalogLock`. Subclasses implement the calls of the metastore."""

    def __init__(self, name: str, settings: MetastoreSettings) -> None:
        self.name, self._expiry = name, settings.lock_expiry
        self._patience, self._max_sleep = settings.acquire_timeout / 1000, settings.max_sleep / 1000
        self._queue = threading.RLock()
        self._depth = 0
        self._row = threading.Lock()  # the thread that holds the lock and the timer that renews it both change it
        self._token: str | None = None  # None if the lock is not held, or lost
        self._alive: threading.Timer | None = None
        self._mark: Mark | None = None  # the mark of the held or requested lock
        self._deaths = Deaths()

    # -- what the metastore does --------------------------------------------------------------------------------------
    @abstractmethod
    def take(self) -> str | None:
        """Try to acquire the lock and return its token. Return None if another holder has it."""

    @abstractmethod
    def renew(self, token: str) -> str | None:
        """Renew the lock for its full time and return its token. Return None if the lock was lost."""

    @abstractmethod
    def release(self, token: str) -> bool:
        """Release the lock. Return False if it was lost."""

    def give_up(self) -> None:  # noqa: B027  only some metastores have a queue
        """Stop waiting for a lock that `take` did not acquire."""

    # -- a catalog's lock ---------------------------------------------------------------------------------------------
    def __enter__(self) -> LeasedLock:
        if not self._queue.acquire(timeout=self._patience):
            raise self._busy("another thread of this process")
        try:
            if self._depth == 0:
                self._acquire(time.monotonic() + self._patience)
            self._depth += 1
        except BaseException:
            self._queue.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self._depth -= 1
        try:
            if self._depth == 0:
                self._release()
        finally:
            self._queue.release()

    @property
    def is_held(self) -> bool:
        """Return whether this process acquired the lock and has not released it."""
        return self._depth > 0

    def check(self) -> None:
        """Renew the lock for its full time.

        Raises `StorageRefusedError` if the lock was lost, and `StorageError` if the metastore does not answer."""
        if not self._renew():
            raise StorageRefusedError(
                f"The lock {self.name} was lost: this process was paused for over {self._expiry:g} s, and other "
                "writers may have written meanwhile. Nothing was written; run the statement again."
            )

    def _acquire(self, deadline: float) -> None:
        wait = _FIRST_WAIT
        try:
            while (token := self.take()) is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise self._busy("another writer")
                time.sleep(min(wait * random.uniform(0.5, 1), left))
                wait = min(wait * 1.5, self._max_sleep)
        except BaseException:
            self._unmark()
            self.give_up()
            raise
        self._token = token
        self._beat_later()

    def _renew(self) -> bool:
        with self._row:
            if self._token is not None:
                self._token = self.renew(self._token)
            return self._token is not None

    def _release(self) -> None:
        if self._alive is not None:
            self._alive.cancel()
        with self._row:
            token, self._token = self._token, None
            self._unmark()
        if token is None or not self.release(token):
            raise StorageError(
                f"The lock {self.name} was lost while it was held: another writer may have held it, too."
            )

    def _set_mark(self, name: str) -> None:
        """Create a mark that this process holds the lock, under a name that no other mark has."""
        if self._mark is None:
            self._mark = Mark(name)
        else:
            self._mark.rename(name)

    def _unmark(self) -> None:
        mark, self._mark = self._mark, None
        if mark is not None:
            mark.end()

    def _beat_later(self) -> None:
        self._alive = threading.Timer(self._expiry / 4, self._beat)
        self._alive.daemon = True
        self._alive.start()

    def _beat(self) -> None:
        try:
            is_held = self._renew()
        except PaimonError as error:
            _LOG.warning("The lock %s could not be renewed: %s", self.name, error)
            is_held = True  # if the metastore did not answer, assume that it is held
        if is_held and self._depth:
            self._beat_later()

    def _busy(self, holder: str) -> CommitConflictError:
        return CommitConflictError(
            f"Could not acquire the lock {self.name} within {self._patience:g} s ('lock-acquire-timeout'): "
            f"{holder} holds it. Nothing was changed; run the statement again later."
        )


_L = TypeVar("_L", bound=LeasedLock)


class LeasedLocks(ABC, Generic[_L]):
    """The locks of a catalog's tables.

    All users of a lock in this process share one object, as long as one of them exists.
    """

    def __init__(self, settings: MetastoreSettings) -> None:
        self._lock_enabled = settings.lock_enabled
        self._locks: WeakValueDictionary[str, _L] = WeakValueDictionary()
        self._guard = threading.Lock()

    @abstractmethod
    def _name_of(self, table: Identifier) -> str:
        """Return the name of a table's lock. Raises `InvalidNameError` for a table that cannot be locked."""

    @abstractmethod
    def _new(self, name: str, table: Identifier) -> _L: ...

    def lock(self, table: Identifier) -> _L:
        """Return the lock of a table, the same object for all threads.

        Raises `InvalidNameError` for a table that cannot be locked."""
        name = self._name_of(table)
        with self._guard:
            found = self._locks.get(name)
            if found is None:
                found = self._locks[name] = self._new(name, table)
            return found

    def publisher(self, store: TableStore) -> Publisher:
        """Return the publisher of a table's schemas and snapshots.

        If commits take locks, it publishes under the table's lock.
        """
        table = replace(store.identifier, branch=store.branch or None)
        lock: CatalogLock | None = self.lock(table) if self._lock_enabled else None
        return publisher_for(store.io, lock, store.options[COMMIT_UNSAFE_STORAGE])

    @contextmanager
    def held(self, *tables: Identifier) -> Iterator[None]:
        """Hold the locks of tables."""
        with ExitStack() as stack:
            for table in in_order(tables):
                stack.enter_context(self.lock(table))
            yield


def in_order(tables: Iterable[Identifier]) -> list[Identifier]:
    """Sort tables into the order in which every process locks them, so that two processes never wait for each other."""
    return sorted({t.base for t in tables}, key=str)
