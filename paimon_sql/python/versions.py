"""The version that a scan in Python reads, as the options by which Spark's queries choose one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypedDict

from paimon_core.errors import InvalidOptionError
from paimon_core.options import SCAN_TIMESTAMP, SCAN_TIMESTAMP_MILLIS
from paimon_core.scan.changes.increment import Increment, increment_of_options, is_incremental
from paimon_core.scan.time_travel import is_time_travel, overridden, snapshot_of_options
from paimon_core.spec.snapshot import Snapshot
from paimon_core.table import Table

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


def chosen_options(choice: VersionChoice, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a scan, with the option that chooses its version. Raises `InvalidOptionError`."""
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
    return overridden({key: str(value) for key, value in options.items()}, made)


def at_version(table: Table) -> tuple[Table, Snapshot | Increment | None]:
    """Return the table with the columns of the version that its options choose, and the version: a snapshot (None: the
    table is empty), or changes. Raises `SnapshotNotFoundError`, `InvalidOptionError`."""
    store = table.store
    if is_incremental(store.options.values):
        return table, increment_of_options(store, store.zone)
    snapshot = snapshot_of_options(store, store.zone)
    return (table.at(snapshot) if is_time_travel(store) else table), snapshot


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
