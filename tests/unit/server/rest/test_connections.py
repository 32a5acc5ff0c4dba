"""Clients of the REST server that say half of what they want, or want nothing."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from paimon_sql.server.rest.connections import timely
from paimon_sql.server.waiting import MOST, Waiting
from tests.support.waiting import PATIENCE


async def _app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def waiting() -> Waiting:
    return Waiting(20)


@pytest.fixture
def port(waiting: Waiting) -> Iterator[int]:
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(_app, http=timely(waiting, 2.0), log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join(PATIENCE)
    listening.close()


def connected(port: int, text: bytes = b"") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=60)
    made.sendall(text)
    return made


def answered(port: int) -> bytes:
    with connected(port, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") as asking:
        return asking.recv(15)


def is_closed(one: socket.socket) -> bool:
    try:
        return one.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("text", [b"", b"GET / HTTP/1.1\r\nHost:"])
def test_a_connection_that_does_not_ask_is_closed(port: int, waiting: Waiting, text: bytes) -> None:
    with connected(port, text) as silent:
        assert is_closed(silent)  # in 2 seconds; without that the test waits a minute, and fails
    assert len(waiting) == 0


def test_half_a_second_header_is_closed_too(port: int) -> None:
    with connected(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n") as asking:
        got = b""
        while not got.endswith(b"ok"):
            got += asking.recv(1000)
        asking.sendall(b"GET / HTT")
        assert is_closed(asking)


def test_others_are_served_beside_many_silent_ones(port: int, waiting: Waiting) -> None:
    silent = [connected(port, b"G") for _ in range(60)]
    assert answered(port) == b"HTTP/1.1 200 OK"
    assert len(waiting) <= 20
    assert is_closed(silent[0])
    for one in silent:
        one.close()


def test_the_oldest_of_an_address_makes_room() -> None:
    closed: list[str] = []
    waiting = Waiting(2)
    for name in ("first", "second", "third"):
        waiting.add("here", name, lambda name=name: closed.append(name))
    waiting.add("there", "other", lambda: closed.append("other"))
    assert closed == ["first"] and len(waiting) == 3
    waiting.discard("here", "second")
    waiting.discard("here", "first")
    waiting.add("here", "fourth", lambda: closed.append("fourth"))
    assert closed == ["first"] and MOST >= 100
