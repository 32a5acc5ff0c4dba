"""`CALL sys.reassign_row_id`: new row ids without gaps, in metadata."""

from __future__ import annotations

from paimon_core.commit.commit import reassign_row_ids
from paimon_core.commit.draft import CommitInfo
from paimon_core.commit.renumbering import check_renumbers, find_renumbering
from paimon_core.errors import SnapshotNotFoundError
from paimon_sql.procedures.dry_runs import rows_of_partitions
from paimon_sql.procedures.partition_choice import chosen_partitions
from paimon_sql.procedures.registry import ProcedureContext, Rows, procedure


@procedure(result="string")
def reassign_row_id(
    context: ProcedureContext, table: str, partitions: str | None = None, dry_run: bool = False
) -> Rows:
    """Give the rows of each partition consecutive row ids, if they have ids with gaps because several commits wrote
    them, or only in named partitions (`dt=2024-01-01;dt=2024-01-02`). The table must have data evolution.

    Only metadata changes. Global indexes move with the rows; an index that covers a gap is dropped. Views of BLOBs that
    name old ids no longer find the rows. The result is a text with numbers. With `dry_run` nothing changes: the result
    has a row for each partition with gaps.
    """
    target = context.load_table(table)
    target.check_writable()
    check_renumbers(target.store)
    latest, named = target.latest_snapshot(), context.identifier(table)
    if latest is None:
        raise SnapshotNotFoundError(f"Cannot reassign row IDs for empty table {target.name}: it has no snapshot.")
    chosen = chosen_partitions(context, target, latest, partitions, None)
    if dry_run:
        plan = find_renumbering(target.store, latest, chosen)
        files = () if plan is None else plan.files
        return rows_of_partitions("reassign_row_id", target.store, files, "new row ids")
    made = reassign_row_ids(target.store, chosen, CommitInfo(user=target.new_commit_user()), target.publisher)
    if made is None:
        is_partitioned = bool(target.schema.partition_keys)
        why = "no partition requires row-id reassignment" if is_partitioned else "table is not partitioned"
        return [
            (
                f"Skipped. Row IDs for table '{named}' were not reassigned because {why}: snapshot {latest.id} "
                f"unchanged, nextRowId={latest.next_row_id}.",
            )
        ]
    snapshot, renumbered = made
    return [
        (
            f"Success. Reassigned row IDs for table '{named}': snapshot {snapshot.id - 1} -> {snapshot.id}, nextRowId "
            f"{renumbered.first} -> {renumbered.next_row_id}, files={len(renumbered.files)}, "
            f"rows={renumbered.next_row_id - renumbered.first}, indexFiles={renumbered.moved_indexes}.",
        )
    ]
