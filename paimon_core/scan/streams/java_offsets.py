"""Checkpoints of Java's connector, which counts splits differently: all changes of a bucket are one split.

Java's offsets show that a snapshot was read completely only if the stream has a consumer. So this module counts the
splits as Java does. An offset within a snapshot is refused, because the files that Java has read are unknown.
"""

from __future__ import annotations

from dataclasses import replace

from paimon_core.errors import InvalidDataError
from paimon_core.options import BUCKET, DYNAMIC
from paimon_core.scan.changes.increment import Increment
from paimon_core.scan.changes.plan import plan_increment
from paimon_core.scan.plan import plan_scan
from paimon_core.scan.streams.history import History, Step
from paimon_core.scan.streams.position import Position


def taken_over(history: History, position: Position) -> Position:
    """Convert a position of Java's connector to a position of this package, without the table's identity.

    Raises `InvalidDataError` for a position within a snapshot, `SnapshotNotFoundError` if the snapshot expired.
    """
    if position.is_start or position.is_complete:
        return position
    total = position.total
    if total is None:
        total = _splits_of_java(history, position)
    if position.index == total - 1:
        return replace(position, total=total)
    raise InvalidDataError(
        f"The checkpoint of Paimon's Java connector is at split {position.index} of the {total} splits of snapshot "
        f"{position.snapshot_id} of table {history.store.name}, and a query cannot be taken over within a snapshot. "
        "Run the query once more in the Java connector, by Trigger.AvailableNow without read.stream.max* options. Or "
        f"start it here with a new checkpoint and 'scan.snapshot-id' = '{position.snapshot_id}', which reads that "
        "snapshot again."
    )


def _splits_of_java(history: History, position: Position) -> int:
    store = history.store
    if position.scan:
        return len(_packed_rows(history, position.snapshot_id))
    snapshot = history.changes(position.snapshot_id) or history.version(position.snapshot_id)
    if not store.has_primary_key and store.options[BUCKET] == DYNAMIC:
        single = Increment(mode=history.mode, end=snapshot, snapshots=(snapshot,))
        return len(plan_increment(store, single).splits)
    return _buckets(history.step(snapshot))


def _packed_rows(history: History, snapshot_id: int) -> tuple[object, ...]:
    store = history.store
    step = history.rows(snapshot_id)  # of the same levels
    kept = {f.file_name for s in step.splits for f in (*s.files, *s.before)}
    plan = plan_scan(store, step.snapshot)
    return tuple(s for s in plan.splits if any(f.file_name in kept for f in (*s.files, *s.before)))


def _buckets(step: Step) -> int:
    return len({(s.partition, s.bucket) for s in step.splits})
