from __future__ import annotations

from dataclasses import replace
from datetime import timedelta, timezone
from pathlib import Path

import pytest

from paimon_core.errors import InvalidOptionError, SnapshotNotFoundError
from paimon_core.scan.time_travel import resolve_snapshot, snapshot_of_options, store_at
from paimon_core.spec.snapshot import Snapshot, encode_snapshot
from paimon_core.store.schemas import create_schema
from paimon_core.store.snapshots import read_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from tests.support.golden import golden_table
from tests.support.tables import data_file, info, message, new_store


def travelled(store: TableStore, version: str | None = None, at: int | None = None) -> int:
    found = resolve_snapshot(store, version, at)
    assert isinstance(found, Snapshot)
    return found.id


def test_a_tag_comes_before_a_snapshot_of_that_number() -> None:
    store = golden_table("tags").store
    assert travelled(store, "3") == 2
    assert travelled(store, "4") == 4
    assert travelled(store, "first") == 1
    assert travelled(store) == 4


def test_what_does_not_exist_is_named_with_what_does() -> None:
    store = golden_table("tags").store
    with pytest.raises(SnapshotNotFoundError, match=r"no snapshot 1: the snapshots 3 to 4 exist"):
        resolve_snapshot(store, "1")
    with pytest.raises(SnapshotNotFoundError, match=r"no tag 'nope' \(its tags: 3, first, kept, last-one\)"):
        resolve_snapshot(store, "nope")
    with pytest.raises(SnapshotNotFoundError, match="first snapshot is of"):
        resolve_snapshot(store, None, 5)


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    store = new_store(tmp_path)
    for n in range(1, 6):
        Table(store).commit([message(store, data_file(store, n, n))], info())
        path = Path(store.paths.snapshot(n))
        path.write_bytes(encode_snapshot(replace(read_snapshot(store, n), time_millis=n * 3_600_000)))
    return store


@pytest.mark.parametrize(("hours", "expected"), [(1, 1), (1.5, 1), (2, 2), (4.99, 4), (5, 5), (999, 5)])
def test_the_latest_at_a_moment(store: TableStore, hours: float, expected: int) -> None:
    assert travelled(store, None, int(hours * 3_600_000)) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 5),
        ({"scan.snapshot-id": "2"}, 2),
        ({"scan.timestamp-millis": "7200001"}, 2),
        ({"scan.timestamp": "1970-01-01 05:30:00"}, 3),
        ({"scan.timestamp": "1970-01-01T03:30:00Z"}, 3),
        ({"scan.version": "4"}, 4),
    ],
)
def test_options_say_what_to_read(store: TableStore, options: dict[str, str], expected: int) -> None:
    found = snapshot_of_options(store.with_options(options), timezone(timedelta(hours=2)))
    assert found is not None and found.id == expected


def test_options_that_are_refused(store: TableStore) -> None:
    with pytest.raises(InvalidOptionError, match="Only one"):
        snapshot_of_options(store.with_options({"scan.snapshot-id": "2", "scan.tag-name": "x"}))
    with pytest.raises(InvalidOptionError, match=r"scan\.timestamp"):
        snapshot_of_options(store.with_options({"scan.timestamp": "yesterday"}))


def test_an_old_snapshot_has_its_own_columns(store: TableStore) -> None:
    newer = replace(store.schema, id=1, fields=store.schema.fields[:2])
    create_schema(store.io, store.root, newer)
    now = TableStore.of(store.io, store.root, newer)
    assert [f.name for f in store_at(now, read_snapshot(now, 1)).schema.fields] == ["k", "v", "p", "n"]
    assert store_at(now, None) is now
