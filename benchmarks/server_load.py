"""Many clients of `paimon-sql serve`, and sessions that come and go: what is lost, how long it takes, what stays.

`python benchmarks/server_load.py connect` (or `thrift`): rounds of CLIENTS clients with STATEMENTS small queries each,
a single client's before them, then SESSIONS sessions, each opened, used and closed. After each part, what the server
holds: threads, open files, memory, sessions and Python's proxies in its JVM after a collection (`jmap` of a JDK).
Exit status 1 where an answer was wrong.
"""

from __future__ import annotations

import argparse
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from pyspark.sql import SparkSession

from tests.support.served import Server, served

_COUNTED = {
    "sessions": ("org.apache.spark.sql.classic.SparkSession",),
    "proxies": ("py4j.reflection.PythonProxyHandler",),
}
Ask = Callable[[str], list[Any]]


@contextmanager
def thrift_client(server: Server) -> Iterator[Ask]:
    with server.client() as client, client.cursor() as cursor:

        def ask(statement: str) -> list[Any]:
            cursor.execute(statement)
            return list(cursor.fetchall())

        yield ask


@contextmanager
def connect_client(server: Server) -> Iterator[Ask]:
    session: Any = SparkSession.builder.remote(server.remote).create()
    try:
        yield lambda statement: [tuple(row) for row in session.sql(statement).collect()]
    finally:
        session.client.release_session()
        session.client.close()


CLIENTS: dict[str, Any] = {"thrift": thrift_client, "connect": connect_client}


def ask_many(server: Server, door: str, number: int, statements: int) -> tuple[list[float], int]:
    """The seconds of each statement of one client, and how many answers were wrong."""
    times, wrong = [], 0
    with CLIENTS[door](server) as ask:
        ask("SELECT 1")
        for i in range(statements):
            began = time.perf_counter()
            wrong += ask(f"SELECT v, {number * statements + i} AS n FROM t WHERE k = {i % 4}") != [
                (f"v{i % 4}", number * statements + i)
            ]
            times.append(time.perf_counter() - began)
    return times, wrong


def come_and_go(server: Server, door: str, sessions: int) -> int:
    """How many sessions, of some that are opened, used and closed, were answered wrongly."""

    def work(number: int) -> int:
        with CLIENTS[door](server) as ask:
            ask("SET spark.sql.shuffle.partitions = 3")
            return int(ask(f"SELECT count(*) + {number} FROM t") != [(4 + number,)])

    with ThreadPoolExecutor(4) as threads:
        return sum(threads.map(work, range(sessions)))


def held(server: Server) -> str:
    """What the server's two processes hold now."""
    python = psutil.Process(server.process.pid)
    java = next(p for p in python.children(recursive=True) if "SparkSubmit" in " ".join(p.cmdline()))
    found = subprocess.run(["jmap", "-histo:live", str(java.pid)], capture_output=True, text=True, check=False).stdout
    counts = {name: sum(int(m) for c in of for m in _instances(found, c)) for name, of in _COUNTED.items()}
    of_heap = re.search(r"^Total\s+\d+\s+(\d+)", found, re.M)
    heap = int(of_heap[1]) >> 20 if of_heap else 0
    return (
        f"JVM {java.num_threads()} threads, {java.num_fds()} files, {heap} MB live; Python {python.num_threads()}"
        f" threads, {python.num_fds()} files, {python.memory_info().rss >> 20} MB; in the JVM {counts['sessions']}"
        f" sessions, {counts['proxies']} proxies"
    )


def _instances(histogram: str, name: str) -> list[str]:
    return re.findall(rf"^\s*\d+:\s+(\d+)\s+\d+\s+{re.escape(name)}(?:\s|$)", histogram, re.M)


def told(name: str, times: list[float], seconds: float) -> None:
    ordered = sorted(times)
    print(
        f"{name}: {len(times)} statements in {seconds:.0f} s, {len(times) / seconds:.0f} a second; median"
        f" {statistics.median(times):.3f} s, 95 of 100 below {ordered[int(len(ordered) * 0.95)]:.3f} s",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("door", choices=CLIENTS)
    for name, number in {"clients": 16, "statements": 200, "rounds": 2, "sessions": 1000}.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    given, wrong = parser.parse_args(), 0
    numbers = range(given.clients)
    with tempfile.TemporaryDirectory(prefix="server-load-") as folder, served(Path(folder)) as server:
        with CLIENTS[given.door](server) as ask:
            ask("CREATE TABLE t (k INT, v STRING) WITH ('primary-key' = 'k', 'bucket' = '1')")
            ask("INSERT INTO t VALUES (0, 'v0'), (1, 'v1'), (2, 'v2'), (3, 'v3')")
        began = time.perf_counter()
        alone, mistakes = ask_many(server, given.door, 0, given.statements)
        told("one client", alone, time.perf_counter() - began)
        wrong += mistakes
        for round_ in range(given.rounds):
            began = time.perf_counter()
            with ThreadPoolExecutor(given.clients) as threads:
                done = list(threads.map(lambda n: ask_many(server, given.door, n, given.statements), numbers))
            told(f"{given.clients} clients", [t for times, _ in done for t in times], time.perf_counter() - began)
            wrong += sum(mistakes for _, mistakes in done)
            print(f"  after round {round_ + 1}: {held(server)}", flush=True)
        for part in range(4 if given.sessions else 0):
            wrong += come_and_go(server, given.door, given.sessions // 4)
            print(f"  after {(part + 1) * (given.sessions // 4)} sessions: {held(server)}", flush=True)
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(60)
    print(f"{wrong} wrong answers")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
