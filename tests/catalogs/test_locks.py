"""The locks of catalogs that have them, on a storage without atomic create: nothing is lost, whoever stands still or
dies.

PAIMON_SQL_CATALOG_COMMITS is PROCESSESxCOMMITS; `make campaign NAME=catalog-commits` sets 8x50.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import CommitConflictError, StorageError, StorageRefusedError
from paimon_core.io import holders
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.snapshots import snapshot_ids
from tests.catalogs.kinds import CAN, SCHEMA, Can, Place
from tests.catalogs.unsafe_storage import T, on_unsafe_storage
from tests.support.hive_server import HAS_LOCKS
from tests.support.stored import insert, read
from tests.support.waiting import PATIENCE

_ROOT = Path(__file__).parents[2]
_PROCESSES, _COMMITS = map(int, os.environ.get("PAIMON_SQL_CATALOG_COMMITS", "2x4").split("x"))
LOCKS = [kind for kind, can in CAN.items() if Can.LOCKS in can]
ROWS = [(1, "a"), (2, "b")]


@pytest.fixture(params=LOCKS)
def place(request: pytest.FixtureRequest, make_place: Callable[[str], Place]) -> Place:
    if request.param == "hive" and not HAS_LOCKS:
        pytest.skip("this metastore's database has no tables for locks")
    return make_place(request.param)


@pytest.fixture
def opened(place: Place) -> Iterator[Callable[..., Any]]:
    """Opens the catalog with more options; the database and the table `db.t` are there."""
    with ExitStack() as stack:

        def open_catalog(**more: str) -> Any:
            given = {name.replace("_", "-"): value for name, value in more.items()}
            made = on_unsafe_storage({**place.options, **given})
            stack.callback(made.close)
            return made

        first = open_catalog()
        first.create_database("db")
        first.create_table(T, new_table_schema(SCHEMA.fields, options={"commit.max-retries": "1000"}))
        yield open_catalog


@contextmanager
def process(place: Place, *words: object, **more: str) -> Iterator[subprocess.Popen[str]]:
    """One that writes to the table, see `unsafe_storage`; it is killed in the end."""
    given = {**place.options, **{name.replace("_", "-"): value for name, value in more.items()}}
    command = [sys.executable, "-m", "tests.catalogs.unsafe_storage", json.dumps(given), *map(str, words)]
    pipe = subprocess.PIPE
    started = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=_ROOT)
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


def test_many_commit_at_the_same_time(place: Place, opened: Callable[..., Any]) -> None:
    """Nothing is lost and nothing is twice."""
    with ExitStack() as stack:
        running = [stack.enter_context(process(place, n * 1000, _COMMITS)) for n in range(_PROCESSES)]
        said = [each.communicate(timeout=3600)[1] for each in running]
        assert [each.returncode for each in running] == [0] * _PROCESSES, said
    table = opened().load_table(T)
    written = sorted(n * 1000 + k for n in range(_PROCESSES) for k in range(_COMMITS))
    assert sorted(row[0] for row in read(table)) == written
    assert snapshot_ids(table.store) == list(range(1, _PROCESSES * _COMMITS + 1))
    with opened(lock_acquire_timeout="1 s")._locks.lock(T):  # all of them have given it back
        pass


def test_a_holder_that_was_frozen_does_not_commit(place: Place, opened: Callable[..., Any]) -> None:
    with process(place, 9, "hold", lock_acquire_timeout="2 s") as frozen:
        assert frozen.stdout is not None and frozen.stdout.readline() == "held\n"
        os.kill(frozen.pid, signal.SIGSTOP)
        other = opened()
        insert(other.load_table(T), ROWS)
        os.kill(frozen.pid, signal.SIGCONT)
        _, said = frozen.communicate("\n", timeout=PATIENCE)
    assert frozen.returncode != 0 and "was lost" in said, said
    assert sorted(read(other.load_table(T))) == ROWS


def test_a_holder_that_is_killed_elsewhere_delays_others_by_its_expiry(
    place: Place, opened: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lock is free when its own time is over: who waits for less is refused, who waits for more commits."""
    with process(place, 9, "hold", lock_acquire_timeout="8 s") as killed:
        assert killed.stdout is not None and killed.stdout.readline() == "held\n"
        killed.kill()
    monkeypatch.setattr(holders, "SHARED_MEMORY", tmp_path)
    hasty = opened(lock_acquire_timeout="1 s")
    table = hasty.load_table(T)
    with pytest.raises(CommitConflictError, match="within 1 s"):
        insert(table, [(8, "x")])
    patient = opened(lock_acquire_timeout="60 s")
    insert(patient.load_table(T), ROWS)
    assert sorted(read(patient.load_table(T))) == ROWS


@pytest.mark.skipif(holders._folder() is None, reason="this system keeps no marks")
def test_a_holder_that_is_killed_on_this_machine_is_not_waited_for(place: Place, opened: Callable[..., Any]) -> None:
    """CREATE and DROP of its table, and commits, go on after some seconds; while it lives they do not."""
    with process(place, 9, "hold") as killed:  # whose lock is free after a minute
        assert killed.stdout is not None and killed.stdout.readline() == "held\n"
        with pytest.raises(CommitConflictError, match="within 1 s"):
            opened(lock_acquire_timeout="1 s").drop_table(T)
        killed.kill()
        killed.wait()
        opened(lock_acquire_timeout="30 s").drop_table(T)


def test_a_holder_that_lost_its_lock_is_told(opened: Callable[..., Any]) -> None:
    """Where only its signs of life stop, as those of a process whose connection is cut."""
    lost = opened(lock_acquire_timeout="1 s")._locks.lock(T)
    lost.__enter__()
    lost._alive.cancel()
    with opened()._locks.lock(T) as held:
        with pytest.raises(StorageRefusedError, match="was lost: this process was paused for over 1 s"):
            lost.check()
        with pytest.raises(StorageError, match="was lost while it was held"):
            lost.__exit__(None, None, None)
        held.check()


def test_a_holder_lives_longer_than_its_expiry(opened: Callable[..., Any]) -> None:
    with opened(lock_acquire_timeout="1 s")._locks.lock(T) as held:
        table = opened(lock_acquire_timeout="3 s").load_table(T)
        with pytest.raises(CommitConflictError, match="within 3 s"):
            insert(table, ROWS)
        held.check()
    insert(table, ROWS)
