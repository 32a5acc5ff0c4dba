"""The choice of the gate: the tests that every change must pass, the same on every day.

`make test` runs the tests with the mark `gate`, `make test-all` runs everything. A test is in the gate, unless a table
below says otherwise:

- `CHOSEN` names the suites that take long. The gate has the first few tests of some kinds of these, in each file anew.
  The kind of a test is its function and the first word of its case. A checksum of the names makes the order, so that
  a new test moves few others.
- `LEFT_OUT` names the slowest tests. For each it names a test of the gate that finds most of the same faults.

So each file has a test in the gate, except the files of `NONE` and the files with nothing but tests of `LEFT_OUT`. If
you change the subject of a suite, run the whole suite.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from zlib import crc32

import pytest


@dataclass(frozen=True, slots=True)
class Choice:
    """The first `cases` tests of each kind, for one of `of` kinds; and all cases with the first word `always`."""

    cases: int = 1
    of: int = 1
    always: str = ""


NONE = Choice(cases=0)
WHOLE = Choice(cases=10_000)
# by file, folder or function; the longest name counts
CHOSEN: Mapping[str, Choice] = {
    # dbt starts a JVM for each project
    "dbt-paimon/tests/test_cluster.py": Choice(of=3),
    "dbt-paimon/tests/test_example.py": Choice(of=2),
    "dbt-paimon/tests/test_servers.py": Choice(of=2),
    # six kinds of catalogs, four of them behind servers: all cases on the quickest kind, a part on each other kind
    "tests/catalogs": Choice(of=8, always="filesystem"),
    "tests/catalogs/test_contract.py": Choice(of=7, always="filesystem"),
    "tests/catalogs/test_crashes.py": Choice(of=6, always="filesystem"),
    # each file starts a cluster
    "tests/cluster": Choice(of=3),
    # a case takes seconds; the golden tables, the pages and the unit tests use the same code
    "tests/conformance": Choice(of=20),
    "tests/conformance/test_stock_shell.py": Choice(of=4),
    "tests/conformance/test_conformance.py::test_the_list_names_cases": WHOLE,
    "tests/conformance/test_stock_server.py": NONE,
    "tests/conformance/test_stock_server.py::test_python_is_killed_in_a_merge": WHOLE,
    # a test kills a process at each of its steps, or waits for it
    "tests/faults": Choice(of=4),
    "tests/faults/test_kill.py": Choice(of=4),
    "tests/faults/test_kill_upkeep.py": Choice(of=4),
    "tests/faults/test_killed_writers.py": NONE,
    # a case calls a method with each wrong argument, or reads a table with each damage
    "tests/unit/python/test_raised_errors.py": Choice(of=8),
    "tests/unit/python/test_raised_errors.py::test_every_public_method_has_a_case": WHOLE,
    "tests/unit/python/test_raised_errors.py::test_types_of_arguments_are_named": WHOLE,
    # Java takes seconds for each case: one case for a part of the format; the tables of the zoo need no JVM
    "tests/interop": NONE,
    "tests/interop/test_formats.py::test_values": Choice(of=4),
    "tests/interop/test_merge_engines.py::test_merges_are_the_same": Choice(of=8),
    "tests/interop/test_options.py::test_the_latest_snapshot_wins": WHOLE,
    "tests/interop/test_tables.py::test_engines_write_alternately": Choice(of=5),
    "tests/interop/zoo/test_zoo.py::test_rows_are_those_that_the_writer_reads": Choice(cases=8),
    "tests/interop/zoo/test_zoo.py::test_the_table_goes_on": Choice(cases=2),
    # servers start, and their clients wait
    "tests/security/test_long_statements.py": Choice(of=3),
    "tests/security/test_read_only_server.py": Choice(of=6),
    "tests/server": Choice(of=3),
    "tests/server/test_pipelines_on_a_server.py": NONE,
    "tests/server/test_remote_frames.py": NONE,
    "tests/server/test_serve.py": Choice(of=6),
    # a history takes ten seconds; histories that failed once and planted bugs are all there
    "tests/simulation/test_simulation.py::test_histories": NONE,
    # three object stores, each with every kind of call; unit tests of the storages have the same kinds
    "tests/storages": Choice(of=2),
    # processes of their own commit, some seconds for each case
    "tests/storages/test_commits_through_faults.py": Choice(),
    # Spark takes a second for a statement; the functions that decide have unit tests
    "tests/spark": Choice(of=14),
    "tests/spark/test_differential.py": Choice(of=2),
    "tests/spark/test_failed_statements.py": NONE,
    # each way of writing, for each kind of table
    "tests/spark/test_generated_columns.py::test_every_write_makes_the_values": Choice(of=8),
    "tests/spark/test_generated_columns.py::test_every_write_checks_the_values": Choice(of=6),
    "tests/spark/test_golden.py": Choice(of=6),
    "tests/spark/test_golden.py::test_lists_name_what_exists": WHOLE,
    # `make campaign NAME=versions` runs these, too: Spark's hooks differ between its versions
    "tests/spark/test_hooks.py": Choice(cases=1, of=5),
    "tests/spark/test_hooks.py::test_every_method_that_spark_can_call_is_there": WHOLE,
    "tests/spark/test_hooks.py::test_filters": NONE,
    "tests/spark/test_text_search.py::test_texts_that_match": WHOLE,
    # a millisecond each
    "tests/spark/test_preprocess_parses.py": Choice(cases=2, of=2),
    # a browser loads a dozen pages for each width, and the keys go through each page
    "tests/unit/server/ui/test_browser.py": Choice(),
    # histories, models and interleavings, without a JVM
    "tests/unit/catalog/privileges/test_catalog.py": Choice(of=2),
    "tests/unit/commit/test_commit.py::test_a_commit_does_not_land_in_a_new_table_of_the_same_name": Choice(of=6),
    "tests/unit/maintenance/orphans/test_histories.py": Choice(of=6),
    "tests/unit/maintenance/test_advance.py": Choice(of=2),
    "tests/unit/maintenance/test_bad_tags.py": Choice(of=3),
    "tests/unit/maintenance/test_model.py": Choice(of=2),
    "tests/unit/manifests/test_bombs.py": Choice(of=2),
    "tests/unit/procedures/test_dry_runs.py::test_operations_on_versions": Choice(of=3),
    "tests/unit/procedures/test_partition_texts.py": Choice(of=3),
    "tests/unit/scan/streams/test_histories.py": Choice(of=3),
    "tests/unit/scan/test_moments_as_texts.py": Choice(of=3),
    "tests/unit/write/buckets/test_dynamic.py": Choice(of=2),
    "tests/unit/write/compaction/test_merge_on_write.py": Choice(of=2),
    "tests/unit/write/test_engine_histories.py": Choice(),
    "tests/unit/write/test_key_value.py": Choice(of=2),
    "tests/unit/write/test_key_value.py::test_a_full_buffer_is_spilled_while_there_is_room": Choice(of=7),
    # servers of two dialects, storages that answer late, and large files
    "tests/unit/io/objects/test_large_files.py": Choice(of=6),
    "tests/unit/io/objects/test_obs_and_cos.py": Choice(of=3),
    "tests/unit/io/objects/test_store.py": Choice(of=4),
    "tests/unit/io/test_cached.py": Choice(of=3),
    "tests/unit/maintenance/test_on_object_stores.py": Choice(of=3),
    "tests/unit/maintenance/test_storage_check.py::test_an_object_store": Choice(),
    "tests/unit/store/blob/test_presigned.py": Choice(of=4),
    "tests/unit/test_requests.py": Choice(of=2),
    # programs of their own, pictures of a large table, and each shape of a VARIANT
    "tests/unit/pictures/test_flights.py": NONE,
    "tests/unit/python/test_examples.py": Choice(of=3),
    "tests/unit/python/test_notebook.py": Choice(of=2),
    "tests/unit/formats/test_variant_columns.py::test_files_have_no_more_levels_than_are_read": Choice(of=4),
    # all pages of docs/ run in `make test-all`
    "tests/sql/test_docs.py::test_page": Choice(of=12),
    "tests/sql/test_examples.py": Choice(of=2),
}
# by file, function or case: the test that stays for it
LEFT_OUT: Mapping[str, str] = {
    # a minute of waiting for locks that expire
    "tests/catalogs/test_locks.py::test_a_holder_that_is_killed_elsewhere_delays_others_by_its_expiry": (
        "tests/unit/catalog/test_leases.py::test_the_lock_of_a_holder_elsewhere_is_not_free"
    ),
    # a lock expires while its holder is frozen
    "tests/catalogs/test_locks.py::test_a_holder_that_was_frozen_does_not_commit[mariadb]": (
        "tests/catalogs/test_locks.py::test_a_holder_that_was_frozen_does_not_commit[postgresql]"
    ),
    # the metastore is slow, and keeps such definitions in its database
    "tests/catalogs/test_views.py::test_a_definition_that_is_too_long[hive]": (
        "tests/catalogs/test_views.py::test_a_definition_that_is_too_long[filesystem]"
    ),
    "tests/catalogs/test_views.py::test_one_of_many_creates[hive]": (
        "tests/catalogs/test_views.py::test_one_of_many_creates[filesystem]"
    ),
    # a cluster that loses tasks, beside one that does not
    "tests/cluster/test_local_cluster.py": "tests/cluster/test_standalone.py::test_spark_submit",
    **dict.fromkeys(
        ("tests/cluster/test_standalone.py::test_a_job", "tests/cluster/test_standalone.py::test_the_shell"),
        "tests/cluster/test_standalone.py::test_spark_submit",
    ),
    "tests/faults/test_damaged_files.py::test_mutants[2000]": "tests/faults/test_damaged_files.py::test_mutants[100]",
    # a driver starts twice
    "tests/faults/test_killed_readers.py": (
        "tests/unit/scan/streams/test_histories.py::test_a_stream_that_dies_and_goes_on_has_the_rows_of_the_table"
        "[dynamic lookup]"
    ),
    # eight writers, killed again and again
    "tests/faults/test_killed_processes.py": "tests/faults/test_kill.py::test_every_operation[append-1]",
    # the purge has ten times the steps of the others
    **dict.fromkeys(
        (f"tests/faults/test_kill_upkeep.py::test_killed_at_every_change[purge-{part}]" for part in range(4)),
        "tests/faults/test_kill_upkeep.py::test_killed_at_every_change[remove orphans-0]",
    ),
    "tests/faults/test_slow_storage.py::test_sixteen_writers": (
        "tests/faults/test_slow_storage.py::test_every_writer_commits"
    ),
    # Java's indexes of keyed tables, which unit tests write themselves
    "tests/interop/test_key_indexes.py": (
        "tests/unit/commit/test_key_indexes.py::test_only_changed_levels_lose_their_index"
    ),
    # servers that do not answer, until they are killed
    **dict.fromkeys(
        (
            "tests/server/test_hanging_driver.py::test_a_driver_that_is_stopped",
            "tests/server/test_hanging_driver.py::test_a_statement_that_never_ends[endless]",
        ),
        "tests/server/test_hanging_driver.py::test_a_statement_that_never_ends[blocked]",
    ),
    # a driver allocates gigabytes until it ends
    "tests/server/test_survival.py::test_a_server_without_memory_ends": (
        "tests/unit/server/test_watching.py::test_a_driver_that_has_ended_ends_the_server"
    ),
    # a server of its own
    "tests/security/test_read_only_server.py::test_a_warehouse_that_gets_users": (
        "tests/security/test_read_only_lists.py::test_warehouses_that_get_users"
    ),
    # a server's statements are waited for until they have run for a minute
    "tests/server/test_limits.py::test_a_client_of_spark_connect": (
        "tests/server/test_limits.py::test_answers_of_too_many_rows_are_refused"
    ),
    "tests/server/test_limits.py::test_a_session_runs_so_many_statements": (
        "tests/server/test_limits.py::test_statements_that_write_are_refused"
    ),
    # gigabytes of answers
    "tests/server/test_survival.py::test_answers_larger_than_the_memory": (
        "tests/server/test_survival.py::test_answers_of_all_kinds_in_parts"
    ),
    "tests/server/test_survival.py::test_answers_over_connect_that_are_larger_than_the_memory": (
        "tests/server/test_remote_frames.py::test_frames_of_a_remote_client[tables]"
    ),
    "tests/server/test_survival.py::test_many_answers_that_nobody_fetches": (
        "tests/server/test_survival.py::test_answers_of_all_kinds_in_parts"
    ),
    # several runs of a pipeline, each with a driver of its own
    "tests/server/test_pipelines.py::test_a_killed_audit_goes_on_after_its_rows_were_published": (
        "tests/unit/maintenance/test_advance.py::test_a_killed_publication_goes_on"
    ),
    **dict.fromkeys(
        (
            f"tests/server/test_pipelines.py::test_{name}"
            for name in (
                "a_killed_run_loses_and_doubles_nothing",
                "changes_are_applied_in_the_order_of_their_numbers",
                "several_flows_a_sink_and_refreshes_of_some_tables",
                "the_example",
            )
        ),
        "tests/server/test_pipelines.py::test_a_dry_run_reports_a_wrong_definition",
    ),
    # what eight clients leave behind in a server
    "tests/server/test_load.py": "tests/server/test_serve.py::test_clients_at_the_same_time",
    # crowds at each door of a server with TLS, of its own
    "tests/server/test_crowds.py::test_half_open_connections": (
        "tests/unit/server/test_waiting.py::test_connections_that_are_late_are_closed"
    ),
    "tests/server/test_crowds.py::test_guessers_of_passwords": (
        "tests/server/test_password_file.py::test_who_guesses_slows_himself_down"
    ),
    # refusals that each take a second, as they must
    "tests/server/test_password_file.py::test_a_password_is_right_until_it_is_changed": (
        "tests/unit/server/test_passwords.py::test_a_password_is_not_in_the_file_and_can_be_changed"
    ),
    "tests/server/test_password_file.py::test_every_refusal_takes_as_long": (
        "tests/server/test_password_file.py::test_a_password_that_was_right_is_not_hashed_again"
    ),
    "tests/server/test_password_file.py::test_who_guesses_does_not_learn_who_is_a_user": (
        "tests/server/test_password_file.py::test_a_password_that_was_right_is_not_hashed_again"
    ),
    "tests/server/test_serve.py::test_a_port_in_use_is_said": (
        "tests/server/test_serve.py::test_what_is_refused_before_spark_starts"
    ),
    "tests/server/test_serve.py::test_the_log_tells_failures_from_ends": (
        "tests/server/test_serve.py::test_the_log_tells_each_statement_without_secrets"
    ),
    # a driver of its own, whose executors lack the packages
    "tests/spark/test_doctor_of_executors.py": "tests/unit/shell/test_doctor.py::test_findings",
    # a driver of its own, whose executors record
    "tests/spark/test_executor_traces.py": "tests/unit/test_tracing.py::test_a_parent_of_another_process",
    # many statements for each case
    "tests/spark/test_analyze.py::test_columns": "tests/spark/test_analyze.py::test_some_columns_and_refusals",
    "tests/spark/test_failed_statements.py::test_a_failure_changes_nothing": (
        "tests/spark/test_failed_statements.py::test_a_storage_that_fails_midway_changes_nothing"
        "[keyed-compact_strategy => 'full']"
    ),
    "tests/spark/test_changelogs.py::test_following_the_changelog_gives_the_table": (
        "tests/unit/write/compaction/test_changelog.py::test_the_law"
    ),
    "tests/spark/test_filters.py::test_floats[TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')]": (
        "tests/spark/test_filters.py::test_floats[]"
    ),
    "tests/spark/test_overwrite_options.py::test_statements_say_what_is_replaced": (
        "tests/spark/test_overwrite_options.py::test_settings_say_what_is_replaced"
    ),
    "tests/spark/test_overwrite_options.py::test_writers_say_what_is_replaced": (
        "tests/spark/test_overwrite_options.py::test_settings_say_what_is_replaced"
    ),
    "tests/spark/test_query_matrix.py::test_names": "tests/spark/test_query_matrix.py::test_settings",
    "tests/spark/test_row_level.py::test_histories_equal_a_model": (
        "tests/unit/row_level/test_row_changes.py::test_rows_change_as_in_a_list"
    ),
    "tests/spark/test_row_level.py::test_update_sees_the_old_row[bucketed]": (
        "tests/spark/test_row_level.py::test_update_sees_the_old_row[append]"
    ),
    "tests/conformance/test_stock_shell.py::test_example": "tests/sql/test_examples.py::test_example[quickstart.sql]",
    # Spark's own programs with the jar, each of which starts Spark anew; Spark Connect stays for the other doors
    "tests/spark/test_jvm_door.py": "tests/conformance/test_stock_server.py::test_python_is_killed_in_a_merge",
    "tests/spark/test_jvm_starts.py": "tests/conformance/test_stock_server.py::test_python_is_killed_in_a_merge",
    "tests/spark/test_jvm_thrift_server.py": "tests/conformance/test_stock_server.py::test_python_is_killed_in_a_merge",
    "tests/spark/test_secrets.py::test_secrets_of_a_catalog": (
        "tests/spark/test_secrets.py::test_tables_have_no_secrets_of_storages"
    ),
    "tests/spark/test_surroundings.py::test_a_shell_with_all_that_a_machine_gives_it": (
        "tests/spark/test_surroundings.py::test_the_combinations_have_every_value"
    ),
    "tests/spark/test_unchanged_programs.py": "tests/spark/test_notebook.py::test_cells",
    "tests/spark/test_zoo.py": "tests/interop/zoo/test_zoo.py::test_the_table_goes_on[java-0.9.0-pk_parquet]",
    "tests/sql/test_examples.py::test_example[flights.sql]": "tests/sql/test_examples.py::test_example[quickstart.sql]",
    "tests/sql/test_notebooks.py": "tests/sql/test_examples.py::test_notebook",
}


def gate_of(
    tests: Iterable[str], chosen: Mapping[str, Choice] = CHOSEN, left_out: Mapping[str, str] = LEFT_OUT
) -> frozenset[str]:
    """Return the tests, by id, that are in the gate."""
    suites: dict[tuple[str, str], dict[tuple[str, str], list[str]]] = defaultdict(lambda: defaultdict(list))
    staying, found = frozenset(left_out.values()), set()
    for test in tests:
        if not left_out.keys().isdisjoint(_names(test)):
            continue
        suite = suite_of(test, chosen)
        stays = not staying.isdisjoint(_names(test))
        if stays or suite is None or chosen[suite].always == kind_of(test)[1] != "":
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


def _names(test: str) -> tuple[str, str, str]:
    """Return the file, the function and the case."""
    return test.partition("::")[0], test.partition("[")[0], test


def suite_of(test: str, chosen: Mapping[str, Choice] = CHOSEN) -> str | None:
    """Return the suite of a test, by its id; None for a test of no suite, which is always in the gate."""
    file, function, _ = _names(test)
    names = [function, file]
    while "/" in names[-1]:
        names.append(names[-1].rpartition("/")[0])
    return next((name for name in names if name in chosen), None)


def kind_of(test: str) -> tuple[str, str]:
    """Return the function of a test, and the first word of its case."""
    function, _, case = test.partition("[")
    word = re.match(r"(\w+/)?[^\W_]+", case)
    return function, word[0] if word else ""


@dataclass(frozen=True, slots=True)
class Gaps:
    """The parts of a run without a test in the gate: files, marks, and the tests that stay for others."""

    files: frozenset[str]
    marks: frozenset[str]
    staying: frozenset[str]


COLLECTED = pytest.StashKey[tuple[pytest.Item, ...]]()


def gaps_of(marks: Mapping[str, frozenset[str]], gate: frozenset[str]) -> Gaps:
    """Find what the gate lacks; `marks` are all tests, by id, with the names of their marks."""
    files, found = {_names(test)[0] for test in marks}, {name for test in gate for name in _names(test)}
    expected = {
        _names(test)[0]
        for test in marks
        if LEFT_OUT.keys().isdisjoint(_names(test)) and ((suite := suite_of(test)) is None or CHOSEN[suite] != NONE)
    }
    return Gaps(
        frozenset(expected - found),
        frozenset().union(*marks.values()) - frozenset().union(*(marks[test] for test in gate)),
        frozenset(test for test in LEFT_OUT.values() if _names(test)[0] in files) - found,
    )


@contextmanager
def other_moment() -> Iterator[None]:
    """Be 400 days later in another time zone.

    The second worker of pytest-xdist lists the tests there. The workers compare their lists, so a test whose name
    depends on the time fails every run. Each process has another hash seed anyway.
    """
    import time_machine  # noqa: PLC0415  the environment of dbt's tests has none

    with pytest.MonkeyPatch.context() as patch, time_machine.travel(time.time() + 400 * 86400 + 7):
        patch.setenv("TZ", "Asia/Shanghai")
        time.tzset()
        yield
    time.tzset()


def mark_gate(config: pytest.Config, items: list[pytest.Item], folder: str = "") -> None:
    """Mark the tests of the gate; `folder` is the prefix of ids of `items`, "" for the repository."""
    config.addinivalue_line("markers", "gate: must pass before a change is merged (tests/support/gate.py)")
    config.stash[COLLECTED] = tuple(items)  # others add marks later, and leave items out
    gate = gate_of(folder + item.nodeid for item in items)
    for item in items:
        if folder + item.nodeid in gate:
            item.add_marker(pytest.mark.gate)
