"""The choice of the gate: the tests of the largest suites that every change must pass, the same on every day.

`make test` runs the tests with the mark `gate`, `make test-all` runs everything. Of the suites below the gate has the
first few tests of some kinds, ordered by a checksum of their names: a new test moves few others. The kind of a test is
its function and the first word of its case. The choice of a folder is made in each of its files, so every file has
tests in the gate. All other tests are in the gate. If you change the subject of a suite, run the whole suite.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from zlib import crc32

import pytest


@dataclass(frozen=True, slots=True)
class Choice:
    """The first `cases` tests of each kind, for one of `of` kinds."""

    cases: int = 1
    of: int = 1


NONE = Choice(cases=0)
WHOLE = Choice(cases=10_000)
# by file, folder or function; the longest name counts
CHOSEN: Mapping[str, Choice] = {
    "dbt-paimon/tests/test_cluster.py": Choice(of=3),
    "dbt-paimon/tests/test_example.py": Choice(of=2),
    "dbt-paimon/tests/test_servers.py": Choice(of=2),
    "tests/catalogs": Choice(of=2),
    "tests/catalogs/test_contract.py": WHOLE,
    "tests/catalogs/test_crashes.py": Choice(of=3),
    "tests/catalogs/test_hive_iceberg.py": Choice(of=4),
    "tests/catalogs/test_iceberg_rest.py": Choice(of=2),
    "tests/catalogs/test_locks.py": Choice(of=2),
    "tests/catalogs/test_races.py": Choice(of=2),
    "tests/cluster/test_local_cluster.py": Choice(of=2),
    "tests/cluster/test_standalone.py": Choice(of=3),
    "tests/conformance": Choice(of=8),
    "tests/conformance/test_conformance.py::test_the_list_names_cases": Choice(),
    "tests/faults/test_damaged_files.py": Choice(),
    "tests/faults/test_every_call.py": Choice(),
    "tests/faults/test_kill_upkeep.py": Choice(of=6),
    "tests/faults/test_killed_processes.py": Choice(of=5),
    "tests/faults/test_killed_writers.py": NONE,
    "tests/interop": NONE,
    "tests/interop/test_blobs.py::test_values_in_files_of_their_own": Choice(of=2),
    "tests/interop/test_bucket_modes.py::test_dynamic_buckets_written_alternately": Choice(),
    "tests/interop/test_changelogs.py::test_each_reads_what_both_wrote": Choice(of=4),
    "tests/interop/test_deletion_vectors.py::test_deletes_by_both_engines": Choice(of=5),
    "tests/interop/test_formats.py::test_values": Choice(of=4),
    "tests/interop/test_global_indexes.py::test_indexes_of_one_serve_the_other": Choice(of=2),
    "tests/interop/test_merge_engines.py::test_merges_are_the_same": Choice(of=8),
    "tests/interop/test_key_indexes.py::test_both_write_and_compact": Choice(of=2),
    "tests/interop/test_options.py::test_the_latest_snapshot_wins": Choice(),
    "tests/interop/test_row_tracking.py::test_ids_and_versions": Choice(of=2),
    "tests/interop/test_schema_changes.py::test_both_read_what_was_written_before": Choice(of=4),
    "tests/interop/test_streams.py::test_java_reads_what_our_streams_wrote": Choice(),
    "tests/interop/test_tables.py::test_engines_write_alternately": Choice(of=5),
    "tests/interop/test_types.py::test_values_and_filters": Choice(of=4),
    "tests/interop/test_upkeep.py::test_java_reads_after_every_procedure": Choice(),
    "tests/interop/test_vectors.py::test_rows_of_both": Choice(of=5),
    "tests/interop/zoo/test_zoo.py::test_rows_are_those_that_the_writer_reads": Choice(cases=8),
    "tests/interop/zoo/test_zoo.py::test_the_table_goes_on": Choice(cases=3),
    "tests/server": Choice(cases=2, of=2),
    "tests/server/test_hanging_driver.py": Choice(of=2),
    "tests/server/test_limits.py": Choice(of=3),
    "tests/server/test_load.py": Choice(of=3),
    "tests/server/test_survival.py": Choice(of=2),
    "tests/simulation/test_simulation.py::test_histories": Choice(of=5),
    "tests/spark": Choice(cases=2, of=2),
    "tests/spark/test_differential.py": Choice(of=2),
    "tests/spark/test_every_statement.py": Choice(of=2),
    "tests/spark/test_failed_statements.py": Choice(of=3),
    "tests/spark/test_golden.py": Choice(of=3),
    "tests/spark/test_golden.py::test_lists_name_what_exists": Choice(),
    "tests/spark/test_hooks.py::test_filters": Choice(of=3),
    "tests/spark/test_long_session.py": Choice(of=2),
    "tests/spark/test_query_auth.py": Choice(of=2),
    "tests/spark/test_query_matrix.py": Choice(of=2),
    "tests/spark/test_row_level.py": Choice(of=2),
    "tests/spark/test_statement_places.py": Choice(of=2),
    "tests/spark/test_streaming_sink.py": Choice(of=2),
    "tests/spark/test_streaming_source.py": Choice(of=2),
}


def gate_of(tests: Iterable[str], chosen: Mapping[str, Choice] = CHOSEN) -> frozenset[str]:
    """The tests, by id, that are in the gate."""
    suites: dict[tuple[str, str], dict[tuple[str, str], list[str]]] = defaultdict(lambda: defaultdict(list))
    found = set()
    for test in tests:
        suite = suite_of(test, chosen)
        if suite is None:
            found.add(test)
        else:
            suites[suite, test.partition("::")[0]][kind_of(test)].append(test)
    for (suite, _), kinds in suites.items():
        choice = chosen[suite]
        for kind in sorted(kinds, key=_order)[: -(-len(kinds) // choice.of)]:
            found.update(sorted(kinds[kind], key=_order)[: choice.cases])
    return frozenset(found)


def _order(name: str | tuple[str, str]) -> tuple[int, str]:
    text = str(name)
    return crc32(text.encode()), text


def suite_of(test: str, chosen: Mapping[str, Choice] = CHOSEN) -> str | None:
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
