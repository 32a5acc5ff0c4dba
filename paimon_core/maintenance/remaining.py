"""What versions that remain need of the files of removed ones, while others commit, tag, branch, roll back and expire.

A reference can move while it is looked for: a snapshot becomes a tag, a tag a branch, a branch the table. So everything
is listed, the versions are read, and everything is listed again, until nothing has come but what commits add; a version
that goes while it is read means looking again. Who makes a version looks behind it whether what it was made from is
still there: so either we see it, or it sees us.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from paimon_core.errors import CommitConflictError, CorruptFileError, PaimonError, SchemaNotFoundError
from paimon_core.maintenance.references import NeededFiles, Versions
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.branches import branch_names, branch_schema
from paimon_core.store.changelogs import changelog_ids, find_changelog
from paimon_core.store.snapshots import find_snapshot, snapshot_ids
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import read_tag, tag_names

T = TypeVar("T")
_LOOKS = 20


class _LookAgainError(Exception):
    """A version went while it was looked at."""


@dataclass(frozen=True, slots=True)
class _Listing:
    """The names of the versions of a branch."""

    snapshots: frozenset[int]
    tags: frozenset[str]
    changelogs: frozenset[int]

    def newer(self, before: _Listing) -> frozenset[int] | None:
        """The snapshots that commits have added since; None where anything else has come."""
        added, latest = self.snapshots - before.snapshots, max(before.snapshots, default=0)
        others = self.tags - before.tags or self.changelogs - before.changelogs or any(n < latest for n in added)
        return None if others else added


def still_needed(removed: Versions, needed: NeededFiles, *, oldest: bool) -> Iterator[str]:
    """What versions need that are there after `removed` have gone; a path may come several times.

    `oldest`: they were the first of the branch's history. Raises `CommitConflictError` where versions come and go all
    the time, `CorruptFileError` where one cannot be read.
    """
    store, asked = removed.store, set[str]()
    failure: PaimonError | None = None
    for _ in range(_LOOKS):
        listed = _list(store)
        try:
            for name, listing in listed.items():
                branch = _branch(store, name)
                own = name == store.branch
                wanted = _wanted(branch, listing, removed, oldest) if own else _all(branch, listing)
                yield from _ask(needed, wanted, asked)
            newer = _newer(_list(store), listed)
            for name, ids in (newer or {}).items():
                branch = _branch(store, name)
                yield from _ask(needed, Versions(branch, _snapshots(branch, ids)), asked)
            if newer is not None:
                return
        except _LookAgainError:
            continue
        except (CorruptFileError, SchemaNotFoundError) as error:
            if _list(store) == listed:
                raise
            failure = error
    raise CommitConflictError(f"Versions of table {store.name} come and go all the time.") from failure


def _list(store: TableStore) -> dict[str, _Listing]:
    """What each branch has, main last: a branch may become the table, and go.

    Of each the snapshots first: they become tags and changelogs, and go.
    """
    branches = (replace(store, branch=name) for name in (*branch_names(store), ""))
    return {
        b.branch: _Listing(frozenset(snapshot_ids(b)), frozenset(tag_names(b)), frozenset(changelog_ids(b)))
        for b in branches
    }


def _newer(now: Mapping[str, _Listing], before: Mapping[str, _Listing]) -> dict[str, frozenset[int]] | None:
    """Of each branch the snapshots that commits have added; None where anything else has come."""
    found = {name: listing.newer(before[name]) for name, listing in now.items() if name in before}
    if len(found) < len(now):
        return None
    newer = {name: ids for name, ids in found.items() if ids is not None}
    return newer if len(newer) == len(found) else None


def _all(store: TableStore, listing: _Listing) -> Versions:
    snapshots = (*_snapshots(store, listing.snapshots), *_tagged(store, listing))
    return Versions(store, snapshots, _changelogs(store, listing))


def _wanted(store: TableStore, listing: _Listing, removed: Versions, oldest: bool) -> Versions:
    """The versions of the branch that `removed` were of which may need files of these that no other needs.

    Of a history that is not cut off those between them and the next ones need what any needs; the latest is asked all
    the same. Tags of snapshots that have gone may be of one that was cut off: expiry asks the nearest.
    """
    ids, tagged = sorted(listing.snapshots), _tagged(store, listing)
    numbers = [s.id for s in (*removed.snapshots, *removed.changelogs)]
    low, high = min(numbers, default=0), max(numbers, default=0)
    if not oldest and any(_left_history(store, s, ids) for s in removed.snapshots):
        return Versions(store, (*_snapshots(store, ids), *tagged), _changelogs(store, listing))
    wanted = {n for n in ids if low <= n <= high} | set(ids[-1:])
    wanted |= {*[n for n in ids if n < low][-1:], *[n for n in ids if n > high][:1]}
    if oldest:
        before = max((s.id for s in tagged if s.id < low), default=low)
        first = ids[0] if ids else None  # what stands before it is of the history as far as anybody knows
        tagged = [
            s
            for s in tagged
            if s.id >= before and (s.id <= high or first is None or s.id < first or _left_history(store, s, ids))
        ]
    return Versions(store, (*_snapshots(store, wanted), *tagged), _changelogs(store, listing))


def _left_history(store: TableStore, tagged: Snapshot, ids: Sequence[int]) -> bool:
    """Whether a tag is of a history that a rollback cut off, as far as the snapshots `ids` tell."""
    if not ids or tagged.id < ids[0]:
        return False
    now = find_snapshot(store, tagged.id)
    return now is None or now.delta_manifest_list != tagged.delta_manifest_list


def _ask(needed: NeededFiles, versions: Versions, asked: set[str]) -> list[str]:
    """What versions need that have not been `asked`, which are noted there."""
    snapshots = tuple(s for s in versions.snapshots if f"snapshot {s.delta_manifest_list}" not in asked)
    changelogs = tuple(c for c in versions.changelogs if f"changelog {c.delta_manifest_list}" not in asked)
    paths = list(needed.of(Versions(versions.store, snapshots, changelogs)))
    asked.update(f"snapshot {s.delta_manifest_list}" for s in snapshots)
    asked.update(f"changelog {c.delta_manifest_list}" for c in changelogs)
    return paths


def _branch(store: TableStore, name: str) -> TableStore:
    """A branch, which may have no schema yet, or no more."""
    return replace(store, branch=name, schema=branch_schema(store, name) or store.schema)


def _snapshots(store: TableStore, ids: Iterable[int]) -> tuple[Snapshot, ...]:
    return tuple(_there(find_snapshot(store, n)) for n in sorted(ids))


def _changelogs(store: TableStore, listing: _Listing) -> tuple[Snapshot, ...]:
    return tuple(_there(find_changelog(store, n)) for n in sorted(listing.changelogs))


def _tagged(store: TableStore, listing: _Listing) -> list[Snapshot]:
    return [_there(read_tag(store, name)).snapshot for name in sorted(listing.tags)]


def _there(found: T | None) -> T:
    if found is None:
        raise _LookAgainError
    return found
