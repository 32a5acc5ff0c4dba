"""Expiry of snapshots and of long-lived changelogs: a pure function decides which versions are kept, and the others are
removed.

The oldest snapshots expire first, so that the rest is a history without gaps (`removal.py`). They are removed before
any of their files is deleted (`release.py`), in their own turn (`turns.py`). An earlier rollback shows in the latest
snapshot. But other engines do not use turns, and a process that pauses in the queue is overtaken. So each snapshot is
compared before its removal, and one snapshot must remain at the end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from paimon_core.commit.once import settle_records
from paimon_core.commit.publish import create_if_missing
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.iceberg.follow import keep_up
from paimon_core.io.side_by_side import batched_side_by_side, both, side_by_side, together
from paimon_core.maintenance.references import Versions
from paimon_core.maintenance.release import Delete, release
from paimon_core.maintenance.removal import ChangedError, remove_snapshots
from paimon_core.maintenance.turns import upkeep_turn
from paimon_core.options import (
    CHANGELOG_NUM_RETAINED_MAX,
    CHANGELOG_NUM_RETAINED_MIN,
    CHANGELOG_TIME_RETAINED,
    CONSUMER_CHANGELOG_ONLY,
    SNAPSHOT_EXPIRE_LIMIT,
    SNAPSHOT_NUM_RETAINED_MAX,
    SNAPSHOT_NUM_RETAINED_MIN,
    SNAPSHOT_TIME_RETAINED,
    TableOptions,
)
from paimon_core.spec.snapshot import Snapshot, encode_snapshot
from paimon_core.store.changelogs import changelog_ids, list_changelogs, reset_changelog_hints, write_changelog
from paimon_core.store.consumers import list_consumers
from paimon_core.store.snapshots import (
    find_snapshot,
    hinted_latest,
    reset_hints,
    snapshot_ids,
    without_gaps,
)
from paimon_core.store.table_store import TableStore

_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """The limits for kept versions.

    Between `least` and `most` versions are kept, and within these limits all versions newer than `older_than` (epoch
    milliseconds). At most `limit` versions are removed at a time."""

    least: int
    most: int
    older_than: int
    limit: int

    def __post_init__(self) -> None:
        if self.least < 1:
            raise InvalidOptionError(
                f"retain_min cannot be {self.least}: it must be 1 or more, because the latest snapshot stays."
            )
        if self.most < self.least:
            raise InvalidOptionError(
                f"retain_max ({self.most}) is less than retain_min ({self.least}), by default "
                "'snapshot.num-retained.min': raise retain_max or lower retain_min."
            )

    def first_kept(self, ids: Sequence[int], time_of: Callable[[int], int | None], first_read: int | None) -> int:
        """Return the first of the ascending `ids` that is kept.

        `first_read` is the first version that a consumer still needs.
        """
        latest = ids[-1]
        end = min(latest - self.least + 1, ids[0] + self.limit)
        if first_read is not None:
            end = min(end, first_read)
        for number in range(max(latest - self.most + 1, ids[0]), end):
            time = time_of(number + 1)  # a version that was the latest at that moment is kept for the whole time
            if time is not None and time >= self.older_than:
                return number
        return max(end, ids[0])


def retention_of(options: TableOptions, now: int, given: Mapping[str, int | None] | None = None) -> Retention:
    """Return the retention by a table's options. `given` overrides `least`, `most`, `older_than`, `limit`."""
    values = {
        "least": options[SNAPSHOT_NUM_RETAINED_MIN],
        "most": options[SNAPSHOT_NUM_RETAINED_MAX],
        "older_than": now - options[SNAPSHOT_TIME_RETAINED],
        "limit": options[SNAPSHOT_EXPIRE_LIMIT],
    }
    return Retention(**values | {k: v for k, v in (given or {}).items() if v is not None})


def overridden(retention: Retention, given: Mapping[str, int | None]) -> Retention:
    """Return the retention, overridden by the values of `given` that are set."""
    return replace(retention, **{k: v for k, v in given.items() if v is not None})


