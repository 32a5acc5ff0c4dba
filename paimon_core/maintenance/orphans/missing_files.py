"""Data files that a snapshot names and that are missing."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_core.io.file_io import missing_paths
from paimon_core.spec.manifest import ManifestEntry
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.paths import data_file_path
from paimon_core.store.external.other_folders import is_elsewhere
from paimon_core.store.manifests import live_files
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.table_store import TableStore


def missing_files(store: TableStore) -> dict[str, ManifestEntry]:
    """The files of the latest snapshot that are missing, by path."""
    entries = live_files(store, latest_snapshot(store)).values()
    paths = {data_file_path(store.bucket_dir(e.partition, e.bucket), e.file): e for e in entries}
    return {path: paths[path] for path in missing_paths(store.io, list(paths)) if not is_elsewhere(store, path)}


def drop_missing(entries: Iterable[ManifestEntry]) -> list[CommitMessage]:
    """Return messages to commit that remove these files from the table."""
    return [
        CommitMessage(partition=e.partition, bucket=e.bucket, total_buckets=e.total_buckets, compact_before=(e.file,))
        for e in entries
    ]
