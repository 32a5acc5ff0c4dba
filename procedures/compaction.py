"""`CALL sys.compact`: rewrite sorted runs, or small files, as one task per bucket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidOptionError
from paimon_core.options import PARTITION_DEFAULT_NAME
from paimon_core.spec.message import decode_message
from paimon_core.store.partitions import PartitionFilter
from paimon_core.table import Table
from paimon_core.write.compact_job import NOTHING, compaction_function, compaction_tasks
from paimon_sql.procedures.arguments import partition_specs
from paimon_sql.procedures.registry import ProcedureContext, procedure

STRATEGIES = ("full", "minor")


@procedure(result="boolean")
def compact(
    context: ProcedureContext, table: str, partitions: str | None = None, compact_strategy: str | None = None
) -> Sequence[tuple[Any, ...]]:
    """Compact a table, or the partitions named (`dt=2024-01-01,hh=10;dt=2024-01-02`).

    `compact_strategy` is `full` (the default: everything becomes one sorted run, or few files) or `minor` (only what
    the table's `num-sorted-run.compaction-trigger` and size ratios ask for). The result is true.
    """
    strategy = (compact_strategy or "full").lower()
    if strategy not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        raise InvalidOptionError(f"compact_strategy cannot be {compact_strategy!r}: it is one of {known}.")
    target = context.load_table(table)
    target.check_writable()
    tasks = compaction_tasks(target.store, target.latest_snapshot(), _partition_filter(target, partitions))
    function = compaction_function(target.store, full=strategy == "full")
    results = context.executor.run(function, tasks, f"compact {target.name}")
    messages = [decode_message(r) for r in results if r != NOTHING]
    if messages:
        target.commit(messages, CommitInfo(user=target.new_commit_user()))
    return [(True,)]


def _partition_filter(table: Table, partitions: str | None) -> PartitionFilter:
    fields = table.schema.partition_fields
    if partitions is None:
        return PartitionFilter(fields)
    default_name = table.store.options[PARTITION_DEFAULT_NAME]
    return PartitionFilter(fields, predicate=partition_specs(partitions, fields, default_name))
