"""Followers of tables: batches that are acknowledged, resumed and bounded."""

from __future__ import annotations

import math
import threading
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import (
    InvalidDataError,
    InvalidNameError,
    InvalidOptionError,
    SnapshotNotFoundError,
    StorageError,
)
from paimon_core.scan.plan import Plan
from paimon_core.scan.streams.position import Position
from paimon_core.scan.streams.stream import TableStream
from paimon_core.store.consumers import list_consumers
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.python.following import ChangeBatch
from paimon_sql.python.table import PaimonTable

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string())])
ONE = {"read.stream.maxRowsPerTrigger": "1"}


@pytest.fixture
def table(lake: PaimonCatalog) -> PaimonTable:
    """A table with a changelog of its input: two rows, and then a version with two changes."""
    options = {"bucket": "2", "write-only": "true", "changelog-producer": "input"}
    made = lake.create_table("shop.t", SCHEMA, primary_key="k", options=options)
    made.upsert([{"k": 1, "v": "a"}, {"k": 2, "v": "b"}])
    return made


def rows(batches: Any) -> list[list[tuple[Any, ...]]]:
    return [sorted(tuple(row.values()) for row in batch.to_arrow().to_pylist()) for batch in batches]


def consumers(table: PaimonTable) -> dict[str, int]:
    return list_consumers(table.inner.store)


def expire(lake: PaimonCatalog) -> None:
    """Expire all versions that no consumer needs."""
    lake.call("expire_snapshots", table="shop.t", retain_max=1, retain_min=1, older_than="2999-01-01 00:00:00")


FIRST = [("+I", 1, "a"), ("+I", 2, "b")]


def test_rows_come_first_then_changes(table: PaimonTable) -> None:
    follower = table.follow()
    assert rows(follower) == [FIRST]
    assert list(follower) == []  # it ends where it began
    table.upsert([{"k": 2, "v": "B"}])
    table.delete("k = 1")
    assert rows(table.follow(options={"scan.snapshot-id": "2"})) == [[("+I", 2, "B"), ("-D", 1, "a")]]


