"""The choice of the gate: which tests of the largest suites every change must pass, the same on every day.

`make test` runs the tests with the mark `gate`, `make test-all` runs everything. A test of a suite below is in the gate
if it is one of the first few of its kind, ordered by a checksum of their names: a new test moves at most one out of it.
The kind of a test is its function and the first word of its case, so the gate has each function and each sort of case.
All other tests are in the gate. If you change the subject of a suite, run the whole suite.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from zlib import crc32

import pytest

# by file, folder or function, the tests of each kind that are in the gate; the longest name counts
CHOSEN: Mapping[str, int] = {
    "dbt-paimon/tests/test_cluster.py": 1,
    "dbt-paimon/tests/test_example.py": 1,
    "dbt-paimon/tests/test_servers.py": 1,
    "tests/catalogs/test_crashes.py": 1,
    "tests/catalogs/test_hive_iceberg.py": 1,
    "tests/catalogs/test_iceberg_rest.py": 1,
    "tests/catalogs/test_locks.py": 1,
    "tests/catalogs/test_races.py": 2,
    "tests/conformance": 3,
    "tests/faults/test_damaged_files.py": 2,
    "tests/faults/test_every_call.py": 1,
    "tests/faults/test_kill_upkeep.py": 2,
    "tests/faults/test_killed_processes.py": 1,
    "tests/interop": 0,
    "tests/spark/test_golden.py": 1,
}


def gate_of(tests: Iterable[str], chosen: Mapping[str, int] = CHOSEN) -> frozenset[str]:
    """The tests, by id, that are in the gate."""
    kinds: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    found = set()
    for test in tests:
        suite = suite_of(test, chosen)
        if suite is None:
            found.add(test)
        else:
            kinds[suite, *kind_of(test)].append(test)
    for (suite, *_), mine in kinds.items():
        found.update(sorted(mine, key=lambda test: (crc32(test.encode()), test))[: chosen[suite]])
    return frozenset(found)


def suite_of(test: str, chosen: Mapping[str, int] = CHOSEN) -> str | None:
    """The suite of a test, by its id; None for a test of no suite, which is always in the gate."""
    file, function = test.partition("::")[0], test.partition("[")[0]
    mine = [suite for suite in chosen if suite in (file, function) or file.startswith(f"{suite}/")]
    return max(mine, key=len, default=None)


def kind_of(test: str) -> tuple[str, str]:
    """The function of a test, and the first word of its case."""
    function, _, case = test.partition("[")
    word = re.match(r"(\w+/)?[^\W_]+", case)
    return function, word[0] if word else ""


def mark_gate(config: pytest.Config, items: list[pytest.Item], folder: str = "") -> None:
    """Mark the tests of the gate; `folder` is the prefix of ids of `items`, "" for the repository."""
    config.addinivalue_line("markers", "gate: must pass before a change is merged (tests/support/gate.py)")
    gate = gate_of(folder + item.nodeid for item in items)
    for item in items:
        if folder + item.nodeid in gate:
            item.add_marker(pytest.mark.gate)
