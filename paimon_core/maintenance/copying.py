"""Copying the rows of a version into another table: its files as they are, with all versions of the schema."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from paimon_core.io.file_io import FileIO, storage_errors
from paimon_core.spec.index_manifest import IndexFileMeta
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.paths import data_file_paths
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.index_files import index_entries, index_path
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.table_store import TableStore

_CHUNK = 8 * 2**20  # bytes
_THREADS = 8


def copy_files(
    source: TableStore, snapshot: Snapshot | None, target: TableStore, which: PartitionFilter
) -> list[CommitMessage]:
    """Copy the files of the partitions meant; what to commit to `target`, whose schemas are those of `source`.

    Raises `StorageError`, `FileNotFoundError`; what was copied by then lies in the target's folders, in no snapshot.
    """
    data: dict[tuple[bytes, int, int], list[DataFileMeta]] = defaultdict(list)
    index: dict[tuple[bytes, int], list[IndexFileMeta]] = defaultdict(list)
    paths: list[tuple[str, str]] = []
    for entry in live_files(source, snapshot, which).values():
        copied = replace(entry.file, external_path=None)
        ours, theirs = (s.bucket_dir(entry.partition, entry.bucket) for s in (source, target))
        paths += zip(data_file_paths(ours, entry.file), data_file_paths(theirs, copied), strict=True)
        data[entry.partition, entry.bucket, entry.total_buckets].append(copied)
    for found in (e for e in index_entries(source, snapshot) if which.holds(e.partition)):
        file = replace(found.file, external_path=None)
        place = found.partition, found.bucket
        paths.append((index_path(source, *place, found.file), index_path(target, *place, file)))
        index[place].append(file)
    _each(source.io, target.io, paths)
    return [
        CommitMessage(
            partition=partition,
            bucket=bucket,
            total_buckets=total,
            new_files=tuple(files),
            new_index_files=tuple(index.get((partition, bucket), ())),
        )
        for (partition, bucket, total), files in data.items()
    ]


def _each(source: FileIO, target: FileIO, paths: Sequence[tuple[str, str]]) -> None:
    with ThreadPoolExecutor(_THREADS) as pool:
        for _ in pool.map(lambda pair: _copy(source, target, *pair), paths):
            pass


def _copy(source: FileIO, target: FileIO, path: str, copy: str) -> None:
    target.make_dirs(copy.rpartition("/")[0])
    with (
        storage_errors("copy", path),
        source.arrow().open_input_stream(source.arrow_path(path)) as reader,
        target.arrow().open_output_stream(target.arrow_path(copy)) as writer,
    ):
        while chunk := reader.read(_CHUNK):
            writer.write(chunk)
    target.sync(copy)
