"""A rollback over a compaction that dropped deletes, beside a write that was planned on the compacted version.

The deletes come back. They have higher numbers than the new rows, which would not show. On a storage without a queue of
writers the rollback comes whole before each call of the write.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.commit.commit import commit
from paimon_core.errors import CommitConflictError
from paimon_core.maintenance.branches import create_branch
from paimon_core.maintenance.fast_forward import fast_forward
from paimon_core.maintenance.rollback import roll_back
from paimon_core.maintenance.snapshot_expiry import expire_snapshots
from paimon_core.spec.manifest import DataFileMeta, FileKind
from paimon_core.store.branches import open_branch
from paimon_core.store.manifests import live_files
from paimon_core.store.snapshots import latest_snapshot, snapshot_ids
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table, storage_publisher
from tests.support.histories import newest
from tests.support.interleaving import InterleavedIO, MemoryIO
from tests.support.tables import data_file, info, message, new_store


def keyed() -> TableStore:
    """Rows (1), their deletes (2), and the compaction that dropped both but for one (3)."""
    options = {"primary-key": "k", "bucket": "1", "write-only": "true", "commit.min-retry-wait": "0 ms"}
    store: TableStore = new_store(Path("/w"), MemoryIO(), **options)
    rows, deletes, rest = numbered(store, 0), numbered(store, 5), numbered(store, 0, level=5)
    publisher = storage_publisher(store)
    commit(store, [message(store, rows)], info(), publisher)
    commit(store, [message(store, deletes)], info(), publisher)
    compacted = message(store, compact_before=(rows, deletes), compact_after=(rest,))
    commit(store, [compacted], info(), publisher)
    return store


def numbered(store: TableStore, number: int, level: int = 0) -> DataFileMeta:
    file: DataFileMeta = data_file(store, 1, 1, level=level, min_sequence_number=number, max_sequence_number=number)
    return file


def through(store: TableStore, io: MemoryIO | InterleavedIO) -> TableStore:
    made: TableStore = TableStore.of(io, store.root, store.schema, identifier=store.identifier)
    opened: TableStore = made.with_options(dict(store.options.values))
    return opened


def insert(store: TableStore) -> DataFileMeta:
    """Plan and commit a file, as INSERT does."""
    table = Table(store).for_write()
    file = numbered(store, table.max_sequence_number() + 1)
    table.commit([message(store, file)], info())
    return file


def live(store: TableStore) -> dict[str, int]:
    """The files of the latest version, and their numbers."""
    found = live_files(store, latest_snapshot(store)).values()
    return {e.file.file_name: e.file.max_sequence_number for e in found if e.kind is FileKind.ADD}


def test_a_write_beside_a_rollback_over_a_compaction() -> None:
    before, refused, k = keyed(), 0, 0
    assert isinstance(before.io, MemoryIO)
    while True:
        k += 1
        io = before.io.copy()
        other = through(before, io)
        slow = InterleavedIO(io, k, lambda other=other: roll_back(other, snapshot_id=2))
        try:
            file = insert(through(before, slow))
        except CommitConflictError as error:
            assert "rolled back" in str(error) and set(snapshot_ids(other)) == {1, 2}
            refused += 1
            continue
        if len(slow.calls) < k:
            break
        numbers = live(other)
        is_removed = snapshot_ids(other) == [1, 2]
        assert is_removed or max(numbers.values()) == numbers[file.file_name] and len(numbers) > 1, f"call {k}"
    assert refused > 5


def test_a_plan_whose_number_another_commit_has_by_now() -> None:
    store = keyed()
    table = Table(store).for_write()
    roll_back(store, snapshot_id=2)
    insert(store)
    insert(store)
    with pytest.raises(CommitConflictError, match="after the rows of snapshot 3"):
        table.commit([message(store, numbered(store, table.max_sequence_number() + 1))], info())
    assert snapshot_ids(store) == [1, 2, 3, 4]


def test_a_plan_that_a_branch_replaced() -> None:
    store = keyed()
    create_branch(store, "b")
    for _ in range(3):
        insert(open_branch(store, "b"))
    table = Table(store).for_write()
    fast_forward(store, "b")
    with pytest.raises(CommitConflictError, match="rolled back"):
        table.commit([message(store, numbered(store, 1))], info())


def test_other_commits_and_expiry_do_not_refuse_a_plan() -> None:
    store = keyed()
    table = Table(store).for_write()
    insert(store)
    insert(store)
    expire_snapshots(store, newest(1), 0)
    assert table.commit([message(store, numbered(store, 1))], info()) is not None
    assert len(live(store)) == 4


def test_rows_without_keys_need_no_numbers() -> None:
    store = new_store(Path("/w"), MemoryIO(), **{"commit.min-retry-wait": "0 ms"})
    for _ in range(3):
        insert(store)
    table = Table(store).for_write()
    roll_back(store, snapshot_id=1)
    table.commit([message(store, data_file(store, 1, 1))], info())
    assert snapshot_ids(store) == [1, 2] and len(live(store)) == 2
