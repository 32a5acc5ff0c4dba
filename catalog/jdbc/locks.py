"""Locks of tables: rows of `paimon_distributed_locks`, which Java's writers take, too.

The writer that inserts the row of a table has its lock. The lock is free again when the row is deleted, or is older
than its `expire_time_seconds` by the clock of the database. Java's locks lack three things: the holder renews
`acquired_at` for as long as its process runs; the time in the row identifies its holder, so a process deletes only its
own row; and `check` reads the database once more before a write that nothing else guards.

Another holder always writes a later time: it acquires a lost lock only after the lock has expired, or after its holder
is proven dead. The row's key and time name the mark of its holder on this machine; Java's holders have no mark.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from sqlalchemy import Connection, text

from paimon_core.errors import InvalidNameError
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.jdbc.database import Database, RowExists
from paimon_sql.catalog.leases import LeasedLock, LeasedLocks

_LOG = logging.getLogger(__name__)
# SQL for the present time, for a stored time as text, and for the age of a stored time in seconds. In SQLite, random
# last digits distinguish two holders.
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
    """The SQL statements on one row, in the dialect of a database."""

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


class JdbcLocks(LeasedLocks["JdbcLock"]):
    """The locks of a catalog's tables and branches."""

    def __init__(self, database: Database) -> None:
        super().__init__(database.settings)
        self.database, self.settings = database, database.settings
        self.statements = _Statements(self.settings.kind)

    def _name_of(self, table: Identifier) -> str:
        name = f"{self.settings.catalog_key}.{table.database}.{replace(table, system_table=None).name}"
        if len(name) > self.settings.lock_key_length:
            raise InvalidNameError(
                f"Table {table.base} cannot be locked: the key {name!r} is longer than {self.settings.lock_key_length} "
                "characters. Raise 'lock-key-max-length' before the first lock is taken, or choose shorter names."
            )
        return name

    def _new(self, name: str, table: Identifier) -> JdbcLock:
        return JdbcLock(self, name)


class JdbcLock(LeasedLock):
    """The lock of one table. Its token is the time that the holder last wrote into the row."""

    def __init__(self, locks: JdbcLocks, name: str) -> None:
        super().__init__(name, locks.settings)
        self._database, self._settings, self._statements = locks.database, locks.settings, locks.statements

    def take(self) -> str | None:
        def take(connection: Connection) -> str:
            connection.execute(self._statements.take, {"id": self.name, "expiry": self._settings.lock_expiry})
            return str(connection.scalar(self._statements.stamp, {"id": self.name}))

        try:
            token = self._database.read(take)
        except RowExists:
            self._database.read(lambda c: c.execute(self._statements.free, {"id": self.name}))
            self._free_dead()
            return None
        self._set_mark(self._mark_of(token))
        return token

    def renew(self, token: str) -> str | None:
        def renew(connection: Connection) -> str | None:
            mine = {"id": self.name, "stamp": token}
            if connection.execute(self._statements.renew, mine).rowcount == 0:
                return None
            return str(connection.scalar(self._statements.stamp, {"id": self.name}))

        renewed = self._database.write(renew)
        if renewed is None:
            self._unmark()
        else:
            self._set_mark(self._mark_of(renewed))
        return renewed

    def release(self, token: str) -> bool:
        mine = {"id": self.name, "stamp": token}
        return self._database.read(lambda c: c.execute(self._statements.release, mine).rowcount) > 0

    def _mark_of(self, token: str) -> str:
        return "\0".join(("jdbc", self._settings.address, self.name, token))

    def _free_dead(self) -> None:
        """Delete the row of a holder that died on this machine, if it is still the row that the holder wrote."""
        stamp = self._database.read(lambda c: c.scalar(self._statements.stamp, {"id": self.name}))
        if stamp is None:
            return
        mark = self._mark_of(str(stamp))
        if self._deaths.are_proven(mark):
            _LOG.warning("The lock %s is released: the process that held it, on this machine, has died.", self.name)
            self.release(str(stamp))
            self._deaths.forget(mark)
