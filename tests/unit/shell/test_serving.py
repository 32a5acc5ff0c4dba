"""The end of a server's process, which comes whatever its threads do."""

from __future__ import annotations

import subprocess
import sys

import pytest

PATIENCE = 120  # seconds
BEGUN = "from paimon_sql.shell import serving; serving._LAST = {last}; serving.end_after(0.1); "
KEEPS_THE_LOCK = "import re; re.match('(a|aa)+$', 'a' * 90 + '!')"
SHUTS_DOWN = """import threading
class Slow:
    def __del__(self, wait=threading.Event().wait): wait()
kept = Slow()
"""
WAITS = "import threading; threading.Event().wait()"


@pytest.mark.parametrize(
    ("last", "then"),
    [(1000, WAITS), (0.1, KEEPS_THE_LOCK), (0.1, SHUTS_DOWN)],
    ids=["threads run", "a thread keeps the lock of Python", "Python shuts down"],
)
def test_the_process_ends_in_any_case(last: float, then: str) -> None:
    script = BEGUN.format(last=last) + then
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1


INTERRUPTED = """import os, signal, sys
from paimon_sql.shell import serving
def session(*_):
    def cancels_all_jobs(*_):
        raise KeyboardInterrupt
    signal.signal(signal.SIGINT, cancels_all_jobs)  # as a context of PySpark does when it starts
def serve(session, settings, stop, say):
    os.kill(os.getpid(), signal.SIGINT)
    return stop.wait(60)
serving.server_session, serving.serve, serving.stop_driver = session, serve, lambda _: None
sys.exit(serving.run_server(["--thrift", "1"]))
"""


def test_settings_of_spark_are_refused_by_a_server_without_spark() -> None:
    command = [sys.executable, "-m", "paimon_sql", "serve", "--rest", "1", "-c", "spark.x=1"]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False, text=True)
    message = "error: -c spark.x has no effect: paimon-sql serve --rest does not start Spark"
    assert (done.returncode, done.stdout) == (1, "") and done.stderr.startswith(message)


def test_an_interrupt_lets_statements_end_as_a_termination_does() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
