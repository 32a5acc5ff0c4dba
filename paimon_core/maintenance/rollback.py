"""Rollback: the table is as it was at a snapshot or tag; later snapshots, changelogs and tags are gone.

Their data files stay: a commit in flight may be based on them, and `remove_orphan_files` deletes them when they are
old. Tags go first and snapshots from the latest downwards, so that what is there is a history at any moment.
"""

from __future__ import annotations

from collections.abc import Collection

from paimon_core.commit.publish import create_new
from paimon_core.errors import SnapshotNotFoundError
from paimon_core.spec.snapshot import Snapshot, encode_snapshot
from paimon_core.spec.tag import Tag
from paimon_core.store.changelogs import changelog_ids, reset_changelog_hints
from paimon_core.store.snapshots import (
    describe_snapshots,
    latest_snapshot,
    list_snapshots,
    read_snapshot,
    reset_hints,
    snapshot_ids,
)
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import list_tags, require_tag


def roll_back(store: TableStore, *, snapshot_id: int | None = None, tag: str | None = None) -> tuple[int, int]:
    """Go back to a snapshot, or to a tag; the numbers of the snapshot it was before, and is now.

    Raises `SnapshotNotFoundError`, `TagNotFoundError` saying what exists; nothing has changed then.
    """
    with store.io.turn(store.root):
        latest = latest_snapshot(store)
        if latest is None:
            raise SnapshotNotFoundError(f"Table {store.name} cannot be rolled back: it has no snapshots yet.")
        target = _target(store, snapshot_id, tag)
        _bring_back(store, target)
        cut_history(store, target.id)
        return latest.id, target.id


def _bring_back(store: TableStore, target: Snapshot) -> None:
    """Make a snapshot that expired, and that a tag keeps, one of the table again. Raises `SnapshotNotFoundError`."""
    path = store.paths.snapshot(target.id)
    if not create_new(store.io, path, encode_snapshot(target)):
        return
    # who deletes a tag looks for snapshots afterwards: where the tag is still there, so are its files
    if not any(t.snapshot.delta_manifest_list == target.delta_manifest_list for t in list_tags(store)):
        store.delete(path)
        raise SnapshotNotFoundError(
            f"Table {store.name} was not rolled back: the tag of snapshot {target.id} was deleted meanwhile; "
            f"{describe_snapshots(store)}."
        )


def cut_history(store: TableStore, last: int, kept_tags: Collection[Tag] = ()) -> None:
    """Remove every version after snapshot `last`, but the tags that stay."""
    for tag in list_tags(store):
        if tag.snapshot.id > last and tag not in kept_tags:
            store.delete(store.paths.tag(tag.name))
    changelogs = [number for number in changelog_ids(store) if number > last]
    for number in reversed(changelogs):
        store.delete(store.paths.changelog(number))
    if changelogs:
        reset_changelog_hints(store)
    ids = snapshot_ids(store)
    if ids:
        reset_hints(store, ids[0], last)
    for number in reversed(ids):
        if number > last:
            store.delete(store.paths.snapshot(number))


def snapshot_at_watermark(store: TableStore, watermark: int) -> Snapshot:
    """The latest snapshot whose watermark is at or before one (milliseconds). Raises `SnapshotNotFoundError`."""
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
    kept = next((t.snapshot for t in list_tags(store) if t.snapshot.id == snapshot_id), None)
    if kept is not None and snapshot_id not in snapshot_ids(store):
        return kept
    return read_snapshot(store, snapshot_id)
