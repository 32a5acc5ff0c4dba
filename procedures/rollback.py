"""`CALL sys.*` for rollbacks, and for repairs of the catalog and of a table's list of versions."""

from __future__ import annotations

from functools import partial

from paimon_core.errors import CorruptFileError, InvalidOptionError, MetadataMissingError, SnapshotNotFoundError
from paimon_core.maintenance.rollback import roll_back, snapshot_at_watermark
from paimon_core.spec.identifier import Identifier
from paimon_core.store.manifests import data_manifests
from paimon_core.store.snapshots import describe_snapshots, history_ids, read_snapshot, reset_hints, snapshot_ids
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_sql.catalog.base import Catalog, SupportsRegistration
from paimon_sql.catalog.listing import of_some
from paimon_sql.procedures.dry_runs import trial_rows
from paimon_sql.procedures.registry import ProcedureContext, Rows, load_table, procedure


@procedure(previous_snapshot_id="bigint", current_snapshot_id="bigint")
def rollback(
    context: ProcedureContext,
    table: str,
    version: str | None = None,
    snapshot: int | None = None,
    tag: str | None = None,
    dry_run: bool = False,
) -> Rows:
    """Go back to a snapshot or tag: later snapshots and tags are removed. Give one of `version` (a snapshot's number or
    a tag), `snapshot` and `tag`. The result has the numbers of the latest snapshot before and after the call.

    With `dry_run` nothing changes: the result has the versions that would be removed, and for each partition the data
    files that would leave the table and that would be in it again. They are not deleted before `remove_orphan_files`.
    """
    target = context.load_table(table)
    if sum(a is not None for a in (version, snapshot, tag)) != 1 or version == "":
        raise InvalidOptionError("rollback takes one of the arguments version, snapshot and tag: give exactly one.")
    if version is not None and version.isascii() and version.isdigit():
        return _roll_back("rollback", target, int(version), None, dry=dry_run)
    return _roll_back("rollback", target, snapshot, tag if version is None else version, dry=dry_run)


@procedure(previous_snapshot_id="bigint", current_snapshot_id="bigint")
def rollback_to_timestamp(context: ProcedureContext, table: str, timestamp: int, dry_run: bool = False) -> Rows:
    """Go back to the latest snapshot committed at or before a moment (epoch milliseconds). The result has the numbers
    of the latest snapshot before and after the call. `dry_run` works as in `rollback`.
    """
    target = context.load_table(table)
    found = target.snapshot(timestamp_millis=timestamp)
    return _roll_back("rollback_to_timestamp", target, None if found is None else found.id, None, dry=dry_run)


@procedure(previous_snapshot_id="bigint", current_snapshot_id="bigint")
def rollback_to_watermark(context: ProcedureContext, table: str, watermark: int, dry_run: bool = False) -> Rows:
    """Go back to the latest snapshot with a watermark at or before `watermark` (milliseconds). The result has the
    numbers of the latest snapshot before and after the call. `dry_run` works as in `rollback`.
    """
    target = context.load_table(table)
    found = snapshot_at_watermark(target.store, watermark)
    return _roll_back("rollback_to_watermark", target, found.id, None, dry=dry_run)


def _roll_back(work: str, table: Table, snapshot: int | None, tag: str | None, *, dry: bool) -> Rows:
    if not dry:
        return [table.versions.roll_back(snapshot_id=snapshot, tag=tag)]
    return trial_rows(work, table.store, partial(roll_back, snapshot_id=snapshot, tag=tag), with_rows=True)


@procedure(result="boolean")
def repair(context: ProcedureContext, database_or_table: str) -> Rows:
    """Bring the catalog in line with the storage, for a table or every table of a database.

    A filesystem catalog always reads the storage. Another catalog registers the folders of tables that it has lost, and
    corrects its entries of other tables. If a table's hint names a snapshot that does not exist, the hint is written
    again. If one of several tables cannot be read, the reason is logged. The result is true.
    """
    _register(context, database_or_table)
    of_some(_tables(context, database_or_table), partial(_repair, context.catalog), "repaired")
    return [(True,)]


@procedure(previous_earliest_snapshot_id="bigint", current_earliest_snapshot_id="bigint")
def repair_earliest_snapshot(context: ProcedureContext, table: str, snapshot_id: int, dry_run: bool = False) -> Rows:
    """Drop the snapshots before a gap or before damaged snapshots, for a table that has lost some. Their files stay
    until `remove_orphan_files`. The result has the numbers of the earliest snapshot before and after the call. With
    `dry_run` nothing changes: the result has the snapshots that would be removed.
    """
    store = context.load_table(table).store
    ids = snapshot_ids(store)
    if snapshot_id not in ids:
        raise SnapshotNotFoundError(f"Table {store.name} has no snapshot {snapshot_id}: {describe_snapshots(store)}.")
    kept = [n for n in ids if n >= snapshot_id]
    lost = sorted(set(range(snapshot_id, ids[-1])) - set(kept))
    if lost:
        raise SnapshotNotFoundError(
            f"Snapshot {snapshot_id} of table {store.name} cannot be the earliest: the later snapshot {lost[-1]} is "
            f"missing. Take {lost[-1] + 1}."
        )
    if snapshot_id - 1 in ids and _is_whole(store, snapshot_id - 1):
        raise InvalidOptionError(
            f"Snapshot {snapshot_id} of table {store.name} does not follow a gap: snapshot {snapshot_id - 1} exists. "
            "To remove older snapshots, call expire_snapshots."
        )

    def drop(held: TableStore) -> None:
        for number in (n for n in ids if n < snapshot_id):
            held.delete(held.paths.snapshot(number))
        reset_hints(held, snapshot_id, ids[-1])

    if dry_run:
        return trial_rows("repair_earliest_snapshot", store, drop)
    drop(store)
    return [(ids[0], snapshot_id)]


def _is_whole(store: TableStore, snapshot_id: int) -> bool:
    """Return whether a snapshot and the lists of its manifests can be read."""
    try:
        data_manifests(store, read_snapshot(store, snapshot_id))
    except (CorruptFileError, MetadataMissingError, SnapshotNotFoundError):
        return False
    return True


def _register(context: ProcedureContext, name: str) -> None:
    """Make a catalog that keeps a list of its tables register the folders of a table or a database."""
    catalog = context.catalog
    if not isinstance(catalog, SupportsRegistration):
        return
    if "." in name or not catalog.database_exists(name):
        catalog.register_table(context.identifier(name))
        return
    found = sorted({*catalog.list_tables(name), *catalog.unregistered_tables(name)})
    of_some([Identifier(name, table) for table in found], catalog.register_table, "registered")


def _repair(catalog: Catalog, identifier: Identifier) -> None:
    store = load_table(catalog, identifier).store
    ids = history_ids(store)
    if ids:
        reset_hints(store, ids[0], ids[-1])


def _tables(context: ProcedureContext, name: str) -> list[Identifier]:
    if "." not in name and context.catalog.database_exists(name):
        return context.tables(name)
    return [context.identifier(name)]
