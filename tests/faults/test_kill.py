"""A writer is killed (SIGKILL) at each of its file operations, including those within one storage call.

Afterwards the table reads as before or as after, what was acknowledged is there, and the next commit works.
"""

from __future__ import annotations

import shutil
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.snapshots import list_snapshots
from paimon_core.table import Table
from tests.support.killing import Fuse, forking, killed_at
from tests.support.stored import Row, compact, create_table, insert, open_table, read

OLD: list[Row] = [(1, "old"), (2, "old")]
NEW: list[Row] = [(2, "new"), (3, "new")]
FAST = {"commit__min_retry_wait": "0 ms", "commit__max_retries": "3"}
PARTS = 8  # the gate has one of each statement


def write(table: Table) -> Snapshot | None:
    return insert(table, NEW)


def appendable(warehouse: str) -> None:
    insert(create_table(warehouse, **FAST), OLD)


def upsertable(warehouse: str) -> None:
    insert(create_table(warehouse, primary_key="k", bucket="2", **FAST), OLD)


def compactable(warehouse: str) -> None:
    upsertable(warehouse)
    insert(open_table(warehouse), NEW)


STATEMENTS = {"append": (appendable, write), "upsert": (upsertable, write), "compact": (compactable, compact)}


def run(warehouse: str, kind: str, kill_at: int, report: Connection) -> None:
    """Run a statement, acknowledge it, report how many operations it took."""
    fuse = Fuse(kill_at)
    table = open_table(warehouse, fuse)
    fuse.count_system_calls()
    STATEMENTS[kind][1](table)
    report.send(fuse.operations)


@pytest.fixture(scope="module")
def context() -> ForkServerContext:
    return forking()


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", list(STATEMENTS))
def test_every_operation(tmp_path: Path, context: ForkServerContext, kind: str, part: int) -> None:
    STATEMENTS[kind][0](str(tmp_path / "before"))
    before = read(open_table(str(tmp_path / "before")))
    shutil.copytree(tmp_path / "before", tmp_path / "after")
    operations, _ = killed_at(context, run, str(tmp_path / "after"), kind, 0)
    after = read(open_table(str(tmp_path / "after")))
    assert operations is not None and operations > 50

    committed = []
    # the first and the last show in each part that a commit begins and ends within it
    for k in sorted({1, *range(1 + part, operations + 1, PARTS), operations + 1}):
        warehouse = str(tmp_path / f"{k}")
        shutil.copytree(tmp_path / "before", warehouse)
        at_first = len(list_snapshots(open_table(warehouse).store))
        acknowledged, killed = killed_at(context, run, warehouse, kind, k)
        assert killed == (k <= operations)
        table = open_table(warehouse)
        committed.append(len(list_snapshots(table.store)) - at_first)
        rows = read(table)
        assert rows == (after if committed[-1] else before), f"operation {k}"
        assert committed[-1] or not acknowledged, f"operation {k}: an acknowledged commit is lost"

        insert(table, [(9, "next")])
        compact(table)
        assert read(open_table(warehouse)) == sorted([*rows, (9, "next")]), f"operation {k}: the next commit"
        shutil.rmtree(warehouse)
    # one operation makes it visible, and nothing after it takes that back
    assert committed == sorted(committed) and set(committed) == {0, 1}
