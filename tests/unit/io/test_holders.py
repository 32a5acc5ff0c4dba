"""Only a holder that has died on this machine is ever proven dead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from paimon_core.io import holders
from paimon_core.io.holders import Deaths, Mark, has_died

ROOT = Path(__file__).parents[3]
HOLD = "import sys; from paimon_core.io.holders import Mark; m = Mark(sys.argv[1]); print('held', flush=True); input()"
FORK = (
    "import os, sys, time; from paimon_core.io.holders import Mark; m = Mark(sys.argv[1]); child = os.fork()\n"
    "if child: print(child, flush=True)\ntime.sleep(600)"
)

pytestmark = pytest.mark.skipif(holders._folder() is None, reason="this system keeps no marks")


@pytest.fixture
def name() -> str:
    return uuid.uuid4().hex


@contextmanager
def holder(name: str, code: str = HOLD) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that has a mark, and what it prints then."""
    pipe = subprocess.PIPE
    started = subprocess.Popen([sys.executable, "-c", code, name], stdin=pipe, stdout=pipe, text=True, cwd=ROOT)
    assert started.stdout is not None
    try:
        yield started, started.stdout.readline().strip()
    finally:
        started.kill()
        started.wait()
        Deaths().forget(name)


def test_a_holder_that_is_killed_has_died(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with holder(name) as (process, _):
        assert not has_died(name)
        process.kill()
        process.wait()
        assert has_died(name)
        deaths = Deaths()
        assert not deaths.are_proven(name)  # what it sent may still arrive
        monkeypatch.setattr(holders, "_GRACE", 0)
        assert deaths.are_proven(name)
        deaths.forget(name)
        assert not has_died(name)


def test_a_holder_that_stands_still_lives(name: str) -> None:
    with holder(name) as (process, _):
        os.kill(process.pid, signal.SIGSTOP)
        assert not has_died(name)


def test_a_holder_of_this_process_lives_until_it_ends(name: str) -> None:
    mark = Mark(name)
    assert not has_died(name)
    mark.rename(f"{name} again")
    assert not has_died(name) and not has_died(f"{name} again")
    mark.end()
    assert not has_died(f"{name} again")  # it gave back what it held


def test_a_child_that_was_forked_lives_on(name: str) -> None:
    with holder(name, FORK) as (process, child):
        process.kill()
        process.wait()
        try:
            assert not has_died(name)
        finally:
            os.kill(int(child), signal.SIGKILL)


def test_nothing_is_proven_without_a_mark(name: str) -> None:
    assert not has_died(name)


def test_nothing_is_proven_of_another_boot(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with holder(name) as (process, _):
        process.kill()
        process.wait()
        monkeypatch.setattr(holders, "_boot", lambda: "another machine's")
        assert not has_died(name)
        monkeypatch.setattr(holders, "_boot", lambda: None)
        assert not has_died(name)
        monkeypatch.undo()
        assert has_died(name)


@pytest.mark.parametrize("bad", ["link", "open", "absent"])
def test_a_folder_that_others_can_change_proves_nothing(
    name: str, bad: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = tmp_path / "shm"
    monkeypatch.setattr(holders, "SHARED_MEMORY", memory)
    folder = memory / f"paimon-sql-holders-{os.geteuid()}"
    if bad != "absent":
        memory.mkdir()
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "elsewhere") if bad == "link" else folder.mkdir()
        if bad == "open":
            folder.chmod(0o777)
    Mark(name).end()
    assert not has_died(name)
    assert list(tmp_path.rglob("*-*-*-*/*")) == []


def test_old_marks_of_the_dead_are_swept_and_nothing_else(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holders, "SHARED_MEMORY", tmp_path)
    monkeypatch.setattr(holders, "_OLD", -1)
    alive = Mark(name)
    folder = holders._folder()
    assert folder is not None
    living = set(os.listdir(folder))
    (folder / ("0" * 64)).touch()
    (folder / "notes").touch()
    other = Mark(f"{name} other")
    other.end()
    assert set(os.listdir(folder)) == living | {"notes"}
    alive.end()
