"""Snapshots that were published onto a history that a rollback cut off meanwhile.

Where writers do not queue, a rollback, a fast-forward or the deletion of a branch can come between reading the latest
snapshot and publishing the next, which would bring back what was rolled back. Who cuts a history looks afterwards for
snapshots that were published meanwhile; who publishes looks afterwards for the snapshot that it is built on. So at
least one of them sees the other.
"""

from __future__ import annotations

from paimon_core.errors import CommitUnknownError, CorruptFileError, StorageError
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.schemas import schema_ids
from paimon_core.store.snapshots import find_snapshot, snapshot_ids
from paimon_core.store.table_store import TableStore


def withdrawn(store: TableStore, base: Snapshot | None, made: Snapshot) -> bool:
    """Whether the history of `base` was cut off before `made` was published onto it, which is then removed.

    It stays where others have built on it. Its manifests always stay, for those who read it. Raises
    `CommitUnknownError` where it cannot be removed, and where its branch was deleted or renamed.
    """
    try:
        deleted = bool(store.branch) and not schema_ids(store.io, store.paths.version_root)
        if not deleted and not _is_cut_off(store, base, made):
            return False
    except (StorageError, CorruptFileError):
        return False  # it is published, and there is no sign that it should not be
    _remove(store, made)
    if deleted:
        raise CommitUnknownError(
            f"{store.name} was deleted or renamed while rows were written to it. The files stay: where it was renamed, "
            "look whether the rows are there before you run the statement again."
        )
    return True


def _remove(store: TableStore, made: Snapshot) -> None:
    try:
        store.delete(store.paths.snapshot(made.id))
    except StorageError as error:
        raise CommitUnknownError(
            f"Snapshot {made.id} of {store.name} was published while the table was rolled back, and could not be "
            f"removed: {error} Look whether it is there before you run the statement again."
        ) from error


def _is_cut_off(store: TableStore, base: Snapshot | None, made: Snapshot) -> bool:
    if base is None:
        return False
    now = find_snapshot(store, base.id)
    if now is not None and now.delta_manifest_list == base.delta_manifest_list:
        return False
    ids = snapshot_ids(store)
    # expiry removes the first ones: a gap is no work of it
    return ids[-1:] == [made.id] and (now is not None or ids[0] < base.id)
