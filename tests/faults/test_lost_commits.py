"""No acknowledged commit is lost: eight processes commit to one table at once, then every row is counted."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path

import pytest

from paimon_core.store.snapshots import list_snapshots
from paimon_core.table import Table
from tests.support.stored import Row, compact, create_table, insert, open_table, read

WRITERS, COMMITS, KEYS = 8, 50, 20
UPSERTS = 20  # per writer: beside a compactor each meets more
Acked = list[tuple[int, list[Row]]]


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    """One per writer and one for the compactor, forked from a process that has no threads."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with ProcessPoolExecutor(WRITERS + 1, mp_context=context, initializer=do_not_wait_for_the_disk) as pool:
        yield pool


def do_not_wait_for_the_disk() -> None:
    """Commits meet the more often."""
    os.fsync = lambda _: None


def own_key(writer: int, number: int) -> list[Row]:
    """A row of a key that nobody else writes."""
    return [(writer * COMMITS + number, f"{writer}/{number}")]


def shared_keys(writer: int, number: int) -> list[Row]:
    """Rows of keys that everybody writes."""
    return [(k, f"{writer}/{number}") for k in range(number % 3, KEYS, 3)]


def keep_writing(warehouse: str, rows: Callable[[int, int], list[Row]], rounds: int, writer: int) -> Acked:
    """Commit again and again; what was acknowledged, as (snapshot, rows)."""
    table, acked = open_table(warehouse), []
    for number in range(rounds):
        snapshot = insert(table, rows(writer, number), user=f"writer-{writer}")
        assert snapshot is not None
        acked.append((snapshot.id, rows(writer, number)))
    return acked


def keep_compacting(warehouse: str) -> int:
    """Compact until the writers are done; how often there was something to do."""
    table, done, times = open_table(warehouse), Path(warehouse, "done"), 0
    while not done.exists():
        times += compact(table) is not None
    return times


def write_all(
    pool: ProcessPoolExecutor, warehouse: str, rows: Callable[[int, int], list[Row]], rounds: int
) -> list[Acked]:
    """What each writer had acknowledged."""
    futures = [pool.submit(keep_writing, warehouse, rows, rounds, n) for n in range(WRITERS)]
    return [f.result(120) for f in futures]


def check_snapshots(table: Table, acked: list[Acked], rounds: int) -> None:
    """Every acknowledged snapshot is there, once, in order, and its writer's."""
    snapshots = list_snapshots(table.store)
    assert [s.id for s in snapshots] == list(range(1, len(snapshots) + 1))
    users = {s.id: s.commit_user for s in snapshots}
    for writer, mine in enumerate(acked):
        assert [users[i] for i, _ in mine] == [f"writer-{writer}"] * rounds
        assert [i for i, _ in mine] == sorted({i for i, _ in mine})
    committed = Counter(user for user in users.values() if user.startswith("writer"))
    assert committed == {f"writer-{n}": rounds for n in range(WRITERS)}


@pytest.mark.parametrize("attempt", range(3))
def test_appends(tmp_path: Path, processes: ProcessPoolExecutor, attempt: int) -> None:
    table = create_table(str(tmp_path))
    acked = write_all(processes, str(tmp_path), own_key, COMMITS)
    check_snapshots(table, acked, COMMITS)
    latest = table.latest_snapshot()
    assert latest is not None and latest.id == latest.total_record_count == WRITERS * COMMITS
    assert read(table) == sorted(row for _, rows in chain(*acked) for row in rows)
    referenced = {n for s in list_snapshots(table.store) for n in (s.base_manifest_list, s.delta_manifest_list)}
    assert {p.name for p in Path(table.store.paths.manifest_dir).glob("manifest-list-*")} == referenced


def upsert_while_compacting(
    pool: ProcessPoolExecutor, warehouse: str, rows: Callable[[int, int], list[Row]]
) -> tuple[Table, list[Acked]]:
    table = create_table(warehouse, primary_key="k", bucket="2")
    compactor = pool.submit(keep_compacting, warehouse)
    try:
        acked = write_all(pool, warehouse, rows, UPSERTS)
    finally:
        Path(warehouse, "done").touch()
    assert compactor.result(120) > 0
    check_snapshots(table, acked, UPSERTS)
    return table, acked


def test_upserts_of_disjoint_keys(tmp_path: Path, processes: ProcessPoolExecutor) -> None:
    table, acked = upsert_while_compacting(processes, str(tmp_path), own_key)
    assert read(table) == sorted(row for _, rows in chain(*acked) for row in rows)


def test_upserts_of_shared_keys(tmp_path: Path, processes: ProcessPoolExecutor) -> None:
    """Each key has one row, the last one of its writer: an older one would have lost to it."""
    table, acked = upsert_while_compacting(processes, str(tmp_path), shared_keys)
    last = {(k, v.partition("/")[0]): v for mine in acked for _, rows in mine for k, v in rows}
    rows = read(table)
    assert [k for k, _ in rows] == list(range(KEYS))
    assert [v for _, v in rows] == [last[k, v.partition("/")[0]] for k, v in rows]
    compact(table)
    assert read(table) == rows
