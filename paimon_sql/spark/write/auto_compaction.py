"""Compaction behind a write: the buckets that a statement has written to, where they are due.

A task of a write holds some keys of every bucket and cannot compact any; so it happens here, behind the commit. The
statement waits, and succeeds whatever becomes of its compaction: the next write finds what is left to do.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import CommitConflictError, CommitUnknownError, DataFileMissingError
from paimon_core.lsm.strategy import Strategy
from paimon_core.options import CHANGELOG_PRODUCER, FORCE_LOOKUP
from paimon_core.spec.message import CommitMessage, decode_message
from paimon_core.table import Table
from paimon_core.write.compaction.job import NOTHING, compaction_function, encode_tasks, task_size
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.workers.executor import SparkExecutor

_TRIES = 3  # of a compaction that loses against another: rows may show only once they are compacted
_LOG = logging.getLogger(__name__)


def compact_after_write(
    session: SessionBridge, table: Table, written: Sequence[CommitMessage], *, overwrites: bool
) -> None:
    """Compact what is due of the buckets written to. Never fails: what went wrong is logged."""
    try:
        target = _without_changelog(table) if overwrites else table
        for left in reversed(range(_TRIES)):
            if _compact(session, target, written, is_last=not left):
                break
    except CommitUnknownError as error:
        _LOG.warning("Rows are committed to %s; of their compaction this is known: %s", table.name, error)
    except CommitConflictError as error:
        _LOG.debug("Rows are committed to %s, somebody else compacts them: %s", table.name, error)
    except Exception as error:  # whatever it is, the rows are committed
        _LOG.warning("Rows are committed to %s, they are not compacted: %s", table.name, error)


def _compact(session: SessionBridge, table: Table, written: Sequence[CommitMessage], *, is_last: bool) -> bool:
    """Compact what is due now; False where somebody else was faster, and it is not the last try."""
    tasks, messages = table.due_compactions(written), list[CommitMessage]()
    if not tasks:
        return True
    function, texts = compaction_function(table.store, Strategy.WRITE), encode_tasks(tasks)
    try:
        size = sum(map(task_size, tasks))
        results = SparkExecutor(session).run_sized(function, texts, size, f"compact {table.name}")
        messages += (decode_message(r) for r in results if r != NOTHING)
        if messages:
            table.commit(messages, CommitInfo(user=table.new_commit_user()))
    except CommitUnknownError:
        raise
    except Exception as error:
        table.abort(messages)
        if is_last or not isinstance(error, CommitConflictError | DataFileMissingError):
            raise
        return False
    return True


def _without_changelog(table: Table) -> Table:
    """The table as it is compacted behind an overwrite: the rows replaced are told by no changelog, nor are the new."""
    producer = table.store.options[CHANGELOG_PRODUCER]
    if producer not in ("lookup", "full-compaction"):
        return table
    waited_for = "true" if producer == "lookup" else "false"
    options = {CHANGELOG_PRODUCER.key: "none", FORCE_LOOKUP.key: waited_for}
    return replace(table, store=table.store.with_options(options))  # for this once, also where they have to stay
