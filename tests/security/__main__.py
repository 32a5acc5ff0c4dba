"""Attempts at each door of a server that only reads, and how they end: `python -m tests.security --each 5`.

Ends with an error if a file was written, changed or deleted, or if something was done that is not known to read.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.security.doors import Sight, at_connect, at_health, at_rest, at_thrift, sight_of, statements
from tests.support.ports import free_port
from tests.support.served import Server, served
from tests.support.stored import create_table, insert

DOORS = ("thrift", "connect", "rest", "health")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.security", description=__doc__)
    parser.add_argument("--doors", nargs="+", choices=DOORS, default=DOORS, help="which doors, by default all")
    parser.add_argument("--each", type=int, default=5, help="attempts with each statement class and message type")
    parser.add_argument("--requests", type=int, default=1000, help="attempts at each of the doors of HTTP")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="doors-") as name:
        folder = Path(name)
        insert(create_table(str(folder / "warehouse"), primary_key="k", bucket="1"), [(1, "a")])
        with served(folder, "--read-only", "--rest", free_port(), passwords=False) as server:
            attack(server, folder, asked)


def attack(server: Server, folder: Path, asked: argparse.Namespace) -> None:
    with server.client():
        before = sight_of(folder)
    rest = server.rest.removeprefix("http://")
    attempts: Mapping[str, Callable[[], Counter[str]]] = {
        "thrift": lambda: at_thrift(server, folder, statements(asked.seed, asked.each)),
        "connect": lambda: at_connect(server, folder, asked.seed, asked.each),
        "rest": lambda: at_rest(rest, folder, asked.seed, asked.requests),
        "health": lambda: at_health(server, asked.seed, asked.requests),
    }
    for door in asked.doors:
        said(door, attempts[door](), before, folder)


def said(door: str, ends: Counter[str], before: Sight, folder: Path) -> None:
    now = sight_of(folder)
    other = sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))
    print(
        f"{door}: {ends.total()} attempts, {dict(ends)}, files written, changed or deleted: {other or 'none'}",
        flush=True,
    )
    assert not other


if __name__ == "__main__":
    main()
