"""`CALL sys.*` for consumers: readers that come back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paimon_core.maintenance import consumers as core
from paimon_sql.procedures.registry import ProcedureContext, procedure

Rows = Sequence[tuple[Any, ...]]


@procedure(result="boolean")
def reset_consumer(context: ProcedureContext, table: str, consumerId: str, nextSnapshotId: int | None = None) -> Rows:
    """Let a consumer go on at a snapshot; without `nextSnapshotId` it is forgotten.

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
    """Forget the consumers whose whole ids match one regular expression (default: all), and not the other.

    The result is true.
    """
    core.clear_consumers(context.load_table(table).store, includingConsumers, excludingConsumers)
    return [(True,)]
