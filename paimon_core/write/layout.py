"""How rows should reach the writers: which columns decide the task, and in which order rows come."""

from __future__ import annotations

from paimon_core.options import BUCKET, CLUSTERING_COLUMNS, CLUSTERING_INCREMENTAL, CLUSTERING_OPTIMIZE_WRITE
from paimon_core.store.table_store import TableStore


def clustering_columns(store: TableStore) -> tuple[str, ...]:
    """Rows equal in these columns belong into one task: versions of a key must meet, partitions should."""
    schema = store.schema
    if schema.cross_partition_update:
        return schema.primary_keys
    buckets_matter = store.has_primary_key or store.options[BUCKET] > 0
    keys = schema.bucket_keys if buckets_matter else ()
    return schema.partition_keys + tuple(k for k in keys if k not in schema.partition_keys)


def must_cluster(store: TableStore) -> bool:
    """Whether the result is wrong, not only in more files, where equal rows meet several tasks."""
    return store.has_primary_key


def may_spread(store: TableStore) -> bool:
    """Whether a key's rows may as well meet several tasks, if each has many rows: their order is that of the tasks'
    sequence numbers, and nothing but the key decides the file."""
    return store.has_primary_key and store.options[BUCKET] > 0 and not store.schema.partition_keys


def sort_columns(store: TableStore) -> tuple[str, ...]:
    """The order within a task: one partition after the other, unless the last row of a key decides its partition.
    Writers sort by key themselves."""
    return () if store.schema.cross_partition_update else store.schema.partition_keys + range_columns(store)


def range_columns(store: TableStore) -> tuple[str, ...]:
    """The columns that each write is sorted by over all tasks, as an append table without buckets may ask; with
    `clustering.incremental` compactions sort, and writes only where they are to."""
    options = store.options
    later = options[CLUSTERING_INCREMENTAL] and not options[CLUSTERING_OPTIMIZE_WRITE]
    return () if store.has_primary_key or options[BUCKET] > 0 or later else options[CLUSTERING_COLUMNS]