def changelog_retention_of(options: TableOptions, now: int) -> Retention | None:
    """Return the retention of changelogs, or None if they do not outlive their snapshots."""
    least, most = options[CHANGELOG_NUM_RETAINED_MIN], options[CHANGELOG_NUM_RETAINED_MAX]
    time = options[CHANGELOG_TIME_RETAINED]
    shown = retention_of(options, now)
    longer = (
        (most if most is not None else shown.most) > shown.most
        or (least if least is not None else shown.least) > shown.least
        or (time is not None and now - time < shown.older_than)
    )
    if not longer:
        return None
    return Retention(
        least=shown.least if least is None else least,
        most=shown.most if most is None else most,
        older_than=shown.older_than if time is None else now - time,
        limit=shown.limit,
    )


def expire_snapshots(
    store: TableStore,
    retention: Retention,
    now: int,
    delete: Delete | None = None,
    patience: float | None = None,
    *,
    needed: int | None = None,
) -> int:
    """Remove expired snapshots, and their files by the function `delete`. Return the number of removed snapshots.

    Snapshots from the number `needed` on, and snapshots that consumers have not read, stay in addition to the
    snapshots that `retention` keeps; tags and branches keep files. Raises `CommitConflictError` if the table is rolled
    back again and again meanwhile, or if another process has the turn for `patience` seconds.
    """
    for _ in range(_ATTEMPTS - 1):
        with suppress(ChangedError):
            return _expire(store, retention, now, delete, patience, needed)
    return _expire(store, retention, now, delete, patience, needed)


def _expire(
    store: TableStore,
    retention: Retention,
    now: int,
    delete: Delete | None,
    patience: float | None,
    needed: int | None,
) -> int:
    choice = _choice(store, retention, needed)
    if choice is None:
        return 0
    ids, first_read, first, expiring, latest, expired = choice

    def remove() -> None:
        with upkeep_turn(store, patience) as held:
            _check_unchanged(held, expiring, latest, first_read)
            if changelog_retention_of(store.options, now) is not None:
                for _ in batched_side_by_side(held.io, partial(_outlive, held), expired):
                    pass
                reset_changelog_hints(held)
            settle_records(held, expired)
            remove_snapshots(held, expired)
            _check_any_remains(held, expired)  # it reads a hint
            reset_hints(held, first, ids[-1])

    removed = _released(store, choice)
    release(removed, remove, delete, oldest=True, near=(first, ids[-1]))
    keep_up(store)  # Iceberg's metadata must no longer contain expired snapshots
    return len(expired)


class _Choice(NamedTuple):
    """The snapshots to expire: all numbers, the first one that a consumer reads, the first one that stays, the numbers
    that expire, the latest snapshot, and the snapshots that expire.
    """

    ids: list[int]
    first_read: int | None
    first: int
    expiring: list[int]
    latest: Snapshot | None
    expired: tuple[Snapshot, ...]


def _choice(store: TableStore, retention: Retention, needed: int | None) -> _Choice | None:
    """Return the snapshots to expire, or None if there are none."""
    ids, first_read = both(store.io, partial(snapshot_ids, store), partial(_first_read, store))
    if not ids:
        return None
    known = _Known(store, ids)
    kept = (n for n in (first_read, needed) if n is not None)
    first = retention.first_kept(ids, known.time, min(kept, default=None))
    expiring = [n for n in ids if n < first]
    if not expiring:
        return None
    *_, latest = found = known.snapshots([*expiring, ids[-1]])
    expired = tuple(s for s in found if s is not None and s.id < first)
    return _Choice(ids, first_read, first, expiring, latest, expired) if expired else None


def _released(store: TableStore, choice: _Choice) -> Versions:
    """Return the versions that no longer need their files.

    A snapshot before a gap may be a late commit, which is withdrawn and committed again with the same files. So only
    `remove_orphan_files` deletes its files, when they are old.
    """
    start = without_gaps(choice.ids)[0]
    return Versions(store, tuple(s for s in choice.expired if s.id >= start))


