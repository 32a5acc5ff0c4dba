"""The version that a write was planned on, and whether it is still part of the history when the write is committed.

Rows with keys get sequence numbers behind those of the version that their writer looked at. Numbers can be lower in a
later version: a compaction drops deletes, and with them the highest numbers. So rows that were planned on it, and that
a rollback puts on a version before it, would be hidden by these deletes. Columns of rows are compared with snapshot
numbers in the same way (`range_conflicts.py`), which a rollback gives out again.

A commit reads the latest snapshot first, and then the planned one. A rollback removes later ones first: where the
planned one is there, so was the whole history up to the one read; where a rollback comes later, `withdraw.py` sees it.
"""

from __future__ import annotations

from dataclasses import dataclass

from paimon_core.errors import CommitConflictError
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.snapshots import find_snapshot
from paimon_core.store.table_store import TableStore


@dataclass(frozen=True, slots=True)
class Planned:
    """The latest version when a write was planned, None: the table was empty."""

    snapshot: Snapshot | None


def check_planned(store: TableStore, latest: Snapshot | None, planned: Snapshot | None) -> None:
    """Raises `CommitConflictError` where `latest` is not built on the snapshot `planned`.

    Where that has expired, it is taken for part of the history: `snapshot.time-retained` is then shorter than the
    write.
    """
    if planned is None or (latest is not None and _same(latest, planned)):
        return
    if latest is not None and latest.id > planned.id:
        found = find_snapshot(store, planned.id)
        if found is None or _same(found, planned):
            return
    raise CommitConflictError(
        f"Table {store.name} was rolled back while rows were written to it: snapshot {planned.id}, behind whose rows "
        "the new ones are numbered, is no longer part of it. Nothing was committed; run the statement again."
    )


def _same(one: Snapshot, other: Snapshot) -> bool:
    return one.id == other.id and one.delta_manifest_list == other.delta_manifest_list
