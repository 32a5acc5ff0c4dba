"""Committing what the tasks of a procedure have written."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import CommitUnknownError, PaimonError
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.snapshot import Operation
from paimon_core.table import Table


def commit_or_delete(table: Table, messages: Sequence[CommitMessage], operation: Operation | None = None) -> None:
    """Commit files, or delete them where the commit is known to have failed; nothing for no messages.

    Raises as `Table.commit`.
    """
    if not messages:
        return
    try:
        table.commit(messages, CommitInfo(user=table.new_commit_user(), operation=operation))
    except CommitUnknownError:
        raise
    except PaimonError:
        table.abort(messages)
        raise
