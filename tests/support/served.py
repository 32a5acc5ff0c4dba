"""`paimon-sql serve` in a process of its own, for tests of its clients."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyhive import hive
from thrift.transport.TTransport import TTransportException

from paimon_sql.server.passwords import set_password
from tests.support.ports import free_port
from tests.support.waiting import PATIENCE, wait_until

RUN = ("-m", "paimon_sql", "serve")
USER, PASSWORD, TOKEN = "ann", "right", "a-token"
_CLOSED, _LOGINS = "read 0 bytes", 5  # errors that a client gets from a closed connection; the number of its attempts


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen[str]
    thrift: int
    connect: int
    health: int
    log: Path

    @property
    def remote(self) -> str:
        """Return the address for clients of Spark Connect. It has `localhost`, because PySpark sends a token without
        TLS only there.
        """
        return f"sc://localhost:{self.connect}/;token={TOKEN}"

    @property
    def rest(self) -> str:
        """Return the address of its REST catalog, if it has the option `--rest`."""
        return self.log.read_text().partition("REST: ")[2].split()[0]

    @property
    def health_address(self) -> str:
        return f"http://127.0.0.1:{self.health}/health"

    def client(self, password: str = PASSWORD, database: str = "default") -> Any:
        return thrift_session(self.thrift, password, database)

    def quiet_client(self) -> Any:
        """Return the first session of this server once `USE`, its first statement, has ended: health counts it, too."""
        client = self.client()
        self.wait_for("USE `default`")
        wait_until(lambda: self.health_now()["statements"] == 0, self.log.read_text)
        return client

    def health_now(self) -> dict[str, Any]:
        with urllib.request.urlopen(self.health_address, timeout=PATIENCE) as answer:
            return dict(json.load(answer))

    def wait_for(self, text: str, seconds: float = PATIENCE) -> str:
        """Return the log once it contains a text."""
        wait_until(lambda: text in self.log.read_text(), self.log.read_text, seconds)
        return self.log.read_text()


def thrift_session(port: int, password: str = PASSWORD, database: str = "default") -> Any:
    """Return a session. A server on a busy machine may close the first connections, because their logins
    take too long.
    """
    for _ in range(_LOGINS):
        try:
            return _session(port, password, database)
        except TTransportException as error:
            if _CLOSED not in str(error):
                raise
    return _session(port, password, database)


def _session(port: int, password: str, database: str) -> Any:
    return hive.connect("127.0.0.1", port, username=USER, password=password, database=database, auth="CUSTOM")


@contextmanager
def served(
    folder: Path, *options: object, passwords: bool = True, run: Sequence[str] = RUN, **environment: str
) -> Iterator[Server]:
    """Yield a server of JDBC and Spark Connect with a catalog in `folder/warehouse`, with a file of passwords and a
    token. `run` are the arguments of Python before the server's options.
    """
    (folder / "token").write_text(f"{TOKEN}\n")
    thrift, connect, health = free_port(), free_port(), free_port()
    words = ["--thrift", thrift, "--connect", connect, "--token-file", folder / "token", "--health", health]
    words += ["--master", "local[2]", "--driver-memory", "1g"]
    words += ["-c", "spark.sql.shuffle.partitions=2", *options]
    if passwords:
        set_password(folder / "users", USER, PASSWORD)
        words += ["--users", folder / "users"]
    log = folder / "log"
    with log.open("w") as output:
        command = [sys.executable, *run, *map(str, words)]
        process = subprocess.Popen(
            command, cwd=folder, stdout=output, stderr=output, text=True, env={**os.environ, **environment}
        )
    found = Server(process, thrift, connect, health, log)
    try:
        wait_until(lambda: "Health:" in log.read_text() or process.poll() is not None, log.read_text)
        assert process.poll() is None, log.read_text()
        yield found
    finally:
        process.kill()
        process.wait()


def answer(cursor: Any, statement: str) -> list[Any]:
    """The rows of a statement."""
    cursor.execute(statement)
    return list(cursor.fetchall()) if cursor.description else []
