"""Which tests of the largest suites a run has: a share of them, or all.

A test of a suite is in exactly one of its parts, by its name alone, so that a new one moves no other. Those that look
whether a list is complete are in all parts: what is added anywhere breaks them.
PAIMON_SQL_SHARE=S, a number, runs part S modulo the number of parts of each suite, and S/3 does so of three times as
many parts; without the variable everything runs. `make test` gives the number of the day, and `make test-versions`
three numbers a day of parts a third as large, one for each Spark: two weeks' gates run every part.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from zlib import crc32

import pytest

VARIABLE = "PAIMON_SQL_SHARE"

# by file, folder or function, into how many parts: 14 at most, the days of two weeks. Fewer for what a change breaks
# more easily; what it breaks most easily is in none. The nightly run has everything
SUITES: Mapping[str, int] = {
    "dbt-paimon/tests/test_cluster.py": 3,
    "dbt-paimon/tests/test_example.py": 2,
    "dbt-paimon/tests/test_servers.py": 2,
    "tests/catalogs/test_crashes.py": 7,
    "tests/catalogs/test_hive_iceberg.py": 4,
    "tests/catalogs/test_iceberg_rest.py": 2,
    "tests/catalogs/test_locks.py": 2,
    "tests/catalogs/test_races.py": 2,
    "tests/cluster/test_standalone.py": 14,
    "tests/conformance": 14,
    "tests/faults/test_damaged_files.py": 7,
    "tests/faults/test_every_call.py": 14,
    "tests/faults/test_kill_upkeep.py": 7,
    "tests/faults/test_killed_processes.py": 7,
    "tests/faults/test_killed_writers.py": 4,
    "tests/interop": 14,
    "tests/server/test_limits.py": 3,
    "tests/server/test_load.py": 3,
    "tests/spark/test_bad_input.py": 2,
    "tests/spark/test_differential.py": 2,
    "tests/spark/test_every_statement.py": 2,
    "tests/spark/test_failed_statements.py": 3,
    "tests/spark/test_golden.py": 14,
    "tests/spark/test_hooks.py::test_filters": 3,
    "tests/spark/test_long_session.py": 7,
    "tests/spark/test_query_auth.py": 2,
    "tests/spark/test_query_matrix.py": 2,
    "tests/spark/test_row_level.py": 3,
    "tests/spark/test_streaming_sink.py": 3,
    "tests/spark/test_streaming_source.py": 3,
}
# of these suites, by id: whether all that there is has a case, and lists name what there is
IN_EVERY_PART = frozenset(
    (
        "tests/conformance/test_conformance.py::test_the_list_names_cases",
        "tests/faults/test_damaged_files.py::test_every_file_of_the_corpus_is_read",
        "tests/faults/test_every_call.py::test_every_procedure_is_a_statement",
        "tests/interop/test_upkeep.py::test_java_reads_after_every_procedure",
        "tests/spark/test_golden.py::test_lists_name_what_exists",
    )
)


@dataclass(frozen=True, slots=True)
class Share:
    """One part of each suite, of `finer` times as many as SUITES says."""

    number: int
    finer: int = 1

    @classmethod
    def asked(cls) -> Share | None:
        """What the environment asks for, None for everything."""
        number, _, finer = os.environ.get(VARIABLE, "").partition("/")
        return cls(int(number), int(finer or 1)) if number else None

    def has(self, test: str) -> bool:
        """Whether it has a test, by its id. Every share has those of no suite, and of every part."""
        suite = suite_of(test)
        if suite is None:
            return True
        parts = SUITES[suite] * self.finer
        return crc32(test.encode()) % parts == self.number % parts

    def __str__(self) -> str:
        """For people: how to run it again, and what it has."""
        given = f"{VARIABLE}={self.number}" + (f"/{self.finer}" if self.finer > 1 else "")
        sizes = {suite: parts * self.finer for suite, parts in SUITES.items()}
        return f"{given} runs: " + ", ".join(f"part {self.number % n} of {n} of {s}" for s, n in sizes.items())


def suite_of(test: str) -> str | None:
    """The suite that has a part with a test, by its id; None for a test that is in every share."""
    file, function = test.partition("::")[0], test.partition("[")[0]
    if test in IN_EVERY_PART:
        return None
    return next((s for s in SUITES if s in (file, function) or file.startswith(f"{s}/")), None)


def select_share(config: pytest.Config, items: list[pytest.Item], folder: str = "") -> None:
    """Leave out of a run the tests that the share which the environment asks for has not; `folder` is where the ids of
    `items` begin, "" for the repository."""
    share = Share.asked()
    if share is not None:
        config.hook.pytest_deselected(items=[item for item in items if not share.has(folder + item.nodeid)])
        items[:] = [item for item in items if share.has(folder + item.nodeid)]
