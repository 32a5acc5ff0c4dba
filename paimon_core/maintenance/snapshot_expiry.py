"""Expiry of snapshots and of long-lived changelogs: a pure function decides which versions are kept, and the others are
removed.

The oldest snapshots expire first, so that the rest is a history without gaps. They are removed in ascending order
before any of their files is deleted (`release.py`), in their own turn (`turns.py`). An earlier rollback shows in the
latest snapshot. But other engines do not use turns, and a process that pauses in the queue is overtaken. So each
snapshot is compared before its removal, and one snapshot must remain at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from paimon_core.commit.once import settle_records
from paimon_core.commit.publish import create_new
from paimon_core.errors import CommitConflictError, InvalidOptionError
from paimon_core.iceberg.follow import keep_up
from paimon_core.io.side_by_side import both
from paimon_core.maintenance.references import Versions
from paimon_core.maintenance.release import Delete, release
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
    existing_snapshots,
    find_snapshot,
    hinted_latest,
    reset_hints,
    snapshot_ids,
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
    store: TableStore, retention: Retention, now: int, delete: Delete | None = None, patience: float | None = None
) -> int:
    """Remove expired snapshots, and their files by the function `delete`. Return the number of removed snapshots.

    Snapshots that consumers have not read stay, in addition to the snapshots that `retention` keeps; tags and branches
    keep files. Raises `CommitConflictError` if the table is rolled back again and again meanwhile, or if another
    process has the turn for `patience` seconds.
    """
    for _ in range(_ATTEMPTS - 1):
        with suppress(_ChangedError):
            return _expire(store, retention, now, delete, patience)
    return _expire(store, retention, now, delete, patience)


class _ChangedError(CommitConflictError):
    """The table was changed since the snapshots to expire were chosen."""


def _expire(store: TableStore, retention: Retention, now: int, delete: Delete | None, patience: float | None) -> int:
    ids = snapshot_ids(store)
    if not ids:
        return 0
    first_read = _first_read(store)
    first = retention.first_kept(ids, lambda n: _time(store, n), first_read)
    expired = tuple(existing_snapshots(store, [n for n in ids if n < first]))
    latest = find_snapshot(store, ids[-1])
    if not expired:
        return 0

    def remove() -> None:
        with upkeep_turn(store, patience) as held:
            if latest is None or find_snapshot(held, latest.id) != latest:
                raise _ChangedError(
                    f"Table {store.name} was rolled back while its snapshots expired. No snapshot was removed; run the "
                    "statement again."
                )
            if _first_read(held) != first_read:
                raise _ChangedError(f"Consumers of table {store.name} changed while its snapshots expired.")
            if changelog_retention_of(store.options, now) is not None:
                for snapshot in expired:
                    held.check_turn()
                    write_changelog(held, snapshot)
                reset_changelog_hints(held)
            settle_records(held, expired)
            _remove_in_order(held, expired)
            _check_any_remains(held, expired)
            reset_hints(held, first, ids[-1])

    release(Versions(store, expired), remove, delete, oldest=True)
    keep_up(store)  # Iceberg's metadata must no longer contain expired snapshots
    return len(expired)


def _remove_in_order(store: TableStore, expired: Sequence[Snapshot]) -> None:
    """Remove snapshots in ascending order, except snapshots with a number that is used again.

    The next snapshot is compared while the one before it is removed."""
    removable = False

    def look(snapshot: Snapshot) -> bool:
        return find_snapshot(store, snapshot.id) in (None, snapshot)

    def remove(snapshot: Snapshot | None) -> None:
        if snapshot is not None and removable:
            store.delete(store.paths.snapshot(snapshot.id))

    for before, snapshot in pairwise((None, *expired, None)):
        if snapshot is None:
            remove(before)
        else:
            _, removable = both(store.io, partial(remove, before), partial(look, snapshot))


def _check_any_remains(store: TableStore, removed: Sequence[Snapshot]) -> None:
    """Restore the latest snapshot if a rollback to it has removed the other snapshots meanwhile.

    Raises `CommitConflictError`."""
    if snapshot_ids(store):
        return
    hint = hinted_latest(store)
    latest = next((s for s in removed if s.id == hint), removed[-1])
    create_new(store.io, store.paths.snapshot(latest.id), encode_snapshot(latest))
    raise _ChangedError(
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
            for changelog in expired:
                held.delete(held.paths.changelog(changelog.id))
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
