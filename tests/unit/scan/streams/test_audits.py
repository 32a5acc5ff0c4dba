"""Streams of tables with rows in a branch for an audit: they go on in the branch, and later in the table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paimon_core.errors import InvalidDataError
from paimon_core.maintenance.advance import publish_branch
from paimon_core.scan.streams.options import ReadLimits
from paimon_core.scan.streams.position import Position, parse_position
from paimon_core.scan.streams.stream import TableStream
from paimon_core.store.branches import open_branch
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.versions import create_audit_branch
from tests.support import stored

ALL = ReadLimits()
WAP = {"write__wap__enabled": "true"}


def of(warehouse: str, branch: str = "") -> TableStore:
    store = stored.open_table(warehouse).store
    return open_branch(store, branch) if branch else store


def audit(warehouse: str) -> None:
    table = stored.open_table(warehouse)
    create_audit_branch(table.store, table.versions, "audit")


def write(warehouse: str, branch: str, *keys: int) -> None:
    table = stored.open_table(warehouse)
    stored.insert(replace(table, store=of(warehouse, branch)), [(k, "v") for k in keys])


def publish(warehouse: str) -> None:
    table = stored.open_table(warehouse)
    publish_branch(table.store, "audit", table.publisher)


def go_on(store: TableStore, checkpoint: str) -> tuple[list[int], str]:
    """Return the keys that a new process reads after a checkpoint, "" for none, and the next checkpoint."""
    stream = TableStream(store)
    start = parse_position(checkpoint) if checkpoint else stream.initial()
    end = stream.latest(start, ALL)
    return rows_of(store, stream, start, end), end.json()


def rows_of(store: TableStore, stream: TableStream, start: Position, end: Position) -> list[int]:
    plan = stream.plan(start, end)
    batches = [b for s in plan.splits for b in stored.read_split(store, s, ["k"])]
    return sorted(k for b in batches for k in b["k"].to_pylist())


@pytest.mark.parametrize("first", [(), (1, 2)])
def test_a_stream_goes_on_in_the_branch_and_in_the_table(warehouse: str, first: tuple[int, ...]) -> None:
    stored.create_table(warehouse, **WAP)
    if first:
        write(warehouse, "", *first)
    rows, seen = go_on(of(warehouse), "")
    assert rows == list(first)
    audit(warehouse)
    write(warehouse, "audit", 3, 4)
    rows, seen = go_on(of(warehouse, "audit"), seen)
    assert rows == [3, 4]
    with pytest.raises(InvalidDataError, match="belongs to audit@.* is main@|no longer in the table's history"):
        go_on(of(warehouse), seen)  # it lacks the rows that the stream has read
    publish(warehouse)
    write(warehouse, "", 5)
    rows, seen = go_on(of(warehouse), seen)
    assert rows == [5]


def test_a_branch_that_is_deleted_ends_its_streams(warehouse: str) -> None:
    stored.create_table(warehouse, **WAP)
    write(warehouse, "", 1)
    audit(warehouse)
    write(warehouse, "audit", 2)
    _, seen = go_on(of(warehouse, "audit"), "")
    table = stored.open_table(warehouse)
    table.versions.delete_branch("audit")
    audit(warehouse)
    for _ in range(2):
        write(warehouse, "audit", 3)
    with pytest.raises(InvalidDataError, match="no longer in the table's history"):
        go_on(of(warehouse, "audit"), seen)
    write(warehouse, "", 4)
    with pytest.raises(InvalidDataError, match="belongs to audit@"):
        go_on(of(warehouse), seen)


def test_branches_of_other_tables_are_other_tables(warehouse: str) -> None:
    stored.create_table(warehouse)
    write(warehouse, "", 1)
    _, seen = go_on(of(warehouse), "")
    audit(warehouse)
    with pytest.raises(InvalidDataError, match="belongs to main@.* is audit@"):
        go_on(of(warehouse, "audit"), seen)


def test_positions_that_do_not_prove_what_was_read(warehouse: str) -> None:
    """Position 3 after an unread snapshot 2 may count snapshots that only the branch has."""
    stored.create_table(warehouse, **WAP)
    write(warehouse, "", 1)
    audit(warehouse)
    write(warehouse, "audit", 2)
    options = {"scan.mode": "latest"}
    begun = TableStream(Table(of(warehouse, "audit")).with_options(options).store).initial().json()
    with pytest.raises(InvalidDataError, match="belongs to audit@.* is main@"):
        go_on(of(warehouse), begun)
