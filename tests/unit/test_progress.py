"""The phases of long work: their states and lines, who shows them, and the log."""

from __future__ import annotations

import logging
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import count

import pytest

from paimon_core import progress
from paimon_core.progress import Phase, PhaseProgress, Phases, advance, opened, phase, showing


@pytest.fixture
def phases(monkeypatch: pytest.MonkeyPatch) -> Phases:
    """The phases of this test alone, of which the log mentions all."""
    made = Phases(every=60.0, long=0.0)
    monkeypatch.setattr(progress, "PHASES", made)
    return made


@pytest.mark.parametrize(
    ("state", "line"),
    [
        (PhaseProgress("sort", 0, 10, "tasks", 5), "sort: 0 of 10 tasks, 5 s"),
        (
            PhaseProgress("sort", 5, 10, "files", 65),
            "sort: 5 of 10 files, 0.077 a second, 1 min 5 s, about 1 min 5 s left",
        ),
        (PhaseProgress("sort", 10, 10, "files", 7322), "sort: 10 of 10 files, 0.0014 a second, 2 h 2 min"),
        (PhaseProgress("list", 1200, 0, "folders", 2), "list: 1,200 folders, 600 a second, 2 s"),
        (PhaseProgress("a\x1b[31m\nb", 1, 1, "files", 0), "a\\x1b[31m\\nb: 1 of 1 files, 0 s"),
    ],
)
def test_states_as_lines(state: PhaseProgress, line: str) -> None:
    assert state.line() == line
    assert len(PhaseProgress("x" * 500, 1, 2, "files", 3).line()) <= 100


def test_a_phase_counts_and_ends(phases: Phases) -> None:
    assert phases.newest is None
    with phase("delete files of t", "files", 5) as shown:
        shown.add(2)
        advance("files")
        advance("rows")
        found = phases.newest
        assert found is not None and (found.description, found.done, found.count) == ("delete files of t", 3, 5)
        shown.add(10)
        assert phases.newest is not None and phases.newest.done == 5, "no more than all of them"
    assert phases.newest is None
    advance("files")


def test_a_phase_inside_of_another_is_not_shown_and_counts_nothing(phases: Phases) -> None:
    with phase("compact t", "files", 4) as outer:
        with phase("delete files of t", "files", 9) as inner:
            inner.add()
        assert phases.newest is not None and (phases.newest.description, phases.newest.done) == ("compact t", 0)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(copy_context().run, advance, "files", 3).result()
        assert outer.progress.done == 3, "a thread of the work counts for it"
    with phase("read t", "snapshots"):
        assert phases.newest is not None and phases.newest.description == "read t"


def test_a_listener_sees_the_phases_of_its_block_alone(phases: Phases) -> None:
    class Listener:
        def __init__(self) -> None:
            self.seen = list[str]()

        def follow(self, phase: Phase) -> None:
            self.seen.append(phase.description)

    first, second = Listener(), Listener()
    with showing(first):
        with phase("one", "files"):
            pass
        with showing(second), phase("two", "files"), phase("inner", "files"):
            pass
        with phase("three", "files"):
            pass
    with phase("four", "files"):
        pass
    assert (first.seen, second.seen) == (["one", "three"], ["two"])


def test_a_failure_ends_the_phase(phases: Phases) -> None:
    with pytest.raises(ValueError, match="x"), phase("one", "files"):
        raise ValueError("x")
    assert phases.newest is None
    with phase("two", "files"):
        assert phases.newest is not None and phases.newest.description == "two"


def test_the_log_has_the_end_of_each_long_phase(caplog: pytest.LogCaptureFixture, phases: Phases) -> None:
    clock = count(0, 2)
    with caplog.at_level(logging.INFO, "paimon_core.progress"):
        with opened(Phase("compact t", "files", 4, clock=lambda: next(clock))) as shown:
            shown.add(3)
        phases.close(shown)
    (record,) = caplog.records
    assert record.getMessage() == "compact t: 3 of 4 files, 1.5 a second, 2 s, about 1 s left"
    fields = {name: vars(record)[name] for name in ("job", "unit", "done", "count", "seconds", "seconds_left")}
    assert list(fields.values()) == ["compact t", "files", 3, 4, 2, 1]


def test_short_phases_are_not_in_the_log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PHASES", Phases(every=60.0, long=1000.0))
    with caplog.at_level(logging.INFO, "paimon_core.progress"), phase("compact t", "files"):
        pass
    assert caplog.records == []


def test_the_log_shows_phases_that_last(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    phases, shown, logged = Phases(every=0.01, long=1000.0), threading.Event(), list[str]()

    def note(found: PhaseProgress, level: int) -> None:
        if level == logging.INFO:
            logged.append(found.line())
            if len(logged) == 2:
                shown.set()

    monkeypatch.setattr(progress, "PHASES", phases)
    monkeypatch.setattr(progress, "_log", note)
    with phase("compact t", "files", 4) as lasting:
        lasting.add()
        assert shown.wait(60)
    logger = phases._logger
    if logger is not None:  # it ends when nothing is left to log
        logger.join(60)
    assert phases._logger is None and all(re.match("compact t: 1 of 4 files", line) for line in logged)
    with phase("read t", "rows"):
        assert phases._logger is not None, "the next phase is followed again"
