"""The changes that an incremental query reads: the changes of some snapshots, or the difference of two versions.

    incremental-between            two snapshot ids or tags; the changes after the first, up to the second
    incremental-between-timestamp  two moments
    incremental-to-auto-tag        a tag made per period: the changes since the tag before it
    scan.mode = latest-delta       the changes of the latest snapshot, if it appended rows
    incremental-between-scan-mode  delta: appended rows; changelog: changelog files; diff: the two versions compared

Tags are compared; snapshots are read one by one, unless the mode sets something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from enum import StrEnum
from typing import TYPE_CHECKING

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError, SnapshotNotFoundError
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import CHANGELOG_PRODUCER, INCREMENTAL_SCAN_MODE, INCREMENTAL_TAG_TO_SNAPSHOT
from paimon_core.options import SCAN_MODE as STARTUP_MODE
from paimon_core.options.scan_modes import between
from paimon_core.spec.snapshot import CommitKind, Snapshot
from paimon_core.store.snapshots import (
    earliest_snapshot,
    find_snapshot,
    history_ids,
    latest_snapshot,
    read_snapshot,
)
from paimon_core.store.table_store import TableStore
from paimon_core.time_zones import epoch_millis

if TYPE_CHECKING:
    from paimon_core.store.changelogs import list_changelogs
    from paimon_core.store.ddl.usable_values import auto_tag_error, moment_error
    from paimon_core.store.tag_periods import tag_period
    from paimon_core.store.tags import read_tag, readable_tags
else:
    auto_tag_error = ImportedOnCall("paimon_core.store.ddl.usable_values", "auto_tag_error")
    moment_error = ImportedOnCall("paimon_core.store.ddl.usable_values", "moment_error")
    read_tag = ImportedOnCall("paimon_core.store.tags", "read_tag")
    readable_tags = ImportedOnCall("paimon_core.store.tags", "readable_tags")
    list_changelogs = ImportedOnCall("paimon_core.store.changelogs", "list_changelogs")
    tag_period = ImportedOnCall("paimon_core.store.tag_periods", "tag_period")

BETWEEN, BETWEEN_TIMESTAMP = "incremental-between", "incremental-between-timestamp"
TO_AUTO_TAG = "incremental-to-auto-tag"
_LATEST_DELTA = "latest-delta"
_OPTIONS = (BETWEEN, BETWEEN_TIMESTAMP, TO_AUTO_TAG)


class IncrementMode(StrEnum):
    DELTA = "delta"
    CHANGELOG = "changelog"
    DIFF = "diff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Increment:
    """The changes after the snapshot `start` up to the snapshot `end`.

    A `start` of None means from the beginning; an `end` of None means that there are no changes. `snapshots` are read
    one by one, oldest first; if it is empty, the two versions are compared.
    """

    mode: IncrementMode
    start: Snapshot | None = None
    end: Snapshot | None = None
    snapshots: tuple[Snapshot, ...] = ()

    def describe(self) -> str:
        """Return a few words for EXPLAIN."""
        if self.end is None:
            return "no changes"
        start = "the beginning" if self.start is None else f"snapshot {self.start.id}"
        if self.mode is IncrementMode.DIFF:
            return f"difference of {start} and snapshot {self.end.id}"
        return f"{self.mode} after {start} up to snapshot {self.end.id}"


_NOTHING = Increment(mode=IncrementMode.DELTA)


def is_incremental(options: Mapping[str, str]) -> bool:
    """Return whether a query with these options reads changes."""
    return any(name in options for name in _OPTIONS) or options.get(STARTUP_MODE.key, "").strip() == _LATEST_DELTA


def increment_of_options(store: TableStore, zone: tzinfo | None = None) -> Increment | None:
    """Return the changes that the `incremental-*` options select, or None if no such option is set.

    `zone` is the time zone of wall clock times in options. Raises `InvalidOptionError`, `SnapshotNotFoundError`.
    """
    values = store.options.values
    given = [name for name in _OPTIONS if name in values]
    if len(given) > 1:
        raise InvalidOptionError(
            f"Only one of the options {', '.join(given)} can select the changes to read; remove the others."
        )
    match given:
        case [name] if name == BETWEEN:
            return _between(store, *between(name, values[name]))
        case [name] if name == BETWEEN_TIMESTAMP:
            first, last = between(name, values[name])
            return _between_times(store, _epoch_millis(first, zone), _epoch_millis(last, zone))
        case [name]:
            return _to_auto_tag(store, values[name])
    return _latest_delta(store) if store.options[STARTUP_MODE] == _LATEST_DELTA else None


def _latest_delta(store: TableStore) -> Increment:
    latest = latest_snapshot(store)
    if latest is None:
        return _NOTHING
    appended = (latest,) if _counts(latest, IncrementMode.DELTA) else ()
    return Increment(
        mode=IncrementMode.DELTA, start=find_snapshot(store, latest.id - 1), end=latest, snapshots=appended
    )


def _between(store: TableStore, first: str, last: str) -> Increment:
    one, other = read_tag(store, first), read_tag(store, last)
    if one is not None and other is not None:
        if store.options[INCREMENTAL_TAG_TO_SNAPSHOT]:
            return _snapshots(store, one.snapshot.id, other.snapshot.id)
        return _difference(store, one.snapshot, other.snapshot)
    if not all(text.isascii() and text.isdigit() for text in (first, last)):
        raise InvalidOptionError(
            f"Option '{BETWEEN}' cannot be '{first},{last}': it must be two tags of table {store.name} or two snapshot "
            "ids."
        )
    return _snapshots(store, int(first), int(last))


def _between_times(store: TableStore, first: int, last: int) -> Increment:
    earliest, latest = earliest_snapshot(store), latest_snapshot(store)
    if last < first:
        raise InvalidOptionError(
            f"Option '{BETWEEN_TIMESTAMP}' ends ({last}) before it begins ({first}). Exchange the two."
        )
    if earliest is None or latest is None or first == last:
        return _NOTHING
    if first > latest.time_millis:
        return _NOTHING
    known = [s for s in (find_snapshot(store, n) for n in history_ids(store)) if s is not None]
    if first < earliest.time_millis:
        known += _outlived(store, _mode(store)).values()
    before = max((s.id for s in known if s.time_millis <= first), default=min(s.id for s in known) - 1)
    after = max((s.id for s in known if s.time_millis <= last), default=None)
    return _NOTHING if after is None or after <= before else _snapshots(store, before, after)


def _to_auto_tag(store: TableStore, name: str) -> Increment:
    """Return the changes between the tag of the earlier period and the tag `name`.

    If one tag is missing, there are no changes.
    """
    period = tag_period(store.options)
    moment = period.begin(name)
    if moment is None:
        raise auto_tag_error(name)
    end = read_tag(store, name)
    earlier = [(time, t) for t in readable_tags(store) if (time := period.begin(t.name)) and time < moment]
    if end is None or not earlier:
        return _NOTHING
    return _difference(store, max(earlier, key=lambda pair: pair[0])[1].snapshot, end.snapshot)


def _snapshots(store: TableStore, first: int, last: int) -> Increment:
    """Return the changes of the snapshots after `first`, up to `last`."""
    if last < first:
        raise InvalidOptionError(
            f"An incremental query cannot end at snapshot {last}: it begins at the later snapshot {first}. "
            "Exchange the two."
        )
    earliest, latest, mode = earliest_snapshot(store), latest_snapshot(store), _mode(store)
    if earliest is None or latest is None or first == last:
        return _NOTHING
    outlived = {} if first >= earliest.id - 1 else _outlived(store, mode)
    begin = min(outlived, default=earliest.id)
    if first < begin - 1 or last > latest.id:
        raise SnapshotNotFoundError(
            f"Table {store.name} does not have the changes after snapshot {first} up to {last}: it has the snapshots "
            f"{earliest.id} to {latest.id}" + (f", and changelogs from {begin} on." if outlived else ".")
        )
    start = read_snapshot(store, first) if first >= earliest.id else outlived.get(first)
    if mode is IncrementMode.DIFF:
        return Increment(mode=mode, start=start, end=read_snapshot(store, last))
    found = [outlived.get(n) or read_snapshot(store, n) for n in range(first + 1, last + 1)]
    return Increment(mode=mode, start=start, end=found[-1], snapshots=tuple(s for s in found if _counts(s, mode)))


def _outlived(store: TableStore, mode: IncrementMode) -> dict[int, Snapshot]:
    """Return expired snapshots with changes that still exist, by id: as changelog files, or else as deltas."""
    if mode is IncrementMode.DIFF:
        return {}
    of_delta = mode is IncrementMode.DELTA
    return {c.id: c for c in list_changelogs(store) if not (of_delta and c.changelog_manifest_list is not None)}


def _difference(store: TableStore, start: Snapshot, end: Snapshot) -> Increment:
    if end.id < start.id:
        raise InvalidOptionError(
            f"An incremental query cannot end at snapshot {end.id}: it begins at the later snapshot {start.id}."
        )
    if start.id == end.id:
        return _NOTHING
    if not store.has_primary_key:
        # A compaction between the versions would show old rows again, so read the appended files instead of comparing.
        found = [find_snapshot(store, n) for n in range(start.id + 1, end.id + 1)]
        known = tuple(s for s in found if s is not None and s.commit_kind is not CommitKind.OVERWRITE)
        if len(known) == len(found):
            appended = tuple(s for s in known if _counts(s, IncrementMode.DELTA))
            return Increment(mode=IncrementMode.DELTA, start=start, end=end, snapshots=appended)
    return Increment(mode=IncrementMode.DIFF, start=start, end=end)


def _mode(store: TableStore) -> IncrementMode:
    asked = store.options[INCREMENTAL_SCAN_MODE]
    if asked == "auto":
        made = store.has_primary_key and store.options[CHANGELOG_PRODUCER] != "none"
        return IncrementMode.CHANGELOG if made else IncrementMode.DELTA
    return IncrementMode(asked)


def _counts(snapshot: Snapshot, mode: IncrementMode) -> bool:
    if mode is IncrementMode.DELTA:
        return snapshot.commit_kind is CommitKind.APPEND
    return snapshot.commit_kind is not CommitKind.OVERWRITE


def _epoch_millis(text: str, zone: tzinfo | None) -> int:
    if text.isascii() and text.removeprefix("-").isdigit():
        return int(text)
    try:
        return epoch_millis(text, zone)
    except ValueError as e:
        raise moment_error(text) from e
