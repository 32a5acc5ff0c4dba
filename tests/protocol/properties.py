"""What must hold: Vanlightly's four invariants of Paimon, and what the project promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tests.protocol.table import Snapshot, World

Property = Callable[[World], str | None]


def sequential_snapshot_ids(world: World) -> str | None:
    """Snapshots are numbered without gaps, each built on the one before, but for one that its writer did not yet look
    after: it may have to take it back; and those before a gap, that an expiry has left."""
    history = world.history()
    for snapshot in world.snapshots:
        is_left = world.has_expired and snapshot.history == world.latest.history[: len(snapshot.history)]
        if snapshot not in history and snapshot.uuid not in world.unsettled and not is_left:
            return f"SequentialSnapshotIds: snapshot {snapshot.number} is not what the latest is built on"
    return None


def no_dangling_deletion_vectors(world: World) -> str | None:
    for snapshot in _versions(world):
        files = {f.name for f in snapshot.live}
        for vector in snapshot.vectors:
            if vector.data_file not in files:
                return f"NoDanglingDeletionVectors: snapshot {snapshot.number} deletes rows of {vector.data_file}"
    return None


def one_valid_row_per_key(world: World) -> str | None:
    for snapshot in _versions(world):
        counts = Counter(key for key, _ in snapshot.valid_rows())
        for key in ("k", "l"):
            if counts[key] != 1:
                return f"OneValidRowPerKey: snapshot {snapshot.number} has {counts[key]} rows of key {key}"
    return None


def consistent_read(world: World) -> str | None:
    return f"ConsistentRead: {world.broken}" if world.broken else None


def nothing_needed_is_deleted(world: World) -> str | None:
    for snapshot in _versions(world):
        missing = sorted(snapshot.needs - world.files)
        if missing:
            return f"a needed file is deleted: snapshot {snapshot.number} names {missing[0]}"
    return None


def no_commit_is_lost(world: World) -> str | None:
    lost = world.acknowledged - set(world.latest.history) - world.lapsed
    return f"an acknowledged commit is lost: {sorted(lost)[0]}" if lost else None


def all_or_nothing(world: World) -> str | None:
    """No commit is there twice, and none that failed."""
    for snapshot in _versions(world):
        if len(set(snapshot.history)) < len(snapshot.history):
            return f"snapshot {snapshot.number} has a commit twice: {snapshot.history}"
        failed = world.failed.intersection(snapshot.history)
        if failed:
            return f"snapshot {snapshot.number} has a commit that failed: {sorted(failed)[0]}"
    return None


def nothing_undone_is_back(world: World) -> str | None:
    back = world.undone.intersection(world.latest.history)
    return f"a commit is back that was rolled back: {sorted(back)[0]}" if back else None


def _versions(world: World) -> Sequence[Snapshot]:
    return [*world.history(), *(s for name, s in world.tags if name in world.kept)]


ALWAYS: Sequence[Property] = (
    no_dangling_deletion_vectors,
    one_valid_row_per_key,
    consistent_read,
    nothing_needed_is_deleted,
    all_or_nothing,
)
# a snapshot on a history that was cut off may be seen for a moment, until its writer withdraws it
FINALLY: Sequence[Property] = (sequential_snapshot_ids, no_commit_is_lost, nothing_undone_is_back)


def always(world: World) -> str | None:
    """What is wrong with a world at any moment."""
    return _first(ALWAYS, world)


def always_and_finally(world: World) -> str | None:
    """The same where nobody cuts a history off."""
    return _first([*ALWAYS, *FINALLY], world)


def finally_(world: World, ends: Sequence[Any]) -> str | None:
    """What is wrong once all processes have ended."""
    return _first(FINALLY, world)


def _first(properties: Sequence[Property], world: World) -> str | None:
    return next((wrong for p in properties if (wrong := p(world)) is not None), None)
