"""Committing what the tasks of a statement have written; postponed rows get their buckets before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.options import POSTPONED
from paimon_core.spec.message import CommitMessage
from paimon_core.table import Table
from paimon_core.write.buckets.moves import settles
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.workers.executor import SparkExecutor


def commit_rows(
    session: SessionBridge,
    table: Table,
    written: Sequence[CommitMessage],
    info: CommitInfo,
    overwrite: Overwrite | None = None,
) -> Sequence[CommitMessage]:
    """Commit the files of messages; the messages committed, which hold others where rows got their buckets.

    Raises as `Table.commit`: the files of `written` are the caller's to delete then.
    """
    waiting = [m for m in written if m.bucket == POSTPONED]
    if not waiting or not settles(table.store):
        table.commit(written, info, overwrite)
        return written

    def run(function: Callable[[str], str], items: Sequence[str], size: int) -> list[str]:
        return SparkExecutor(session).run_sized(function, items, size, f"give rows of {table.name} their buckets")

    settled = table.bucket_moves(run).settle(waiting, overwrites=overwrite is not None)
    table.commit_or_abort(settled, info, overwrite)
    table.abort(waiting)
    return settled
