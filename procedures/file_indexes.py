"""`CALL sys.rewrite_file_index`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paimon_core.commit.draft import CommitInfo
from paimon_core.spec.message import written_messages
from paimon_core.write.compaction.job import live_buckets
from paimon_core.write.indexes.file_index_job import file_index_job
from paimon_sql.procedures.partition_choice import chosen_partitions
from paimon_sql.procedures.registry import Int, ProcedureContext, procedure


@procedure(written_partitions="int", written_indexes="int")
def rewrite_file_index(context: ProcedureContext, table: str, where: str | None = None) -> Sequence[tuple[Any, ...]]:
    """Make the file indexes of all data files, or of those in partitions that satisfy `where` (`dt > '2024-01-01'`),
    what the table's `file-index` options ask for now. Rows are read, data files stay as they are.

    The result is how many partitions and how many files got another index.
    """
    target = context.load_table(table)
    target.check_writable()
    snapshot = target.latest_snapshot()
    buckets = live_buckets(target.store, snapshot, chosen_partitions(context, target, snapshot, None, where))
    messages = written_messages(context.executor.run(file_index_job(target.store, buckets)))
    if messages:
        target.commit(messages, CommitInfo(user=target.new_commit_user()))
    return [(Int(len({m.partition for m in messages})), Int(sum(len(m.compact_after) for m in messages)))]
