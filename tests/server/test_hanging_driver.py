"""SIGTERM ends a server and its JVM in any case: also if a statement never ends, or the driver hangs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from thrift.transport.TTransport import TTransportException

from tests.support.served import PATIENCE, Server, served

pytestmark = [pytest.mark.spark, pytest.mark.slow]
RUN = (
    "-c",
    "import sys; from paimon_sql.shell import serving; serving._GRACE = 2; sys.exit(serving.run_server(sys.argv[1:]))",
)
ENDLESS = "SELECT count(*) FROM range(0, 1000000000000000) WHERE rand() > 2"
# planned by a thread that no interruption reaches; Java decides a pattern without the reference to a group in seconds
BLOCKED = f"SELECT '{'a' * 90}!' RLIKE r'(a|aa)+\\1$'"


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextmanager
def running(server: Server, statement: str) -> Iterator[None]:
    """Keep a client whose statement runs: a client that is let go of cancels it."""
    client = server.quiet_client()
    try:
        client.cursor().execute(statement, async_=True)
        until = time.monotonic() + PATIENCE
        while server.health_now()["statements"] < 1:
            assert time.monotonic() < until
            time.sleep(0.1)
        yield
    finally:
        with suppress(TTransportException, OSError):  # the server has ended
            client.close()


@pytest.mark.parametrize("statement", [ENDLESS, BLOCKED], ids=["endless", "blocked"])
def test_a_statement_that_never_ends(tmp_path: Path, statement: str) -> None:
    with served(tmp_path, "--drain", 1, run=RUN) as server:
        (jvm,) = children(server.process.pid)
        with running(server, statement):
            server.process.terminate()
            assert server.process.wait(PATIENCE) == 1
        assert has_ended(jvm)
        assert "canceled" not in server.log.read_text().partition("Stopping")[0]


def test_a_driver_that_is_stopped(tmp_path: Path) -> None:
    with served(tmp_path, "--drain", 1, run=RUN) as server:
        (jvm,) = children(server.process.pid)
        with running(server, ENDLESS):
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
