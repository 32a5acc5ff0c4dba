"""Requests that get a page, and requests that get none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paimon_sql.server.ui.guard import HEADERS, Guard, PageRequest, is_loopback

TOKEN = "aToken-that_nobody-guesses"
GUARD = Guard("127.0.0.1", TOKEN)
OPEN = Guard("0.0.0.0", TOKEN, frozenset(("lake.example",)))
HOST, COOKIE = ("host", "127.0.0.1:8080"), ("cookie", f"theme=dark; {GUARD.cookie}={TOKEN}")


def request(*headers: tuple[str, str], path: str = "/d/shop", query: str = "", method: str = "GET") -> PageRequest:
    return PageRequest(method, path, query, headers)


def status(asked: PageRequest, guard: Guard = GUARD) -> int | None:
    refusal = guard.refusal(asked)
    return None if refusal is None else refusal.status


def test_a_request_with_the_cookie_gets_its_page() -> None:
    assert status(request(HOST, COOKIE)) is None
    assert status(request(HOST, COOKIE, ("sec-fetch-site", "same-origin"))) is None
    assert status(request(HOST, ("cookie", "a=b"), COOKIE)) is None


@pytest.mark.parametrize(
    "cookie",
    ["", f"{GUARD.cookie}=", f"{GUARD.cookie}={TOKEN}x", f"{GUARD.cookie}={TOKEN[:-1]}", f"other={TOKEN}", "\udcff=é"],
)
def test_another_cookie_is_refused(cookie: str) -> None:
    assert status(request(HOST, ("cookie", cookie))) == 403
    assert status(request(HOST)) == 403


def test_the_token_is_in_the_address_once() -> None:
    first = request(HOST, path="/", query=f"token={TOKEN}")
    assert status(first) is None and GUARD.brings_token(first)
    assert status(request(HOST, path="/", query=f"token={TOKEN}x")) == 403
    assert status(request(HOST, path="/d/shop", query=f"token={TOKEN}")) is None
    there = request(HOST, path="//evil.example/%2F", query=f"a=b+c&token={TOKEN}")
    assert GUARD.without_token(there) == "/evil.example/%2F?a=b+c" and GUARD.without_token(first) == "/"
    assert not GUARD.brings_token(request(HOST, COOKIE, path="/"))
    assert GUARD.set_cookie == f"{GUARD.cookie}={TOKEN}; Path=/; HttpOnly; SameSite=Strict"
    assert TOKEN not in repr(GUARD) and TOKEN not in GUARD.cookie


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:80", "[::1]:8080", "LOCALHOST:9"])
def test_own_hosts(host: str) -> None:
    assert status(request(("host", host), COOKIE)) is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8080",
        "evil.example:8080@127.0.0.1",
        "",
        "10.0.0.1",
        "127.0.0.1:8080:1",
        "[::1",
        "127.0.0.1/../x",
    ],
)
def test_foreign_hosts(host: str) -> None:
    """A name of another site may lead to this machine: its page would be of the same origin as ours."""
    assert status(request(("host", host), COOKIE)) == 421


def test_two_hosts_are_none() -> None:
    assert status(request(HOST, HOST, COOKIE)) == 421 and status(request(COOKIE)) == 421


def test_hosts_of_a_server_beyond_this_machine() -> None:
    for host in ("lake.example:80", "10.0.0.1", "[fe80::1]:80", "localhost"):
        assert status(request(("host", host), COOKIE), OPEN) is None
    assert status(request(("host", "evil.example"), COOKIE), OPEN) == 421


@pytest.mark.parametrize("site", ["cross-site", "same-site", "new"])
def test_requests_that_other_sites_make(site: str) -> None:
    assert status(request(HOST, COOKIE, ("sec-fetch-site", site))) == 403
    # the user follows the printed address from another program
    assert status(request(HOST, ("sec-fetch-site", site), path="/", query=f"token={TOKEN}")) is None


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "get"])
def test_other_methods(method: str) -> None:
    assert status(replace(request(HOST, COOKIE), method=method)) == 405


def test_a_query_with_too_many_parameters_is_refused() -> None:
    assert status(request(HOST, COOKIE, path="/", query="&".join("a=1" for _ in range(100)))) == 400


def test_no_header_lets_a_page_load_or_run_anything() -> None:
    policy = dict(part.strip().split(" ", 1) for part in HEADERS["Content-Security-Policy"].split(";"))
    assert policy == {
        "default-src": "'none'",
        "style-src": "'self'",
        "img-src": "'self'",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    assert HEADERS["Referrer-Policy"] == "no-referrer" and HEADERS["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("host", "expected"), [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False)]
)
def test_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
