"""Crowds at the doors of a server, of connections that ask nothing and of guessers of passwords: others are served."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from pyhive.exc import Error
from thrift.transport.TTransport import TTransportException

from paimon_sql.shell.serving import KEYSTORE_PASSWORD
from tests.server.test_limits import certificate, client
from tests.support.ports import free_port
from tests.support.served import PATIENCE, Server, answer, served

pytestmark = [pytest.mark.spark, pytest.mark.slow]
HALF_OPEN, GUESSERS = map(int, os.environ.get("PAIMON_SQL_CROWDS", "200x10").split("x"))
CLIENT = """
import sys
from pyspark.sql import SparkSession
print(SparkSession.builder.remote(sys.argv[1]).getOrCreate().range(3).count())
"""


def rest_port(server: Server) -> int:
    return int(server.rest.rpartition(":")[2])


# the address of a door, and how a client begins that says no more
HALVES: dict[str, tuple[Callable[[Server], int], bytes]] = {
    "thrift": (lambda server: server.thrift, b""),
    "thrift, in a handshake": (lambda server: server.thrift, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    "connect": (lambda server: server.connect, b"PRI * HTTP/2.0\r\n"),
    "rest": (rest_port, b"GET /v1/config HTT"),
    "health": (lambda server: server.health, b"GET /hea"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("crowds")
    certificate(made)
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    """With users, TLS and all doors; and as many open files as this process may have: a crowd needs a socket each."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    options = ["--rest", free_port(), "--tls-keystore", folder / "keystore.p12"]
    try:
        with served(folder, *options, **{KEYSTORE_PASSWORD: "changeit"}) as found:
            yield found
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def check_served(server: Server, folder: Path) -> None:
    """Others are served at each door, and the health says so."""
    with client(server, folder) as made, made.cursor() as cursor:
        assert answer(cursor, "SELECT 1") == [(1,)]
    assert server.health_now()["status"] == "serving"
    with urllib.request.urlopen(f"{server.rest}/v1/config", timeout=PATIENCE) as answered:
        assert answered.status == 200


def check_connect(server: Server) -> None:
    command = [sys.executable, "-c", CLIENT, server.remote]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.stdout == "3\n", done.stderr[-3000:]


@pytest.fixture(scope="module")
def crowds() -> Iterator[ExitStack]:
    """The connections of all crowds: those of a door stay while the next door has its own."""
    with ExitStack() as made:
        yield made


@pytest.mark.parametrize("door", HALVES)
def test_half_open_connections(server: Server, folder: Path, crowds: ExitStack, door: str) -> None:
    port, said = HALVES[door][0](server), HALVES[door][1]
    for _ in range(HALF_OPEN):
        one = crowds.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
        with suppress(OSError):  # the oldest make room
            one.sendall(said)
    check_served(server, folder)
    if door == "connect":
        check_connect(server)


def test_guessers_of_passwords(server: Server, folder: Path) -> None:
    stop, right = threading.Event(), []
    client(server, folder).close()  # a password that was right is remembered

    def guess(number: int) -> None:
        while not stop.is_set():
            with suppress(TTransportException, Error, OSError, EOFError):
                client(server, folder, f"wrong {number}").close()
                right.append(number)

    guessers = [threading.Thread(target=guess, args=(number,)) for number in range(GUESSERS)]
    for one in guessers:
        one.start()
    try:
        for _ in range(3):
            check_served(server, folder)
    finally:
        stop.set()
        for one in guessers:
            one.join(PATIENCE)
    assert right == []
