"""The distribution of rows among writers: the columns that decide the task, and the order of rows."""

from __future__ import annotations

from paimon_core.options import BUCKET, CLUSTERING_COLUMNS, CLUSTERING_INCREMENTAL, CLUSTERING_OPTIMIZE_WRITE
from paimon_core.store.table_store import TableStore


def clustering_columns(store: TableStore) -> tuple[str, ...]:
    """The columns that decide the task: rows that are equal in them belong to one task. Versions of a key must meet
    there; rows of a partition should."""
    schema = store.schema
    if schema.cross_partition_update:
        return schema.primary_keys
    buckets_matter = store.has_primary_key or store.options[BUCKET] > 0
    keys = schema.bucket_keys if buckets_matter else ()
    return schema.partition_keys + tuple(k for k in keys if k not in schema.partition_keys)


def must_cluster(store: TableStore) -> bool:
    """Return whether the result is wrong if equal rows go to several tasks; else there are only more files."""
    return store.has_primary_key


def may_spread(store: TableStore) -> bool:
    """Return whether a key's rows may go to several tasks, if each task has many rows. The tasks' sequence numbers then
    order them, and only the key decides the file."""
    return store.has_primary_key and store.options[BUCKET] > 0 and not store.schema.partition_keys


def sort_columns(store: TableStore) -> tuple[str, ...]:
    """The order within a task: one partition after the other, unless the last row of a key decides its partition.
    Writers sort by key themselves."""
    return () if store.schema.cross_partition_update else store.schema.partition_keys + range_columns(store)


def range_columns(store: TableStore) -> tuple[str, ...]:
    """The columns by which each write is sorted over all tasks, if an append table without buckets has this option.
    With `clustering.incremental`, compactions sort, and writes only sort if a second option requires it."""
    options = store.options
    later = options[CLUSTERING_INCREMENTAL] and not options[CLUSTERING_OPTIMIZE_WRITE]
    return () if store.has_primary_key or options[BUCKET] > 0 or later else options[CLUSTERING_COLUMNS]
