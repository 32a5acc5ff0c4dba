"""The progress of statements: what Spark's status tracker says, as a line."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest

from paimon_core.progress import Phase, Phases
from paimon_sql.preprocess.scripts import statement_kind
from paimon_sql.shell import statement_progress
from paimon_sql.shell.statement_progress import StageWatch, drawn_on, watching
from tests.unit.shell.fakes import FakeTracker


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("insert into t values (1)", "INSERT"),
        ("-- a comment\n/* MERGE */ MERGE INTO t", "MERGE"),
        ("/* a */ -- b", "statement"),
        ("(SELECT 1)", "SELECT"),
        ("\x1b[31mSELECT", "statement"),
        ("", "statement"),
        (f"{'x' * 100} y", "X" * 20),
    ],
)
def test_the_kind_of_a_statement(text: str, kind: str) -> None:
    assert statement_kind(text) == kind


def test_a_stage_has_its_place_rate_and_time_left() -> None:
    now = iter([100.0, 102.0, 106.0])
    tracker = FakeTracker()
    watch = StageWatch(tracker, "INSERT", lambda: next(now))
    first = watch.state()
    assert first is not None and first.line() == "INSERT: stage 2 of 3, 1 of 4 tasks, 2 s"
    tracker.stages[5].numCompletedTasks = 2
    later = watch.state()
    assert later is not None
    assert later.line() == "INSERT: stage 2 of 3, 2 of 4 tasks, 0.5 a second, 6 s, about 4 s left in this stage"


def test_a_phase_in_files_says_more_than_the_tasks_of_spark() -> None:
    phases, now = Phases(every=60.0), iter(range(0, 100, 2))
    watch = StageWatch(FakeTracker(), "CALL", phases=phases)
    for unit, line in (
        ("tasks", "CALL: stage 2 of 3, 1 of 4 tasks"),
        ("files", "CALL: delete files of t: 3 of 9 files, 1.5 a second, 2 s, about 4 s left"),
    ):
        phase = Phase("delete files of t", unit, 9, clock=lambda: next(now))
        phases.open(phase)
        phase.add(3)
        state = watch.state()
        assert state is not None and state.line().startswith(line) and state.tasks == (9 if unit == "files" else 4)
    phases.close(phase)
    assert watch.state() is not None and watch.state() != state


def test_stages_that_have_ended_are_no_progress() -> None:
    idle = SimpleNamespace(getActiveStageIds=list)
    gone = SimpleNamespace(getActiveStageIds=lambda: [7], getStageInfo=lambda _: None)
    assert StageWatch(idle, "SELECT").state() is None and StageWatch(gone, "SELECT").state() is None


def test_a_line_fits_the_terminal() -> None:
    terminal = io.StringIO()
    show, state = drawn_on(terminal, 20), StageWatch(FakeTracker(), "SELECT").state()
    assert show(state) and show(None)
    assert terminal.getvalue() == "\rSELECT: stage 2 of \x1b[K\r\x1b[K"


def test_a_tracker_that_fails_stops_no_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statement_progress, "_FIRST", 0.0)
    shown = list[Any]()

    def fail() -> list[int]:
        raise RuntimeError("the context was stopped")

    with watching(StageWatch(SimpleNamespace(getActiveStageIds=fail), "SELECT"), lambda s: bool(shown.append(s))):
        pass
    assert shown == []
