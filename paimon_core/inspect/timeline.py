"""The commits of a table in their order, with the tags and branches that keep versions."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

from paimon_core.dataclass import dataclass
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.branches import branch_times, open_branch
from paimon_core.store.features import check_selectable
from paimon_core.store.snapshots import earliest_snapshot, existing_snapshots, latest_snapshot, snapshot_ids
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import readable_tags
from paimon_core.system_tables.text import local_time

MOST_COMMITS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A snapshot: its time in the session's zone, its kind, its writer (`user`, `engine`), and its rows in data files
    before merging: the change (`delta`), and all of them (`total`). `tags` keep the snapshot.

    Its commit was tried again `retries` times, None if that is unknown. `conflicts` commits of this process failed
    because of the snapshot.
    """

    id: int
    time: datetime
    kind: str
    operation: str
    user: str
    engine: str
    delta: int
    total: int
    tags: tuple[str, ...] = ()
    retries: int | None = None
    conflicts: int = 0

    @property
    def trouble(self) -> str:
        """The retries and conflicts in words, "" if there are none."""
        counts = (self.retries or 0, "retry", "retries"), (self.conflicts, "conflict", "conflicts")
        return ", ".join(f"{count:,} {one if count == 1 else many}" for count, one, many in counts if count)


@dataclass(frozen=True, slots=True)
class PlannedExpiry:
    """The snapshots that an expiry would remove, and the number and bytes of the files that it would delete."""

    snapshots: frozenset[int]
    files: int
    size: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """Some of the `count` commits of a table, from old to young; the newest `skipped` ones are left out.

    `expired` snapshots no longer exist, and `hidden` older ones are not listed. `kept` are tags of snapshots that are
    not among the commits: name and snapshot. `expiry` is the expiry to show, None for no expiry.
    """

    commits: tuple[Commit, ...]
    expired: int
    hidden: int
    kept: tuple[tuple[str, int], ...]
    count: int = 0
    expiry: PlannedExpiry | None = None


@dataclass(frozen=True, slots=True)
class Ref:
    """A branch, or a tag of the main branch (`is_tag`), with the snapshots that it has, and the time of its creation.

    A branch without snapshots has no `first` and no `last`. A tag has one snapshot.
    """

    name: str
    is_tag: bool
    first: int | None
    last: int | None
    time: datetime | None


def timeline(store: TableStore, skipped: int = 0) -> Timeline:
    """Return the newest commits of a table, or those before the newest `skipped` ones. Raises the errors of
    `check_selectable`, and `CorruptFileError`, `StorageError`.
    """
    check_selectable(store)
    ids = snapshot_ids(store)
    end = max(0, len(ids) - skipped)
    found = existing_snapshots(store, ids[max(0, end - MOST_COMMITS) : end])
    names: dict[int, list[str]] = defaultdict(list)
    for tag in readable_tags(store):
        names[tag.snapshot.id].append(tag.name)
    shown, conflicts = {s.id for s in found}, store.conflicts.of_table(store.root)
    kept = [(name, number) for number, some in sorted(names.items()) if number not in shown for name in some]
    commits = tuple(_commit(store, s, tuple(names.get(s.id, ())), conflicts.get(s.identity, 0)) for s in found)
    return Timeline(commits, ids[0] - 1 if ids else 0, max(0, end - MOST_COMMITS), tuple(kept), len(ids))


def refs(store: TableStore) -> tuple[Ref, ...]:
    """Return the main branch, then the other branches, then the tags of this branch. Raises the errors of
    `timeline`.
    """
    check_selectable(store)
    main = store.under(store.schema, "")
    found = [_branch(main, "main", None)]
    for name, millis in branch_times(main).items():
        found.append(_branch(open_branch(main, name), name, local_time(millis, store.zone)))
    for tag in readable_tags(store):
        number = tag.snapshot.id
        found.append(Ref(tag.name, True, number, number, local_time(tag.snapshot.time_millis, store.zone)))
    return tuple(found)


def _branch(store: TableStore, name: str, created: datetime | None) -> Ref:
    first, last = earliest_snapshot(store), latest_snapshot(store)
    first_id, last_id = (None if s is None else s.id for s in (first, last))
    return Ref(name, False, first_id, last_id, created)


def _commit(store: TableStore, s: Snapshot, tags: tuple[str, ...], conflicts: int) -> Commit:
    return Commit(
        id=s.id,
        time=local_time(s.time_millis, store.zone),
        kind=s.commit_kind or "",
        operation=s.operation or "",
        user=s.commit_user,
        engine=s.writer_version or "",
        delta=s.delta_record_count,
        total=s.total_record_count,
        tags=tags,
        retries=s.retries,
        conflicts=conflicts,
    )
