"""Snapshots that were published outside the history, which a commit withdraws.

If writers do not queue, another process can act between a commit's read of the latest snapshot and its publish. A
rollback, a fast-forward or the deletion of a branch may cut off the snapshot that the new one is built on; the new
snapshot would bring back what was rolled back. Or other commits come, and expiry removes their snapshots: then the
number is free again, and a snapshot published under it is below the latest one, so no reader would ever find it.

A process that cuts a history checks afterwards for snapshots published meanwhile. A process that publishes checks
afterwards that the base of its snapshot still exists. So at least one of them sees the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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


def withdrawn(store: TableStore, base: Snapshot | None, made: Snapshot, is_base_there: Callable[[], bool]) -> bool:
    """Remove the snapshot `made`, published on top of `base`, if it is outside the history. Return whether it was
    removed.

    `is_base_there` reads the storage after `made` was published; see `is_there`. The snapshot stays if another writer
    has built on it. Its manifests always stay, for processes that read it.

    Raises `CommitUnknownError` if the snapshot cannot be removed, if the storage does not show whether it is outside,
    or if its branch was deleted or renamed. Raises `CommitConflictError` if the table was dropped: a table created in
    its place does not contain our files.
    """
    try:
        deleted = bool(store.branch) and not schema_ids(store.io, store.paths.version_root)
        if not deleted and base is not None and is_base_there():
            return False
        dropped = not store.branch and not _has_schema(store)
        continued = dropped and _is_shown(store, made) and any(n > made.id for n in snapshot_ids(store))
        if not deleted and not dropped and not _is_outside(store, base, made):
            return False
    except (StorageError, UnreadableFileError):
        return False  # it is published, and nothing shows that it is outside the history
    if continued:
        raise CommitUnknownError(
            f"Table {store.name} was dropped while rows were written to it, and a table of the same name was created. "
            f"Another writer has built on snapshot {made.id}, which has these rows, so their files stay. Check whether "
            "the new table should have these rows."
        )
    _remove(store, made)
    if dropped:
        raise CommitConflictError(
            f"Table {store.name} was dropped while rows were written to it. Nothing was committed. "
            "If it was created again, run the statement again."
        )
    if deleted:
        raise CommitUnknownError(
            f"{store.name} was deleted or renamed while rows were written to it. The files stay. If it was renamed, "
            "check whether the rows are there before you run the statement again."
        )
    return True


def is_there(store: TableStore, snapshot: Snapshot | None) -> bool:
    """Return whether a snapshot still exists under its number, without the mark of an expiry.

    If so, no later number was in use before. True for None.
    """
    now = None if snapshot is None else find_snapshot(store, snapshot.id)
    return snapshot is None or (_is_at(now, snapshot) and not (now is not None and now.is_expiring))


def _is_at(found: Snapshot | None, snapshot: Snapshot) -> bool:
    """Return whether `found`, read under the number of `snapshot`, is this snapshot, with or without a mark."""
    return found is not None and found.delta_manifest_list == snapshot.delta_manifest_list


def _remove(store: TableStore, made: Snapshot) -> None:
    """Remove a snapshot. Do nothing if its number belongs to another snapshot by now: of a new table with the same
    name, or of another writer after a rollback.
    """
    try:
        if _is_shown(store, made):
            store.delete(store.paths.snapshot(made.id))
    except (StorageError, UnreadableFileError) as error:
        raise CommitUnknownError(
            f"Snapshot {made.id} of {store.name} was published while the table was rolled back, and could not be "
            f"removed: {error} Check whether it is there before you run the statement again."
        ) from error


def _is_shown(store: TableStore, made: Snapshot) -> bool:
    """Return whether a snapshot is visible under its number."""
    found = find_snapshot(store, made.id)
    return found is not None and found.is_same(made)


def _has_schema(store: TableStore) -> bool:
    """Return whether the table is still the table that was loaded, and was neither dropped nor replaced."""
    try:
        return store.schema.is_version(load_schema(store.io, store.paths.version_root, store.schema.id))
    except SchemaNotFoundError:
        return False


def _is_outside(store: TableStore, base: Snapshot | None, made: Snapshot) -> bool:
    """Return whether `made` is outside the history, if `base` is gone or marked."""
    ids = snapshot_ids(store)
    later = [n for n in ids if n > made.id]
    if later:
        return not _is_built_on(store, later[0], made, is_visible=made.id in ids)
    if base is not None and base.id in ids and _is_at(find_snapshot(store, base.id), base):
        return False  # an expiry has marked it; the number was not free before: the latest version never expires
    earlier = [n for n in ids if base is not None and n <= base.id]
    # snapshots at its number and just below may be new ones: of a new branch, or at numbers that a rollback freed
    return made.id in ids and base is not None and any(_is_cut_off(store, base, made, n) for n in reversed(earlier))


def _is_built_on(store: TableStore, later: int, made: Snapshot, *, is_visible: bool) -> bool:
    """Return whether the next existing version contains `made`. Raises `CommitUnknownError` if manifests do not show
    it."""
    is_next = later == made.id + 1
    if is_visible and not is_next and _is_unmarked(store, made):
        # expiry marks a snapshot before it removes the next one: so ours was published after the next ones were gone
        return False
    found = find_snapshot(store, later)
    try:
        before = () if found is None else read_manifest_list(store, found.base_manifest_list)
        has = None if found is None else _have(store, before, made)
        if has is None and found is not None and is_visible and is_next:  # a commit without changes
            has = {m.file_name for m in before} == {m.file_name for m in data_manifests(store, made)} or None
    except UnreadableFileError:
        if is_visible:
            raise
        has = None  # the process that removed the snapshot has deleted its manifests, too
    if has is None or not (has or (is_visible and is_next)):
        raise CommitUnknownError(
            f"Snapshot {made.id} of {store.name} was published while others expired, and it is unknown whether the "
            "table has its rows. Its files are kept. Before you run the statement again, check whether the table has "
            "the rows."
        )
    return has


def _is_unmarked(store: TableStore, made: Snapshot) -> bool:
    """Return whether a snapshot is visible under its number, and no expiry has seen it."""
    found = find_snapshot(store, made.id)
    return found is not None and not found.is_expiring


def _is_cut_off(store: TableStore, base: Snapshot, made: Snapshot, number: int) -> bool:
    """Return whether the history was cut off below `base`: `base` does not exist, but a snapshot below it or in its
    place does.

    Expiry would have removed the other snapshot first. A snapshot under a number that expiry had freed does not count.
    """
    found = find_snapshot(store, number)
    if found is None:
        return False
    # A later commit may have deleted the files of the snapshot. Then manifests do not show it.
    return _have(store, data_manifests(store, base), found) is True or _is_older(store, number, made)


def _is_older(store: TableStore, number: int, made: Snapshot) -> bool:
    """Return whether a snapshot is older than `made`, by the storage's clock.

    An expiry may remove the base of `made`, but it removes older snapshots first. So if an older snapshot exists, no
    expiry removed the base.
    """
    try:
        then, now = (store.io.status(store.paths.snapshot(n)).modified for n in (number, made.id))
    except FileNotFoundError:
        return False
    return then < now


def _have(store: TableStore, manifests: Sequence[ManifestFileMeta], made: Snapshot) -> bool | None:
    """Return whether manifests contain the changes of a snapshot, even merged ones, or None if they do not show it."""
    changed, names = read_manifest_list(store, made.delta_manifest_list), {m.file_name for m in manifests}
    if any(m.file_name in names for m in changed):
        return True
    entry = next(iter(read_entries(store, changed)), None)
    if entry is None:
        return None
    entries = list(read_entries(store, manifests))
    if entry.kind is FileKind.ADD:  # a commit that deletes a file has its entry
        return any(e.identifier == entry.identifier for e in entries)
    return all(e.identifier != entry.identifier or e.kind is FileKind.DELETE for e in live_entries(entries).values())
