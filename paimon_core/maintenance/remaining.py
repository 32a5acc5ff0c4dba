"""Find the files of removed versions that remaining versions need, while other processes commit, tag, branch, roll back
and expire. Versions cannot be listed at one moment: branches, snapshots, tags and changelogs are in separate folders.
And a version can move meanwhile: a snapshot becomes a tag, a tag a branch, a branch the table. A single listing could
miss it in both folders. So `still_needed` works like this:

1. List the names of all versions of all branches, in the order in which they can move.
2. Read the files that these versions need. If a version is removed while it is read, start again.
3. List the names again. Also read the snapshots that commits have added. If anything else is new, start again.

This is enough because of a rule for every process that makes a version from another one (a tag, a branch, a rollback, a
fast-forward). It checks afterwards that the other version still exists, and removes its own version if not. So either
the second listing shows the new version, or the process that made it sees that the old one was removed.

Reading everything would cost too much. In a history that was not cut off, if any version needs a file of a removed
snapshot, then a neighbour needs it. `_wanted` picks the neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from paimon_core.dataclass import dataclass
from paimon_core.errors import CommitConflictError, PaimonError, SchemaNotFoundError, UnreadableFileError
from paimon_core.io.side_by_side import both, side_by_side
from paimon_core.maintenance.references import NeededFiles, Versions, distinct
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.branches import branch_names, branch_schema
from paimon_core.store.changelogs import changelog_ids, find_changelog
from paimon_core.store.snapshots import find_snapshot, snapshot_ids
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import kept_snapshot, tag_names

T = TypeVar("T")
_LOOKS = 20
_FIRST = 1  # the number of the first snapshot; a damaged tag may have a smaller number, or none


class _LookAgainError(Exception):
    """A version was removed while it was read."""


@dataclass(frozen=True, slots=True)
class _Listing:
    """The names of the versions of a branch."""

    snapshots: frozenset[int]
    tags: frozenset[str]
    changelogs: frozenset[int]

    def newer(self, before: _Listing) -> frozenset[int] | None:
        """Return the snapshots that commits have added since the listing `before`.

        Return None if other versions are new.
        """
        added, latest = self.snapshots - before.snapshots, max(before.snapshots, default=0)
        others = self.tags - before.tags or self.changelogs - before.changelogs or any(n < latest for n in added)
        return None if others else added


def still_needed(removed: Versions, needed: NeededFiles, *, oldest: bool) -> Iterator[str]:
    """Yield the paths that versions need after `removed` were removed. A path may occur several times.

    `oldest`: the removed versions were the first of the branch's history. Raises `CommitConflictError` if other
    processes keep creating and removing versions, `UnreadableFileError` if it is unknown which files a version needs.
    """
    store, done = removed.store, set[str]()
    failure: PaimonError | None = None
    for _ in range(_LOOKS):
        listed = _list(store)
        try:
            for name, listing in listed.items():
                branch = _branch(store, name)
                own = name == store.branch
                wanted = _wanted(branch, listing, removed, oldest) if own else _all(branch, listing)
                yield from _needed_by(needed, wanted, done)
            newer = _newer(_list(store), listed)
            for name, ids in (newer or {}).items():
                branch = _branch(store, name)
                yield from _needed_by(needed, Versions(branch, _snapshots(branch, ids)), done)
            if newer is not None:
                return
        except _LookAgainError:
            continue
        except (UnreadableFileError, SchemaNotFoundError) as error:
            if _list(store) == listed:
                raise
            failure = error
    raise CommitConflictError(
        f"Other processes keep creating and removing versions of table {store.name}. Run the statement again."
    ) from failure


def _list(store: TableStore) -> dict[str, _Listing]:
    """List the versions of each branch, in the order in which versions can move.

    The main branch is last, because a branch may be fast-forwarded to main, and then be deleted. Within a branch,
    snapshots are first, because they become tags and changelogs, and are then deleted.
    """
    branches = (replace(store, branch=name) for name in (*branch_names(store), ""))
    return {branch.branch: _listing(branch) for branch in branches}


def _listing(store: TableStore) -> _Listing:
    snapshots = snapshot_ids(store)
    tags, changelogs = both(store.io, partial(tag_names, store), partial(changelog_ids, store))
    return _Listing(frozenset(snapshots), frozenset(tags), frozenset(changelogs))


def _newer(now: Mapping[str, _Listing], before: Mapping[str, _Listing]) -> dict[str, frozenset[int]] | None:
    """Return the snapshots that commits have added to each branch. Return None if other versions are new."""
    found = {name: listing.newer(before[name]) for name, listing in now.items() if name in before}
    if len(found) < len(now):
        return None
    newer = {name: ids for name, ids in found.items() if ids is not None}
    return newer if len(newer) == len(found) else None


def _all(store: TableStore, listing: _Listing) -> Versions:
    snapshots = (*_snapshots(store, listing.snapshots), *_tagged(store, listing))
    return Versions(store, snapshots, _changelogs(store, listing))


def _wanted(store: TableStore, listing: _Listing, removed: Versions, oldest: bool) -> Versions:
    """Return the versions of a branch that may need files of the branch's `removed` versions.

    Together they need all files that any version of the branch needs. If the history was not cut off, these are the
    remaining snapshots between the removed snapshots, and the next snapshot on either side; the latest is added for
    safety. Tags with removed snapshots may be of a history that was cut off: an expiry adds the nearest tags. A tag
    without a valid number may be a neighbour of any snapshot.
    """
    ids, tagged = sorted(listing.snapshots), _tagged(store, listing)
    numbers = [s.id for s in (*removed.snapshots, *removed.changelogs)]
    low, high = min(numbers, default=_FIRST), max(numbers, default=_FIRST)
    is_cut_off = not oldest and bool(_cut_off(store, removed.snapshots, ids))
    if is_cut_off or low < _FIRST:
        return Versions(store, (*_snapshots(store, ids), *tagged), _changelogs(store, listing))
    wanted = {n for n in ids if low <= n <= high} | set(ids[-1:])
    wanted |= {*[n for n in ids if n < low][-1:], *[n for n in ids if n > high][:1]}
    if oldest:
        before = max((s.id for s in tagged if s.id < low), default=low)
        near = [s for s in tagged if s.id < _FIRST or before <= s.id <= high]
        later = [s for s in tagged if s.id >= _FIRST and s.id > high]
        cut = _cut_off(store, later, ids)
        first = ids[0] if ids else None  # the listing does not show otherwise: older tags belong to the history
        tagged = [*near, *(s for s in later if first is None or s.id < first or s.delta_manifest_list in cut)]
    return Versions(store, (*_snapshots(store, wanted), *tagged), _changelogs(store, listing))


def _cut_off(store: TableStore, tagged: Iterable[Snapshot], ids: Sequence[int]) -> frozenset[str]:
    """Return the tagged snapshots that belong to a history that a rollback cut off, if the snapshots `ids` show this.

    A snapshot is identified by its delta manifest list.
    """
    looked_up = [s for s in distinct(tagged) if ids and s.id >= ids[0]]
    now = side_by_side(store.io, lambda s: find_snapshot(store, s.id), looked_up)
    pairs = ((s.delta_manifest_list, n and n.delta_manifest_list) for s, n in zip(looked_up, now, strict=True))
    return frozenset(tagged for tagged, current in pairs if tagged != current)


def _needed_by(needed: NeededFiles, versions: Versions, done: set[str]) -> list[str]:
    """Return the paths that versions need, except versions in `done`. Add the versions to `done`."""
    snapshots = tuple(s for s in versions.snapshots if f"snapshot {s.delta_manifest_list}" not in done)
    changelogs = tuple(c for c in versions.changelogs if f"changelog {c.delta_manifest_list}" not in done)
    paths = list(needed.of(Versions(versions.store, snapshots, changelogs)))
    done.update(f"snapshot {s.delta_manifest_list}" for s in snapshots)
    done.update(f"changelog {c.delta_manifest_list}" for c in changelogs)
    return paths


def _branch(store: TableStore, name: str) -> TableStore:
    """Return the store of a branch. The branch may have no schema yet, or no longer."""
    if name == store.branch:
        return store
    return replace(store, branch=name, schema=branch_schema(store, name) or store.schema)


def _snapshots(store: TableStore, ids: Iterable[int]) -> tuple[Snapshot, ...]:
    found = side_by_side(store.io, lambda n: find_snapshot(store, n), sorted(ids))
    return tuple(map(_existing, found))


def _changelogs(store: TableStore, listing: _Listing) -> tuple[Snapshot, ...]:
    found = side_by_side(store.io, lambda n: find_changelog(store, n), sorted(listing.changelogs))
    return tuple(map(_existing, found))


def _tagged(store: TableStore, listing: _Listing) -> list[Snapshot]:
    found = side_by_side(store.io, lambda name: kept_snapshot(store, name), sorted(listing.tags))
    return list(map(_existing, found))


def _existing(found: T | None) -> T:
    if found is None:
        raise _LookAgainError
    return found
