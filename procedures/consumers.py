"""`CALL sys.*` for consumers: readers with their progress kept in the table."""

from __future__ import annotations

from paimon_core.maintenance import consumers as core
from paimon_sql.procedures.registry import ProcedureContext, Rows, procedure


@procedure(result="boolean")
def reset_consumer(context: ProcedureContext, table: str, consumerId: str, nextSnapshotId: int | None = None) -> Rows:
    """Set the snapshot at which a consumer continues; without `nextSnapshotId` delete the consumer.

    The result is true.
    """
    core.reset_consumer(context.load_table(table).store, consumerId, nextSnapshotId)
    return [(True,)]


@procedure(result="boolean")
def clear_consumers(
    context: ProcedureContext,
    table: str,
    includingConsumers: str | None = None,
    excludingConsumers: str | None = None,
) -> Rows:
    """Delete the consumers with an id that matches `includingConsumers` (default: all) and not `excludingConsumers`,
    both regular expressions for the whole id.

    The result is true.
    """
    core.clear_consumers(context.load_table(table).store, includingConsumers, excludingConsumers)
    return [(True,)]
