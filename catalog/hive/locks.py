"""Locks of tables: exclusive locks of the metastore, which Java's writers take, too.

The metastore keeps a queue: a lock that it cannot grant yet waits there under its number. Java's locks lack three
things: the holder renews its lock (`heartbeat`) for as long as its process runs; `check` calls the metastore once more
before a write that nothing else guards; and waiters release a lock without signs of life, whether or not the
metastore's own clean-up runs. Our locks contain the time after which waiters release them; for other locks this time is
`hive.txn.timeout`. If a holder is proven to have died on this machine, waiters release its lock at once: our locks also
name the holder's mark.

Ages use the metastore's clock only. Polling a waiting lock also renews it.
"""

from __future__ import annotations

import logging
import re
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Any

from pymetastore.hive_metastore import ttypes

from paimon_core.errors import InvalidNameError, PaimonError, StorageError
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.hive.failures import Answer, MetastoreError
from paimon_sql.catalog.hive.metastore import Metastore
from paimon_sql.catalog.hive.settings import seconds_of
from paimon_sql.catalog.leases import LeasedLock, LeasedLocks, in_order
from paimon_sql.catalog.outcomes import OutcomeUnknown

_LOG = logging.getLogger(__name__)
_ATTEMPTS = 3
_LOOKS = 0.5  # seconds between two looks at the others in a queue
_AGENT = "paimon-sql {}, expires after {} s"
_OURS = re.compile(r"paimon-sql (?P<holder>[0-9a-f]{32}), expires after (?P<seconds>[0-9]{1,6}) s")
_SAFE = re.compile(r"[\w -]+")
_THEIRS = 300.0  # seconds, if the metastore does not return a setting


class HiveLocks(LeasedLocks["HiveLock"]):
    """The locks of a catalog's tables; a branch has the lock of its table.

    If old metastores would interpret a name as SQL, the table cannot be locked: the lock would not protect it."""

    def __init__(self, metastore: Metastore) -> None:
        super().__init__(metastore.settings)
        self.metastore = metastore

    def _name_of(self, table: Identifier) -> str:
        if _SAFE.fullmatch(f"{table.database} {table.table}") is None:
            raise InvalidNameError(
                f"Cannot lock table {table.base}: Hive does not allow some characters of its name. Choose a name of "
                "letters, digits and '_'."
            )
        return str(table.base)

    def _new(self, name: str, table: Identifier) -> HiveLock:
        return HiveLock(self.metastore, name, table)

    @contextmanager
    def held_or_queued(
        self,
        tables: Sequence[Identifier],
        queue: Callable[[str], AbstractContextManager[object]],
        *,
        quiet: bool = False,
    ) -> Iterator[None]:
        """Hold the locks of tables. Every process takes them in the same order.

        If the metastore has no locks and commits do not need them, hold the `queue` of the databases. `quiet`
        suppresses the warning about this."""
        with ExitStack() as stack:
            without = [t for t in in_order(tables) if not self._hold(stack, t, quiet=quiet)]
            for database in sorted({t.database for t in without}):
                stack.enter_context(queue(database))
            yield

    def _hold(self, stack: ExitStack, table: Identifier, *, quiet: bool) -> bool:
        for last in range(_ATTEMPTS, 0, -1):
            try:
                stack.enter_context(self.lock(table))
                return True
            except MetastoreError as error:
                failed = error
            if self.metastore.settings.lock_enabled or (last == 1 and self.work()):
                raise failed
            if not self.work():
                break
            time.sleep(0.1)
        if not quiet:
            _LOG.warning(
                "The metastore does not support locks, so tables are created and renamed without a lock: %s", failed
            )
        return False

    def work(self) -> bool:
        """Return whether the metastore has locks. Its database may lack the tables for them."""
        try:
            self.metastore.read("show_locks", ttypes.ShowLocksRequest())
        except MetastoreError:
            return False
        return True


