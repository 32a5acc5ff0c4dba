"""`CALL sys.compact`: rewrite sorted runs, or small files, as one task per bucket."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidOptionError, PaimonError
from paimon_core.lsm.strategy import Strategy
from paimon_core.options import PARTITION_DEFAULT_NAME, WRITE_ONLY, names
from paimon_core.scan.partitions import decoded_partitions
from paimon_core.spec.message import decode_message
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter, only_partitions
from paimon_core.table import Table
from paimon_core.write.compact_job import NOTHING, compaction_function, compaction_tasks, live_buckets
from paimon_core.write.data_files import wall_clock
from paimon_core.write.sort_job import Curve, replacing, sort_job
from paimon_sql.procedures.arguments import idle_millis, partition_specs, table_options
from paimon_sql.procedures.registry import ProcedureContext, procedure

_LOG = logging.getLogger(__name__)
STRATEGIES = ("full", "minor")


@procedure(result="boolean")
def compact(
    context: ProcedureContext,
    table: str,
    partitions: str | None = None,
    compact_strategy: str | None = None,
    order_strategy: str | None = None,
    order_by: str | None = None,
    where: str | None = None,
    options: str | None = None,
    partition_idle_time: str | None = None,
) -> Sequence[tuple[Any, ...]]:
    """Compact a table, or some partitions: those named (`dt=2024-01-01,hh=10;dt=2024-01-02`), those that satisfy
    `where` (`dt > '2024-01-01'`), those that no file was added to for `partition_idle_time` (`1 d`).

    `compact_strategy` is `full` (the default: everything becomes one sorted run, or few files) or `minor` (only what
    the table's `num-sorted-run.compaction-trigger` and size ratios ask for). `options` (`key=value,…`) are those of the
    table for this call.

    In append tables `order_strategy` sorts the rows of the partitions by `order_by` (`a,b`): `order` by one column
    after the other, `zorder` and `hilbert` along a curve through all of them. The result is true.
    """
    strategy = (compact_strategy or "full").lower()
    if strategy not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        raise InvalidOptionError(f"compact_strategy cannot be {compact_strategy!r}: it is one of {known}.")
    target = context.load_table(table).with_options({WRITE_ONLY.key: "false"} | table_options(options or ""))
    target.check_writable()
    snapshot = target.latest_snapshot()
    chosen = _partition_filter(context, target, snapshot, partitions, where)
    if partition_idle_time is not None:
        chosen = _idle(target, snapshot, chosen, idle_millis(partition_idle_time))
    curve = _curve(order_strategy, order_by)
    if curve is None:
        tasks = compaction_tasks(target.store, snapshot, chosen)
        function = compaction_function(target.store, Strategy(strategy))
        results = context.executor.run(function, tasks, f"compact {target.name}")
        messages = [decode_message(r) for r in results if r != NOTHING]
    else:
        buckets = live_buckets(target.store, snapshot, chosen)
        job = sort_job(target.store, buckets, names(order_by or ""), curve)
        messages = replacing(buckets, context.executor.sort(job, f"sort {target.name}")) if buckets else []
    if messages:
        target.commit(messages, CommitInfo(user=target.new_commit_user()))
    return [(True,)]


@procedure(result="string")
def compact_database(
    context: ProcedureContext,
    including_databases: str | None = None,
    including_tables: str | None = None,
    excluding_tables: str | None = None,
    options: str | None = None,
) -> Sequence[tuple[Any, ...]]:
    """Compact every table whose whole name `database.table` matches `including_tables` and not `excluding_tables`, in
    databases that match `including_databases`; all are regular expressions.

    The result says how many tables were compacted, and how many could not be.
    """
    databases = _pattern("including_databases", including_databases or ".*")
    including = _pattern("including_tables", including_tables or ".*")
    excluding = _pattern("excluding_tables", excluding_tables) if excluding_tables else None
    done = failed = 0
    for database in filter(databases.fullmatch, context.catalog.list_databases()):
        for table in context.catalog.list_tables(database):
            name = f"{database}.{table}"
            if not including.fullmatch(name) or (excluding and excluding.fullmatch(name)):
                continue
            try:
                quoted = ".".join(f"`{n.replace('`', '``')}`" for n in (database, table))
                compact.call(context, {"table": quoted, "options": options})
                done += 1
            except PaimonError as error:
                _LOG.warning("Table %s could not be compacted: %s", name, error)
                failed += 1
    return [(f"Compact database finished. Success: {done}, Failed: {failed}",)]


def _pattern(argument: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as e:
        raise InvalidOptionError(f"{argument} cannot be {text!r}: it is no regular expression ({e}).") from e


def _curve(strategy: str | None, order_by: str | None) -> Curve | None:
    """How to sort, None where nothing is said of it."""
    if strategy is None or strategy.lower() == "none":
        if order_by is not None and order_by.strip():
            raise InvalidOptionError("order_by needs an order_strategy: order, zorder or hilbert.")
        return None
    if strategy.lower() not in tuple(Curve):
        raise InvalidOptionError(f"order_strategy cannot be {strategy!r}: it is one of none, {', '.join(Curve)}.")
    return Curve(strategy.lower())


def _partition_filter(
    context: ProcedureContext, table: Table, snapshot: Snapshot | None, partitions: str | None, where: str | None
) -> PartitionFilter:
    fields = table.schema.partition_fields
    if partitions is not None and where is not None:
        raise InvalidOptionError("partitions and where cannot both say what to compact: leave one of them out.")
    if partitions is not None:
        default_name = table.store.options[PARTITION_DEFAULT_NAME]
        return PartitionFilter(fields, predicate=partition_specs(partitions, fields, default_name))
    if where is None:
        return PartitionFilter(fields)
    if not fields:
        raise InvalidOptionError(f"where is about partitions, and table {table.name} has none: leave it out.")
    known = sorted({e.partition for e in live_files(table.store, snapshot).values()})
    rows = context.executor.select(decoded_partitions(table.store, known), where)
    return only_partitions(fields, (known[i] for i in rows))


def _idle(table: Table, snapshot: Snapshot | None, chosen: PartitionFilter, millis: int) -> PartitionFilter:
    """Of the partitions chosen those whose last file is older."""
    last: dict[bytes, datetime] = defaultdict(lambda: datetime.min.replace(tzinfo=wall_clock().tzinfo))
    for entry in live_files(table.store, snapshot, chosen).values():
        if entry.file.creation_time is not None:
            last[entry.partition] = max(last[entry.partition], entry.file.creation_time)
    bound = wall_clock() - timedelta(milliseconds=millis)
    return only_partitions(chosen.fields, (p for p, time in last.items() if time < bound))
