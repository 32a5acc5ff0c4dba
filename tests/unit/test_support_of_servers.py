"""Ports and waits for the servers that tests start."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import hive_server, ports
from tests.support.hive_server import HiveServer
from tests.support.waiting import wait_until

_ROOT = Path(__file__).parents[2]


def test_no_two_processes_get_the_same_port() -> None:
    port = ports.free_port()
    code = f"from tests.support.ports import _reserve; print(_reserve({port}), _reserve({port} + 50_000))"
    done = subprocess.run([sys.executable, "-c", code], cwd=_ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
    assert not ports._reserve(port), "nor does this process get it again"


def test_outgoing_connections_do_not_take_the_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "range").write_text("20000\t60999\n")
    monkeypatch.setattr(ports, "_EPHEMERAL", tmp_path / "range")
    assert all(ports.free_port() < 20_000 for _ in range(20))
    (tmp_path / "range").write_text("1024\t65535\n")
    assert ports.free_port() >= 15_000, "if they may take every port, some port is better than none"


@pytest.mark.parametrize("listens", [True, False])
def test_a_port_that_is_taken_is_not_free(listens: bool) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        if listens:
            taken.listen()
        assert not ports.is_free(taken.getsockname()[1])


def test_a_metastore_that_does_not_come_up_is_started_on_another_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = list[int]()

    def start(server: HiveServer, attempts: int) -> None:
        tried.append(server.port)
        if len(tried) < attempts:
            raise RuntimeError("No metastore")

    for attempts in (1, 2, 3):
        tried.clear()
        monkeypatch.setattr(HiveServer, "start", lambda server, attempts=attempts: start(server, attempts))
        hive_server._start(HiveServer(tmp_path, ports.free_port(), "java", ""))
        assert len(set(tried)) == attempts
    tried.clear()
    monkeypatch.setattr(HiveServer, "start", lambda server: start(server, 9))
    with pytest.raises(RuntimeError):
        hive_server._start(HiveServer(tmp_path, ports.free_port(), "java", ""))
    assert len(tried) == 3


def test_a_metastore_does_not_start_where_another_server_answers(tmp_path: Path) -> None:
    other = socket.create_server(("127.0.0.1", 0))
    with other, pytest.raises(RuntimeError, match="another process listens"):
        HiveServer(tmp_path, other.getsockname()[1], "java", "").start()


def test_a_metastore_that_ends_is_not_waited_for(tmp_path: Path) -> None:
    """As one whose port another program has bound; its log is in the error."""
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho Could not create ServerSocket on address 0.0.0.0\nexec sleep 600\n")
    java.chmod(0o755)
    server = HiveServer(tmp_path, ports.free_port(), str(java), "")
    with pytest.raises(RuntimeError, match="Could not create ServerSocket"):
        server.start()
    assert server.process is None


def test_a_wait_ends_when_it_has_happened() -> None:
    answers = iter([False, False, True])
    wait_until(lambda: next(answers))
    assert next(answers, None) is None
    with pytest.raises(AssertionError, match="within 0 s: nothing"):
        wait_until(lambda: False, lambda: "nothing", seconds=0)
