"""The progress of jobs, and jobs that the user interrupts."""

from __future__ import annotations

import io
import logging
import re
import threading
from concurrent.futures import Future
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.jobs import DONE, Done, Job
from paimon_sql import open_catalog
from paimon_sql.python import executor
from paimon_sql.python.executor import ThreadExecutor
from paimon_sql.python.progress import JobState, LoggedProgress, TerminalProgress
from paimon_sql.shell.tables import run_table_command


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

    def job(self, count: int) -> Job[Any, Done]:
        return Job("compact shop.t", self.run, DONE, DONE, tuple(range(count)), undo=self.undone.append)


def test_a_line_is_drawn_while_a_job_runs_and_then_removed() -> None:
    watched, drawn = Watched(), threading.Event()

    class Terminal(io.StringIO):
        def flush(self) -> None:
            drawn.set()

    terminal = Terminal()
    runner = threading.Thread(target=ThreadExecutor(TerminalProgress(terminal, first=0)).run, args=(watched.job(3),))
    runner.start()
    assert drawn.wait(60)
    watched.goes_on.set()
    runner.join(60)
    text = terminal.getvalue()
    assert re.match(r"\rcompact shop\.t: 0 of 3 tasks, \d+ s\x1b\[K", text) and text.endswith("\r\x1b[K")
    assert len(watched.ran) == 3 and watched.undone == []


def test_a_short_job_draws_nothing_but_the_end() -> None:
    terminal = io.StringIO()
    with TerminalProgress(terminal).job("compact", 1) as ended:
        ended()
    assert terminal.getvalue() == "\r\x1b[K"


def test_the_log_has_a_line_for_each_job(caplog: pytest.LogCaptureFixture) -> None:
    watched = Watched()
    watched.goes_on.set()
    with caplog.at_level(logging.INFO, "paimon_sql.python.progress"):
        ThreadExecutor().run(watched.job(2))
        with pytest.raises(ValueError, match="x"), LoggedProgress().job("clone", 5) as ended:
            ended()
            raise ValueError("x")
    first, second = caplog.messages
    assert re.fullmatch(r"compact shop\.t: 2 of 2 tasks, \d+ s", first)
    assert re.fullmatch(r"clone: 1 of 5 tasks, \d+ s, about \d+ s left", second)


@pytest.mark.parametrize(
    ("state", "line"),
    [
        (JobState("sort", 0, 10, 5), "sort: 0 of 10 tasks, 5 s"),
        (JobState("sort", 5, 10, 65), "sort: 5 of 10 tasks, 1 min 5 s, about 1 min 5 s left"),
        (JobState("sort", 10, 10, 7322), "sort: 10 of 10 tasks, 2 h 2 min"),
        (JobState("a\x1b[31m\nb", 1, 1, 0), "a\\x1b[31m\\nb: 1 of 1 tasks, 0 s"),
    ],
)
def test_states_as_lines(state: JobState, line: str) -> None:
    assert state.line() == line
    assert len(JobState("x" * 500, 1, 2, 3).line()) <= 100


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