class _Known:
    """Snapshots of a table that are read once, some at a time. Numbers without a snapshot are skipped."""

    def __init__(self, store: TableStore, ids: Sequence[int]) -> None:
        self._store, self._ids = store, ids
        self._found: dict[int, Snapshot | None] = {}

    def time(self, number: int) -> int | None:
        """Return the commit time of a snapshot, or None if the snapshot does not exist.

        The caller needs the times of ascending numbers, and mostly of the first two only."""
        if number not in self._found:
            at_once = self._store.io.requests_at_once
            most = min(2, at_once) if not self._found else at_once
            start = bisect_left(self._ids, number)
            self._read([number, *(n for n in self._ids[start : start + most] if n != number)][:most])
        found = self._found[number]
        return None if found is None else found.time_millis

    def snapshots(self, ids: Sequence[int]) -> list[Snapshot | None]:
        """Return the snapshots with some numbers, None for each that does not exist."""
        self._read([n for n in ids if n not in self._found])
        return [self._found[n] for n in ids]

    def _read(self, ids: Sequence[int]) -> None:
        self._found |= zip(ids, side_by_side(self._store.io, partial(find_snapshot, self._store), ids), strict=True)


def _outlive(store: TableStore, snapshot: Snapshot) -> None:
    store.check_turn()
    write_changelog(store, snapshot)


def _check_unchanged(
    store: TableStore, expiring: Sequence[int], latest: Snapshot | None, first_read: int | None
) -> None:
    """Raise `ChangedError` if the table was rolled back, or its snapshots or consumers changed, since the choice of the
    snapshots `expiring`."""
    last = expiring[-1]
    calls: tuple[Callable[[], Any], ...] = (
        lambda: None if latest is None else find_snapshot(store, latest.id),
        lambda: [n for n in snapshot_ids(store) if n <= last],
        partial(_first_read, store),
    )
    found, ids, still_read = together(store.io, calls)
    if ids != list(expiring):
        raise ChangedError(f"Other processes removed or added snapshots of {store.name} while its snapshots expired.")
    if found is None or found != latest:
        raise ChangedError(
            f"Table {store.name} was rolled back while its snapshots expired. No snapshot was removed; run the "
            "statement again."
        )
    if still_read != first_read:
        raise ChangedError(f"Consumers of table {store.name} changed while its snapshots expired.")


def _check_any_remains(store: TableStore, removed: Sequence[Snapshot]) -> None:
    """Restore the latest snapshot if a rollback to it has removed the other snapshots meanwhile.

    Raises `CommitConflictError`."""
    if snapshot_ids(store):
        return
    hint = hinted_latest(store)
    latest = next((s for s in removed if s.id == hint), removed[-1])
    create_if_missing(store.io, store.paths.snapshot(latest.id), encode_snapshot(latest))
    raise ChangedError(
        f"Table {store.name} was rolled back to snapshot {latest.id} while that snapshot expired. The snapshot stays; "
        "run the statement again."
    )


def expire_changelogs(
    store: TableStore, retention: Retention, delete: Delete | None = None, patience: float | None = None
) -> int:
    """Remove expired long-lived changelogs, and their files by the function `delete`. Return the number of removed
    changelogs.

    The limits count changelogs together with the snapshots that follow them.
    """
    ids, snapshots = changelog_ids(store), snapshot_ids(store)
    if not ids:
        return 0
    first_read = min(list_consumers(store).values(), default=None)
    together = sorted({*ids, *snapshots})
    changelogs = list_changelogs(store)
    times = {c.id: c.time_millis for c in changelogs}
    first = retention.first_kept(together, lambda n: times.get(n) or _time(store, n), first_read)
    expired = tuple(c for c in changelogs if c.id < first)
    if not expired:
        return 0

    def remove() -> None:
        with upkeep_turn(store, patience) as held:
            held.delete_each(held.paths.changelog(changelog.id) for changelog in expired)
            reset_changelog_hints(held)

    release(Versions(store, changelogs=expired), remove, delete, oldest=True)
    return len(expired)


def _first_read(store: TableStore) -> int | None:
    """Return the first snapshot that a consumer still reads, or None."""
    consumers = () if store.options[CONSUMER_CHANGELOG_ONLY] else list_consumers(store).values()
    return min(consumers, default=None)


def _time(store: TableStore, snapshot_id: int) -> int | None:
    snapshot = find_snapshot(store, snapshot_id)
    return None if snapshot is None else snapshot.time_millis
