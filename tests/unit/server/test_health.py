"""`GET /health`."""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler

import pytest

from paimon_sql.server import health
from paimon_sql.server.health import InTime, listens, start_health


def test_an_answer_that_does_not_come_is_a_failure() -> None:
    asked, go_on = [], threading.Event()

    def slow() -> dict[str, str]:
        asked.append(1)
        go_on.wait(60)
        return {"status": "serving"}

    answer = InTime(slow, 0.1)
    assert [answer()["status"], answer()["status"]] == ["failed", "failed"]
    assert len(asked) == 1, "who is asked is not asked again before he has answered"
    go_on.set()
    assert InTime(lambda: {"status": "serving"})() == {"status": "serving"}
    answer.close()


def test_a_question_that_fails_is_a_failure() -> None:
    def fails() -> dict[str, str]:
        raise ConnectionRefusedError("the JVM is gone")

    assert InTime(fails)() == {"status": "failed", "reason": "ConnectionRefusedError"}


def test_whether_something_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert listens("127.0.0.1", port) and listens("0.0.0.0", port)
    assert not listens("127.0.0.1", port)


def test_serving_and_stopping() -> None:
    said = {"status": "serving", "sessions": 2}
    server = start_health("127.0.0.1", 0, lambda: said)
    url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        with urllib.request.urlopen(f"{url}/health") as answer:
            assert answer.status == 200 and json.load(answer) == said
        said["status"] = "stopping"
        with pytest.raises(urllib.error.HTTPError) as stopping:
            urllib.request.urlopen(f"{url}/health")
        assert stopping.value.code == 503
        with pytest.raises(urllib.error.HTTPError) as other:
            urllib.request.urlopen(f"{url}/../etc/passwd")
        assert other.value.code == 404
    finally:
        server.shutdown()
        server.server_close()


def test_a_probe_connects_while_a_crowd_waits_to_be_accepted() -> None:
    with health._Server(("127.0.0.1", 0), BaseHTTPRequestHandler) as server, ExitStack() as crowd:  # accepts none
        for _ in range(100):
            crowd.enter_context(socket.create_connection(("127.0.0.1", server.server_port), timeout=5))
