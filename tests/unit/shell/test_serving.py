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
