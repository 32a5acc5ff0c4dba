"""Compaction behind a write: the buckets that a statement has written to, where they are due.

A task of a write holds some keys of every bucket and cannot compact any; so it happens here, behind the commit. The
statement waits, and succeeds whatever becomes of its compaction: the next write finds what is left to do.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import CommitUnknownError
from paimon_core.lsm.strategy import FORCE_UP_LEVEL_0, Strategy
from paimon_core.options import CHANGELOG_PRODUCER
from paimon_core.spec.message import CommitMessage, decode_message
from paimon_core.table import Table
from paimon_core.write.compact_job import NOTHING, compaction_function, encode_tasks, task_size
from paimon_sql.spark.executor import SparkExecutor
from paimon_sql.spark.session_bridge import SessionBridge

_LOG = logging.getLogger(__name__)


def compact_after_write(
    session: SessionBridge, table: Table, written: Sequence[CommitMessage], *, overwrites: bool
) -> None:
    """Compact what is due of the buckets written to. Never fails: what went wrong is logged."""
    messages: list[CommitMessage] = []
    try:
        target = _without_changelog(table) if overwrites else table
        tasks = target.due_compactions(written)
        if not tasks:
            return
        function, texts = compaction_function(target.store, Strategy.WRITE), encode_tasks(tasks)
        size = sum(map(task_size, tasks))
        results = SparkExecutor(session).run_sized(function, texts, size, f"compact {table.name}")
        messages += (decode_message(r) for r in results if r != NOTHING)
        if messages:
            target.commit(messages, CommitInfo(user=table.new_commit_user()))
    except CommitUnknownError as error:
        _LOG.warning("Rows are committed to %s; of their compaction this is known: %s", table.name, error)
    except Exception as error:  # whatever it is, the rows are committed
        _LOG.warning("Rows are committed to %s, they are not compacted: %s", table.name, error)
        table.abort(messages)


def _without_changelog(table: Table) -> Table:
    """The table as it is compacted behind an overwrite: the rows replaced are told by no changelog, nor are the new."""
    producer = table.store.options[CHANGELOG_PRODUCER]
    if producer not in ("lookup", "full-compaction"):
        return table
    waited_for = "true" if producer == "lookup" else "false"
    return table.with_options({CHANGELOG_PRODUCER.key: "none", FORCE_UP_LEVEL_0.key: waited_for})
