"""Which version a query reads: by number, tag, point in time, or the latest."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from datetime import datetime, tzinfo

from paimon_core.errors import InvalidOptionError, SnapshotNotFoundError
from paimon_core.options import SCAN_SNAPSHOT_ID, SCAN_TIMESTAMP, SCAN_TIMESTAMP_MILLIS
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.schemas import read_schema
from paimon_core.store.snapshots import (
    find_snapshot,
    latest_snapshot,
    read_snapshot,
    snapshot_ids,
)
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import read_tag, require_tag

_OPTIONS = ("scan.snapshot-id", "scan.tag-name", "scan.version", "scan.timestamp-millis", "scan.timestamp")


def resolve_snapshot(
    store: TableStore, version: str | None = None, timestamp_millis: int | None = None
) -> Snapshot | None:
    """The snapshot of `VERSION AS OF version` or `TIMESTAMP AS OF` (epoch milliseconds); the latest without either,
    None for a table without any. Raises `SnapshotNotFoundError` saying what exists."""
    if version is not None:
        return _by_version(store, version.strip())
    if timestamp_millis is not None:
        return _by_time(store, timestamp_millis)
    return latest_snapshot(store)


def snapshot_of_options(store: TableStore, zone: tzinfo | None = None) -> Snapshot | None:
    """The snapshot that the table's `scan.*` options ask for, the latest without them.

    `zone` is where wall clock times are read; None is the process's own. Raises `InvalidOptionError`,
    `SnapshotNotFoundError`.
    """
    values = store.options.values
    given = [name for name in _OPTIONS if name in values]
    if len(given) > 1:
        raise InvalidOptionError(f"Only one of the options {', '.join(given)} can say what to read; remove the others.")
    match given:
        case ["scan.snapshot-id"]:
            return read_snapshot(store, store.options[SCAN_SNAPSHOT_ID])
        case ["scan.tag-name"]:
            return _by_tag(store, values["scan.tag-name"])
        case ["scan.version"]:
            return _by_version(store, values["scan.version"])
        case ["scan.timestamp-millis"]:
            return _by_time(store, store.options[SCAN_TIMESTAMP_MILLIS])
        case ["scan.timestamp"]:
            return _by_time(store, _epoch_millis(store.options[SCAN_TIMESTAMP], zone))
    return latest_snapshot(store)


def is_time_travel(store: TableStore) -> bool:
    """Whether the table's options ask for another version than the latest."""
    return any(name in store.options.values for name in _OPTIONS)


def store_at(store: TableStore, snapshot: Snapshot | None) -> TableStore:
    """The store with the columns that the table had at a snapshot; its options stay."""
    return store if snapshot is None else replace(store, schema=read_schema(store, snapshot.schema_id))


def _by_version(store: TableStore, version: str) -> Snapshot:
    """A tag comes before a snapshot of that number."""
    tag = read_tag(store, version)
    if tag is not None:
        return tag.snapshot
    if version.isascii() and version.isdigit():
        return read_snapshot(store, int(version))
    return _by_tag(store, version)


def _by_tag(store: TableStore, name: str) -> Snapshot:
    return require_tag(store, name).snapshot


def _by_time(store: TableStore, millis: int) -> Snapshot:
    """The latest snapshot committed at or before a moment; commit times ascend with snapshot ids."""
    ids = snapshot_ids(store)
    found = bisect_right(ids, millis, key=lambda n: _commit_time(store, n))
    if found == 0:
        first = find_snapshot(store, ids[0]) if ids else None
        earliest = f"its first snapshot is of {first.time_millis}" if first else "it has no snapshots yet"
        raise SnapshotNotFoundError(
            f"Table {store.name} has no snapshot at or before {millis} (epoch milliseconds): {earliest}."
        )
    return read_snapshot(store, ids[found - 1])


def _commit_time(store: TableStore, snapshot_id: int) -> int:
    snapshot = find_snapshot(store, snapshot_id)
    return -1 if snapshot is None else snapshot.time_millis  # expired meanwhile: older than all that are left


def _epoch_millis(text: str, zone: tzinfo | None) -> int:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as e:
        raise InvalidOptionError(
            f"Option 'scan.timestamp' cannot be {text!r}: write it as '2024-01-31 12:00:00' or '2024-01-31'."
        ) from e
    return int((moment.replace(tzinfo=zone) if zone and not moment.tzinfo else moment).timestamp() * 1000)
