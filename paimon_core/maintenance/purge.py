"""Purging an empty table: delete everything except its schema and its last snapshot."""

from __future__ import annotations

from paimon_core.maintenance.branches import delete_branch
from paimon_core.maintenance.orphans.search import remove_orphans
from paimon_core.maintenance.snapshot_expiry import Retention, expire_changelogs, expire_snapshots
from paimon_core.maintenance.tags import delete_tags
from paimon_core.store.branches import branch_names
from paimon_core.store.consumers import consumer_files, delete_consumer
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import tag_names


def purge(store: TableStore, now: int) -> None:
    """Delete branches, tags, consumers, changelogs, all snapshots but the latest, and then all orphans.

    `now` in epoch milliseconds: older files are deleted, even files of writers at work.
    """
    for name in branch_names(store):
        delete_branch(store, name)
    delete_tags(store, tag_names(store))
    for consumer_id in consumer_files(store):
        delete_consumer(store, consumer_id)
    last_only = Retention(least=1, most=1, older_than=now + 1, limit=2**31 - 1)
    expire_snapshots(store, last_only, now)
    expire_changelogs(store, last_only)
    remove_orphans(store, now)
