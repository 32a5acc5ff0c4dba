"""The sizes of a table's data files and partitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from paimon_core.options import PARTITION_DEFAULT_NAME, SMALL_FILE_RATIO
from paimon_core.scan.time_travel import snapshot_of_options
from paimon_core.spec.manifest import ManifestEntry
from paimon_core.store.features import check_selectable
from paimon_core.store.manifests import live_files
from paimon_core.store.table_store import TableStore
from paimon_core.system_tables.text import partition_path
from paimon_core.time_zones import wall_clock_elsewhere
from paimon_core.write.files.data_files import target_file_size

MOST_PARTITIONS = 40
_SMALLEST = 1024  # bytes; the first class of sizes ends here, each other class is four times as large


@dataclass(frozen=True, slots=True)
class SizeClass:
    """Files of at least the size of the class before and less than `below` bytes: their number, and their bytes."""

    below: int
    files: int
    size: int


@dataclass(frozen=True, slots=True)
class FileSizes:
    """Data files by size. `target` is the size in bytes at which a file ends; `small` files are below `small_bound`,
    which a compaction joins.
    """

    classes: tuple[SizeClass, ...]
    files: int
    size: int
    rows: int
    target: int
    small: int
    small_bound: int


@dataclass(frozen=True, slots=True)
class PartitionSize:
    """A partition: its data files, their rows and bytes, its buckets and the bytes of the largest one, and the time
    when its newest file was created, in the session's zone.
    """

    name: str
    files: int
    rows: int
    size: int
    buckets: int
    largest_bucket: int
    changed: datetime | None

    @property
    def skew(self) -> float:
        """The size of the largest bucket, in sizes of an average bucket: 1.0 if all are equally large."""
        return self.largest_bucket * self.buckets / self.size if self.size else 1.0


@dataclass(frozen=True, slots=True)
class PartitionSizes:
    """The largest partitions, out of `count` partitions with `size` bytes."""

    partitions: tuple[PartitionSize, ...]
    count: int
    size: int


def file_sizes(store: TableStore) -> FileSizes:
    """Return the files of a table by size. Raises as `check_selectable`, and `CorruptFileError`, `StorageError`."""
    files = [e.file for e in _files(store)]
    classes: dict[int, list[int]] = defaultdict(list)
    for f in files:
        classes[_class(f.file_size)].append(f.file_size)
    every = range(min(classes, default=0), max(classes, default=-1) + 1)
    target = target_file_size(store)
    bound = int(target * store.options[SMALL_FILE_RATIO])
    return FileSizes(
        tuple(SizeClass(_SMALLEST * 4**n, len(classes[n]), sum(classes[n])) for n in every),
        len(files),
        sum(f.file_size for f in files),
        sum(f.row_count for f in files),
        target,
        sum(f.file_size < bound for f in files),
        bound,
    )


def partition_sizes(store: TableStore) -> PartitionSizes:
    """Return the partitions of a table by size; a table without partitions has one, called "". Raises as
    `file_sizes`.
    """
    groups: dict[bytes, list[ManifestEntry]] = defaultdict(list)
    for entry in _files(store):
        groups[entry.partition].append(entry)
    found = sorted((_partition(store, p, es) for p, es in groups.items()), key=lambda p: (-p.size, p.name))
    return PartitionSizes(tuple(found[:MOST_PARTITIONS]), len(found), sum(p.size for p in found))


def _files(store: TableStore) -> list[ManifestEntry]:
    check_selectable(store)
    return [e for e in live_files(store, snapshot_of_options(store, store.zone)).values() if e.bucket >= 0]


def _class(size: int) -> int:
    number = 0
    while size >= _SMALLEST * 4**number:
        number += 1
    return number


def _partition(store: TableStore, partition: bytes, entries: Iterable[ManifestEntry]) -> PartitionSize:
    files, buckets = [], defaultdict[int, int](int)
    for entry in entries:
        files.append(entry.file)
        buckets[entry.bucket] += entry.file.file_size
    name = partition_path(store.schema.partition_fields, partition, store.options[PARTITION_DEFAULT_NAME], store.zone)
    last = max((f.creation_time.replace(tzinfo=None) for f in files if f.creation_time is not None), default=None)
    return PartitionSize(
        name,
        len(files),
        sum(f.row_count for f in files),
        sum(buckets.values()),
        len(buckets),
        max(buckets.values()),
        None if last is None else wall_clock_elsewhere(last, store.zone),
    )
