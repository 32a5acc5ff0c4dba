"""Commits with new keys, which also enter the keys into the hash indexes of their buckets."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from functools import partial
from itertools import count

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.commit import abort, commit, delete_replaced
from paimon_core.commit.draft import CommitInfo
from paimon_core.commit.publish import Publisher
from paimon_core.commit.retries import RetryLimits, Tries
from paimon_core.commit.same_table import check_table
from paimon_core.errors import BucketConflictError, FolderMissingError, MetadataMissingError
from paimon_core.io.failure import on_certain_failure
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.write.buckets.hash_index_merge import delete_hash_indexes, merge_hash_indexes
from paimon_core.write.buckets.rebucket import Rebucketed, rebucket

_LOG = logging.getLogger(__name__)


def commit_indexed(
    store: TableStore,
    messages: Sequence[CommitMessage],
    info: CommitInfo,
    publisher: Publisher,
    overwrite: Overwrite | None = None,
) -> Snapshot | None:
    """Commit as `commit` does, with one hash index per bucket for the keys that several tasks added to it.

    If another commit assigned new keys to buckets first, look up the buckets of our keys again, as often as a commit
    may lose races. If the commit certainly fails, the caller deletes the files of `messages`; this function deletes its
    other files.
    """
    limits, began = RetryLimits.of(store.options), time.monotonic()
    current = Rebucketed(messages)
    for tried in count(1):
        started = time.monotonic()
        try:
            with on_certain_failure(partial(abort, store, current.written)):
                made = _commit_once(store, current.messages, info, publisher, overwrite)
        except BucketConflictError as error:
            now = time.monotonic()
            wait = limits.next_wait(Tries(count=tried, seconds=now - began, last_seconds=now - started, is_known=True))
            if wait is None:
                raise
            _LOG.debug("Looking up the buckets of %s again: %s", store.name, error, extra=store.log_fields())
        else:
            delete_replaced(store, current.replaced)
            return made
        time.sleep(wait)
        current = rebucket(store, messages, latest_snapshot(store))
    raise AssertionError("the loop ends above")


def _commit_once(
    store: TableStore,
    messages: Sequence[CommitMessage],
    info: CommitInfo,
    publisher: Publisher,
    overwrite: Overwrite | None,
) -> Snapshot | None:
    indexes = merge_hash_indexes(store, messages)
    with on_certain_failure(lambda: delete_hash_indexes(store, indexes.merged)):
        try:
            made = commit(store, indexes.messages, info, publisher, overwrite)
        except (MetadataMissingError, FolderMissingError):
            check_table(store)  # if the table was dropped meanwhile, that explains missing files
            raise
    delete_hash_indexes(store, indexes.parts)
    return made
