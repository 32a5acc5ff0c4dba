"""The progress of work without Spark on a terminal, and jobs that the user interrupts."""

from __future__ import annotations

import io
import re
import threading
from concurrent.futures import Future
from typing import Any

import pyarrow as pa
import pytest

from paimon_core import progress
from paimon_core.jobs import DONE, Done, Job, Measure
from paimon_core.progress import Phases
from paimon_sql import open_catalog
from paimon_sql.python import executor
from paimon_sql.python.executor import ThreadExecutor, on_threads
from paimon_sql.shell.statement_progress import drawn
from paimon_sql.shell.tables import run_table_command


@pytest.fixture
def phases(monkeypatch: pytest.MonkeyPatch) -> Phases:
    made = Phases(every=60.0)
    monkeypatch.setattr(progress, "PHASES", made)
    return made


class Watched:
    """A job that counts the tasks that ended and the tasks that were undone."""

    def __init__(self) -> None:
        self.ran, self.undone = list[int](), list[Any]()
        self.first, self.goes_on = threading.Event(), threading.Event()

    def run(self, task: Any) -> Done:
        self.ran.append(task)
        self.first.set()
        assert self.goes_on.wait(60)
        return Done()

    def job(self, count: int, **more: Any) -> Job[Any, Done]:
        return Job("compact shop.t", self.run, DONE, DONE, tuple(range(count)), undo=self.undone.append, **more)


class Terminal(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.drawn = threading.Event()

    def flush(self) -> None:
        self.drawn.set()


def test_a_line_is_drawn_while_a_job_runs_and_then_removed(phases: Phases) -> None:
    watched, terminal = Watched(), Terminal()
    runner = threading.Thread(target=ThreadExecutor().run, args=(watched.job(3),))
    runner.start()
    assert watched.first.wait(60)
    with drawn(terminal, first=0, phases=phases):
        assert terminal.drawn.wait(60)
        watched.goes_on.set()
        runner.join(60)
    text = terminal.getvalue()
    assert re.match(r"\rcompact shop\.t: 0 of 3 tasks, \d+ s\x1b\[K", text) and text.endswith("\r\x1b[K")
    assert len(watched.ran) == 3 and watched.undone == []


def test_work_without_phases_draws_nothing_but_the_end(phases: Phases) -> None:
    terminal = Terminal()
    with drawn(terminal, phases=phases):
        pass
    assert terminal.getvalue() == "\r\x1b[K"


def test_tasks_are_counted_by_their_measure(phases: Phases) -> None:
    seen = list[tuple[str, int, int]]()

    def run(task: int) -> Done:
        found = phases.newest
        assert found is not None
        seen.append((found.unit, found.done, found.count))
        return Done()

    job = Job("compact shop.t", run, DONE, DONE, (0, 1, 2), measure=Measure("files", lambda task: task + 1))
    assert len(job.run_here()) == 3 and phases.newest is None
    assert seen == [("files", 0, 6), ("files", 1, 6), ("files", 3, 6)]
    seen.clear()
    with job.shown() as shown:
        on_threads(run, job.tasks, width=1, ended=lambda task: shown.add(job.measure.of(task)))
        assert shown.progress.done == 6
    assert seen == [("files", 0, 6), ("files", 1, 6), ("files", 3, 6)]
    with pytest.raises(ValueError, match="x"):
        ThreadExecutor().run(Job("fails", _fail, DONE, DONE, (1,)))
    assert phases.newest is None


def _fail(_: object) -> Done:
    raise ValueError("x")


def test_an_interrupted_job_begins_no_more_tasks_and_undoes_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, all tasks that waited ran to their end, and their files stayed."""
    watched = Watched()

    def interrupted(futures: list[Future[Any]], **_: Any) -> None:
        watched.first.wait(60)
        threading.Timer(0.05, watched.goes_on.set).start()
        raise KeyboardInterrupt

    monkeypatch.setattr(executor, "wait", interrupted)
    monkeypatch.setattr(executor.pa, "cpu_count", lambda: 1)
    with pytest.raises(KeyboardInterrupt):
        ThreadExecutor().run(watched.job(50))
    assert len(watched.ran) == len(watched.undone) < 3


def test_commands_show_no_progress_without_a_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    table = open_catalog(str(tmp_path)).create_table("default.t", pa.schema([("a", pa.int64())]))
    for n in range(3):
        table.append([{"a": n}])
    assert run_table_command(["call", "compact", "table=t", "-w", str(tmp_path)]) == 0
    assert capsys.readouterr().err == "" and table.inspect("files").num_rows == 1
