"""Many clients of `paimon-sql serve`, and sessions that come and go: what is lost, how long it takes, what stays.

`python benchmarks/server_load.py connect` (or `thrift`, `rest`): a single client's small statements, then rounds of
CLIENTS clients with STATEMENTS each, then SESSIONS sessions, each opened, used and closed. Clients that keep all
processors busy have a share of them: the ratio is the seconds below which 95 of 100 statements stay, over CLIENTS times
a single client's. After each part, what the server holds once garbage is collected. Exit status 1 where an answer was
wrong, the ratio of a round is above 2, or something grew.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.held_by_server import RUN, ask, environment, more
from tests.support.ports import free_port
from tests.support.served import answer, served
from tests.support.server_load import (
    CLIENTS,
    SETTING_UP,
    Happened,
    address_of,
    ask_many,
    come_and_go,
)

_MOST = 2  # shares of a single client's time
_PARTS = 4  # of the sessions


def told(name: str, found: Happened, began: float, share: float) -> float:
    """The ratio of a round, which is printed with its figures."""
    ordered, seconds = sorted(found.seconds), time.perf_counter() - began
    late = ordered[int(len(ordered) * 0.95)]
    print(
        f"{name}: {len(ordered)} in {seconds:.0f} s, {len(ordered) / seconds:.0f} a second, {found.wrong} wrong; median"
        f" {statistics.median(ordered):.3f} s, 95 of 100 below {late:.3f} s: {late / share:.2f} of the share",
        flush=True,
    )
    return float(late / share)


def grew(name: str, before: dict[str, int], now: dict[str, int]) -> int:
    found = more(before, now)
    print(f"  {name}: {', '.join(f'{key} {value}' for key, value in now.items())}", flush=True)
    if found:
        print(f"  more than before: {found}", flush=True)
    return len(found)


def run(given: argparse.Namespace, folder: Path) -> int:
    """How many answers were wrong, rounds were slow and figures grew."""
    failures: int = 0
    door: str = given.door
    with served(folder, "--rest", free_port(), run=RUN, **environment(folder)) as server:
        address = address_of(server, door)
        with server.client() as client, client.cursor() as cursor:
            for statement in SETTING_UP:
                answer(cursor, statement)
        ask_many(door, address, given.clients, 10)  # what is there once is there then
        began = time.perf_counter()
        alone = ask_many(door, address, 1, given.statements)
        single = statistics.median(alone.seconds)
        told("one client", alone, began, single)
        come_and_go(door, address, given.clients)
        before = ask(folder)
        failures += grew("at first", before, before) + alone.wrong
        for number in range(given.rounds):
            began = time.perf_counter()
            found = ask_many(door, address, given.clients, given.statements)
            ratio = told(f"{given.clients} clients", found, began, given.clients * single)
            failures += int(found.wrong) + int(ratio > _MOST) + grew(f"after round {number + 1}", before, ask(folder))
        for number in range(_PARTS if given.sessions else 0):
            began = time.perf_counter()
            found = come_and_go(door, address, given.sessions // _PARTS)
            told("sessions", found, began, 4 * single)
            after = f"after {(number + 1) * (given.sessions // _PARTS)} sessions"
            failures += found.wrong + grew(after, before, ask(folder))
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(60)
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("door", choices=CLIENTS)
    for name, number in {"clients": 16, "statements": 200, "rounds": 2, "sessions": 1000}.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="server-load-") as folder:
        failures = run(given, Path(folder))
    print("Nothing was lost, mixed up or left behind." if not failures else f"{failures} faults")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
