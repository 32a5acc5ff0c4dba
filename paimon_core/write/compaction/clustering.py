"""Incremental clustering of append tables: files sorted by columns are on levels, like the runs of an LSM tree.

A new file is on level 0. A compaction picks files of a partition as universal compaction would, sorts their rows and
writes them to a higher level. A full compaction picks all files. Source: Paimon's page "Incremental Clustering".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from paimon_core.dataclass import dataclass
from paimon_core.lsm.compaction import CompactUnit, last_level, level_runs, pick_full, pick_universal
from paimon_core.options import (
    CLUSTERING_COLUMNS,
    CLUSTERING_INCREMENTAL,
    CLUSTERING_STRATEGY,
    TableOptions,
)
from paimon_core.spec.manifest import DataFileMeta, FileSource
from paimon_core.spec.message import BucketState, CommitMessage
from paimon_core.store.schemas import read_schema
from paimon_core.store.table_store import TableStore
from paimon_core.write.compaction.sort_job import Curve
from paimon_core.write.deletion import changed_vectors

_MOST_ZORDER_COLUMNS = 4


@dataclass(frozen=True, slots=True)
class ClusterUnit:
    """Files of a partition to sort, and their target level."""

    files: BucketState
    level: int


def is_clustered(store: TableStore) -> bool:
    """Return whether compactions of the table sort."""
    return store.options[CLUSTERING_INCREMENTAL]


def clustering_curve(options: TableOptions) -> Curve:
    """Return the order of rows by `clustering.columns`. With `clustering.strategy` = `auto`, the number of columns
    decides.
    """
    count, strategy = len(options[CLUSTERING_COLUMNS]), options[CLUSTERING_STRATEGY]
    if strategy != "auto":
        return Curve(strategy)
    return Curve.ORDER if count == 1 else Curve.ZORDER if count <= _MOST_ZORDER_COLUMNS else Curve.HILBERT


def cluster_units(store: TableStore, partitions: Iterable[BucketState], *, full: bool) -> list[ClusterUnit]:
    """Return the files to sort in partitions. Each partition is one bucket."""
    found = []
    for partition in partitions:
        runs = level_runs(partition.files)
        unit = pick_full(runs, store.options) if full else pick_universal(runs, store.options)
        if unit is None and full and _sorted_otherwise(store, partition.files):
            level = last_level(store.options)
            unit = CompactUnit(files=partition.files, output_level=level, drop_delete=False, max_level=level)
        if unit is not None:
            found.append(ClusterUnit(replace(partition, files=tuple(unit.files)), unit.output_level))
    return found


def clustered(store: TableStore, units: Iterable[ClusterUnit], written: Iterable[CommitMessage]) -> list[CommitMessage]:
    """Return the messages of a compaction that replaces the files of `units` with the sorted files in `written`."""
    after: dict[bytes, list[DataFileMeta]] = defaultdict(list)
    for message in written:
        after[message.partition] += message.new_files
    messages = []
    for unit in units:
        bucket, source = unit.files, int(FileSource.COMPACT)
        deleted = frozenset(f.file_name for f in bucket.files)
        index = changed_vectors(store, bucket.key, bucket.vectors, {}, deleted)
        files = (replace(f, level=unit.level, file_source=source) for f in after[bucket.partition])
        messages.append(
            replace(
                bucket.compacted_away(),
                compact_after=tuple(files),
                compact_new_index_files=index.new,
                compact_deleted_index_files=index.deleted,
            )
        )
    return messages


def _sorted_otherwise(store: TableStore, files: Sequence[DataFileMeta]) -> bool:
    """Return whether files were sorted by other columns than the current columns."""
    now = store.options[CLUSTERING_COLUMNS]
    schemas = {f.schema_id for f in files}
    return any(TableOptions(read_schema(store, s).options)[CLUSTERING_COLUMNS] != now for s in schemas)
