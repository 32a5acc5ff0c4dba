"""Removing versions, and the files that nothing else needs, in an order that leaves every version there is readable.

What the versions that go need is read first; then they are removed, so that nobody can tag them or branch off any
more; only then is looked up what all others need, and the rest is deleted. Killed anywhere, this leaves files that
`remove_orphan_files` finds, and never a version without its files.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from paimon_core.errors import CommitConflictError, PaimonError
from paimon_core.maintenance.references import NeededFiles, Versions, branch_stores, versions_of
from paimon_core.options import SNAPSHOT_CLEAN_EMPTY_DIRS
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.cache import MetadataCache
from paimon_core.store.changelogs import list_changelogs
from paimon_core.store.snapshots import find_snapshot, snapshot_ids
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import list_tags, tag_names

Delete = Callable[[TableStore, Collection[str]], None]
_LOG = logging.getLogger(__name__)
_CACHED = 20_000  # entries: what is read of versions that go is of no use to others
_MANY, _THREADS = 1000, 16  # many files are deleted by several threads: storages far away answer late
_LOOKS = 5
_EACH = 50  # files that a thread deletes at a time: handing one over costs as much as deleting it


def release(gone: Versions, remove: Callable[[], None], delete: Delete | None = None) -> None:
    """Call `remove`, which removes `gone`, and delete what only those versions needed (default: `delete_files`).

    Raises `StorageError`: nothing is deleted then, unless `remove` did. What cannot be
    deleted behind it stays as an orphan.
    """
    store = replace(gone.store, cache=MetadataCache(_CACHED))
    gone = replace(gone, store=store)
    unneeded = set(NeededFiles(tolerant=True).of(gone))
    remove()
    try:
        _leave_needed(gone, unneeded)
    except PaimonError as error:
        _LOG.warning("Files of %s stay behind, remove_orphan_files finds them: %s", store.name, error)
        return
    (delete or delete_files)(store, unneeded)
    if store.options[SNAPSHOT_CLEAN_EMPTY_DIRS]:
        _delete_empty_folders(store, unneeded)


def delete_files(store: TableStore, paths: Iterable[str]) -> None:
    """Delete what lies in places of the table; what cannot be deleted stays as an orphan."""
    places = owned_places(store)
    ours = []
    for path in paths:
        if path.startswith(places):
            ours.append(path)
        else:
            _LOG.warning("File %s lies outside table %s and stays there.", path, store.name)
    if len(ours) < _MANY:
        _delete(store, ours)
        return
    with ThreadPoolExecutor(_THREADS) as pool:
        for _ in pool.map(partial(_delete, store), (ours[i : i + _EACH] for i in range(0, len(ours), _EACH))):
            pass


def _delete(store: TableStore, paths: Iterable[str]) -> None:
    for path in paths:
        try:
            store.io.delete(path)
        except OSError as error:
            _LOG.warning("File %s of table %s stays behind: %s", path, store.name, error)


def _delete_empty_folders(store: TableStore, deleted: Iterable[str]) -> None:
    """Delete the folders of buckets that files were deleted from, and of partitions, where nothing is left in them."""
    places = owned_places(store)
    level = {f for p in deleted if (f := p.rpartition("/")[0]).rpartition("/")[2].startswith("bucket-")}
    while level := {f for f in level if f.startswith(places)}:
        level = {f.rpartition("/")[0] for f in level if store.io.delete_empty_dir(f)}


def owned_places(store: TableStore) -> tuple[str, ...]:
    """Where files of the table may lie, each with a slash at its end: metadata can name any path."""
    external = store.options.values.get("data-file.external-paths", "").split(",")
    return (f"{store.root}/", *(f"{p.strip().rstrip('/')}/" for p in external if p.strip()))


def _leave_needed(gone: Versions, unneeded: set[str]) -> None:
    """Take away what versions that are left need. Raises `CommitConflictError` where these change all the time."""
    for _ in range(_LOOKS):
        before = _kept_names(gone.store)
        unneeded.difference_update(_needed_still(gone))
        # a tag that is renamed is under neither name for who lists both halves of it; so is a snapshot that becomes one
        if _kept_names(gone.store) <= before:
            return
    raise CommitConflictError(f"Tags and branches of table {gone.store.name} appear all the time.")


def _kept_names(store: TableStore) -> frozenset[tuple[str, str]]:
    """The names of all branches, and of their tags."""
    stores = branch_stores(store)
    return frozenset((s.branch, tag) for s in stores for tag in ("", *tag_names(s)))


def _needed_still(gone: Versions) -> Iterator[str]:
    """What the versions that are left need of the files of `gone`."""
    needed = NeededFiles()
    for store in branch_stores(gone.store):
        yield from needed.of(_neighbours(gone) if store.branch == gone.store.branch else versions_of(store))


def _neighbours(gone: Versions) -> Versions:
    """The versions of the same branch that are left between the first and the last of `gone`, and the next on both
    sides: no others can need what these do not."""
    store = gone.store
    ids = snapshot_ids(store)  # before the tags: a snapshot may go once it is one
    tagged = {t.snapshot.delta_manifest_list: t.snapshot for t in list_tags(store)}
    kept = set(ids) | {s.id for s in tagged.values()}
    if any(_left_the_chain(store, s, ids) for s in tagged.values()):
        wanted = kept
    else:
        numbers = [s.id for s in (*gone.snapshots, *gone.changelogs)]
        low, high = min(numbers), max(numbers)
        wanted = {n for n in kept if low <= n <= high}
        wanted |= {max((n for n in kept if n < low), default=low), min((n for n in kept if n > high), default=high)}
    snapshots = [s for n in wanted if n in ids and (s := find_snapshot(store, n)) is not None]
    snapshots += [s for s in tagged.values() if s.id in wanted]
    return Versions(store, tuple(snapshots), tuple(list_changelogs(store)))


def _left_the_chain(store: TableStore, tagged: Snapshot, ids: list[int]) -> bool:
    """Whether a tag is of a history that a rollback cut off, and its number may be another snapshot's by now."""
    if not ids or tagged.id < ids[0]:
        return False
    now = find_snapshot(store, tagged.id)
    return now is None or now.delta_manifest_list != tagged.delta_manifest_list
