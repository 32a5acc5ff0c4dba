"""`CALL sys.*` for expiry of versions, partitions and consumers, and for the progress of consumers."""

from __future__ import annotations

from functools import partial

from paimon_core.clock import now_millis
from paimon_core.maintenance import consumers
from paimon_core.maintenance import snapshot_expiry as core
from paimon_core.maintenance.partitions import expire_partitions as drop_expired
from paimon_core.maintenance.partitions import expired_partitions, local_now
from paimon_core.maintenance.tags import delete_tags, expired_tags
from paimon_core.options import PARTITION_DEFAULT_NAME
from paimon_core.spec.value_texts import shown_partition
from paimon_core.store.partitions import only_partitions
from paimon_sql.procedures.arguments import call_options, epoch_millis, given
from paimon_sql.procedures.dry_runs import removed_rows, trial_rows
from paimon_sql.procedures.file_tasks import deleting
from paimon_sql.procedures.registry import Int, ProcedureContext, Rows, procedure


@procedure(deleted_snapshots_count="int")
def expire_snapshots(
    context: ProcedureContext,
    table: str,
    retain_max: Int | None = None,
    retain_min: Int | None = None,
    older_than: str | None = None,
    max_deletes: Int | None = None,
    options: str | None = None,
    dry_run: bool = False,
) -> Rows:
    """Remove old snapshots and their files, except snapshots and files that tags, branches and consumers need.

    At least `retain_min` and at most `retain_max` snapshots are kept, and within these limits snapshots newer than
    `older_than` (`2024-01-31 12:00:00`); at most `max_deletes` are removed. The defaults are the table's
    `snapshot.num-retained.min`, `snapshot.num-retained.max`, `snapshot.time-retained` and `snapshot.expire.limit`;
    `options` (`key=value,key=value`) overrides them. The result is the number of removed snapshots. With `dry_run`
    nothing changes: the result has the files and bytes that would be deleted.
    """
    target = context.load_table(table).with_options(call_options(options))
    now = now_millis()
    chosen = {"most": retain_max, "least": retain_min, "limit": max_deletes, "older_than": _older(context, older_than)}
    retention = core.retention_of(target.store.options, now, chosen)
    if dry_run:
        return trial_rows("expire_snapshots", target.store, lambda trial: core.expire_snapshots(trial, retention, now))
    return [(core.expire_snapshots(target.store, retention, now, deleting(context)),)]


@procedure(deleted_changelogs_count="int")
def expire_changelogs(
    context: ProcedureContext,
    table: str,
    retain_max: Int | None = None,
    retain_min: Int | None = None,
    older_than: str | None = None,
    max_deletes: Int | None = None,
    delete_all: bool = False,
    dry_run: bool = False,
) -> Rows:
    """Remove changelogs that are kept longer than their snapshots, and their files, as `expire_snapshots` does with
    snapshots.

    `delete_all` removes all of them. The result is the number of removed changelogs. With `dry_run` nothing changes:
    the result has the files and bytes that would be deleted.
    """
    store, now = context.load_table(table).store, now_millis()
    if delete_all:
        retention = core.Retention(least=1, most=1, older_than=2**62, limit=2**31 - 1)
    else:
        given = {"most": retain_max, "least": retain_min, "limit": max_deletes}
        longer = core.changelog_retention_of(store.options, now) or core.retention_of(store.options, now)
        retention = core.overridden(longer, {**given, "older_than": _older(context, older_than)})
    if dry_run:
        return trial_rows("expire_changelogs", store, lambda trial: core.expire_changelogs(trial, retention))
    return [(core.expire_changelogs(store, retention, deleting(context)),)]