class HiveLock(LeasedLock):
    """The lock of one table. Its token is the number that the metastore gave it."""

    def __init__(self, metastore: Metastore, name: str, table: Identifier) -> None:
        super().__init__(name, metastore.settings)
        self._metastore, self._table = metastore, table
        self._waits: int | None = None
        self._looked = 0.0  # when the others in the queue were last looked at

    def take(self) -> str | None:
        if self._waits is None:
            holder = uuid.uuid4().hex
            request = self._request(holder)
            self._set_mark(_mark_of(holder))
            try:
                answer = self._metastore.change("lock", request)
            except OutcomeUnknown:
                self._waits = self._number_of(request.agentInfo)
                if self._waits is None:
                    raise
                return None
        else:
            try:
                answer = self._metastore.read("check_lock", ttypes.CheckLockRequest(lockid=self._waits))
            except MetastoreError as error:
                if error.answer is not Answer.MISSING:
                    raise
                self._waits = None  # another process took our lock for the lock of a dead process
                return None
        if answer.state == ttypes.LockState.ACQUIRED:
            self._waits = None
            return str(answer.lockid)
        self._waits = answer.lockid if answer.state == ttypes.LockState.WAITING else None
        if self._waits is not None and time.monotonic() - self._looked > _LOOKS:
            self._looked = time.monotonic()
            self._free_dead(self._waits)
        return None

    def renew(self, token: str) -> str | None:
        try:
            self._metastore.read("heartbeat", ttypes.HeartbeatRequest(lockid=int(token)))
        except MetastoreError as error:
            if error.answer is Answer.MISSING:
                self._unmark()
                return None
            raise
        return token

    def release(self, token: str) -> bool:
        is_again = False
        while True:
            try:
                self._metastore.change("unlock", ttypes.UnlockRequest(lockid=int(token)))
                return True
            except MetastoreError as error:
                if error.answer is Answer.MISSING:
                    return is_again
                raise
            except OutcomeUnknown:
                if is_again:
                    raise
                is_again = True

    def give_up(self) -> None:
        waits, self._waits = self._waits, None
        if waits is not None:
            with suppress(PaimonError):
                self._metastore.change("unlock", ttypes.UnlockRequest(lockid=waits))

    def _request(self, holder: str) -> Any:
        part = ttypes.LockComponent(
            type=ttypes.LockType.EXCLUSIVE,
            level=ttypes.LockLevel.TABLE,
            dbname=self._table.database,
            tablename=self._table.table,
            operationType=None,  # as Java's, so that it does not belong to a transaction
        )
        return ttypes.LockRequest(
            component=[part],
            user=self._metastore.settings.user,
            hostname=socket.gethostname(),
            agentInfo=_AGENT.format(holder, self._expiry),
        )

    def _number_of(self, agent: str) -> int | None:
        """The number of the lock that an `agent` requested without an answer."""
        return next((lock.lockid for lock in self._listed() if lock.agentInfo == agent), None)

    def _listed(self) -> list[Any]:
        """Return the locks of this table, held or waiting."""
        request = ttypes.ShowLocksRequest(dbname=self._table.database, tablename=self._table.table)
        listed = self._metastore.read("show_locks", request).locks or ()
        return [lock for lock in listed if (lock.dbname, lock.tablename) == (self._table.database, self._table.table)]

    def _free_dead(self, mine: int) -> None:
        """Release the locks before ours in the queue if their processes show no signs of life."""
        found = self._listed()
        now = next((lock.lastheartbeat for lock in found if lock.lockid == mine), None)
        if now is None:
            return
        for lock in found:
            if lock.lockid != mine and (why := self._why_dead(lock, now)) is not None:
                _LOG.warning("Lock %s of table %s is released: %s.", lock.lockid, self, why)
                with suppress(StorageError):
                    self._metastore.change("unlock", ttypes.UnlockRequest(lockid=lock.lockid))
                    self._deaths.forget(_mark_of(_holder_of(lock)))

    def _why_dead(self, lock: Any, now: int) -> str | None:
        """Return the reason why a lock's holder is dead, or None if it may live."""
        if lock.lastheartbeat and now - lock.lastheartbeat > 1000 * self._lifetime(lock):
            return "its holder shows no signs of life"
        if self._deaths.are_proven(_mark_of(_holder_of(lock))):
            return "the process that held it, on this machine, has died"
        return None

    def _lifetime(self, lock: Any) -> float:
        """Return the seconds after which a lock without a sign of life is free."""
        match = _OURS.fullmatch(lock.agentInfo or "")
        if match is not None:
            return max(1.0, float(match["seconds"]))
        said = self._metastore.read("get_config_value", "hive.txn.timeout", "")
        try:
            return seconds_of(said or "")
        except ValueError:
            return _THEIRS

    def __str__(self) -> str:
        return self.name


def _holder_of(lock: Any) -> str:
    """Return the name that a holder of this package gave itself, or an empty text for any other holder."""
    match = _OURS.fullmatch(lock.agentInfo or "")
    return "" if match is None else match["holder"]


def _mark_of(holder: str) -> str:
    return f"hive\0{holder}"
