"""The version that a query reads: by number, tag, watermark or point in time, or the latest.

`scan.mode` selects the way. Without it, the other option that is set decides.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from paimon_core.errors import InvalidOptionError, SnapshotNotFoundError
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import (
    SCAN_CREATION_TIME_MILLIS,
    SCAN_FILE_CREATION_TIME_MILLIS,
    SCAN_MODE,
    SCAN_SNAPSHOT_ID,
    SCAN_TIMESTAMP,
    SCAN_TIMESTAMP_MILLIS,
    SCAN_WATERMARK,
)
from paimon_core.options.scan_modes import (
    CREATION,
    MOMENTS,
    VERSIONS,
    check_one_version,
    check_scan_mode,
)
from paimon_core.spec.snapshot import CommitKind, Snapshot
from paimon_core.store.schemas import read_schema
from paimon_core.store.snapshots import (
    find_snapshot,
    history_ids,
    latest_for_read,
    read_snapshot,
)
from paimon_core.store.table_store import TableStore
from paimon_core.time_zones import epoch_millis

if TYPE_CHECKING:
    from paimon_core.store.tags import read_tag, require_tag
else:
    read_tag = ImportedOnCall("paimon_core.store.tags", "read_tag")
    require_tag = ImportedOnCall("paimon_core.store.tags", "require_tag")

_OPTIONS = (*VERSIONS, *MOMENTS)
_WATERMARK = "watermark-"  # precedes a number in VERSION AS OF


def resolve_snapshot(
    store: TableStore, version: str | None = None, timestamp_millis: int | None = None
) -> Snapshot | None:
    """Return the snapshot of `VERSION AS OF version` or `TIMESTAMP AS OF` (epoch milliseconds), or the latest without
    either.

    Return None for a table without snapshots. Raises `SnapshotNotFoundError`, which lists the versions."""
    if version is not None:
        return _by_version(store, version.strip())
    if timestamp_millis is not None:
        return snapshot_at(store, timestamp_millis)
    return latest_for_read(store)


def snapshot_of_options(store: TableStore, zone: tzinfo | None = None) -> Snapshot | None:
    """Return the snapshot that the table's `scan.*` options select, or the latest without such options.

    `zone` is the time zone of wall clock times; None means the process's own zone. Raises `InvalidOptionError`,
    `SnapshotNotFoundError`.
    """
    values = store.options.values
    check_scan_mode(store.options)
    check_one_version(store.options)
    given = [name for name in _OPTIONS if name in values]
    match given:
        case ["scan.snapshot-id"]:
            return read_snapshot(store, store.options[SCAN_SNAPSHOT_ID])
        case ["scan.tag-name"]:
            return _by_tag(store, values["scan.tag-name"])
        case ["scan.version"]:
            return _by_version(store, values["scan.version"])
        case ["scan.timestamp-millis"]:
            return snapshot_at(store, store.options[SCAN_TIMESTAMP_MILLIS])
        case ["scan.timestamp"]:
            return snapshot_at(store, wall_clock_millis(store.options[SCAN_TIMESTAMP], zone))
        case ["scan.watermark"]:
            return _by_watermark(store, store.options[SCAN_WATERMARK])
    if store.options[SCAN_MODE] == "compacted-full":
        return _compacted(store) or latest_for_read(store)
    return _first_since_creation(store) or latest_for_read(store)


def files_since(store: TableStore) -> int | None:
    """Return the time since which the version's files are read (epoch milliseconds), or None for all files.

    The table's options set the time."""
    values = store.options.values
    if is_time_travel(store) or not any(name in values for name in CREATION):
        return None
    if SCAN_FILE_CREATION_TIME_MILLIS.key in values:
        return store.options[SCAN_FILE_CREATION_TIME_MILLIS]
    return None if _first_since_creation(store) else store.options[SCAN_CREATION_TIME_MILLIS]


def overridden(options: Mapping[str, str], by: Mapping[str, str]) -> dict[str, str]:
    """Return the options, overridden `by` others.

    If `by` selects a version, other selections of a version are removed.
    """
    return (without_version(options) if says_version(by) else dict(options)) | dict(by)


def says_version(options: Iterable[str]) -> bool:
    """Return whether some of the options select a version."""
    return any(map(_says_version, options))


