"""`scan.fallback-branch`: partitions that the table has no rows in are read from one of its branches."""

from __future__ import annotations

from dataclasses import replace

from paimon_core.errors import InvalidOptionError, SnapshotNotFoundError
from paimon_core.expressions.predicate import Predicate
from paimon_core.options import SCAN_FALLBACK_BRANCH
from paimon_core.scan.plan import Plan, plan_scan
from paimon_core.scan.time_travel import is_time_travel, resolve_snapshot
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.branches import open_branch
from paimon_core.store.manifests import live_files
from paimon_core.store.table_store import TableStore


def plan_with_fallback(
    store: TableStore,
    snapshot: Snapshot | None,
    predicate: Predicate | None = None,
    *,
    level: int | None = None,
    since: int | None = None,
) -> Plan:
    """As `plan_scan`, with the partitions that `snapshot` lacks planned in the fallback branch, where there is one.

    A version of the past is filled up from the branch as it was at that time. Raises also `BranchNotFoundError`, and
    `InvalidOptionError` where the branch has other columns.
    """
    plan = plan_scan(store, snapshot, predicate, level=level, since=since)
    name = store.options[SCAN_FALLBACK_BRANCH]
    if not name or store.branch:
        return plan
    branch = open_branch(store, name)
    _check_same_columns(store, branch)
    own = {e.partition for e in live_files(store, snapshot).values()}
    other = plan_scan(branch, _branch_snapshot(store, branch, snapshot), predicate, level=level, since=since)
    filled = tuple(replace(s, branch=name) for s in other.splits if s.partition not in own)
    return replace(
        plan,
        splits=plan.splits + filled,
        manifests_total=plan.manifests_total + other.manifests_total,
        manifests_read=plan.manifests_read + other.manifests_read,
        files_total=plan.files_total + other.files_total,
        exact=plan.exact and other.exact,
    )


def _branch_snapshot(store: TableStore, branch: TableStore, snapshot: Snapshot | None) -> Snapshot | None:
    if snapshot is None or not is_time_travel(store):
        return resolve_snapshot(branch)
    try:
        return resolve_snapshot(branch, timestamp_millis=snapshot.time_millis)
    except SnapshotNotFoundError:
        return None


def _check_same_columns(store: TableStore, branch: TableStore) -> None:
    ours, theirs = ([(f.name, f.type.with_nullable(True)) for f in s.schema.fields] for s in (store, branch))
    if ours != theirs or store.schema.partition_keys != branch.schema.partition_keys:
        raise InvalidOptionError(
            f"Table {store.name} cannot read its fallback branch {branch.branch!r}: the branch has other columns or "
            "partition columns. Alter one of them, or unset 'scan.fallback-branch'."
        )
