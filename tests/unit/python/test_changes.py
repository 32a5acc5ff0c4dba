"""Changes between two versions, in Python."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import InvalidOptionError, SnapshotNotFoundError, UnsupportedFeatureError
from paimon_core.maintenance.tags import create_tag
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.python.table import PaimonTable

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string())])


@pytest.fixture
def table(lake: PaimonCatalog) -> PaimonTable:
    """A table with a changelog of its input, and a tag for each of three snapshots."""
    options = {"bucket": "1", "write-only": "true", "changelog-producer": "input"}
    made = lake.create_table("shop.t", SCHEMA, primary_key="k", options=options)
    made.upsert([{"k": 1, "v": "a"}, {"k": 2, "v": "b"}])
    tag(made, "first")
    made.upsert([{"k": 2, "v": "B"}, {"k": 3, "v": "c"}])
    tag(made, "second")
    made.delete("k = 1")
    tag(made, "third")
    return made


def tag(table: PaimonTable, name: str) -> None:
    create_tag(table.inner.store, name, table.inner.latest_snapshot())


def rows(scan: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in scan.to_arrow().to_pylist())


UPSERTED = [("+I", 2, "B"), ("+I", 3, "c")]
DELETED = [("-D", 1, "a")]


def test_changes_between_snapshots(table: PaimonTable) -> None:
    assert rows(table.changes(1, 2)) == UPSERTED
    assert rows(table.changes(1)) == rows(table.changes(since=1, until=3)) == UPSERTED + DELETED
    assert rows(table.changes(0, 1)) == [("+I", 1, "a"), ("+I", 2, "b")]
    assert rows(table.changes(3)) == []


def test_tags_are_compared_and_stand_for_their_snapshots(table: PaimonTable) -> None:
    assert rows(table.changes("first", "third")) == UPSERTED + DELETED
    for since, until in (("first", None), (1, "third"), ("first", 3)):
        assert rows(table.changes(since, until)) == UPSERTED + DELETED, (since, until)


def test_a_scan_of_changes_is_a_scan(table: PaimonTable) -> None:
    scan = table.changes(1, columns=["v", "rowkind"], where="k > 1 AND v <> 'c'")
    assert scan.to_arrow().to_pylist() == [{"v": "B", "rowkind": "+I"}]
    assert scan.count() == 1
    assert "up to snapshot 3" in scan.explain()
    assert [row for split in scan.plan() for row in rows(split)] == [("B", "+I")]
    assert table.changes(1, limit=1).count() == 1
    table.upsert([{"k": 9, "v": "z"}])
    assert rows(scan) == [("B", "+I")]


def test_moments(table: PaimonTable) -> None:
    """Commits of one millisecond are not told apart, so the moments here are outside the history."""
    before = datetime(2020, 1, 1, tzinfo=UTC)
    after = datetime.now(UTC) + timedelta(days=1)
    assert rows(table.changes(before, after)) == rows(table.changes(before)) == rows(table.changes(0))
    naive = before.replace(tzinfo=None)
    assert rows(table.changes(naive)) == rows(table.changes(0))
    assert rows(table.changes(after)) == []


def test_derived_tables(table: PaimonTable, lake: PaimonCatalog) -> None:
    assert rows(lake.table("shop.t$audit_log").changes(1, 2)) == UPSERTED
    binlog = lake.table("shop.t$binlog").changes("first", "third")
    assert rows(binlog) == [("+I", [2], ["B"]), ("+I", [3], ["c"]), ("-D", [1], ["a"])]
    with pytest.raises(UnsupportedFeatureError, match=r"read the changes of shop\.t"):
        lake.table("shop.t$ro").changes(1)


def test_rows_without_a_key(lake: PaimonCatalog) -> None:
    table = lake.create_table("shop.a", SCHEMA)
    assert rows(table.changes(0)) == []
    table.append([{"k": 1, "v": "a"}])
    table.append([{"k": 2, "v": "b"}])
    assert rows(table.changes(1)) == [("+I", 2, "b")]


def test_refusals(table: PaimonTable) -> None:
    with pytest.raises(InvalidOptionError, match="begins at the later snapshot"):
        table.changes(2, 1)
    with pytest.raises(SnapshotNotFoundError, match="does not have the changes after snapshot 1 up to 9"):
        table.changes(1, 9)
    with pytest.raises(SnapshotNotFoundError, match="never"):
        table.changes("never", 2)
    with pytest.raises(InvalidOptionError, match="two versions, or two moments"):
        table.changes(1, datetime.now(UTC))