@procedure(expired_tags="string")
def expire_tags(context: ProcedureContext, table: str, older_than: str | None = None, dry_run: bool = False) -> Rows:
    """Remove tags that have expired, and tags created before `older_than` (`2024-01-31 12:00:00`).

    The result is their names. With `dry_run` nothing changes: the result has the tags, and the files and bytes that
    would be deleted.
    """
    target = context.load_table(table)
    expired = expired_tags(target.store, local_now(), _older(context, older_than))
    if dry_run:
        return trial_rows("expire_tags", target.store, lambda trial: delete_tags(trial, expired))
    target.versions.delete_tags(expired)
    return [(name,) for name in expired] or [("No expired tags.",)]


@procedure(expired_partitions="string")
def expire_partitions(
    context: ProcedureContext,
    table: str,
    expiration_time: str | None = None,
    timestamp_formatter: str | None = None,
    timestamp_pattern: str | None = None,
    expire_strategy: str | None = None,
    max_expires: Int | None = None,
    options: str | None = None,
    dry_run: bool = False,
) -> Rows:
    """Drop the partitions older than `expiration_time` (`7 d`), in one commit.

    `expire_strategy` is `values-time` (the time in a partition's values, read by `timestamp_pattern` and
    `timestamp_formatter`, such as `$dt` and `yyyyMMdd`) or `update-time` (the time of its last file). The defaults are
    the table's `partition.*` options, which `options` overrides. The result is the dropped partitions. With
    `dry_run` nothing changes: the result has a row for each partition, with its data files, bytes and rows.
    """
    given = {
        "partition.expiration-time": expiration_time,
        "partition.timestamp-formatter": timestamp_formatter,
        "partition.timestamp-pattern": timestamp_pattern,
        "partition.expiration-strategy": expire_strategy,
        "partition.expiration-max-num": None if max_expires is None else str(max_expires),
    }
    chosen = call_options(options) | {k: v for k, v in given.items() if v is not None}
    target = context.load_table(table).with_options(chosen)
    target.check_writable()
    if dry_run:
        planned = only_partitions(target.schema.partition_fields, expired_partitions(target.store, local_now()))
        return removed_rows("expire_partitions", target.store, target.latest_snapshot(), planned)
    expired = drop_expired(target.store, local_now(), target.new_commit_user(), target.publisher)
    if not expired:
        return [("No expired partitions.",)]
    fields, default = target.schema.partition_fields, target.store.options[PARTITION_DEFAULT_NAME]
    specs = (shown_partition(fields, p, default, context.zone) for p in expired)
    return [(", ".join(f"{k}={v}" for k, v in spec.items()),) for spec in specs]


def _older(context: ProcedureContext, text: str | None) -> int | None:
    older = given(text)
    return None if older is None else epoch_millis("older_than", older, context.zone)


@procedure(result="boolean")
def reset_consumer(
    context: ProcedureContext, table: str, consumerId: str, nextSnapshotId: int | None = None, dry_run: bool = False
) -> Rows:
    """Set the snapshot at which a consumer continues; without `nextSnapshotId` delete the consumer.

    The result is true. With `dry_run` nothing changes: the result has the consumer that would be deleted.
    """
    store = context.load_table(table).store
    reset = partial(consumers.reset_consumer, consumer_id=consumerId, next_snapshot=nextSnapshotId)
    if dry_run:
        return trial_rows("reset_consumer", store, reset)
    reset(store)
    return [(True,)]


@procedure(result="boolean")
def clear_consumers(
    context: ProcedureContext,
    table: str,
    includingConsumers: str | None = None,
    excludingConsumers: str | None = None,
    dry_run: bool = False,
) -> Rows:
    """Delete the consumers with an id that matches `includingConsumers` (default: all) and not `excludingConsumers`,
    both regular expressions for the whole id.

    The result is true. With `dry_run` nothing changes: the result has the consumers that would be deleted.
    """
    store = context.load_table(table).store
    clear = partial(consumers.clear_consumers, including=includingConsumers, excluding=excludingConsumers)
    if dry_run:
        return trial_rows("clear_consumers", store, clear)
    clear(store)
    return [(True,)]
