"""Remove the oldest snapshots of a history, with few requests that wait for one another.

A commit checks afterwards whether the snapshot below its own is still there (`commit/withdraw.py`), and a reader trusts
a hint if the next number is free. So one rule must hold at any moment, even if this process is killed:

    A number becomes free only after the snapshot below it is gone, or has the mark of an expiry.

On a local disk, the snapshots are removed one by one. A remote storage answers slowly, so there the snapshots are cut
into parts of a few. The last snapshot of each part gets the mark, and then each round removes the first remaining
snapshot of every part by one request. The last of all these snapshots is removed alone at the end: if it is gone, all
snapshots before it are gone, too. Commits rely on this.

A killed process leaves snapshots before a gap. Readers count them as expired, and the next expiry removes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import isqrt

from paimon_core.dataclass import dataclass
from paimon_core.errors import CommitConflictError
from paimon_core.io.side_by_side import both, side_by_side
from paimon_core.maintenance.turns import clocks
from paimon_core.progress import phase
from paimon_core.spec.snapshot import Snapshot, encode_snapshot
from paimon_core.store.snapshots import find_snapshot, find_tagged
from paimon_core.store.table_store import TableStore

_LENGTH = 4  # snapshots of a part: each part costs one write, and each round one request
_FRESH = 5.0  # seconds between the comparison of a snapshot and its removal


class ChangedError(CommitConflictError):
    """The table was changed since the snapshots to remove were chosen."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """The snapshots to mark, in any order, and then the snapshots to remove, round by round."""

    marked: tuple[Snapshot, ...]
    removed: tuple[tuple[Snapshot, ...], ...]

    @staticmethod
    def of(snapshots: Sequence[Snapshot], at_once: int) -> Rounds:
        """Plan the removal of ascending snapshots, with `at_once` parallel requests."""
        if at_once < 2 or not all(s.has_new_members for s in snapshots):  # old readers refuse a snapshot with a mark
            return Rounds((), tuple((s,) for s in snapshots))
        *others, last = snapshots
        length = max(_LENGTH, isqrt(len(others) // at_once))
        parts = [others[i : i + length] for i in range(0, len(others), length)]
        rounds = [tuple(part[n] for part in parts if n < len(part)) for n in range(length)]
        return Rounds(tuple(part[-1] for part in parts[:-1]), (*filter(None, rounds), (last,)))


def remove_snapshots(store: TableStore, snapshots: Sequence[Snapshot]) -> None:
    """Remove the first snapshots of a history, except those with a number that a new snapshot has taken meanwhile.

    Each snapshot is compared shortly before its removal. Raises `ChangedError` before anything is removed,
    `StorageError`, and `CommitConflictError` if the store's turn is over.
    """
    plan = Rounds.of(snapshots, _at_once(store))
    look = partial(side_by_side, store.io, partial(_look, store))
    found = side_by_side(store.io, lambda s: find_tagged(store, s.id), plan.marked)
    looked = clocks()
    _, present = both(store.io, partial(_mark, store, plan.marked, found), partial(look, plan.removed[0]))
    with phase(f"remove snapshots of {store.name}", "snapshots", len(snapshots)) as shown:
        for now, following in zip(plan.removed, (*plan.removed[1:], ()), strict=True):
            if max(c - before for c, before in zip(clocks(), looked, strict=True)) > _FRESH:
                present = look(now)  # this process paused, and another engine may have used the numbers again
            paths = [store.paths.snapshot(s.id) for s, f in zip(now, present, strict=True) if f is None or f.is_same(s)]
            looked = clocks()
            _, present = both(store.io, partial(store.delete_many, paths), partial(look, following))
            shown.add(len(now))


def _at_once(store: TableStore) -> int:
    return store.io.requests_at_once if store.io.atomic_create else 1  # elsewhere readers may see half of a mark


def _look(store: TableStore, snapshot: Snapshot) -> Snapshot | None:
    return find_snapshot(store, snapshot.id)


def _mark(
    store: TableStore, snapshots: Sequence[Snapshot], found: Sequence[tuple[Snapshot, str | None] | None]
) -> None:
    """Mark snapshots, except snapshots that are gone or have a mark. Raises `ChangedError` for other snapshots.

    `found` are the present snapshots with the ETags of their files. If the storage has ETags, a file is only replaced
    if it has not changed since: other engines take no turn, and their rollback may have removed the snapshot.
    """
    present = [(s, *f) for s, f in zip(snapshots, found, strict=True) if f is not None]
    other = next((s for s, now, _ in present if not now.is_same(s)), None)
    if other is not None:
        raise _changed(store, f"snapshot {other.id} is another one now")

    def mark(snapshot: Snapshot, tag: str | None) -> None:
        if not store.io.replace_tagged(store.paths.snapshot(snapshot.id), encode_snapshot(snapshot.marked()), tag):
            raise _changed(store, f"snapshot {snapshot.id} was removed or replaced")

    store.check_turn()
    side_by_side(store.io, lambda each: mark(*each), [(s, tag) for s, now, tag in present if not now.is_expiring])


def _changed(store: TableStore, cause: str) -> ChangedError:
    return ChangedError(
        f"Table {store.name} was rolled back while its snapshots expired: {cause}. No snapshot was removed; run the "
        "statement again."
    )
