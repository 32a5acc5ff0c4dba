"""Write, audit, publish: rows are written to a branch, and appear in the table after an audit.

`versions.create_audit_branch` makes the branch from the latest snapshot. `publish_branch` publishes the snapshots that
the table lacks, each under its number, as a commit does: only if the number is free. So it never replaces a commit of
another writer. A process that is killed halfway leaves a shorter part of the same history, and the next call goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from paimon_core.commit.publish import Publisher, PublishOutcome
from paimon_core.commit.withdraw import is_there, withdrawn
from paimon_core.errors import CommitConflictError, CommitUnknownError, SnapshotNotFoundError, StorageRefusedError
from paimon_core.iceberg.follow import keep_up
from paimon_core.maintenance.turns import upkeep_turn
from paimon_core.spec.identifier import MAIN_BRANCH
from paimon_core.spec.schema import TableSchema, encode_schema
from paimon_core.spec.snapshot import Snapshot, encode_snapshot
from paimon_core.store.branches import open_branch
from paimon_core.store.schemas import list_schemas
from paimon_core.store.snapshots import (
    find_snapshot,
    history_ids,
    latest_snapshot,
    list_snapshots,
    reset_hints,
    snapshot_ids,
    write_hints,
)
from paimon_core.store.table_store import TableStore


def publish_branch(main: TableStore, name: str, publisher: Publisher) -> tuple[int, int]:
    """Publish the snapshots of a branch in the table. Return the table's latest snapshot numbers before and after, 0
    for none.

    Raises `CommitConflictError` if the table has snapshots that the branch lacks: nothing is lost, and nothing of the
    branch is published from there on. Raises `BranchNotFoundError`, `SnapshotNotFoundError`.
    """
    with upkeep_turn(main) as held:
        branch, table = open_branch(held, name), open_branch(held, MAIN_BRANCH)
        before, last = latest_snapshot(table), latest_snapshot(branch)
        if before == last and table.schema == branch.schema:
            return _number(before), _number(last)
        missing = _missing(branch, table, before)
        _add_schemas(branch, table, publisher)
        after = _publish(table, before, missing, publisher, name)
        _check_source(branch, table, missing)
        keep_up(table)
        return _number(before), _number(after or before)


def follow_table(main: TableStore, name: str, publisher: Publisher) -> None:
    """Give a branch the newer snapshots and schemas of its table, if all of its own snapshots are published. The next
    rows for an audit then come after them. Do nothing for a branch with unpublished rows.
    """
    if not _is_behind(main, name):
        return
    with upkeep_turn(main) as held:
        branch, table = open_branch(held, name), open_branch(held, MAIN_BRANCH)
        if not _is_behind(held, name):
            return
        try:
            last = latest_snapshot(branch)
            missing = _missing(table, branch, last)
            _add_schemas(table, branch, publisher)
            _publish(branch, last, missing, publisher, MAIN_BRANCH)
            _check_source(table, branch, missing)
        except (CommitConflictError, SnapshotNotFoundError, StorageRefusedError):
            return  # the branch gets rows of its own now, snapshots have expired, or a server makes the schemas


def _is_behind(store: TableStore, name: str) -> bool:
    """Return whether the history of a branch is a part of its table's history, and lacks snapshots or schemas of the
    table. A new branch has the schema of its snapshot, and the table may have been altered since.
    """
    branch, table = open_branch(store, name), open_branch(store, MAIN_BRANCH)
    last = latest_snapshot(branch)
    lacks = last != latest_snapshot(table) or branch.schema.id < table.schema.id
    return lacks and _is_part(table, last)


def _number(snapshot: Snapshot | None) -> int:
    return 0 if snapshot is None else snapshot.id


def _is_part(store: TableStore, snapshot: Snapshot | None) -> bool:
    """Return whether a history has a snapshot. Every history begins with no snapshot."""
    return snapshot is None or find_snapshot(store, snapshot.id) == snapshot


def _missing(source: TableStore, target: TableStore, latest: Snapshot | None) -> list[Snapshot]:
    """Return the snapshots of `source` after the latest snapshot of `target`.

    Raises `CommitConflictError`, and `SnapshotNotFoundError` if one of them has expired.
    """
    found = list_snapshots(source)
    if found and found[0].id > max(_number(latest), 1):
        raise SnapshotNotFoundError(
            f"{source.name} cannot be published: its snapshots before {found[0].id} have expired, and {target.name} "
            f"has only the snapshots up to {_number(latest)}. If no other session writes the table, call "
            "sys.fast_forward, which replaces the table's history with the branch's history."
        )
    if not _is_part(source, latest):
        raise _moved(source, target)
    return [s for s in found if s.id > _number(latest)]


def _add_schemas(source: TableStore, target: TableStore, publisher: Publisher) -> None:
    """Give `target` the schemas of `source` that it lacks. Raises `CommitConflictError` if a schema of `target` with
    the same id differs, and `StorageRefusedError` if a server makes the schemas.
    """
    known = {s.id: s for s in list_schemas(target)}
    new: list[TableSchema] = []
    for schema in list_schemas(source):
        if schema.id not in known:
            new.append(schema)
        elif known.pop(schema.id) != schema:
            raise _altered(source, target, schema.id)
    if known and new:
        raise _altered(source, target, max(known))
    for schema in new:
        target.check_turn()
        outcome = publisher.publish(target.paths.schema(schema.id), encode_schema(schema))
        if outcome is PublishOutcome.LOST_RACE:
            raise _altered(source, target, schema.id)


def _publish(
    target: TableStore, base: Snapshot | None, missing: Sequence[Snapshot], publisher: Publisher, name: str
) -> Snapshot | None:
    """Publish snapshots one after the other, on top of `base`. Return the last one, or None if there are no snapshots
    to publish.
    """
    made = None
    for snapshot in missing:
        target.check_turn()
        outcome = publisher.publish(target.paths.snapshot(snapshot.id), encode_snapshot(snapshot))
        if outcome is PublishOutcome.LOST_RACE and find_snapshot(target, snapshot.id) != snapshot:
            raise CommitConflictError(
                f"Table {target.name} got snapshot {snapshot.id} of another writer while branch {name!r} was "
                f"published: {len(missing) - missing.index(snapshot)} of {len(missing)} snapshots are not published. "
                f"No commit is lost. {_advice(target)}"
            )
        if withdrawn(target, base, snapshot, partial(is_there, target, base)):
            raise CommitConflictError(
                f"Table {target.name} was rolled back while branch {name!r} was published: snapshot {snapshot.id} and "
                f"later ones are not published. {_advice(target)}"
            )
        write_hints(target, snapshot.id)
        base = made = snapshot
    return made


def _check_source(source: TableStore, target: TableStore, published: Sequence[Snapshot]) -> None:
    """Remove published snapshots if `source` has lost them meanwhile, because their files may be deleted then.

    This can happen because other engines take no turn. Raises `CommitConflictError`. Raises `CommitUnknownError` if
    another writer has built on the published snapshots: then they stay.
    """
    ends = (published[0], published[-1]) if published else ()
    if all(find_snapshot(source, s.id) == s for s in ends):
        return
    last = published[-1].id
    if any(n > last for n in snapshot_ids(target)):
        raise CommitUnknownError(
            f"Snapshots of {source.name} were removed while they were published to {target.name}. Another writer has "
            f"built on its snapshot {last}, so the published snapshots stay. Check whether the table can be read. If "
            "not, roll it back."
        )
    for snapshot in reversed(published):
        if find_snapshot(target, snapshot.id) == snapshot:
            target.delete(target.paths.snapshot(snapshot.id))
    ids = history_ids(target)
    if ids:
        reset_hints(target, ids[0], ids[-1])
    raise CommitConflictError(
        f"{source.name} was deleted, rolled back or expired while it was published: nothing is published. Look at the "
        "branches of the table, and run the statement again."
    )


def _moved(source: TableStore, target: TableStore) -> CommitConflictError:
    ids, known = history_ids(target), set(history_ids(source))
    later = (n for n in ids if n >= min(known, default=0))
    first = next((n for n in later if find_snapshot(source, n) != find_snapshot(target, n)), ids[-1])
    return CommitConflictError(
        f"Table {target.name} has new snapshots since {source.name} was created from it: {source.name} lacks snapshots "
        f"{first} to {ids[-1]}. Nothing was published, and no commit is lost. {_advice(target)}"
    )


def _altered(source: TableStore, target: TableStore, schema_id: int) -> CommitConflictError:
    return CommitConflictError(
        f"Table {target.name} was altered since {source.name} was made from it: they have different schemas "
        f"{schema_id}. Nothing was published. {_advice(target)}"
    )


def _advice(target: TableStore) -> str:
    return (
        f"To go on, add the rows of an append table by CALL sys.merge_branch, or read the branch's rows, CALL "
        f"sys.delete_branch, and write them again to a new branch of {target.identifier.base}."
    )
