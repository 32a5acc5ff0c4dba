"""DELETE by key from tables whose engines take no deletes: the remaining rows are those of a plain model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import CommitConflictError, CorruptFileError
from paimon_core.lsm.strategy import Strategy
from paimon_core.options import TableOptions
from paimon_core.row_level.key_deletes import key_delete_job, keys_store, takes_deletes
from paimon_core.spec.snapshot import CommitKind, Snapshot
from paimon_core.store.manifests import live_files
from paimon_core.table import Table
from tests.support.examples import examples
from tests.support.executors import run_job
from tests.unit.write.compaction.test_merge_on_write import (
    TABLES,
    Change,
    compact,
    dv_table,
    marked,
    read,
    write,
    written,
)

KINDS = ("aggregation", "partial-update", "first-row", "aggregation, lookup")


def delete(table: Table, keys: set[int]) -> Snapshot | None:
    rows: list[Change] = [((k, None, None), 3) for k in sorted(keys)]
    keys_written = written(replace(table, store=keys_store(table.store)), rows)
    replaced = run_job(key_delete_job(table.store, table.latest_snapshot(), keys_written))
    made = table.commit(replaced, CommitInfo(user="deleter"))
    table.abort(keys_written)
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_remaining_rows(tmp_path: Path, kind: str) -> None:
    options, merge, _ = TABLES[kind]
    count = 0
    steps = st.lists(
        st.tuples(st.sets(st.integers(0, 40), min_size=1, max_size=8), st.sampled_from(["write", "delete"])),
        max_size=6,
    )

    @settings(max_examples=examples(6), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(steps)
    def check(history: list[tuple[set[int], str]]) -> None:
        nonlocal count
        count += 1
        table = dv_table(tmp_path / str(count), **options)
        state: dict[int, Change] = {k: ((k, k, k), 0) for k in range(0, 2000, 2)}
        write(table, list(state.values()))
        compact(table, Strategy.FULL)
        for number, (keys, step) in enumerate(history):
            if step == "write":
                rows: list[Change] = [((k, number, 1), 0) for k in sorted(keys)]
                write(table, rows)
                compact(table)
                state |= {
                    row[0]: merge([state[row[0]], (row, 0)] if row[0] in state else [(row, 0)]) for row, _ in rows
                }
            else:
                delete(table, keys)
                state = {k: c for k, c in state.items() if k not in keys}
            assert read(table) == sorted(row for row, _ in state.values())

    check()


def test_only_files_with_the_keys_are_replaced(tmp_path: Path) -> None:
    table = dv_table(tmp_path, merge_engine="aggregation", target_file_size="8 kb")
    write(table, [((k, k, 0), 0) for k in range(5000)])
    compact(table, Strategy.FULL)
    write(table, [((4999, 1, 1), 0)])
    compact(table)
    before = {e.file.file_name: e.file for e in live_files(table.store, table.latest_snapshot()).values()}
    assert marked(table)
    stored = {p.name for p in tmp_path.rglob("data-*")}
    made = delete(table, {1, 7, 4999, 70_000})
    assert made is not None and made.commit_kind is CommitKind.OVERWRITE
    after = {e.file.file_name: e.file for e in live_files(table.store, made).values()}
    assert len(before.keys() - after.keys()) == 3 and len(before.keys() & after.keys()) > 1
    assert not marked(table) and len(read(table)) == 4997
    assert delete(table, {70_000}) is None
    assert {p.name for p in tmp_path.rglob("data-*")} == stored | after.keys(), "the files of the keys are deleted"


def test_a_broken_file_leaves_no_output(tmp_path: Path) -> None:
    table = dv_table(tmp_path, merge_engine="aggregation")
    write(table, [((k, k, 0), 0) for k in range(50)])
    compact(table, Strategy.FULL)
    (path,) = tmp_path.rglob("data-*")
    path.write_bytes(b"PAR1")
    with pytest.raises(CorruptFileError):
        delete(table, {1})
    assert sum(1 for _ in tmp_path.rglob("data-*")) == 2, "the file, and the keys, which the caller takes back"


@pytest.mark.parametrize(
    ("options", "takes"),
    [
        ({}, True),
        ({"merge-engine": "first-row"}, False),
        ({"merge-engine": "aggregation"}, False),
        ({"merge-engine": "aggregation", "aggregation.remove-record-on-delete": "true"}, True),
        ({"merge-engine": "partial-update"}, False),
        ({"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}, True),
        ({"merge-engine": "partial-update", "partial-update.remove-record-on-sequence-group": "g"}, True),
    ],
)
def test_which_engines_take_deletes(options: dict[str, str], takes: bool) -> None:
    assert takes_deletes(TableOptions(options)) is takes


def test_keys_of_another_number_of_buckets(tmp_path: Path) -> None:
    table = dv_table(tmp_path, **TABLES["first-row"][0])
    write(table, [((k, k, k), 0) for k in range(20)])
    rescaled = replace(table, store=table.store.with_options({"bucket": "3"}))
    before = table.latest_snapshot()
    with pytest.raises(
        CommitConflictError, match="this statement deletes rows from a partition of 1 buckets, .* has 3"
    ):
        delete(rescaled, {1, 2, 3})
    assert table.latest_snapshot() == before
