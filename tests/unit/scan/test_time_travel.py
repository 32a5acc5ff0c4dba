from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from paimon_core.errors import InvalidOptionError, SnapshotNotFoundError
from paimon_core.scan.time_travel import overridden, resolve_snapshot, snapshot_of_options, store_at
from paimon_core.spec.snapshot import CommitKind, Snapshot, encode_snapshot
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
    with pytest.raises(SnapshotNotFoundError, match="first snapshot is from"):
        resolve_snapshot(store, None, 5)


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    store = new_store(tmp_path)
    for n in range(1, 6):
        Table(store).commit([message(store, data_file(store, n, n))], info())
        path = Path(store.paths.snapshot(n))
        watermark = {2: 200, 4: 400}.get(n)
        kind = CommitKind.COMPACT if n == 3 else CommitKind.APPEND
        changed = replace(read_snapshot(store, n), time_millis=n * 3_600_000, watermark=watermark, commit_kind=kind)
        path.write_bytes(encode_snapshot(changed))
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
        ({"scan.version": "watermark-200"}, 2),
        ({"scan.watermark": "1"}, 2),
        ({"scan.watermark": "201"}, 4),
        ({"scan.mode": "full"}, 5),
        ({"scan.mode": "compacted-full"}, 3),
        ({"scan.mode": "from-snapshot", "scan.watermark": "1"}, 2),
        ({"scan.mode": "from-snapshot-full", "scan.snapshot-id": "2"}, 2),
        ({"scan.mode": "from-timestamp", "scan.timestamp-millis": "7200001"}, 2),
        ({"scan.creation-time-millis": "1"}, 5),
        ({"scan.creation-time-millis": "7200000"}, 2),
        ({"scan.mode": "from-creation-timestamp", "scan.creation-time-millis": "7200001"}, 3),
        ({"scan.creation-time-millis": "18000001"}, 5),
        ({"scan.file-creation-time-millis": "7200000"}, 5),
    ],
)
def test_options_say_what_to_read(store: TableStore, options: dict[str, str], expected: int) -> None:
    found = snapshot_of_options(store.with_options(options), timezone(timedelta(hours=2)))
    assert found is not None and found.id == expected


def test_options_that_are_refused(store: TableStore) -> None:
    with pytest.raises(InvalidOptionError, match="Only one"):
        snapshot_of_options(store.with_options({"scan.snapshot-id": "2", "scan.tag-name": "x"}))
    with pytest.raises(InvalidOptionError, match=r"'from-snapshot' cannot be combined with 'scan.timestamp'"):
        snapshot_of_options(store.with_options({"scan.mode": "from-snapshot", "scan.timestamp": "2024-01-01"}))
    with pytest.raises(InvalidOptionError, match=r"'from-timestamp' needs 'scan.timestamp-millis' or"):
        snapshot_of_options(store.with_options({"scan.mode": "from-timestamp"}))
    with pytest.raises(SnapshotNotFoundError, match="no snapshot with a watermark of 401"):
        snapshot_of_options(store.with_options({"scan.watermark": "401"}))
    with pytest.raises(InvalidOptionError, match=r"scan\.timestamp"):
        snapshot_of_options(store.with_options({"scan.timestamp": "yesterday"}))


def test_files_written_since_a_moment(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    moments = [datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2, 3)]
    files = [data_file(store, n, n, creation_time=m) for n, m in enumerate(moments)]
    Table(store).commit([message(store, *files)], info())

    def read(**options: str) -> list[str]:
        table = Table(store).with_options({k.replace("_", "-").replace("-", ".", 1): v for k, v in options.items()})
        plan = table.plan(table.latest_snapshot())
        return sorted(f.file_name for s in plan.splits for f in s.files)

    second = str(int(moments[1].replace(tzinfo=None).timestamp() * 1000))
    names = [f.file_name for f in files]
    assert read(scan_file_creation_time_millis=second) == sorted(names[1:])
    assert read(scan_creation_time_millis=second) == sorted(names[1:])
    assert read(scan_creation_time_millis=second, scan_snapshot_id="1") == sorted(names)


def test_a_statement_overrides_what_version_is_read() -> None:
    session = {"scan.snapshot-id": "1", "scan.mode": "from-snapshot", "read.batch-size": "7"}
    assert overridden(session, {"write-only": "true"}) == session | {"write-only": "true"}
    assert overridden(session, {"scan.tag-name": "t"}) == {"scan.tag-name": "t", "read.batch-size": "7"}
    assert overridden(session, {"incremental-between": "1,2"}) == {"incremental-between": "1,2", "read.batch-size": "7"}


def test_an_old_snapshot_has_its_own_columns(store: TableStore) -> None:
    newer = replace(store.schema, id=1, fields=store.schema.fields[:2])
    create_schema(store.io, store.root, newer)
    now = TableStore.of(store.io, store.root, newer)
    assert [f.name for f in store_at(now, read_snapshot(now, 1)).schema.fields] == ["k", "v", "p", "n"]
    assert store_at(now, None) is now
