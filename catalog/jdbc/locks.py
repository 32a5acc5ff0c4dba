"""Locks of tables: rows of `paimon_distributed_locks`, which Java's writers take, too.

Who inserts the row of a table has its lock. It is free again when the row is deleted, or is older than its
`expire_time_seconds` by the clock of the database. Better than Java's in three ways: the holder's sign of life renews
`acquired_at` for as long as its process runs; the time that it wrote there last says whose the row is, so nobody
deletes another's; and `check` asks the database once more before a write that nothing else guards.

Another holder's time is always a later one: it gets a lock that was lost only after it has expired.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from dataclasses import replace
from types import TracebackType
from weakref import WeakValueDictionary

from sqlalchemy import Connection, text

from paimon_core.errors import CommitConflictError, InvalidNameError, PaimonError, StorageError, StorageRefusedError
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.jdbc.database import Database, RowExists

_LOG = logging.getLogger(__name__)
_FIRST_WAIT = 0.01  # seconds, as all times here
# now, a stored time as text, and the age of a stored one in seconds; SQLite's last digits tell two holders apart
_NOW = {
    "sqlite": "strftime('%Y-%m-%d %H:%M:%f', 'now') || substr(abs(random()) || '000', 1, 3)",
    "postgresql": "CAST(clock_timestamp() AS timestamp)",
    "mysql": "NOW(6)",
}
_STAMP = {
    "sqlite": "acquired_at",
    "postgresql": "CAST(acquired_at AS text)",
    "mysql": "CAST(acquired_at AS CHAR)",
}
_AGE = {
    "sqlite": "strftime('%s', 'now') - strftime('%s', acquired_at)",
    "postgresql": "EXTRACT(EPOCH FROM (CAST(clock_timestamp() AS timestamp) - acquired_at))",
    "mysql": "TIMESTAMPDIFF(SECOND, acquired_at, NOW())",
}


class _Statements:
    """The statements on one row, in the words of a database."""

    def __init__(self, kind: str) -> None:
        now, stamp, age = _NOW[kind], _STAMP[kind], _AGE[kind]
        table, mine = "paimon_distributed_locks", f"lock_id = :id AND {stamp} = :stamp"
        self.take = text(
            f"INSERT INTO {table} (lock_id, acquired_at, expire_time_seconds) VALUES (:id, {now}, :expiry)"
        )
        self.stamp = text(f"SELECT {stamp} FROM {table} WHERE lock_id = :id")
        self.renew = text(f"UPDATE {table} SET acquired_at = {now} WHERE {mine}")
        self.release = text(f"DELETE FROM {table} WHERE {mine}")
        self.free = text(f"DELETE FROM {table} WHERE lock_id = :id AND {age} > expire_time_seconds")


class JdbcLocks:
    """The locks of a catalog's tables."""

    def __init__(self, database: Database) -> None:
        self.database, self.settings = database, database.settings
        self.statements = _Statements(self.settings.kind)
        self._locks: WeakValueDictionary[str, JdbcLock] = WeakValueDictionary()
        self._guard = threading.Lock()

    def lock(self, table: Identifier) -> JdbcLock:
        """The lock of a table or branch, the same one for all threads. Raises `InvalidNameError` for a long name."""
        name = f"{self.settings.catalog_key}.{table.database}.{replace(table, system_table=None).name}"
        if len(name) > self.settings.lock_key_length:
            raise InvalidNameError(
                f"Table {table.base} has no lock: its key {name!r} is longer than {self.settings.lock_key_length} "
                "characters. Raise 'lock-key-max-length' before the first lock is taken, or choose shorter names."
            )
        with self._guard:
            found = self._locks.get(name)
            if found is None:
                found = self._locks[name] = JdbcLock(self, name)
            return found


class JdbcLock:
    """The lock of one table; a `CatalogLock`. Threads of a process queue for it before they ask the database."""

    def __init__(self, locks: JdbcLocks, name: str) -> None:
        self._database, self._settings, self._statements = locks.database, locks.settings, locks.statements
        self._name = name
        self._queue = threading.RLock()
        self._depth = 0
        self._row = threading.Lock()  # of two threads that change the row: the holder, and its sign of life
        self._stamp: str | None = None  # None: not held, or lost
        self._alive: threading.Timer | None = None

    def __enter__(self) -> JdbcLock:
        patience = self._settings.acquire_timeout / 1000
        if not self._queue.acquire(timeout=patience):
            raise self._busy("another thread of this process")
        try:
            if self._depth == 0:
                self._acquire(time.monotonic() + patience)
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

    def check(self) -> None:
        """Raises `StorageRefusedError` where the lock was lost, `StorageError` where the database does not say; else it
        is held for its whole time again."""
        if not self._renew():
            raise StorageRefusedError(
                f"The lock {self._name} was lost: this process stood still for over {self._settings.lock_expiry} s, "
                "and others may have written meanwhile. Nothing was written; run the statement again."
            )

    # -- the row ------------------------------------------------------------------------------------------------------
    def _acquire(self, deadline: float) -> None:
        wait, most = _FIRST_WAIT, self._settings.max_sleep / 1000
        while True:
            stamp = self._take()
            if stamp is not None:
                self._stamp = stamp
                self._beat_later()
                return
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._busy("another writer")
            time.sleep(min(wait * random.uniform(0.5, 1), left))
            wait = min(wait * 1.5, most)

    def _take(self) -> str | None:
        """The time in the row, which is now ours; None where another holds the lock."""

        def take(connection: Connection) -> str:
            connection.execute(self._statements.take, {"id": self._name, "expiry": self._settings.lock_expiry})
            return str(connection.scalar(self._statements.stamp, {"id": self._name}))

        try:
            return self._database.read(take)
        except RowExists:
            self._database.read(lambda c: c.execute(self._statements.free, {"id": self._name}))
            return None

    def _renew(self) -> bool:
        """Whether the lock is still ours, with a new time in its row."""

        def renew(connection: Connection) -> str | None:
            mine = {"id": self._name, "stamp": self._stamp}
            if connection.execute(self._statements.renew, mine).rowcount == 0:
                return None
            return str(connection.scalar(self._statements.stamp, {"id": self._name}))

        with self._row:
            if self._stamp is not None:
                self._stamp = self._database.write(renew)
            return self._stamp is not None

    def _release(self) -> None:
        if self._alive is not None:
            self._alive.cancel()
        with self._row:
            mine, self._stamp = {"id": self._name, "stamp": self._stamp}, None
        released = mine["stamp"] is not None and self._database.read(
            lambda c: c.execute(self._statements.release, mine).rowcount
        )
        if not released:
            raise StorageError(
                f"The lock {self._name} was lost while it was held: another writer may have held it, too."
            )

    def _beat_later(self) -> None:
        self._alive = threading.Timer(self._settings.lock_expiry / 4, self._beat)
        self._alive.daemon = True
        self._alive.start()

    def _beat(self) -> None:
        try:
            is_held = self._renew()
        except PaimonError as error:
            _LOG.warning("The lock %s could not be renewed: %s", self._name, error)
            is_held = True  # perhaps
        if is_held and self._depth:
            self._beat_later()

    def _busy(self, holder: str) -> CommitConflictError:
        return CommitConflictError(
            f"The lock {self._name} was not to be had within {self._settings.acquire_timeout / 1000:g} s "
            f"('lock-acquire-timeout'): {holder} holds it. Nothing was changed; run the statement again later."
        )
