"""Upkeep of partitions: drop partitions that have expired, and mark partitions that are done."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.commit import commit
from paimon_core.commit.draft import CommitInfo
from paimon_core.commit.publish import Publisher
from paimon_core.errors import InvalidOptionError
from paimon_core.expressions.predicate import Or, Predicate, equals
from paimon_core.options import (
    PARTITION_EXPIRATION_MAX_NUM,
    PARTITION_EXPIRATION_STRATEGY,
    PARTITION_EXPIRATION_TIME,
)
from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.manifest import ManifestEntry
from paimon_core.spec.types import DataField
from paimon_core.store.manifests import live_files
from paimon_core.store.partition_times import time_of_partition
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.time_zones import wall_clock_elsewhere

_LOG = logging.getLogger(__name__)


def expired_partitions(store: TableStore, now: datetime) -> list[bytes]:
    """Return the partitions older than `partition.expiration-time`, oldest first, at most
    `partition.expiration-max-num`.

    `partition.expiration-strategy` decides whether the age of a partition is the age of its values or of its newest
    file. `now` is a wall clock of this process. Values of partitions are wall clocks of the session, as SQL writes and
    shows them, so their age is counted in the store's zone. Raises `InvalidOptionError` without this option, or without
    partition columns.
    """
    kept = store.options[PARTITION_EXPIRATION_TIME]
    if kept is None or not store.schema.partition_keys:
        raise InvalidOptionError(
            f"Partitions of table {store.name} cannot expire: the table needs partition columns and "
            f"'{PARTITION_EXPIRATION_TIME.key}'."
        )
    by_change = store.options[PARTITION_EXPIRATION_STRATEGY] == "update-time"
    groups: dict[bytes, list[ManifestEntry]] = defaultdict(list)
    for entry in live_files(store, latest_snapshot(store)).values():
        groups[entry.partition].append(entry)
    clock = now if by_change else wall_clock_elsewhere(now, store.zone)
    end = clock - timedelta(milliseconds=kept)
    times = {p: _last_change(entries) if by_change else _time(store, p) for p, entries in groups.items()}
    old = sorted((t, p) for p, t in times.items() if t is not None and t < end)
    return [p for _, p in old[: store.options[PARTITION_EXPIRATION_MAX_NUM]]]


def expire_partitions(store: TableStore, now: datetime, user: str, publisher: Publisher) -> list[bytes]:
    """Drop the `expired_partitions` and return them.

    Raises the errors of `expired_partitions` and `commit`. If partitions expire by their last change, the commit
    conflicts if one of them got new files since."""
    expired = expired_partitions(store, now)
    if expired:
        by_change = store.options[PARTITION_EXPIRATION_STRATEGY] == "update-time"
        kept = timedelta(milliseconds=store.options[PARTITION_EXPIRATION_TIME] or 0)
        drop_partitions(store, expired, user, publisher, older_than=now - kept if by_change else None)
    return expired


def drop_partitions(
    store: TableStore, partitions: Sequence[bytes], user: str, publisher: Publisher, older_than: datetime | None = None
) -> None:
    """Remove all rows of partitions in one commit. With `older_than`, a local time, only if no file is younger."""
    fields = store.schema.partition_fields
    each = [_equals(fields, p) for p in partitions]
    overwrite = Overwrite(predicate=Or(tuple(each)), older_than=older_than)
    commit(store, (), CommitInfo(user=user), publisher, overwrite)


def _last_change(entries: Sequence[ManifestEntry]) -> datetime | None:
    created = [e.file.creation_time for e in entries if e.file.creation_time is not None]
    return max(created).replace(tzinfo=None) if created else None


def _time(store: TableStore, partition: bytes) -> datetime | None:
    values, found = time_of_partition(store, partition)
    if found is None:
        _LOG.warning(
            "Partition %s of table %s does not expire: its values are not a valid time. Set "
            "'partition.timestamp-pattern' and 'partition.timestamp-formatter', or 'partition.expiration-strategy' = "
            "'update-time'.",
            values,
            store.name,
            extra=store.log_fields(),
        )
    return found


def _equals(fields: Sequence[DataField], partition: bytes) -> Predicate:
    return equals([f.name for f in fields], decode_row([f.type for f in fields], partition))


def local_now() -> datetime:
    """Return the local wall clock, without a zone, for comparison with values of partitions and times of tags."""
    return datetime.now(UTC).astimezone().replace(tzinfo=None)
