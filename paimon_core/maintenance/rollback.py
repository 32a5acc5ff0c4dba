"""Rollback: return the table to a snapshot or tag, and remove later snapshots, changelogs and tags.

The data files of removed versions stay: a commit in flight may be based on them, and `remove_orphan_files` deletes them
when they are old. Snapshots are removed from the latest downwards, so that the rest is a history at any moment. Tags
are removed after the snapshots, so that no tag made meanwhile remains.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from paimon_core.commit.publish import create_if_missing
from paimon_core.errors import CommitConflictError, SnapshotNotFoundError
from paimon_core.iceberg.follow import keep_up
from paimon_core.io.side_by_side import together
from paimon_core.maintenance.turns import upkeep_turn
from paimon_core.spec.snapshot import Snapshot, encode_snapshot
from paimon_core.spec.tag import Tag
from paimon_core.store.changelogs import changelog_ids, reset_changelog_hints
from paimon_core.store.snapshots import (
    describe_snapshots,
    find_snapshot,
    history_ids,
    latest_snapshot,
    list_snapshots,
    read_snapshot,
    reset_hints,
    snapshot_ids,
    without_gaps,
)
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import readable_tags, require_tag

_LOOKS = 20


def roll_back(store: TableStore, *, snapshot_id: int | None = None, tag: str | None = None) -> tuple[int, int]:
    """Return the table to a snapshot or a tag. Return the latest snapshot numbers before and after.

    Raises `SnapshotNotFoundError` or `TagNotFoundError`, which list the versions; then nothing has changed.
    """
    with upkeep_turn(store) as held:
        latest = latest_snapshot(held)
        if latest is None:
            raise SnapshotNotFoundError(f"Table {store.name} cannot be rolled back: it has no snapshots yet.")
        target = _target(held, snapshot_id, tag)
        _bring_back(held, target)
        cut_history(held, target)
        keep_up(held)
        return latest.id, target.id


def _bring_back(store: TableStore, target: Snapshot) -> None:
    """Restore an expired snapshot that a tag keeps. Raises `SnapshotNotFoundError`."""
    path = store.paths.snapshot(target.id)
    if find_snapshot(store, target.id) is not None:
        return
    create_if_missing(store.io, path, encode_snapshot(target))
    # A process that deletes a tag checks for snapshots afterwards: if the tag still exists now, so do its files.
    if not any(t.snapshot.delta_manifest_list == target.delta_manifest_list for t in readable_tags(store)):
        store.delete(path)
        raise SnapshotNotFoundError(
            f"Table {store.name} was not rolled back: the tag of snapshot {target.id} was deleted meanwhile; "
            f"{describe_snapshots(store)}."
        )


def cut_history(store: TableStore, last: Snapshot | None, kept_tags: Collection[Tag] = ()) -> None:
    """Remove every version after the snapshot `last` (all versions for None), except `kept_tags`.

    Raises `SnapshotNotFoundError` if `last` expired meanwhile; then the snapshots are as before.
    """
    number = 0 if last is None else last.id
    ids = snapshot_ids(store)
    # Snapshots in between may have expired, so readers would trust a wrong hint if it were written now.
    has_gap = bool(ids) and ids[-1] > number and number + 1 not in ids
    first = without_gaps([*(n for n in ids if n < number), number])[0]
    if ids and not has_gap:
        reset_hints(store, first, number)
    _cut_snapshots(store, last, [n for n in without_gaps(ids) if n < number])
    if has_gap:
        reset_hints(store, first, number)
    changelogs = [n for n in changelog_ids(store) if n > number]
    for changelog in reversed(changelogs):
        store.delete(store.paths.changelog(changelog))
    if changelogs:
        reset_changelog_hints(store)
    # Remove tags after snapshots: a process that creates a tag checks afterwards that its snapshot exists.
    later = (t for t in readable_tags(store) if t.snapshot.id > number and t not in kept_tags)
    store.delete_each(store.paths.tag(tag.name) for tag in later)


def _cut_snapshots(store: TableStore, last: Snapshot | None, before: Collection[int]) -> None:
    """Remove the later snapshots from the latest downwards, until no later snapshot exists: commits may add some
    meanwhile."""
    cut: list[Snapshot] = []
    for _ in range(_LOOKS):
        later = [n for n in snapshot_ids(store) if last is None or n > last.id]
        if not later:
            return
        if not _cut_round(store, last, later[::-1], cut):
            assert last is not None
            _check_subsumed(store, last, cut, before)
            return
    raise CommitConflictError(
        f"Table {store.name} was not rolled back: other writers kept committing. Run the statement again."
    )


def _cut_round(store: TableStore, last: Snapshot | None, numbers: Sequence[int], cut: list[Snapshot]) -> bool:
    """Remove the snapshots `numbers` one after the other, and add them to `cut`. Return whether `last` still exists.

    While a snapshot is removed, the next one is read, and `last` is looked up. If `last` is gone, nothing more is
    removed."""

    def is_there() -> bool:
        return last is None or store.io.exists(store.paths.snapshot(last.id))

    found = find_snapshot(store, numbers[0])
    for number, following in zip(numbers, (*numbers[1:], None), strict=True):
        cut += [] if found is None else [found]
        calls: list[Callable[[], Any]] = [partial(store.delete, store.paths.snapshot(number))]
        calls += [is_there] if following is None else [partial(find_snapshot, store, following), is_there]
        _, *looks = together(store.io, calls)
        if not looks[-1]:
            return False
        found = looks[0] if following is not None else None
    return is_there()


def _check_subsumed(store: TableStore, last: Snapshot, cut: list[Snapshot], before: Collection[int]) -> None:
    """Handle the case that the target snapshot was removed meanwhile.

    If another rollback went further back, to one of the versions `before`, the rollback is complete. Else the target
    expired: restore the removed snapshots, because the expiry has read them and keeps the files that they need.
    """
    ids = snapshot_ids(store)
    if any(n in before for n in ids):
        return
    for snapshot in reversed(cut):
        create_if_missing(store.io, store.paths.snapshot(snapshot.id), encode_snapshot(snapshot))
    if cut:
        reset_hints(store, (history_ids(store) or [cut[-1].id])[0], cut[0].id)
    raise SnapshotNotFoundError(
        f"Table {store.name} was not rolled back: snapshot {last.id} expired meanwhile; {describe_snapshots(store)}."
    )


def snapshot_at_watermark(store: TableStore, watermark: int) -> Snapshot:
    """Return the latest snapshot with a watermark (milliseconds) not later than the given watermark.

    Raises `SnapshotNotFoundError`."""
    marked = [s for s in list_snapshots(store) if s.watermark is not None and s.watermark <= watermark]
    if not marked:
        raise SnapshotNotFoundError(
            f"Table {store.name} has no snapshot with a watermark at or before {watermark}; "
            f"{describe_snapshots(store)}."
        )
    return max(marked, key=lambda s: s.id)


def _target(store: TableStore, snapshot_id: int | None, tag: str | None) -> Snapshot:
    if tag is not None:
        return require_tag(store, tag).snapshot
    if snapshot_id is None:
        raise ValueError("neither a snapshot nor a tag")
    kept = next((t.snapshot for t in readable_tags(store) if t.snapshot.id == snapshot_id), None)
    if kept is not None and snapshot_id not in snapshot_ids(store):
        return kept
    return read_snapshot(store, snapshot_id)
