from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from paimon_sql.shell.interrupts import cancelling
from tests.support.waiting import PATIENCE
from tests.unit.shell.fakes import FakeFrame, FakeSession, Output, shell_on


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


def test_the_progress_bar_of_a_cancelled_statement_is_taken_away():
    class Interrupted(FakeFrame):
        def limit(self, count):
            interrupt()
            raise RuntimeError("job cancelled")

    shell = shell_on(FakeSession({"SELECT 1": Interrupted({"n": "long"})}))
    shell.err = Output(is_terminal=True)
    shell.err.write("[Stage 0:>   (0 + 2) / 2]")
    with pytest.raises(KeyboardInterrupt):
        shell.run_script("SELECT 1")
    assert shell.err.getvalue().endswith("2]\r\x1b[K")
