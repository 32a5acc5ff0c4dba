"""The changes of a range of snapshots for a batch query; each change has its snapshot."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError, InvalidSchemaError, SnapshotNotFoundError, UnsupportedFeatureError
from paimon_core.options import (
    CHANGELOG_PRODUCER,
    SCAN_BOUNDED_WATERMARK,
    STREAMING_READ_DELAY,
    STREAMING_READ_OVERWRITE,
    TableOptions,
)
from paimon_core.scan.derived_tables import CHANGE_FIELDS
from paimon_core.scan.plan import Plan
from paimon_core.scan.streams.history import History
from paimon_core.scan.streams.packing import packed
from paimon_core.scan.streams.position import Position
from paimon_core.spec.split import DataSplit, SplitKind
from paimon_core.store.snapshots import latest_snapshot, read_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import read_tag


@dataclass(frozen=True, slots=True)
class ChangeRange:
    """The bounds of a range of snapshots: numbers or tags (`versions`), or epoch milliseconds (`moments`).

    None means no bound.
    """

    start: str | int | None = None
    end: str | int | None = None
    includes_start: bool = True
    includes_end: bool = True


def changes_store(store: TableStore) -> TableStore:
    """Return the store for reading changes. Raises `UnsupportedFeatureError` if the table does not record them."""
    if store.has_primary_key and store.options[CHANGELOG_PRODUCER] == "none":
        raise UnsupportedFeatureError(
            f"Table {store.name} records no changes: its writers do not read the rows that they replace. Set "
            f"'{CHANGELOG_PRODUCER.key}' = 'lookup' to record later changes. $audit_log shows rows as they were "
            "written."
        )
    taken = [f.name for f in CHANGE_FIELDS if f.name in store.schema.field_by_name]
    if taken:
        raise InvalidSchemaError(
            f"Table {store.name} has a column {taken[0]!r}, which is the name of a column of changes: rename it."
        )
    left_out = (SCAN_BOUNDED_WATERMARK.key, STREAMING_READ_DELAY.key)
    options = {k: v for k, v in store.options.values.items() if k not in left_out}
    return replace(store, options=TableOptions(options | {STREAMING_READ_OVERWRITE.key: "true"}))


def first_snapshot(store: TableStore, wanted: ChangeRange) -> int:
    """Return the number of the first snapshot of a range. Raises `SnapshotNotFoundError` if it does not exist."""
    history = History(store)
    first = history.first_changes()
    if wanted.start is None:
        return first
    if isinstance(wanted.start, int):
        return _at_time(history, wanted.start + (not wanted.includes_start))
    number = _number(store, wanted.start) + (not wanted.includes_start)
    if number < first:
        raise SnapshotNotFoundError(
            f"The changes of snapshot {number} of table {store.name} expired: the first one that is kept is {first}. "
            "Read the changes from there on."
        )
    return number


def plan_changes(store: TableStore, wanted: ChangeRange) -> Plan:
    """Plan a read of the changes of a range; `store` is a `changes_store`.

    Raises `SnapshotNotFoundError`, and `InvalidOptionError` if the range ends before it begins.
    """
    latest, history = latest_snapshot(store), History(store)
    if latest is None:
        return Plan(table=store.name, snapshot=None, splits=())
    first, last = first_snapshot(store, wanted), latest.id
    if isinstance(wanted.end, int):
        last = _at_time(history, wanted.end + wanted.includes_end) - 1
    elif wanted.end is not None:
        last = _number(store, wanted.end) - (not wanted.includes_end)
        if last > latest.id:
            read_snapshot(store, last)  # raises, and lists the snapshots
    if last < first - 1:
        raise InvalidOptionError(
            f"The changes of table {store.name} cannot end at {wanted.end}, before {wanted.start}."
        )
    steps = history.steps(Position(first), last, 0) if last >= first else ()
    splits: list[DataSplit] = []
    for step in steps:
        for _, alike in groupby(step.splits, _kind):
            splits += packed(store, alike, by_snapshot=True)
    return Plan(table=store.name, snapshot=latest, splits=tuple(splits), files_total=sum(len(s.files) for s in splits))


def _number(store: TableStore, version: str) -> int:
    tag = read_tag(store, version)
    if tag is not None:
        return tag.snapshot.id
    if version.isascii() and version.isdigit():
        return int(version)
    raise SnapshotNotFoundError(
        f"Table {store.name} has no tag {version!r}; a version is a snapshot's number or a tag."
    )


def _at_time(history: History, millis: int) -> int:
    """Return the first snapshot committed at a moment (epoch milliseconds) or later."""
    latest = latest_snapshot(history.store)
    return 1 if latest is None else history.first_since(millis, latest.id)


def _kind(split: DataSplit) -> SplitKind:
    return split.kind
