"""`CALL sys.*` for branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidNameError, InvalidOptionError
from paimon_core.maintenance import branches as core
from paimon_core.maintenance.branch_rename import rename_branch as rename
from paimon_core.maintenance.fast_forward import fast_forward as forward
from paimon_core.spec.identifier import MAIN_BRANCH
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.snapshot import Operation
from paimon_core.store.branches import branch_names, open_branch
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_sql.procedures.registry import ProcedureContext, procedure

Rows = Sequence[tuple[Any, ...]]


@procedure(result="boolean")
def create_branch(
    context: ProcedureContext, table: str, branch: str, tag: str | None = None, ignoreIfExists: str | None = None
) -> Rows:
    """Branch off from a tag with its rows, or with only the schema; `table` may be a branch itself. The branch is read
    and written as `table$branch_NAME`. The result is true."""
    store = context.load_table(table).store
    if _boolean("ignoreIfExists", ignoreIfExists) and core.branch_exists(store, branch):
        return [(True,)]
    core.create_branch(store, branch, tag)
    return [(True,)]


@procedure(result="boolean")
def delete_branch(context: ProcedureContext, table: str, branch: str) -> Rows:
    """Remove branches (`one` or `one,two`), with the files that nothing else needs.

    The result is true.
    """
    store = _table(context, table).store
    names = [n.strip() for n in branch.split(",")]
    for name in names:  # all or none
        core.check_branch_name(name)
        if name not in branch_names(store):
            open_branch(store, name)
    for name in names:
        core.delete_branch(store, name)
    return [(True,)]


@procedure(result="boolean")
def rename_branch(context: ProcedureContext, table: str, from_branch: str, to_branch: str) -> Rows:
    """Give a branch another name.

    The result is true.
    """
    rename(_table(context, table).store, from_branch, to_branch)
    return [(True,)]


@procedure(result="boolean")
def fast_forward(context: ProcedureContext, table: str, branch: str) -> Rows:
    """Make the table what a branch is: snapshots and tags since the branch's first are replaced by its own.

    The result is true.
    """
    forward(_table(context, table).store, branch)
    return [(True,)]


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
    """The table itself: branches have no branches."""
    table = context.load_table(name)
    if table.store.branch:
        raise InvalidNameError(f"{name!r} is a branch: name the table itself.")
    return table


def _boolean(argument: str, text: str | None) -> bool:
    if text is None or text.strip().lower() in ("true", "false"):
        return text is not None and text.strip().lower() == "true"
    raise InvalidOptionError(f"{argument} cannot be {text!r}: it is 'true' or 'false'.")
