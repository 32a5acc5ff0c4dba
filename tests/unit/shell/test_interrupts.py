from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from paimon_sql.shell import statement_progress
from paimon_sql.shell.interrupts import cancelling
from tests.support.waiting import PATIENCE
from tests.unit.shell.fakes import FakeFrame, FakeSession, FakeTracker, Output, shell_on


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_cancels_and_does_not_raise():
    before = signal.getsignal(signal.SIGINT)
    called = threading.Event()
    with cancelling(called.set) as cancelled:
        interrupt()
        assert called.wait(PATIENCE)
        assert cancelled.is_set()
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_interrupt_raises():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), cancelling(lambda: None):
        interrupt()
        interrupt()
        time.sleep(5)
    assert signal.getsignal(signal.SIGINT) is before


def test_without_an_interrupt_nothing_is_cancelled():
    called = threading.Event()
    with cancelling(called.set) as cancelled:
        pass
    assert not cancelled.is_set() and not called.is_set()


def test_a_cancelled_statement_interrupts_the_script():
    class Interrupted(FakeFrame):
        def limit(self, count):
            interrupt()
            raise RuntimeError("job cancelled")

    session = FakeSession({"SELECT 1": Interrupted({"n": "long"})})
    shell = shell_on(session)
    with pytest.raises(KeyboardInterrupt):
        shell.run_script("SELECT 1; SELECT 2;")
    assert session.ran == ["SELECT 1"]
    assert shell.err.getvalue() == ""


def test_the_progress_of_a_cancelled_statement_is_taken_away(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(statement_progress, "_FIRST", 0.0)
    shown = threading.Event()

    class Terminal(Output):
        def write(self, text):
            if "tasks" in text:
                shown.set()
            return super().write(text)

    class Interrupted(FakeFrame):
        def limit(self, count):
            assert shown.wait(30)
            interrupt()
            raise RuntimeError("job cancelled")

    session = FakeSession({"SELECT 1": Interrupted({"n": "long"})})
    session.sparkContext.statusTracker = FakeTracker
    shell = shell_on(session)
    shell.err = Terminal(is_terminal=True)
    with pytest.raises(KeyboardInterrupt):
        shell.run_script("SELECT 1")
    assert "SELECT: stage 2 of 3, 1 of 4 tasks" in shell.err.getvalue()
    assert shell.err.getvalue().endswith("\r\x1b[K")


def test_output_that_is_no_terminal_has_no_progress(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(statement_progress, "_FIRST", 0.0)

    class Slow(FakeFrame):
        def limit(self, count):
            time.sleep(0.05)
            return super().limit(count)

    session = FakeSession({"SELECT 1": Slow({"n": "long"})})
    session.sparkContext.statusTracker = FakeTracker
    shell = shell_on(session)
    assert shell.run_script("SELECT 1") == 0
    assert shell.err.getvalue() == ""
