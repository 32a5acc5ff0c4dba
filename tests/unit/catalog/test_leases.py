"""The lock of a holder that died on this machine is free at once; every other lock has to expire."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from paimon_core.errors import CommitConflictError
from paimon_core.io import holders
from paimon_core.spec.identifier import Identifier

pytest.importorskip("sqlalchemy", reason='needs pip install "paimon-sql[jdbc]"')

from sqlalchemy import text

from paimon_sql.catalog.jdbc.database import Database
from paimon_sql.catalog.jdbc.locks import JdbcLock, JdbcLocks
from paimon_sql.catalog.jdbc.settings import JdbcSettings

ROOT = Path(__file__).parents[3]
T = Identifier("db", "t")
HOLD = (
    "import sys; from tests.unit.catalog.test_leases import T, locks\n"
    "with locks(sys.argv[1], 600).lock(T) as lock:\n"
    "    for renewed in range(int(sys.argv[2])): lock.check()\n"
    "    print('held', flush=True); input()"
)

pytestmark = pytest.mark.skipif(holders._folder() is None, reason="this system keeps no marks")


def locks(path: str, patience: float) -> JdbcLocks:
    """The locks of a catalog in SQLite; those that it takes are free after a minute without a sign of life."""
    return JdbcLocks(Database(JdbcSettings(kind="sqlite", database=path, acquire_timeout=int(1000 * patience))))


@pytest.fixture(autouse=True)
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holders, "_GRACE", 0)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "catalog.sqlite")


@contextmanager
def held(path: str, renewals: int = 0) -> Iterator[subprocess.Popen[str]]:
    """A process that has the lock."""
    command = [sys.executable, "-c", HOLD, path, str(renewals)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.wait()


def refused(path: str) -> None:
    with pytest.raises(CommitConflictError, match="Could not acquire the lock"), locks(path, 1).lock(T):
        pass


@pytest.mark.parametrize("renewals", [0, 3])
def test_the_lock_of_a_holder_that_was_killed_is_free(path: str, renewals: int) -> None:
    with held(path, renewals) as process:
        refused(path)
        process.kill()
        process.wait()
        with locks(path, 20).lock(T) as lock:
            lock.check()
        with locks(path, 1).lock(T):  # and it was given back
            pass


def test_the_lock_of_a_holder_that_stands_still_is_not_free(path: str) -> None:
    with held(path) as process:
        os.kill(process.pid, signal.SIGSTOP)
        refused(path)


def test_the_lock_of_a_holder_elsewhere_is_not_free(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One whose container has another shared memory, though it has died."""
    with held(path) as process:
        process.kill()
        process.wait()
        monkeypatch.setattr(holders, "SHARED_MEMORY", tmp_path)
        refused(path)


def test_the_next_holder_keeps_its_lock_beside_the_mark_of_the_dead(path: str) -> None:
    with held(path) as process:
        process.kill()
        process.wait()
        dead = locks(path, 1)
        stamp = dead.database.read(lambda c: c.scalar(dead.statements.stamp, {"id": dead.lock(T).name}))
        with locks(path, 20).lock(T):
            assert not dead.lock(T).release(str(stamp))
            refused(path)


def test_a_row_of_javas_is_not_free(path: str) -> None:
    mine = locks(path, 1)
    lock = mine.lock(T)
    with lock:  # so that the table is there
        pass
    row = text("INSERT INTO paimon_distributed_locks VALUES (:id, CURRENT_TIMESTAMP, 60)")
    mine.database.read(lambda c: c.execute(row, {"id": lock.name}))
    refused(path)


def test_marks_are_removed_with_their_locks(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = tmp_path / "shm"
    memory.mkdir()
    monkeypatch.setattr(holders, "SHARED_MEMORY", memory)
    lock = locks(path, 5).lock(T)
    assert isinstance(lock, JdbcLock)
    with lock:
        lock.check()
        assert len([f for f in memory.rglob("*") if f.is_file()]) == 1
    assert [f for f in memory.rglob("*") if f.is_file()] == []
