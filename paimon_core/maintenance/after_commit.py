"""The upkeep after a commit, as the table's options require, once its snapshot is visible.

For `write-only` tables, only the steps that belong to new rows run: tags of batches, done partitions and Iceberg's
metadata. A separate job does the rest. A successful commit does not fail if its upkeep fails.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from paimon_core.clock import now_millis
from paimon_core.commit.publish import Publisher
from paimon_core.errors import (
    AlreadyExistsError,
    CommitConflictError,
    NotFoundError,
    PaimonError,
    UnreadableFileError,
)
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import (
    CONSUMER_EXPIRATION_TIME,
    END_INPUT_CHECK_PARTITION_EXPIRE,
    PARTITION_END_INPUT_TO_DONE,
    PARTITION_EXPIRATION_CHECK_INTERVAL,
    PARTITION_EXPIRATION_TIME,
    SNAPSHOT_NUM_RETAINED_MIN,
    TAG_AUTOMATIC_CREATION,
    TAG_TIME_EXPIRE_ENABLED,
    WAP_ENABLED,
    WRITE_ONLY,
)
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.features import is_followed
from paimon_core.store.snapshots import earliest_snapshot, first_snapshots, latest_snapshot
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.iceberg.follow import follow
    from paimon_core.maintenance.auto_tags import create_automatic_tags
    from paimon_core.maintenance.consumers import expire_consumers
    from paimon_core.maintenance.done_partitions import mark_done
    from paimon_core.maintenance.partitions import expire_partitions, local_now
    from paimon_core.maintenance.snapshot_expiry import (
        Retention,
        changelog_retention_of,
        expire_changelogs,
        expire_snapshots,
        retention_of,
    )
    from paimon_core.maintenance.storage_clock import storage_now
    from paimon_core.maintenance.tags import expire_tags
    from paimon_core.store.branches import open_branch
    from paimon_core.store.consumers import consumer_files
    from paimon_core.store.streams import forget_streams, stream_files
else:
    follow = ImportedOnCall("paimon_core.iceberg.follow", "follow")
    forget_streams = ImportedOnCall("paimon_core.store.streams", "forget_streams")
    stream_files = ImportedOnCall("paimon_core.store.streams", "stream_files")
    consumer_files = ImportedOnCall("paimon_core.store.consumers", "consumer_files")
    open_branch = ImportedOnCall("paimon_core.store.branches", "open_branch")
    expire_tags = ImportedOnCall("paimon_core.maintenance.tags", "expire_tags")
    storage_now = ImportedOnCall("paimon_core.maintenance.storage_clock", "storage_now")
    changelog_retention_of = ImportedOnCall("paimon_core.maintenance.snapshot_expiry", "changelog_retention_of")
    expire_changelogs = ImportedOnCall("paimon_core.maintenance.snapshot_expiry", "expire_changelogs")
    expire_snapshots = ImportedOnCall("paimon_core.maintenance.snapshot_expiry", "expire_snapshots")
    retention_of = ImportedOnCall("paimon_core.maintenance.snapshot_expiry", "retention_of")
    expire_partitions = ImportedOnCall("paimon_core.maintenance.partitions", "expire_partitions")
    local_now = ImportedOnCall("paimon_core.maintenance.partitions", "local_now")
    mark_done = ImportedOnCall("paimon_core.maintenance.done_partitions", "mark_done")
    expire_consumers = ImportedOnCall("paimon_core.maintenance.consumers", "expire_consumers")
    create_automatic_tags = ImportedOnCall("paimon_core.maintenance.auto_tags", "create_automatic_tags")

_LOG = logging.getLogger(__name__)


Step = tuple[str, Callable[[], object]]


def maintain(store: TableStore, made: Snapshot, publisher: Publisher, written: Collection[bytes] = ()) -> None:
    """Run the upkeep that the options require.

    The steps are: expire partitions, tag, expire tags, consumers, snapshots and changelogs, mark the partitions
    `written` as done. This never raises: the snapshot is committed, and callers would delete its files after an error.
    Errors are logged."""
    steps = list[Step]()
    _take(store, made, "read the options of upkeep", lambda: steps.extend(_steps(store, made, publisher, written)))
    for what, step in steps:
        _take(store, made, what, step)


def _steps(store: TableStore, made: Snapshot, publisher: Publisher, written: Collection[bytes]) -> list[Step]:
    steps: list[Step] = [("update the Iceberg metadata", lambda: follow(store))] if is_followed(store) else []
    steps += [] if store.options[WRITE_ONLY] else _upkeep(store, made, publisher)
    if store.options[WRITE_ONLY] and store.options[TAG_AUTOMATIC_CREATION] == "batch":
        steps.append(("create tags", lambda: create_automatic_tags(store)))
    if written and store.schema.partition_keys and store.options[PARTITION_END_INPUT_TO_DONE]:
        specs = [store.partition_spec(p) for p in sorted(written)]
        steps.append(("mark partitions done", lambda: mark_done(store, specs)))
    return steps


def _take(store: TableStore, made: Snapshot, what: str, step: Callable[[], object]) -> None:
    try:
        step()
    except Exception as error:
        level = logging.DEBUG if _is_race(store, made, error) else logging.WARNING
        _LOG.log(
            level,
            "Snapshot %s of %s is committed, but the step after it failed (%s): %s",
            made.id,
            store.name,
            what,
            error,
            extra=store.log_fields(made),
        )


def _is_race(store: TableStore, made: Snapshot, error: Exception) -> bool:
    """Return whether a step failed only because another writer did the same at the same time.

    An error about missing files counts only if other writers have committed since. If the files are missing
    permanently, the last of these commits gets the same error."""
    if isinstance(error, CommitConflictError | AlreadyExistsError):
        return True
    if not isinstance(error, NotFoundError | FileNotFoundError | UnreadableFileError):
        return False
    try:
        latest = latest_snapshot(store)
    except (PaimonError, FileNotFoundError):
        return False
    return latest is not None and latest.id != made.id


def _upkeep(store: TableStore, made: Snapshot, publisher: Publisher) -> list[Step]:
    return [
        ("expire partitions", lambda: _expire_partitions(store, made, publisher)),
        ("create tags", lambda: create_automatic_tags(store)),
        ("expire tags", lambda: _expire_tags(store)),
        ("expire consumers", lambda: _expire_consumers(store)),
        ("expire snapshots", lambda: _expire_snapshots(store, made)),
    ]


def _expire_partitions(store: TableStore, made: Snapshot, publisher: Publisher) -> None:
    if store.options[PARTITION_EXPIRATION_TIME] is None or not store.schema.partition_keys:
        return
    if store.options[END_INPUT_CHECK_PARTITION_EXPIRE] or store.options[PARTITION_EXPIRATION_CHECK_INTERVAL] == 0:
        expire_partitions(store, local_now(), made.commit_user, publisher)


def _expire_tags(store: TableStore) -> None:
    if store.options[TAG_TIME_EXPIRE_ENABLED]:
        expire_tags(store, local_now())


def _expire_consumers(store: TableStore) -> None:
    kept = store.options[CONSUMER_EXPIRATION_TIME]
    if kept is None:
        return
    if any(f.modified < now_millis() - kept for f in (*consumer_files(store).values(), *stream_files(store))):
        older_than = storage_now(store) - kept
        expire_consumers(store, older_than)
        forget_streams(store, older_than)


def expire_published(store: TableStore, name: str, last: int) -> None:
    """Expire snapshots of an audited branch before `last`, the last published snapshot. Other sessions may have
    written later snapshots, which the next `publish_branch` needs. This never raises, as `maintain`.
    """
    branch = open_branch(store, name)
    made = None if branch.options[WRITE_ONLY] else latest_snapshot(branch)
    if made is not None:
        _take(branch, made, "expire snapshots", lambda: _expire(branch, made, last))


def _expire_snapshots(store: TableStore, made: Snapshot) -> None:
    if not (store.branch and store.options[WAP_ENABLED]):  # `publish_branch` needs each snapshot of the branch
        _expire(store, made)


def _expire(store: TableStore, made: Snapshot, needed: int | None = None) -> None:
    least, now = store.options[SNAPSHOT_NUM_RETAINED_MIN], now_millis()
    if made.id < least:
        return
    retention, longer = retention_of(store.options, now), changelog_retention_of(store.options, now)
    if longer is None and _keeps_all(store, made, retention):
        return
    is_remote = store.io.requests_at_once > 1
    earliest, following = first_snapshots(store) if is_remote else (earliest_snapshot(store), None)
    if earliest is None:
        return
    if made.id - earliest.id < least:
        _remember_oldest(store, earliest, None)
        return
    if is_remote:
        _remember_oldest(store, earliest, following)
        if longer is None and _keeps_all(store, made, retention):
            return
    # Do not wait: if another process has the turn, that process or a later commit expires the snapshots.
    expire_snapshots(store, retention, now, patience=0, needed=needed)
    if longer is not None:
        expire_changelogs(store, longer, patience=0)


def _keeps_all(store: TableStore, made: Snapshot, retention: Retention) -> bool:
    """Return whether no snapshot has expired, by the earliest snapshot that the session knows. This saves requests to a
    remote storage. If other processes have removed the earliest snapshots since, the answer may be wrong; then a later
    commit expires the next ones.
    """
    known = store.cache.oldest_versions.get(store.paths.version_root)
    if known is None or known[0] > made.id or store.io.requests_at_once < 2:
        return False
    first, next_time = known
    times = {first + 1: next_time}
    return retention.first_kept(range(first, made.id + 1), times.get, None) == first


def _remember_oldest(store: TableStore, earliest: Snapshot, following: Snapshot | None) -> None:
    time = 0 if following is None else following.time_millis
    store.cache.oldest_versions.put(store.paths.version_root, (earliest.id, time))