def without_version(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options without the options that select a version."""
    return {name: value for name, value in options.items() if not _says_version(name)}


def is_time_travel(store: TableStore) -> bool:
    """Return whether the table's options select another version than the latest."""
    return any(name in store.options.values for name in _OPTIONS)


def store_at(store: TableStore, snapshot: Snapshot | None) -> TableStore:
    """Return the store with the columns that the table had at a snapshot; its options stay."""
    return store if snapshot is None else replace(store, schema=read_schema(store, snapshot.schema_id))


def _by_version(store: TableStore, version: str) -> Snapshot:
    """Find a version. A tag takes precedence over a snapshot with that number."""
    tag = read_tag(store, version)
    if tag is not None:
        return tag.snapshot
    if version.isascii() and version.isdigit():
        return read_snapshot(store, int(version))
    watermark = version.removeprefix(_WATERMARK)
    if watermark != version and watermark.isascii() and watermark.isdigit():
        return _by_watermark(store, int(watermark))
    return _by_tag(store, version)


def _by_tag(store: TableStore, name: str) -> Snapshot:
    return require_tag(store, name).snapshot


def snapshot_at(store: TableStore, millis: int) -> Snapshot:
    """Return the latest snapshot committed at or before a moment (epoch milliseconds).

    Commit times ascend with snapshot ids. Raises `SnapshotNotFoundError`.
    """
    ids = history_ids(store)
    found = bisect_right(ids, millis, key=lambda n: _commit_time(store, n))
    if found == 0:
        first = find_snapshot(store, ids[0]) if ids else None
        earliest = f"its first snapshot is from {_moment(first.time_millis)}" if first else "it has no snapshots yet"
        raise SnapshotNotFoundError(f"Table {store.name} has no snapshot at or before {_moment(millis)}: {earliest}.")
    return read_snapshot(store, ids[found - 1])


def _moment(millis: int) -> str:
    """Return epoch milliseconds as people and options read them."""
    try:
        text = datetime.fromtimestamp(millis / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{millis} (epoch milliseconds)"
    return f"{millis} ({text})"


def _by_watermark(store: TableStore, watermark: int) -> Snapshot:
    """Return the first snapshot with this watermark or a later one."""
    known = (find_snapshot(store, n) for n in history_ids(store))
    for snapshot in known:
        if snapshot is not None and snapshot.watermark is not None and snapshot.watermark >= watermark:
            return snapshot
    raise SnapshotNotFoundError(
        f"Table {store.name} has no snapshot with a watermark of {watermark} (epoch milliseconds) or later. "
        "Choose an earlier watermark."
    )


def _compacted(store: TableStore) -> Snapshot | None:
    """The latest snapshot that a compaction made."""
    known = (find_snapshot(store, n) for n in reversed(history_ids(store)))
    return next((s for s in known if s is not None and s.commit_kind is CommitKind.COMPACT), None)


def _first_since_creation(store: TableStore) -> Snapshot | None:
    """Return the first snapshot since `scan.creation-time-millis`.

    Return None if there is no such snapshot, or no snapshot before it."""
    if any(name in store.options.values for name in CREATION[:1]) or CREATION[1] not in store.options.values:
        return None
    ids = history_ids(store)
    found = bisect_left(ids, store.options[SCAN_CREATION_TIME_MILLIS], key=lambda n: _commit_time(store, n))
    return read_snapshot(store, ids[found]) if 0 < found < len(ids) else None


def _says_version(option: str) -> bool:
    return option in (*_OPTIONS, *CREATION, SCAN_MODE.key) or option.startswith("incremental-")


def _commit_time(store: TableStore, snapshot_id: int) -> int:
    snapshot = find_snapshot(store, snapshot_id)
    return -1 if snapshot is None else snapshot.time_millis  # expired meanwhile: older than all that remain


def wall_clock_millis(text: str, zone: tzinfo | None) -> int:
    """Return the epoch milliseconds of `scan.timestamp`. Raises `InvalidOptionError`."""
    try:
        return epoch_millis(text, zone)
    except ValueError as e:
        raise InvalidOptionError(
            f"Option 'scan.timestamp' cannot be {text!r}: write it as '2024-01-31 12:00:00' or '2024-01-31'."
        ) from e
