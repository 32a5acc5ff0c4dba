"""Every storage call of a statement fails once, in every way, from the first byte of a data file to the last hint.

The statement ends well or with an error of ours, the table reads as before or as after, and the next one works.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from paimon_core.errors import CommitUnknownError, PaimonError
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.snapshots import list_snapshots
from paimon_core.table import Table
from tests.support.faulty_io import Fault, FaultyIO, SimulatedCrash
from tests.support.stored import Row, compact, create_table, insert, open_table, read

Statement = Callable[[Table], Snapshot | None]
OLD: list[Row] = [(1, "old"), (2, "old")]
NEW: list[Row] = [(2, "new"), (3, "new")]
FAST = {"commit__min_retry_wait": "0 ms", "commit__max_retries": "3"}


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


@pytest.mark.parametrize("mode", list(Fault))
@pytest.mark.parametrize("kind", list(STATEMENTS))
def test_every_call(tmp_path: Path, kind: str, mode: Fault) -> None:
    prepare, statement = STATEMENTS[kind]
    prepare(str(tmp_path / "before"))
    before = read(open_table(str(tmp_path / "before")))
    shutil.copytree(tmp_path / "before", tmp_path / "after")
    counted = FaultyIO(LocalFileIO())
    statement(open_table(str(tmp_path / "after"), counted))
    after = read(open_table(str(tmp_path / "after")))

    for k in counted.moments(mode):
        warehouse = str(tmp_path / f"{k}")
        shutil.copytree(tmp_path / "before", warehouse)
        check(warehouse, statement, k, mode, (before, after))
        shutil.rmtree(warehouse)


def check(warehouse: str, statement: Statement, k: int, mode: Fault, expected: tuple[list[Row], list[Row]]) -> None:
    """Let call `k` fail, and look at the table."""
    before, after = expected
    at_first = len(list_snapshots(open_table(warehouse).store))
    failed: BaseException | None = None
    try:
        statement(open_table(warehouse, FaultyIO(LocalFileIO(), k, mode)))
    except (PaimonError, SimulatedCrash) as error:
        failed = error

    table = open_table(warehouse)
    committed = len(list_snapshots(table.store)) - at_first
    rows = read(table)
    assert committed in (0, 1), f"call {k}: committed twice"
    assert rows == (after if committed else before), f"call {k}: neither before nor after"
    if failed is None:
        assert committed, f"call {k}: an acknowledged commit is lost"
    elif committed:
        assert isinstance(failed, (CommitUnknownError, SimulatedCrash)), f"call {k}: visible, but {failed!r}"

    insert(table, [(9, "next")])
    compact(table)
    assert read(open_table(warehouse)) == sorted([*rows, (9, "next")]), f"call {k}: the next one"


def test_every_call_of_a_query(tmp_path: Path) -> None:
    compactable(str(tmp_path))
    counted = FaultyIO(LocalFileIO())
    rows = read(open_table(str(tmp_path), counted))
    assert counted.calls >= 10
    for k in range(1, counted.calls + 1):
        try:
            assert read(open_table(str(tmp_path), FaultyIO(LocalFileIO(), k))) == rows, f"call {k}"
        except PaimonError as error:
            assert str(tmp_path) in str(error), f"call {k}: {error}"


@pytest.mark.parametrize("kind", list(STATEMENTS))
def test_a_statement_that_fails_on_a_full_disk_deletes_its_files(tmp_path: Path, kind: str) -> None:
    """Where deleting still works, a statement that failed for certain takes all its files with it."""
    prepare, statement = STATEMENTS[kind]
    prepare(str(tmp_path / "before"))
    k, failed = 0, True
    while failed:
        k += 1
        warehouse = tmp_path / f"{k}"
        shutil.copytree(tmp_path / "before", warehouse)
        table = open_table(str(warehouse), FaultyIO(LocalFileIO(), k, Fault.NO_SPACE))
        try:
            failed = False
            statement(table)
        except PaimonError as error:
            failed = True
            assert "No space left on device" in str(error) and "free space" in str(error), f"call {k}: {error}"
            unknown = isinstance(error, CommitUnknownError)
            assert unknown or files(warehouse) == files(tmp_path / "before"), f"call {k}"
        shutil.rmtree(warehouse)
    assert k > 10


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
