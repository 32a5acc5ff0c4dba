"""The start of a stream without a checkpoint: at its consumer, or by `scan.mode` and related options.

    latest-full, full, default   all rows of the latest snapshot, then changes
    latest                       the changes after the latest snapshot
    from-snapshot                the changes of `scan.snapshot-id` and later ones, at the earliest of the first kept one
    from-snapshot, by a tag      all rows of the tag, then changes
    from-snapshot-full           all rows of `scan.snapshot-id`, then changes
    from-timestamp               the changes of snapshots committed at that moment or later
    compacted-full               all rows of the latest compacted snapshot, then changes
    from-creation-timestamp      the changes of later snapshots; if all snapshots are later, the files written since
    from-file-creation-time      the files written since, then changes

If the table has no snapshots yet, the stream starts with its first one.
"""

from __future__ import annotations

from datetime import tzinfo

from paimon_core.errors import SnapshotNotFoundError
from paimon_core.options import (
    CHANGELOG_PRODUCER,
    CONSUMER_ID,
    CONSUMER_IGNORE_PROGRESS,
    DELTA_COMMITS,
    SCAN_CREATION_TIME_MILLIS,
    SCAN_FILE_CREATION_TIME_MILLIS,
    SCAN_MODE,
    SCAN_SNAPSHOT_ID,
    SCAN_TIMESTAMP,
    SCAN_TIMESTAMP_MILLIS,
)
from paimon_core.options.scan_modes import check_scan_mode
from paimon_core.scan.streams.history import History
from paimon_core.scan.streams.position import Position
from paimon_core.scan.time_travel import wall_clock_millis
from paimon_core.spec.paths import check_name
from paimon_core.spec.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Snapshot
from paimon_core.store.consumers import list_consumers
from paimon_core.store.snapshots import earliest_snapshot, latest_snapshot, list_snapshots
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import require_tag

_TAG = "scan.tag-name"


def consumer_of(store: TableStore) -> str | None:
    """Return the name of the consumer that stores a stream's progress, or None. Raises `InvalidNameError`."""
    name = store.options[CONSUMER_ID]
    return check_name("consumer", name) if CONSUMER_ID in store.options else None


def starting_position(history: History, zone: tzinfo | None = None) -> Position:
    """Return the position at which a stream starts, as the module describes.

    `zone` is the time zone of wall clock times. Raises `InvalidOptionError`, `InvalidNameError`,
    `SnapshotNotFoundError`.
    """
    store = history.store
    check_scan_mode(store.options)
    consumer = consumer_of(store)
    if consumer is not None and not store.options[CONSUMER_IGNORE_PROGRESS]:
        known = list_consumers(store).get(consumer)
        if known is not None:
            return _at_consumer(history, consumer, known)
    if _TAG in store.options.values:
        return _full(require_tag(store, store.options.values[_TAG]).snapshot)
    latest = latest_snapshot(store)
    return Position(1) if latest is None else _of_mode(history, latest, zone)


def _of_mode(history: History, latest: Snapshot, zone: tzinfo | None) -> Position:
    store = history.store
    options = store.options
    mode = options[SCAN_MODE]
    if mode == "from-snapshot-full":
        return _full(_clamped(history, options[SCAN_SNAPSHOT_ID]) or latest)
    if SCAN_SNAPSHOT_ID in options:
        return Position(max(options[SCAN_SNAPSHOT_ID], history.first_changes()))
    if SCAN_TIMESTAMP_MILLIS in options:
        return Position(history.first_since(options[SCAN_TIMESTAMP_MILLIS], latest.id))
    if SCAN_TIMESTAMP in options:
        return Position(history.first_since(wall_clock_millis(options[SCAN_TIMESTAMP], zone), latest.id))
    if mode == "latest":
        return Position(latest.id + 1)
    if mode == "compacted-full":
        return _full(_compacted(store) or latest)
    if SCAN_CREATION_TIME_MILLIS in options and SCAN_FILE_CREATION_TIME_MILLIS not in options:
        since = history.first_since(options[SCAN_CREATION_TIME_MILLIS], latest.id)
        if history.first_changes() < since <= latest.id:
            return Position(since)
    return _full(latest)


def _full(snapshot: Snapshot) -> Position:
    return Position(snapshot.id, scan=True, uuid=snapshot.identity)


def _at_consumer(history: History, consumer: str, next_snapshot: int) -> Position:
    first = history.first_changes()
    if next_snapshot >= first:
        return Position(next_snapshot)
    raise SnapshotNotFoundError(
        f"Consumer {consumer!r} of table {history.store.name} cannot go on at snapshot {next_snapshot}, which expired: "
        f"the first snapshot kept is {first}. Set another snapshot by CALL sys.reset_consumer, or set "
        "'consumer.ignore-progress' = 'true' to start by 'scan.mode'."
    )


def _clamped(history: History, snapshot_id: int) -> Snapshot | None:
    earliest = earliest_snapshot(history.store)
    first = 0 if earliest is None else earliest.id
    return history.version(snapshot_id) if snapshot_id >= first else earliest


def _compacted(store: TableStore) -> Snapshot | None:
    """Return the latest snapshot that a compaction made.

    If the options make some commits compact fully, return the latest snapshot of a full compaction."""
    every = store.options[DELTA_COMMITS] or 1
    fully = store.options[CHANGELOG_PRODUCER] == "full-compaction" or DELTA_COMMITS in store.options
    for snapshot in reversed(list_snapshots(store)):
        number = snapshot.commit_identifier
        if snapshot.commit_kind is CommitKind.COMPACT and (
            not fully or number == BATCH_COMMIT_IDENTIFIER or number % every == 0
        ):
            return snapshot
    return None
