"""The version that a scan in Python reads, as the options by which Spark's queries choose one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypedDict

from paimon_core.errors import InvalidOptionError
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import SCAN_TIMESTAMP, SCAN_TIMESTAMP_MILLIS
from paimon_core.scan.changes.increment import (
    BETWEEN,
    BETWEEN_TIMESTAMP,
    Increment,
    increment_of_options,
    is_incremental,
)
from paimon_core.scan.time_travel import is_time_travel, overridden, resolve_snapshot, snapshot_of_options
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.schemas import check_same
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_sql.python.arguments import check_keywords, keyword_types

if TYPE_CHECKING:
    from paimon_core.store.tags import read_tag
else:
    read_tag = ImportedOnCall("paimon_core.store.tags", "read_tag")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class VersionChoice(TypedDict, total=False):
    """The version to read, at most one of these; and a branch.

    `version`: the id of a snapshot, or the name of a tag. `tag`: the name of a tag. `timestamp`: the latest snapshot
    that was committed by then: a `datetime` (a naive one is in the catalog's zone), text as in SQL, or epoch
    milliseconds. `branch`: the name of a branch.
    """

    version: int | str
    tag: str
    timestamp: datetime | date | str | int
    branch: str


_CHOICES = keyword_types(VersionChoice)


def chosen_options(choice: VersionChoice, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a scan, with the option that chooses its version. Raises `InvalidOptionError`, `TypeError`
    for another choice or type."""
    check_keywords("PaimonTable.scan", _CHOICES, choice)
    made: dict[str, str] = {}
    if "version" in choice:
        made["scan.version"] = str(choice["version"])
    if "tag" in choice:
        made["scan.tag-name"] = choice["tag"]
    if "timestamp" in choice:
        made |= _timestamp(choice["timestamp"])
    if len(made) > 1:
        raise InvalidOptionError(
            f"A scan cannot read two versions: give one of {', '.join(k for k in choice if k != 'branch')}."
        )
    return overridden(given_options(options), made)


def given_options(options: Mapping[str, str] | None) -> dict[str, str]:
    """Return options with their values as texts."""
    return {key: str(value) for key, value in (options or {}).items()}


def options_of_changes(
    store: TableStore, since: int | str | datetime, until: int | str | datetime | None
) -> dict[str, str]:
    """Return the option that selects the changes after a version up to another one (None: the latest version).

    Two tags are compared, as in Spark. If only one of them is a tag, it stands for its snapshot. Raises
    `InvalidOptionError`, `SnapshotNotFoundError`, `TableNotFoundError` if the table was dropped.
    """
    latest = latest_snapshot(store)
    if latest is None:
        check_same(store, must_exist=True)
    if isinstance(since, datetime) and (until is None or isinstance(until, datetime)):
        first = _millis(since, store)
        last = max(first, 0 if latest is None else latest.time_millis) if until is None else _millis(until, store)
        return {BETWEEN_TIMESTAMP: f"{first},{last}"}
    if isinstance(since, datetime) or isinstance(until, datetime):
        raise InvalidOptionError(
            "changes cannot begin at a version and end at a moment, or the other way round: give two versions, or two "
            "moments as datetime."
        )
    if until is None:
        until = 0 if latest is None else latest.id
    ends = [str(since), str(until)]
    are_tags = [read_tag(store, end) is not None for end in ends]
    if not all(are_tags):
        ends = [str(snapshot_id(store, end)) for end in ends]
    return {BETWEEN: ",".join(ends)}


def snapshot_id(store: TableStore, version: int | str) -> int:
    """Return the id of a snapshot: itself, or the id of the snapshot of a tag. Raises `SnapshotNotFoundError`."""
    text = str(version)
    if text.isascii() and text.isdigit() and read_tag(store, text) is None:
        return int(text)  # it may be expired, or not yet committed
    found = resolve_snapshot(store, text, None)
    return 0 if found is None else found.id


def at_version(table: Table) -> tuple[Table, Snapshot | Increment | None]:
    """Return the table with the columns of the version that its options choose, and the version: a snapshot (None: the
    table is empty), or changes.

    Raises `SnapshotNotFoundError`, `InvalidOptionError`, `TableNotFoundError` if the table was dropped.
    """
    store = table.store
    if is_incremental(store.options.values):
        return table, increment_of_options(store, store.zone)
    snapshot = snapshot_of_options(store, store.zone)
    if snapshot is None:
        check_same(store, must_exist=True)
    return (table.at(snapshot) if is_time_travel(store) else table), snapshot


def _millis(moment: datetime, store: TableStore) -> int:
    known = moment if moment.tzinfo is not None else moment.replace(tzinfo=store.zone)
    return (known.astimezone(UTC) - _EPOCH) // timedelta(milliseconds=1)


def _timestamp(moment: Any) -> dict[str, str]:
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        return {SCAN_TIMESTAMP_MILLIS.key: str((moment - _EPOCH) // timedelta(milliseconds=1))}
    if isinstance(moment, datetime):
        return {SCAN_TIMESTAMP.key: moment.isoformat(sep=" ")}
    if isinstance(moment, date):
        return {SCAN_TIMESTAMP.key: moment.isoformat()}
    if isinstance(moment, int):
        return {SCAN_TIMESTAMP_MILLIS.key: str(moment)}
    return {SCAN_TIMESTAMP.key: str(moment)}
