"""Expiry behind every commit of eight writers at once: no acknowledged row, and no file that a version names, is lost.

`PAIMON_SQL_EXPIRY_ROUNDS=10` repeats it with more commits, each round on a new table; `-s` shows the figures.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from paimon_core.errors import CorruptFileError, PaimonError
from paimon_core.maintenance.references import NeededFiles, branch_stores, versions_of
from paimon_core.spec.paths import data_file_path
from paimon_core.store.manifests import live_files
from paimon_core.table import Table
from tests.support.stored import create_table, insert, open_table, read

WRITERS = 8
ROUNDS = int(os.environ.get("PAIMON_SQL_EXPIRY_ROUNDS", "1"))
COMMITS = 30 if ROUNDS > 1 else 12  # of each writer
PATIENCE = 600
# expiry after a second is what the defaults come to for a table that has been written to for an hour
RETENTIONS = {
    "a second": {"snapshot__time_retained": "1 s"},
    "no time": {"snapshot__time_retained": "0 ms", "snapshot__num_retained__min": "1"},
}


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    """One per writer, forked from a process that has no threads."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with ProcessPoolExecutor(WRITERS, mp_context=context, initializer=do_not_wait_for_the_disk) as pool:
        yield pool


def do_not_wait_for_the_disk() -> None:
    """Commits meet the more often."""
    os.fsync = lambda _: None


def write_rows(warehouse: str, writer: int) -> list[int]:
    """Two rows a commit, each a key of its own; the keys that were acknowledged."""
    table, acknowledged = open_table(warehouse), list[int]()
    for number in range(COMMITS):
        keys = [2 * (writer * COMMITS + number) + i for i in range(2)]
        try:
            insert(table, [(k, f"writer-{writer}") for k in keys], user=f"writer-{writer}")
        except PaimonError:  # what it read has expired, or it lost too many races; it says so
            continue
        acknowledged += keys
    return acknowledged


def missing_files(table: Table) -> set[str]:
    """What versions name and is not there."""
    needed = NeededFiles(tolerant=True)
    named = {path for branch in branch_stores(table.store) for path in needed.of(versions_of(branch))}
    return {path for path in named if not Path(path).exists()}


def count_rows(table: Table) -> int:
    """How many rows can be read: those of files that are there, none where a manifest is lost."""
    try:
        live = live_files(table.store, table.latest_snapshot()).values()
    except CorruptFileError:
        return 0
    folder = table.store.bucket_dir
    return sum(e.file.row_count for e in live if Path(data_file_path(folder(e.partition, e.bucket), e.file)).exists())


@pytest.mark.parametrize("retained", RETENTIONS)
def test_writers_that_expire(tmp_path: Path, processes: ProcessPoolExecutor, retained: str) -> None:
    files = rows = acknowledged = 0
    for number in range(ROUNDS):
        warehouse = str(tmp_path / f"{number}")
        create_table(warehouse, **RETENTIONS[retained])
        futures = [processes.submit(write_rows, warehouse, n) for n in range(WRITERS)]
        keys = sorted(k for f in futures for k in f.result(PATIENCE))
        table = open_table(warehouse)
        files, rows = files + len(missing_files(table)), rows + len(keys) - count_rows(table)
        acknowledged += len(keys)
        if not files:
            assert [k for k, _ in read(table)] == keys
    print(f"kept {retained}: of {acknowledged} acknowledged rows {rows} lost, files lost {files}")
    assert (files, rows) == (0, 0)
