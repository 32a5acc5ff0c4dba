"""Snapshots that were published where they are no part of the history.

Where writers do not queue, others can come between reading the latest snapshot and publishing the next. A rollback, a
fast-forward or the deletion of a branch may cut off what that is built on, and it would bring back what was rolled
back. Or others commit, and expiry takes their snapshots: then the number is free again, and what is published under it
is below the latest snapshot, so nobody would ever read it. Who cuts a history looks afterwards for snapshots that were
published meanwhile; who publishes looks afterwards for the snapshot that it is built on. So at least one of them sees
the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from paimon_core.errors import (
    CommitConflictError,
    CommitUnknownError,
    SchemaNotFoundError,
    StorageError,
    UnreadableFileError,
)
from paimon_core.spec.manifest import FileKind, ManifestFileMeta, live_entries
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.manifests import data_manifests, read_entries, read_manifest_list
from paimon_core.store.schemas import load_schema, schema_ids
from paimon_core.store.snapshots import find_snapshot, snapshot_ids
from paimon_core.store.table_store import TableStore


def withdrawn(store: TableStore, base: Snapshot | None, made: Snapshot) -> bool:
    """Whether `made`, which was published onto `base`, is no part of the history, and is therefore removed.

    It stays where others have built on it. Its manifests always stay, for those who read it. Raises
    `CommitUnknownError` where it cannot be removed, where it cannot be told, and where its branch was deleted or
    renamed; `CommitConflictError` where the table was dropped, so that nothing of ours is in one created in its place.
    """
    try:
        deleted = bool(store.branch) and not schema_ids(store.io, store.paths.version_root)
        if not deleted and base is not None and is_there(store, base):
            return False
        dropped = not store.branch and base is not None and snapshot_ids(store) == [made.id] and not _has_schema(store)
        if not deleted and not dropped and not _is_outside(store, base, made):
            return False
    except (StorageError, UnreadableFileError):
        return False  # it is published, and there is no sign that it should not be
    _remove(store, made)
    if dropped:
        raise CommitConflictError(
            f"Table {store.name} was dropped while rows were written to it. Nothing was committed."
        )
    if deleted:
        raise CommitUnknownError(
            f"{store.name} was deleted or renamed while rows were written to it. The files stay: where it was renamed, "
            "look whether the rows are there before you run the statement again."
        )
    return True


def is_there(store: TableStore, snapshot: Snapshot | None) -> bool:
    """Whether a snapshot is still the one of its number: then no later number was used before. True for None."""
    now = None if snapshot is None else find_snapshot(store, snapshot.id)
    return snapshot is None or (now is not None and now.delta_manifest_list == snapshot.delta_manifest_list)


def _remove(store: TableStore, made: Snapshot) -> None:
    try:
        store.delete(store.paths.snapshot(made.id))
    except StorageError as error:
        raise CommitUnknownError(
            f"Snapshot {made.id} of {store.name} was published while the table was rolled back, and could not be "
            f"removed: {error} Look whether it is there before you run the statement again."
        ) from error


def _has_schema(store: TableStore) -> bool:
    """Whether the table is the one that was loaded, and not dropped, or dropped and created again, since."""
    try:
        return store.schema.is_version(load_schema(store.io, store.paths.version_root, store.schema.id))
    except SchemaNotFoundError:
        return False


def _is_outside(store: TableStore, base: Snapshot | None, made: Snapshot) -> bool:
    """Whether `made` is no part of the history, where `base` is gone."""
    ids = snapshot_ids(store)
    later = [n for n in ids if n > made.id]
    if later:
        return not _is_built_on(store, later[0], made, is_visible=made.id in ids)
    earlier = [n for n in ids if base is not None and n <= base.id]
    # that of its number and the next ones below may be others by now: of a branch, or where a rollback freed numbers
    return made.id in ids and base is not None and any(_is_cut_off(store, base, made, n) for n in reversed(earlier))


def _is_built_on(store: TableStore, later: int, made: Snapshot, *, is_visible: bool) -> bool:
    """Whether the next version that there is has what we made. Raises `CommitUnknownError` where it does not show."""
    if is_visible and later > made.id + 1:
        return False  # expiry takes the first ones: ours came when the ones between were gone
    found = find_snapshot(store, later)
    try:
        has = None if found is None else _have(store, read_manifest_list(store, found.base_manifest_list), made)
    except UnreadableFileError:
        if is_visible:
            raise
        has = None  # who removed it has deleted its manifests, too
    if has is None or not (has or is_visible):
        raise CommitUnknownError(
            f"Snapshot {made.id} of {store.name} was published while others expired, and whether the table has its "
            "rows could not be established. Its files are kept. Before you run the statement again, look whether the "
            "table has the rows."
        )
    return has


def _is_cut_off(store: TableStore, base: Snapshot, made: Snapshot, number: int) -> bool:
    """Whether a snapshot is there that `base` was built on or replaced by, while `base` is not: expiry would have taken
    that first. One that took a number which expiry had made free is no such sign."""
    found = find_snapshot(store, number)
    if found is None:
        return False
    # a later commit may have deleted its files, which does not show then
    return _have(store, data_manifests(store, base), found) is True or _is_older(store, number, made)


def _is_older(store: TableStore, number: int, made: Snapshot) -> bool:
    """Whether a snapshot was there, by the storage's clock, before `made`. Expiry takes what `made` is built on when it
    sees `made`, and had taken that one before."""
    try:
        then, now = (store.io.status(store.paths.snapshot(n)).modified for n in (number, made.id))
    except FileNotFoundError:
        return False
    return then < now


def _have(store: TableStore, manifests: Sequence[ManifestFileMeta], made: Snapshot) -> bool | None:
    """Whether manifests have what a snapshot changed, be it that they were merged; None where they do not show it."""
    changed, names = read_manifest_list(store, made.delta_manifest_list), {m.file_name for m in manifests}
    if any(m.file_name in names for m in changed):
        return True
    entry = next(iter(read_entries(store, changed)), None)
    if entry is None:
        return None
    entries = list(read_entries(store, manifests))
    if entry.kind is FileKind.ADD:  # who deletes a file knows it
        return any(e.identifier == entry.identifier for e in entries)
    return all(e.identifier != entry.identifier or e.kind is FileKind.DELETE for e in live_entries(entries).values())
