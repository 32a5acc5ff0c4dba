"""The version that a write was planned on, and whether it is still part of the history when the write is committed.

Sequence numbers of rows with keys continue the numbers of the version that their writer read. A later version can have
lower numbers: a compaction drops deletes, and with them the highest numbers. If a write was planned on such a later
version, and a rollback then restores the version before, those deletes are back and would hide the new rows. Data
evolution compares the columns of rows by snapshot numbers (`range_conflicts.py`). A rollback makes these numbers free
again, too.

A commit reads the latest snapshot first, and then the planned one. A rollback removes later snapshots first. So if the
planned one exists, the whole history up to the latest snapshot existed, too; `withdraw.py` finds a rollback that comes
later.
"""

from __future__ import annotations

from paimon_core.dataclass import dataclass
from paimon_core.errors import CommitConflictError
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.snapshots import find_snapshot
from paimon_core.store.table_store import TableStore


@dataclass(frozen=True, slots=True)
class Planned:
    """The latest snapshot when a write was planned, or None if the table was empty."""

    snapshot: Snapshot | None


def check_planned(store: TableStore, latest: Snapshot | None, planned: Snapshot | None) -> None:
    """Raise `CommitConflictError` if `latest` is not built on the snapshot `planned`.

    An expired `planned` counts as part of the history: this happens only if `snapshot.time-retained` is shorter than
    the write.
    """
    if planned is None or (latest is not None and _same(latest, planned)):
        return
    if latest is not None and latest.id > planned.id:
        found = find_snapshot(store, planned.id)
        if found is None or _same(found, planned):
            return
    raise CommitConflictError(
        f"Table {store.name} was rolled back while rows were written to it: the new rows are numbered after the rows "
        f"of snapshot {planned.id}, which is no longer part of the table. Nothing was committed; run the statement "
        "again."
    )


def _same(one: Snapshot, other: Snapshot) -> bool:
    return one.id == other.id and one.delta_manifest_list == other.delta_manifest_list