def test_changes_that_could_not_be_planned_come_at_the_next_request(
    table: PaimonTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a program that tries again after an error would lose them, and its consumer, too."""
    follower, plan, failures = table.follow("c"), TableStream.plan, [StorageError("not now")]

    def failing(self: TableStream, start: Position, end: Position) -> Plan:
        if failures:
            raise failures.pop()
        return plan(self, start, end)

    monkeypatch.setattr(TableStream, "plan", failing)
    with pytest.raises(StorageError):
        next(follower)
    assert rows(follower) == [FIRST]


def test_an_acknowledgement_that_was_not_stored_is_stored_by_the_next_try(
    table: PaimonTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    (batch,) = table.follow("c")
    committed, failures = TableStream.committed, [StorageError("not now")]

    def failing(self: TableStream, end: Position) -> None:
        if failures:
            raise failures.pop()
        committed(self, end)

    monkeypatch.setattr(TableStream, "committed", failing)
    with pytest.raises(StorageError):
        batch.acknowledge()
    batch.acknowledge()
    assert consumers(table) == {"c": 2}


def test_a_follower_ends_at_the_version_that_is_the_latest_when_it_begins(table: PaimonTable) -> None:
    follower = table.follow(options={"scan.snapshot-id": "1", **ONE})
    next(follower)
    table.upsert([{"k": 9, "v": "later"}])
    assert all(row[1] != 9 for batch in rows(follower) for row in batch)


def test_a_consumer_goes_on_behind_what_is_acknowledged(table: PaimonTable) -> None:
    for batch in table.follow("c"):
        batch.acknowledge()
    table.upsert([{"k": 3, "v": "c"}])
    (seen,) = table.follow("c")
    assert rows([seen]) == [[("+I", 3, "c")]]
    (again,) = table.follow("c")  # it was not acknowledged
    assert rows([again]) == rows([seen])
    again.acknowledge()
    assert consumers(table) == {"c": 3}
    assert list(table.follow("c")) == []


def test_a_consumer_moves_over_an_unbroken_run_only(table: PaimonTable) -> None:
    for k in (3, 4, 5):
        table.upsert([{"k": k, "v": "x"}])
    first, second, third = table.follow("c", options={"scan.snapshot-id": "2", **ONE})
    third.acknowledge()
    assert consumers(table) == {"c": 2}
    first.acknowledge()
    assert consumers(table) == {"c": 3}
    second.acknowledge()
    assert consumers(table) == {"c": 5}


def test_versions_without_changes_are_passed_only_behind_acknowledged_batches(table: PaimonTable) -> None:
    batch = next(iter(table.follow("c", options={"scan.snapshot-id": "1"})))
    batch.acknowledge()
    table.upsert([{"k": 3, "v": "c"}])
    for _ in range(6):
        table.overwrite([{"k": 7, "v": "x"}])  # its changes are not read
    before = consumers(table)
    follower = table.follow("c")
    (unread,) = follower
    assert consumers(table) == before
    unread.acknowledge()
    assert consumers(table)["c"] > before["c"]


def test_a_first_version_that_was_not_read_to_its_end_is_read_again(table: PaimonTable, lake: PaimonCatalog) -> None:
    more = [{"k": k, "v": "x"} for k in range(3, 9)]
    table.upsert(more)  # so that both buckets have rows
    first = next(table.follow("c", options=ONE))
    first.acknowledge()
    assert consumers(table) == {"c-kept": 2}
    table.delete("k = 1")
    expire(lake)
    found = [row for batch in rows(table.follow("c")) for row in batch]
    assert sorted(found) == sorted(
        [*FIRST, *[("+I", row["k"], "x") for row in more], ("-D", 1, "a")]
    )  # not the rows of the latest version: they have no -D


def test_a_program_can_keep_the_position(table: PaimonTable) -> None:
    table.upsert([{"k": 3, "v": "c"}])
    (all_rows,) = table.follow()
    table.upsert([{"k": 4, "v": "d"}])
    assert rows(table.follow(after=all_rows.position)) == [[("+I", 4, "d")]]
    assert consumers(table) == {}


def test_a_position_of_another_table_is_an_error(table: PaimonTable, lake: PaimonCatalog) -> None:
    (batch,) = table.follow()
    other = lake.create_table("shop.other", SCHEMA)
    other.append([{"k": 1, "v": "a"}])
    with pytest.raises(InvalidDataError, match="belongs to main@.*, but table shop.other is main@"):
        next(other.follow(after=batch.position.replace("main@", "main@1")))
    with pytest.raises(InvalidDataError, match="not an offset"):
        other.follow(after="{}")


def test_columns_conditions_and_the_binlog(table: PaimonTable, lake: PaimonCatalog) -> None:
    assert rows(table.follow(columns=["v"], where="k = 2")) == [[("b",)]]
    (batch,) = lake.table("shop.t$binlog").follow(where="rowkind = '+I'")
    assert batch.schema.field("v").type == pa.list_(pa.string())
    assert pa.table(batch).num_rows == 2


def test_an_append_table_is_followed(lake: PaimonCatalog) -> None:
    made = lake.create_table("shop.a", SCHEMA)
    assert list(made.follow("c")) == []
    made.append([{"k": 1, "v": "a"}])
    (batch,) = made.follow("c")
    assert rows([batch]) == [[("+I", 1, "a")]]


def test_a_waiting_follower_gets_what_is_written_meanwhile(table: PaimonTable) -> None:
    follower = table.follow("c", wait=math.inf)
    found: list[ChangeBatch] = [next(follower)]
    reader = threading.Thread(target=lambda: found.append(next(follower)))
    reader.start()
    table.upsert([{"k": 3, "v": "c"}])
    reader.join(60)
    assert rows(found) == [FIRST, [("+I", 3, "c")]]


def test_wrong_arguments_are_refused(table: PaimonTable) -> None:
    with pytest.raises(InvalidOptionError, match="wait cannot be -1"):
        table.follow(wait=-1)
    with pytest.raises(InvalidOptionError, match="either a consumer or a position"):
        table.follow("c", after="{}")
    with pytest.raises(InvalidNameError):
        table.follow("../c")
    with pytest.raises(InvalidOptionError, match="is for batch queries"):
        table.follow(options={"incremental-between": "1,2"})


def test_changes_that_expired_are_an_error(table: PaimonTable, lake: PaimonCatalog) -> None:
    (batch,) = table.follow()
    for k in (3, 4, 5):
        table.upsert([{"k": k, "v": "x"}])
    expire(lake)
    with pytest.raises(SnapshotNotFoundError):
        next(table.follow(after=batch.position))
