"""Partitions that are read from branches: partitions that the table lacks (`scan.fallback-branch`), partitions that a
branch has (`scan.primary-branch`), and partitions of chain tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from paimon_core.errors import InvalidOptionError, SnapshotNotFoundError
from paimon_core.expressions.predicate import Predicate
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import SCAN_FALLBACK_BRANCH, SCAN_PRIMARY_BRANCH
from paimon_core.scan.chain import chain_files, is_chain, plan_chain
from paimon_core.scan.plan import Plan, plan_scan
from paimon_core.scan.time_travel import is_time_travel, resolve_snapshot
from paimon_core.spec.manifest import ManifestEntry
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.manifests import live_files
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.store.branches import have_same_columns, open_branch, open_lending_branch
else:
    have_same_columns = ImportedOnCall("paimon_core.store.branches", "have_same_columns")
    open_branch = ImportedOnCall("paimon_core.store.branches", "open_branch")
    open_lending_branch = ImportedOnCall("paimon_core.store.branches", "open_lending_branch")


def plan_with_fallback(
    store: TableStore,
    snapshot: Snapshot | None,
    predicate: Predicate | None = None,
    *,
    level: int | None = None,
    since: int | None = None,
) -> Plan:
    """Plan a scan as `plan_scan`, with partitions of branches.

    With a fallback branch, the partitions that `snapshot` lacks are planned in the branch. With a primary branch, the
    branch's partitions are planned there, and only the others in the table. For chain tables, see `plan_chain`.

    For a version of the past, the branch is read as it was at that time, with the columns of the table's version. Also
    raises `BranchNotFoundError`, and `InvalidOptionError` if the branch has other columns.
    """
    plan = plan_scan(store, snapshot, predicate, level=level, since=since)
    if is_chain(store):
        return _filled(plan, plan_chain(store, predicate, level=level), _partitions(store, snapshot))
    name = store.options[SCAN_FALLBACK_BRANCH] or store.options[SCAN_PRIMARY_BRANCH]
    if not name or store.branch:
        return plan
    branch = open_lending_branch(store, name) if is_time_travel(store) else open_branch(store, name)
    _check_same_columns(store, branch)
    then = _branch_snapshot(store, branch, snapshot)
    other = plan_scan(branch, then, predicate, level=level, since=since)
    other = replace(other, splits=tuple(replace(s, branch=name) for s in other.splits))
    if store.options[SCAN_FALLBACK_BRANCH]:
        return _filled(plan, other, _partitions(store, snapshot))
    return replace(_filled(other, plan, _partitions(branch, then)), table=store.name, snapshot=snapshot)


def reads_branches(store: TableStore) -> bool:
    """Return whether rows of a table may come from its branches."""
    named = store.options[SCAN_FALLBACK_BRANCH] or store.options[SCAN_PRIMARY_BRANCH]
    return is_chain(store) or bool(named and not store.branch)


def partition_files(store: TableStore, snapshot: Snapshot | None) -> list[ManifestEntry]:
    """Return the files of all partitions that a query of a version sees, including partitions of branches."""
    own = list(live_files(store, snapshot).values())
    name = store.options[SCAN_FALLBACK_BRANCH] or store.options[SCAN_PRIMARY_BRANCH]
    if is_chain(store):
        first, second = own, chain_files(store)
    elif name and not store.branch:
        branch = open_branch(store, name)
        other = list(live_files(branch, _branch_snapshot(store, branch, snapshot)).values())
        first, second = (own, other) if store.options[SCAN_FALLBACK_BRANCH] else (other, own)
    else:
        return own
    taken = {e.partition for e in first}
    return [*first, *(e for e in second if e.partition not in taken)]


def _partitions(store: TableStore, snapshot: Snapshot | None) -> set[bytes]:
    return {e.partition for e in live_files(store, snapshot).values()}


def _filled(plan: Plan, other: Plan, taken: set[bytes]) -> Plan:
    """Add to a plan the splits of another plan for partitions that are not `taken`."""
    return replace(
        plan,
        splits=plan.splits + tuple(s for s in other.splits if s.partition not in taken),
        manifests_total=plan.manifests_total + other.manifests_total,
        manifests_read=plan.manifests_read + other.manifests_read,
        files_total=plan.files_total + other.files_total,
        skipped=plan.skipped + other.skipped,
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
    if not have_same_columns(store.schema, branch.schema):
        raise InvalidOptionError(
            f"Table {store.name} cannot read partitions of its branch {branch.branch!r}: the branch has other columns "
            "or partition columns. Alter one of them, or unset 'scan.fallback-branch' or 'scan.primary-branch'."
        )
