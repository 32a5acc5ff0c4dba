"""Overwrites of primary-key tables: what they leave for compactions, and what manifests say of the files that go."""

from __future__ import annotations

import pytest

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.spec.manifest import FileKind
from paimon_core.store.manifests import live_files, read_entries, read_manifest_list
from paimon_core.table import Table
from tests.support import stored

INFO = CommitInfo(user="tester")


def levels(table: Table) -> list[int]:
    return sorted(e.file.level for e in live_files(table.store, table.latest_snapshot()).values())


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, [5, 5]), ({"num_levels": "3"}, [2, 2]), ({"overwrite_upgrade": "false"}, [0, 0])],
)
def test_files_that_share_no_keys_are_compacted(warehouse: str, options: dict[str, str], expected: list[int]) -> None:
    table = stored.create_table(warehouse, primary_key="k", bucket="1", **options)
    stored.insert(table, [(1, "a")])
    messages = [*stored.write(table, [(1, "b"), (3, "c")]), *stored.write(table, [(4, "d")])]
    table.commit(messages, INFO, Overwrite())
    assert levels(table) == expected and stored.read(table) == [(1, "b"), (3, "c"), (4, "d")]


def test_files_that_share_keys_wait(warehouse: str) -> None:
    table = stored.create_table(warehouse, primary_key="k", bucket="1")
    first = stored.write(table, [(1, "a"), (3, "a")])
    table.commit(first, INFO)
    second = stored.write(table, [(3, "b")])
    table.commit([*stored.write(table, [(1, "b"), (3, "a")]), *second], INFO, Overwrite())
    assert levels(table) == [0, 0]


@pytest.mark.parametrize("dropped", ["true", "false"])
def test_statistics_of_files_that_go(warehouse: str, dropped: str) -> None:
    table = stored.create_table(warehouse, manifest__delete_file_drop_stats=dropped)
    stored.insert(table, [(1, "a")])
    snapshot = table.commit(stored.write(table, [(2, "b")]), INFO, Overwrite())
    assert snapshot is not None
    manifests = read_manifest_list(table.store, snapshot.delta_manifest_list)
    entries = read_entries(table.store, manifests)
    stats = {e.kind: e.file.value_stats_cols == () for e in entries}
    assert stats == {FileKind.DELETE: dropped == "true", FileKind.ADD: False}
    assert stored.read(table) == [(2, "b")]
