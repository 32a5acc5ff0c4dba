"""INSERT in the driver: commit the rows that tasks wrote, and compact their buckets. A task of a write has only some
keys of every bucket and cannot compact a bucket, so the driver does so after the commit. The statement takes that long,
but it succeeds even if its compaction fails: the next write compacts the rest. Row-level statements end in the same
way.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import AlreadyCommittedError, CommitConflictError, CommitUnknownError, DataFileMissingError
from paimon_core.io.failure import on_certain_failure
from paimon_core.jobs import Executor
from paimon_core.lazy import ImportedOnCall
from paimon_core.lsm.strategy import Strategy
from paimon_core.options import CHANGELOG_PRODUCER, FORCE_LOOKUP, POSTPONED
from paimon_core.spec.message import CommitMessage
from paimon_core.table import Table
from paimon_core.tracing import span
from paimon_core.write.bucket_moves import assigns_at_once

if TYPE_CHECKING:
    from paimon_core.maintenance.running import announced
    from paimon_core.write.compaction.job import compaction_job
else:
    announced = ImportedOnCall("paimon_core.maintenance.running", "announced")
    compaction_job = ImportedOnCall("paimon_core.write.compaction.job", "compaction_job")

_TRIES = 3  # tries of a compaction that conflicts with another: some rows are visible only after a compaction
_LOG = logging.getLogger(__name__)


def insert_rows(
    table: Table,
    written: Sequence[CommitMessage],
    info: CommitInfo,
    executor: Executor,
    overwrite: Overwrite | None = None,
    before_commit: Callable[[], None] | None = None,
) -> Sequence[CommitMessage]:
    """Commit the files that tasks wrote, and compact. `before_commit` makes the schema of the rows visible.

    Return the committed messages of the rows. If a commit that is made once was made before, do nothing and return no
    messages. Raises the errors of `Table.commit`; then the files are deleted, unless the outcome is unknown.
    """
    committed = commit_new_rows(table, written, info, executor, overwrite, before_commit)
    compact_after_write(table, committed, executor, overwrites=overwrite is not None)
    return committed


def commit_new_rows(
    table: Table,
    written: Sequence[CommitMessage],
    info: CommitInfo,
    executor: Executor,
    overwrite: Overwrite | None = None,
    before_commit: Callable[[], None] | None = None,
) -> Sequence[CommitMessage]:
    """Do the same as `insert_rows`, without the compaction.

    Return the committed messages, or no messages if they were committed before."""
    try:
        with on_certain_failure(lambda: table.abort(written)):
            table.check_not_made(info)
            if before_commit is not None:
                before_commit()
            return commit_rows(table, written, info, executor, overwrite)
    except AlreadyCommittedError as error:
        _LOG.warning("%s", error, extra={"table": table.name})
        return ()


def commit_rows(
    table: Table,
    written: Sequence[CommitMessage],
    info: CommitInfo,
    executor: Executor,
    overwrite: Overwrite | None = None,
) -> Sequence[CommitMessage]:
    """Commit the files of messages; first, assign postponed rows to buckets. Return the committed messages.

    Raises the errors of `Table.commit`: then the caller may delete the files of `written`.
    """
    postponed = [m for m in written if m.bucket == POSTPONED]
    if not postponed or not assigns_at_once(table.store):
        table.commit(written, info, overwrite)
        return written
    now = table.for_write()
    moves = now.bucket_moves(executor, f"assign buckets to rows of {table.name}")
    assigned = moves.assign(postponed, overwrites=overwrite is not None)
    now.commit_or_abort(assigned, info, overwrite)
    table.delete_replaced(postponed)
    return assigned


def compact_after_write(
    table: Table, written: Sequence[CommitMessage], executor: Executor, *, overwrites: bool
) -> None:
    """Compact the buckets that were written to, if they are due. This never raises: errors are logged."""
    try:
        target = without_changelog(table) if overwrites else table
        for more in reversed(range(_TRIES)):
            if _compact(target, written, executor, is_last=not more):
                break
    except CommitUnknownError as error:
        _LOG.warning(
            "Rows are committed to %s, but the outcome of their compaction is unknown: %s",
            table.name,
            error,
            extra={"table": table.name},
        )
    except CommitConflictError as error:
        _LOG.debug(
            "Rows are committed to %s, and another writer compacts them: %s",
            table.name,
            error,
            extra={"table": table.name},
        )
    except Exception as error:  # any error: the rows are committed
        _LOG.warning(
            "Rows are committed to %s, but they are not compacted: %s",
            table.name,
            error,
            extra={"table": table.name},
        )


def without_changelog(table: Table) -> Table:
    """Return the table for a compaction after an overwrite.

    The changelog does not contain the rows that the overwrite replaced, so it must not contain the new rows either."""
    producer = table.store.options[CHANGELOG_PRODUCER]
    if producer not in ("lookup", "full-compaction"):
        return table
    looks_up = "true" if producer == "lookup" else "false"
    options = {CHANGELOG_PRODUCER.key: "none", FORCE_LOOKUP.key: looks_up}
    # Override the options for this compaction, even if they cannot be changed.
    return replace(table, store=table.store.with_options(options))


def _compact(table: Table, written: Sequence[CommitMessage], executor: Executor, *, is_last: bool) -> bool:
    """Compact the buckets that are due now.

    Return False if another process was faster, and this is not the last try.
    """
    due = table.due_compactions(written)
    job = compaction_job(table.store, due, Strategy.WRITE) if due else None
    if job is None or not job.tasks:
        return True
    try:
        described = span("compaction", table=table.name, buckets=len(job.tasks))
        with described, announced(table.store, "compaction"):
            messages = table.run(executor, job)
            if messages:
                table.commit_or_abort(messages, CommitInfo(user=table.new_commit_user()))
    except (CommitConflictError, DataFileMissingError):
        if is_last:
            raise
        return False
    return True
