"""The partitions of a procedure: named partitions, partitions that satisfy a condition, and idle partitions."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta

from paimon_core.clock import metadata_now
from paimon_core.errors import InvalidOptionError
from paimon_core.maintenance.partitions import expired_partitions
from paimon_core.options import (
    COMPACTION_SKIP_EXPIRED,
    PARTITION_DEFAULT_NAME,
    PARTITION_EXPIRATION_MAX_NUM,
    PARTITION_EXPIRATION_STRATEGY,
    PARTITION_EXPIRATION_TIME,
)
from paimon_core.scan.partitions import decoded_partitions
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter, only_partitions
from paimon_core.table import Table
from paimon_sql.procedures.arguments import given, partition_specs
from paimon_sql.procedures.registry import ProcedureContext

_ALL = 2**31 - 1


def chosen_partitions(
    context: ProcedureContext, table: Table, snapshot: Snapshot | None, partitions: str | None, where: str | None
) -> PartitionFilter:
    """Return the partitions of `dt=2024-01-01;…`, or the partitions of a version that satisfy `where`.

    Return all partitions if both are blank. Raises `InvalidOptionError`.
    """
    fields = table.schema.partition_fields
    partitions, where = given(partitions), given(where)
    if partitions is not None and where is not None:
        raise InvalidOptionError("partitions and where cannot be used together: leave one of them out.")
    if partitions is not None:
        default_name = table.store.options[PARTITION_DEFAULT_NAME]
        wanted = partition_specs(partitions, fields, default_name, context.zone, case_sensitive=context.case_sensitive)
        return PartitionFilter(fields, predicate=wanted)
    if where is None:
        return PartitionFilter(fields)
    if not fields:
        raise InvalidOptionError(
            f"where filters partitions, but table {table.name} is not partitioned: leave where out."
        )
    known = sorted({e.partition for e in live_files(table.store, snapshot).values()})
    rows = context.executor.select(decoded_partitions(table.store, known), where)
    return only_partitions(fields, (known[i] for i in rows))


def lasting_partitions(table: Table, snapshot: Snapshot | None, chosen: PartitionFilter) -> PartitionFilter:
    """Return the chosen partitions without expired ones, if the table's options require it."""
    options = table.store.options
    ages = options[PARTITION_EXPIRATION_TIME] is not None and options[PARTITION_EXPIRATION_STRATEGY] == "values-time"
    if not (options[COMPACTION_SKIP_EXPIRED] and ages and chosen.fields):
        return chosen
    unbounded = table.store.with_options({PARTITION_EXPIRATION_MAX_NUM.key: str(_ALL)})
    expired = frozenset(expired_partitions(unbounded, metadata_now().replace(tzinfo=None)))
    known = {e.partition for e in live_files(table.store, snapshot, chosen).values()}
    return only_partitions(chosen.fields, known - expired)


def idle_partitions(table: Table, snapshot: Snapshot | None, chosen: PartitionFilter, millis: int) -> PartitionFilter:
    """Return those chosen partitions that got no new file for `millis`."""
    last: dict[bytes, datetime] = defaultdict(lambda: datetime.min.replace(tzinfo=metadata_now().tzinfo))
    for entry in live_files(table.store, snapshot, chosen).values():
        if entry.file.creation_time is not None:
            last[entry.partition] = max(last[entry.partition], entry.file.creation_time)
    bound = metadata_now() - timedelta(milliseconds=millis)
    return only_partitions(chosen.fields, (p for p, time in last.items() if time < bound))
