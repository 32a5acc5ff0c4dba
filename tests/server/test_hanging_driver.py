"""SIGTERM ends a server in any case: also one whose driver hangs, with the JVM that it started."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.served import PATIENCE, Server, served

pytestmark = [pytest.mark.spark, pytest.mark.slow]
RUN = (
    "-c",
    "import sys; from paimon_sql.shell import serving; serving._GRACE = 5; sys.exit(serving.run_server(sys.argv[1:]))",
)
ENDLESS = "SELECT count(*) FROM range(1000000000000000) WHERE id % 7 = 8"


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def begin(server: Server, statement: str) -> None:
    """Have a statement run whose client does not wait."""
    cursor = server.client().cursor()
    cursor.execute(statement, async_=True)
    until = time.monotonic() + PATIENCE
    while server.health_now()["statements"] < 1:
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_driver_that_is_stopped(tmp_path: Path) -> None:
    with served(tmp_path, "--drain", 1, run=RUN) as server:
        (jvm,) = children(server.process.pid)
        begin(server, ENDLESS)
        os.kill(jvm, signal.SIGSTOP)
        try:
            server.process.terminate()
            assert server.process.wait(PATIENCE) == 1
            assert has_ended(jvm)
        finally:
            if Path(f"/proc/{jvm}").exists():
                os.kill(jvm, signal.SIGKILL)


def has_ended(pid: int) -> bool:
    """Whether a process ends; one that nobody waits for is a zombie until then."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.1)
    return False
