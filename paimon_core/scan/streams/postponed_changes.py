"""Rows of the postponed bucket in a stream: they are newer than rows with a bucket."""

from __future__ import annotations

from collections import defaultdict

from paimon_core.options import POSTPONE_MERGE_ON_READ, POSTPONED
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.split import DataSplit, SplitKind
from paimon_core.store.data.postponed_files import arrival_order
from paimon_core.store.manifests import data_manifests, live_columns
from paimon_core.store.table_store import TableStore


def postponed_splits(store: TableStore, snapshot: Snapshot) -> list[DataSplit]:
    """Return a split per file without a bucket in a version, by partition.

    Return no splits if scans read such rows anyway.
    """
    if store.options[POSTPONE_MERGE_ON_READ]:
        return []
    found: dict[bytes, list[DataFileMeta]] = defaultdict(list)
    for manifest, rows in live_columns(store, data_manifests(store, snapshot)):
        for entry in manifest.entries(rows[manifest.buckets[rows] == POSTPONED]):
            found[entry.partition].append(entry.file)
    folders = sorted((store.bucket_dir(p, POSTPONED), p) for p in found)
    return [
        DataSplit(
            partition=partition,
            bucket=POSTPONED,
            bucket_dir=folder,
            files=(file,),
            needs_merge=file.delete_row_count != 0,
            kind=SplitKind.CHANGES,
        )
        for folder, partition in folders
        for file in arrival_order(found[partition])
    ]
