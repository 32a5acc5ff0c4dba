"""`CALL sys.rescale`: another number of buckets for partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.options import BUCKET, POSTPONED
from paimon_core.spec.snapshot import Operation
from paimon_sql.procedures.commits import commit_or_delete
from paimon_sql.procedures.partition_choice import chosen_partitions
from paimon_sql.procedures.registry import Int, ProcedureContext, procedure


@procedure(result="boolean")
def rescale(
    context: ProcedureContext,
    table: str,
    bucket_num: Int | None = None,
    partitions: str | None = None,
    where: str | None = None,
) -> Sequence[tuple[Any, ...]]:
    """Divide the rows of a table among `bucket_num` buckets (default: the table's option `bucket`), or those of some
    partitions: those named (`dt=2024-01-01;dt=2024-01-02`), or those that satisfy `where`.

    It is one commit, an overwrite of the same rows; one that comes in between makes it fail. The result is true.
    """
    target = context.load_table(table)
    target.check_writable()
    own = target.store.options[BUCKET]
    if bucket_num is None and own == POSTPONED:
        raise InvalidOptionError(
            f"Table {target.name} has postponed buckets: you must provide the resulting bucket number, bucket_num."
        )
    buckets = own if bucket_num is None else int(bucket_num)
    if own < 1 and own != POSTPONED:
        raise UnsupportedFeatureError(
            f"Table {target.name} cannot be rescaled: 'bucket' = '{own}' fixes no number of buckets."
        )
    if buckets < 1:
        raise InvalidOptionError(f"bucket_num cannot be {buckets}: it is 1 or more.")
    snapshot = target.latest_snapshot()
    if snapshot is None:
        raise InvalidOptionError(f"Table {target.name} has no snapshot: there is nothing to rescale.")
    chosen = chosen_partitions(context, target, snapshot, partitions, where)
    moves = target.bucket_moves(context.executor, f"rescale {target.name}")
    commit_or_delete(target, moves.rescale(chosen, buckets), Operation.OVERWRITE)
    return [(True,)]
