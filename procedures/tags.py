"""`CALL sys.*` for tags."""

from __future__ import annotations

from paimon_core.errors import InvalidNameError, SnapshotNotFoundError
from paimon_core.maintenance import auto_tags
from paimon_core.maintenance import tags as core
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.snapshots import describe_snapshots, list_snapshots
from paimon_core.store.tags import has_tag, readable_tags
from paimon_core.table import Table
from paimon_sql.procedures.arguments import time_to_live
from paimon_sql.procedures.dry_runs import trial_rows
from paimon_sql.procedures.registry import ProcedureContext, Rows, procedure


@procedure(result="boolean")
def create_tag(
    context: ProcedureContext, table: str, tag: str, snapshot: int | None = None, time_retained: str | None = None
) -> Rows:
    """Name a snapshot (default: the latest), so that its rows can be read even after the snapshot has expired.

    `time_retained` (`1 d`) limits how long the tag is kept. The result is true.
    """
    target = context.load_table(table)
    retained = time_to_live(time_retained)
    target.versions.create_tag(tag, core.taggable_snapshot(target.store, snapshot), retained)
    return [(True,)]


@procedure(tagName="string", snapshot="bigint", commit_time="bigint", watermark="string")
def create_tag_from_timestamp(
    context: ProcedureContext, table: str, tag: str, timestamp: int = 0, time_retained: str | None = None
) -> Rows:
    """Name the first snapshot committed at or after a moment (epoch milliseconds; default: the first of all).

    The result is the tag, its snapshot, the time of the snapshot's commit, and its watermark.
    """
    target = context.load_table(table)
    found = _first_since(target, timestamp)
    target.versions.create_tag(tag, found, time_to_live(time_retained))
    return [(tag, found.id, found.time_millis, "null" if found.watermark is None else str(found.watermark))]


@procedure(result="boolean")
def replace_tag(
    context: ProcedureContext,
    table: str,
    tag: str,
    snapshot: int | None = None,
    time_retained: str | None = None,
    dry_run: bool = False,
) -> Rows:
    """Move a tag to another snapshot (default: the latest), and keep it for `time_retained` from now on.

    The result is true. With `dry_run` nothing changes: the result has the files and bytes that would be deleted.
    """
    target = context.load_table(table)
    retained = time_to_live(time_retained)
    found = core.taggable_snapshot(target.store, snapshot)
    if dry_run:
        return trial_rows("replace_tag", target.store, lambda trial: core.replace_tag(trial, tag, found, retained))
    core.replace_tag(target.store, tag, found, retained)
    return [(True,)]


@procedure(result="boolean")
def rename_tag(context: ProcedureContext, table: str, tag: str, target_tag: str) -> Rows:
    """Give a tag another name.

    The result is true.
    """
    core.rename_tag(context.load_table(table).store, tag, target_tag)
    return [(True,)]


@procedure(result="boolean")
def delete_tag(context: ProcedureContext, table: str, tag: str, dry_run: bool = False) -> Rows:
    """Remove tags (`one` or `one,two`), with the files that nothing else needs. Tags that do not exist are ignored.

    The result is true. With `dry_run` nothing changes: the result has the tags, and the files and bytes that would be
    deleted.
    """
    target = context.load_table(table)
    names = [tag] if has_tag(target.store, tag) else [n.strip() for n in tag.split(",")]
    if not any(names):
        raise InvalidNameError("tag is empty: name one or more tags, as in 'one,two'.")
    if dry_run:
        return trial_rows("delete_tag", target.store, lambda trial: core.delete_tags(trial, names))
    target.versions.delete_tags(names)
    return [(True,)]


@procedure(result="boolean")
def trigger_tag_automatic_creation(context: ProcedureContext, table: str) -> Rows:
    """Create the tags that are due by `tag.automatic-creation`, as a commit does. If the option is `none`, create no
    tag.

    The result is true.
    """
    auto_tags.create_automatic_tags(context.load_table(table).store)
    return [(True,)]


def _first_since(table: Table, millis: int) -> Snapshot:
    known = [*list_snapshots(table.store), *(t.snapshot for t in readable_tags(table.store))]
    later = [s for s in known if s.time_millis >= millis]
    if not later:
        raise SnapshotNotFoundError(
            f"Table {table.name} has no snapshot at or after {millis} (epoch milliseconds); "
            f"{describe_snapshots(table.store)}."
        )
    return min(later, key=lambda s: s.id)
