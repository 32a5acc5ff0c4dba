"""Clients of each protocol of `paimon-sql serve`, which send many small requests, or connect and disconnect.

`python -m tests.support.server_load DOOR ADDRESS CLIENTS STATEMENTS SESSIONS` prints the results as JSON. It is another
process, because PySpark cannot have a client of Spark Connect beside its own Spark.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_sql.catalog.load import load_catalog
from tests.support.served import Server, thrift_session

TABLES = 4
SETTING_UP = [
    "CREATE TABLE t (k INT, v STRING) WITH ('primary-key' = 'k', 'bucket' = '1')",
    "INSERT INTO t VALUES (0, 'v0'), (1, 'v1'), (2, 'v2'), (3, 'v3')",
    *(f"CREATE TABLE t{i} (k INT, v STRING) WITH ('primary-key' = 'k', 'bucket' = '{i + 1}')" for i in range(TABLES)),
]
Ask = Callable[[int], bool]  # sends a request that belongs to a number; returns whether the answer was right


@dataclass(frozen=True)
class Happened:
    """The seconds of each statement, and the number of wrong answers."""

    seconds: tuple[float, ...]
    wrong: int


@contextmanager
def thrift_client(address: str) -> Iterator[Ask]:
    with thrift_session(int(address)) as client, client.cursor() as cursor:
        cursor.execute("SET spark.sql.shuffle.partitions = 3")

        def ask(number: int) -> bool:
            cursor.execute(_statement(number))
            return bool(list(cursor.fetchall()) == [_answer(number)])

        yield ask


@contextmanager
def connect_client(address: str) -> Iterator[Ask]:
    from pyspark.sql import SparkSession  # noqa: PLC0415  the REST catalog's client needs none

    session: Any = SparkSession.builder.remote(address).create()
    try:
        session.conf.set("spark.sql.shuffle.partitions", "3")
        session.range(1).createTempView("mine")
        yield lambda number: [tuple(row) for row in session.sql(_statement(number)).collect()] == [_answer(number)]
    finally:
        session.client.release_session()
        session.client.close()


@contextmanager
def rest_client(address: str) -> Iterator[Ask]:
    catalog = load_catalog({"metastore": "rest", "uri": address})

    def ask(number: int) -> bool:
        schema: TableSchema = catalog.load_table(Identifier("default", f"t{number % TABLES}")).schema
        return schema.options["bucket"] == str(number % TABLES + 1)

    yield ask


CLIENTS: dict[str, Any] = {"thrift": thrift_client, "connect": connect_client, "rest": rest_client}


def _statement(number: int) -> str:
    return f"SELECT v, {number} AS n FROM t WHERE k = {number % TABLES}"


def _answer(number: int) -> tuple[str, int]:
    return f"v{number % TABLES}", number


def ask_many(door: str, address: str, clients: int, statements: int) -> Happened:
    """Run clients at the same time, each with `statements` statements. Return the results."""

    def work(client: int) -> Happened:
        taken, wrong = [], 0
        with CLIENTS[door](address) as ask:
            ask(0)
            for number in range(client * statements, (client + 1) * statements):
                began = time.perf_counter()
                wrong += not ask(number)
                taken.append(time.perf_counter() - began)
        return Happened(tuple(taken), wrong)

    return _together(clients, work, range(clients))


def come_and_go(door: str, address: str, sessions: int) -> Happened:
    """Open sessions, four at a time, use each once and close it. Return the results."""

    def work(number: int) -> Happened:
        began = time.perf_counter()
        with CLIENTS[door](address) as ask:
            wrong = not ask(number)
        return Happened((time.perf_counter() - began,), int(wrong))

    return _together(4, work, range(sessions))


def _together(threads: int, work: Callable[[int], Happened], numbers: range) -> Happened:
    with ThreadPoolExecutor(threads) as pool:
        done = list(pool.map(work, numbers))
    return Happened(tuple(s for one in done for s in one.seconds), sum(one.wrong for one in done))


def in_a_process(door: str, address: str, clients: int, statements: int, sessions: int) -> Happened:
    """Run the clients, then the sessions, in another process. Raises `CalledProcessError` if that fails."""
    words = [door, address, *map(str, (clients, statements, sessions))]
    command = [sys.executable, "-m", "tests.support.server_load", *words]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True, timeout=3600)
    return Happened(**json.loads(done.stdout.splitlines()[-1]))


def address_of(server: Server, door: str) -> str:
    """Return the address of a protocol of a server, as its clients take it."""
    return {"thrift": str(server.thrift), "connect": server.remote, "rest": server.rest}[door]


def main(door: str, address: str, *sizes: str) -> None:
    clients, statements, sessions = map(int, sizes)
    many, gone = ask_many(door, address, clients, statements), come_and_go(door, address, sessions)
    print(json.dumps(asdict(Happened(many.seconds + gone.seconds, many.wrong + gone.wrong))))


if __name__ == "__main__":
    main(*sys.argv[1:])
