"""`CALL sys.*` for branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidNameError, InvalidOptionError
from paimon_core.maintenance import branches as core
from paimon_core.maintenance.advance import publish_branch
from paimon_core.maintenance.after_commit import expire_published, maintain
from paimon_core.maintenance.fast_forward import fast_forward as forward_to
from paimon_core.spec.identifier import MAIN_BRANCH
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.snapshot import Operation
from paimon_core.store.branches import open_branch
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.versions import FileVersions, TableVersions, drop_audit_tag
from paimon_sql.procedures.dry_runs import trial_rows
from paimon_sql.procedures.registry import ProcedureContext, Rows, procedure


@procedure(result="boolean")
def create_branch(
    context: ProcedureContext, table: str, branch: str, tag: str | None = None, ignoreIfExists: str | None = None
) -> Rows:
    """Create a branch from a tag with its rows, or with only the schema. `table` may be a branch itself. Statements
    name the branch `table$branch_NAME`. The result is true.
    """
    versions = context.load_table(table).versions
    if _boolean("ignoreIfExists", ignoreIfExists) and versions.branch_exists(branch):
        return [(True,)]
    versions.create_branch(branch, tag)
    return [(True,)]


@procedure(result="boolean")
def delete_branch(context: ProcedureContext, table: str, branch: str, dry_run: bool = False) -> Rows:
    """Remove branches (`one` or `one,two`), with the files that nothing else needs.

    The result is true. With `dry_run` nothing changes: the result has the files and bytes that would be deleted.
    """
    target = _table(context, table)
    names, known = [n.strip() for n in branch.split(",")], target.versions.branch_names()
    for name in names:  # delete all branches, or none
        core.check_branch_name(name)
        if name not in known:
            open_branch(target.store, name)

    def delete(versions: TableVersions) -> None:
        for name in names:
            versions.delete_branch(name)

    if dry_run:
        return trial_rows("delete_branch", target.store, lambda trial: delete(FileVersions(trial)))
    delete(target.versions)
    return [(True,)]


@procedure(result="boolean")
def rename_branch(context: ProcedureContext, table: str, from_branch: str, to_branch: str) -> Rows:
    """Give a branch another name.

    The result is true.
    """
    _table(context, table).versions.rename_branch(from_branch, to_branch)
    return [(True,)]


@procedure(result="boolean")
def fast_forward(context: ProcedureContext, table: str, branch: str, dry_run: bool = False) -> Rows:
    """Replace the table's snapshots and tags, from the branch's first snapshot on, by the branch's snapshots and tags.

    The result is true. With `dry_run` nothing changes: the result has the versions that would be removed, and for each
    partition the data files that would leave the table and that would come from the branch.
    """
    target = _table(context, table)
    if dry_run:
        return trial_rows("fast_forward", target.store, partial(forward_to, name=branch), with_rows=True)
    target.versions.fast_forward(branch)
    return [(True,)]


@procedure(previous_snapshot_id="bigint", current_snapshot_id="bigint")
def publish(context: ProcedureContext, table: str, branch: str) -> Rows:
    """Publish the snapshots of a branch in its table, each under its own number. If the table has snapshots that the
    branch lacks, nothing is replaced: the call fails.

    The result has the numbers of the latest snapshot before and after the call.
    """
    main = _table(context, table)
    before, after = publish_branch(main.store, branch, main.publisher)
    drop_audit_tag(main.versions, branch)
    made = main.latest_snapshot()
    if made is not None and after > before:
        maintain(main.store, made, main.publisher)
        expire_published(main.store, branch, after)
    return [(before, after)]


@procedure(result="boolean")
def merge_branch(context: ProcedureContext, table: str, source_branch: str, target_branch: str | None = None) -> Rows:
    """Add the rows of a branch to another (default: the table itself). For append tables of one schema.

    The result is true.
    """
    main = _table(context, table)

    def commit(store: TableStore, messages: Sequence[CommitMessage]) -> None:
        into = replace(main, store=store)
        into.check_writable()
        into.commit(messages, CommitInfo(user=into.new_commit_user(), operation=Operation.WRITE))

    core.merge_branch(main.store, source_branch, target_branch or MAIN_BRANCH, commit)
    return [(True,)]


def _table(context: ProcedureContext, name: str) -> Table:
    """Return the table itself: a branch cannot have branches."""
    table = context.load_table(name)
    if table.store.branch:
        raise InvalidNameError(f"{name!r} is a branch: name the table itself.")
    return table


def _boolean(argument: str, text: str | None) -> bool:
    if text is None or text.strip().lower() in ("true", "false"):
        return text is not None and text.strip().lower() == "true"
    raise InvalidOptionError(f"{argument} cannot be {text!r}: use 'true' or 'false'.")
