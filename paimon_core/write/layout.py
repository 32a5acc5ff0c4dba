"""The distribution of rows among tasks, and the order of rows within a task."""

from __future__ import annotations

from paimon_core.options import BUCKET, CLUSTERING_COLUMNS, CLUSTERING_INCREMENTAL, CLUSTERING_OPTIMIZE_WRITE
from paimon_core.store.table_store import TableStore


def clustering_columns(store: TableStore) -> tuple[str, ...]:
    """Return the columns that decide the task of a row: rows with equal values belong to one task.

    All versions of a key must reach one task. The rows of a partition should, so that there are fewer files."""
    schema = store.schema
    if schema.cross_partition_update:
        return schema.primary_keys
    buckets_matter = store.has_primary_key or store.options[BUCKET] > 0
    keys = schema.bucket_keys if buckets_matter else ()
    return schema.partition_keys + tuple(k for k in keys if k not in schema.partition_keys)


def must_cluster(store: TableStore) -> bool:
    """Return whether the result is wrong if rows with equal clustering columns go to several tasks. If not, there are
    only more files.
    """
    return store.has_primary_key


def may_spread(store: TableStore) -> bool:
    """Return whether a key's rows may go to several tasks, if each task has many rows.

    This works if the tasks' sequence numbers order the rows, and only the key decides the file."""
    return store.has_primary_key and store.options[BUCKET] > 0 and not store.schema.partition_keys


def sort_columns(store: TableStore) -> tuple[str, ...]:
    """Return the columns that order the rows within a task.

    One partition follows another, unless the last row of a key decides the key's partition. Writers sort by key
    themselves."""
    return () if store.schema.cross_partition_update else store.schema.partition_keys + range_columns(store)


def range_columns(store: TableStore) -> tuple[str, ...]:
    """Return the columns by which each write is sorted over all tasks. Only append tables without buckets have this
    option.

    With `clustering.incremental`, compactions sort; writes then sort only if a second option requires it."""
    options = store.options
    later = options[CLUSTERING_INCREMENTAL] and not options[CLUSTERING_OPTIMIZE_WRITE]
    return () if store.has_primary_key or options[BUCKET] > 0 or later else options[CLUSTERING_COLUMNS]
