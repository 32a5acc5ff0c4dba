"""Committing what the tasks of a procedure have written, and files of other tables."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_core.commit.draft import CommitInfo
from paimon_core.format_table.migration import Adoption, adopt, give_back
from paimon_core.io.failure import on_certain_failure
from paimon_core.io.file_io import FileIO
from paimon_core.io.transfer import Copy
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.snapshot import Operation
from paimon_core.table import Table


def commit_or_delete(table: Table, messages: Sequence[CommitMessage], operation: Operation | None = None) -> None:
    """Commit files, or delete them where the commit is known to have failed; nothing for no messages.

    Raises as `Table.commit`.
    """
    if not messages:
        return
    table.commit_or_abort(messages, CommitInfo(user=table.new_commit_user(), operation=operation))


def commit_adopted(source: FileIO, target: Table, adoption: Adoption, copy: Copy, *, move: bool) -> None:
    """Move files to a table, or copy them by `copy`, and commit them; where that fails, they are where they were."""
    adopt(source, target.store.io, adoption.paths, move=move, copy=copy)
    with on_certain_failure(lambda: give_back(source, target.store.io, adoption.paths, moved=move)):
        target.commit(adoption.messages, CommitInfo(user=target.new_commit_user()))
