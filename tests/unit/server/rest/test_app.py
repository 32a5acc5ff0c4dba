"""Who may ask for what is answered before the body of a request is there; and bodies that do not end."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from paimon_sql.server.reads.listed import is_read
from paimon_sql.server.rest import app
from paimon_sql.server.rest.run import serving


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a server of no catalog, as no handler is reached."""
    monkeypatch.setattr(app, "_SECONDS", 1)
    catalog: Any = None
    with serving(app.RestApp(catalog, read_only=True), "127.0.0.1", 0) as port:
        yield port


def status(port: int, text: str) -> int:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as made:
        made.sendall(text.encode())
        answer = http.client.HTTPResponse(made)
        answer.begin()
        return answer.status


@pytest.mark.parametrize(
    ("request_line", "expected"),
    [
        ("POST /v1/paimon/databases", 403),
        ("DELETE /v1/paimon/databases/d", 403),
        ("POST /v1/paimon/nothing", 501),
        ("POST /v1/other/databases", 404),
        ("POST /v1/paimon/databases/d/tables/t/partitions/list-by-names", 408),  # a question: its body is waited for
    ],
)
def test_rights_come_before_the_body(reader: int, request_line: str, expected: int) -> None:
    assert status(reader, f"{request_line} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{{") == expected


def test_what_reads_is_listed() -> None:
    assert {pattern for method, pattern in app.routes() if is_read(method, pattern) and method != "GET"} == {
        "databases/*/tables/*/partitions/list-by-names"
    }
    assert all(is_read(method, pattern) for method, pattern in app.routes() if method == "GET")
    assert not is_read("GET", "databases/*/drop-all")
