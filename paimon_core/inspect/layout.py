"""The sizes of a table's data files and partitions."""

from __future__ import annotations

from datetime import datetime, tzinfo
from enum import StrEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.columns import fixed_values
from paimon_core.dataclass import dataclass
from paimon_core.options import PARTITION_DEFAULT_NAME, SMALL_FILE_RATIO
from paimon_core.scan.time_travel import snapshot_of_options
from paimon_core.spec.manifest import moment
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.features import check_selectable
from paimon_core.store.live_table import live_table
from paimon_core.store.table_store import TableStore
from paimon_core.system_tables.text import partition_path
from paimon_core.time_zones import wall_clock_elsewhere
from paimon_core.write.files.data_files import target_file_size

MOST_PARTITIONS = 40
_SMALLEST = 1024  # bytes; the first class of sizes ends here, each other class is four times as large
_BOUNDS = np.array([_SMALLEST * 4**n for n in range(27)], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class SizeClass:
    """Files of less than `below` bytes, and at least as many as the class before ends at: their number, and their
    bytes.
    """

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


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSummary:
    """The latest snapshot, and the numbers of its data files, their bytes, their rows before merging, their partitions
    and buckets.
    """

    snapshot: Snapshot | None
    files: int
    size: int
    rows: int
    partitions: int
    buckets: int


class FileOrder(StrEnum):
    """An order of data files, for pages of a list."""

    LARGEST = "largest"
    SMALLEST = "smallest"
    NEWEST = "newest"
    OLDEST = "oldest"
    LEVEL = "level"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFile:
    """A data file: its name, its partition as `a=1/b=2`, and the time of its creation in the session's zone."""

    name: str
    partition: str
    bucket: int
    level: int
    rows: int
    size: int
    created: datetime | None


@dataclass(frozen=True, slots=True)
class ListedFiles:
    """A part of the list of all `count` files, from number `start` on."""

    files: tuple[ListedFile, ...]
    start: int
    count: int


def table_summary(store: TableStore) -> TableSummary:
    """Return the summary of a table. Raises the errors of `file_sizes`."""
    check_selectable(store)
    snapshot = snapshot_of_options(store, store.zone)
    found = live_table(store, snapshot)
    # no `group_by`: its first call imports pandas, which takes longer than the rest
    partitions = found["partition"].combine_chunks().dictionary_encode()
    codes = fixed_values(partitions.indices, np.int32)
    buckets = fixed_values(found["bucket"].combine_chunks(), np.int64)
    numbers = codes * (buckets.max(initial=0) + 1) + buckets
    return TableSummary(
        snapshot=snapshot,
        files=found.num_rows,
        size=_total(found["size"]),
        rows=_total(found["rows"]),
        partitions=len(partitions.dictionary),
        buckets=len(np.unique(numbers)),
    )


def file_sizes(store: TableStore) -> FileSizes:
    """Return the files of a table by size. Raises the errors of `check_selectable`, and `CorruptFileError`,
    `StorageError`.
    """
    found = _files(store)
    sizes = found["size"].to_numpy()
    numbers = np.searchsorted(_BOUNDS, sizes, side="right")
    counts = np.bincount(numbers)
    totals = [int(sizes[numbers == n].sum()) for n in range(len(counts))]
    first = int(numbers.min(initial=len(counts)))
    target = target_file_size(store)
    bound = int(target * store.options[SMALL_FILE_RATIO])
    return FileSizes(
        tuple(SizeClass(_SMALLEST * 4**n, int(counts[n]), totals[n]) for n in range(first, len(counts))),
        len(sizes),
        sum(totals),
        _total(found["rows"]),
        target,
        int((sizes < bound).sum()),
        bound,
    )


def partition_sizes(store: TableStore) -> PartitionSizes:
    """Return the partitions of a table by size; a table without partitions has one, called "". Raises as
    `file_sizes`.
    """
    found = _files(store)
    sums = [("size", "sum"), ("size", "count"), ("rows", "sum"), ("created", "max")]
    buckets = found.group_by(["partition", "bucket"]).aggregate(sums)
    more = [("size_sum", "sum"), ("size_sum", "count"), ("size_sum", "max")]
    more += [("size_count", "sum"), ("rows_sum", "sum"), ("created_max", "max")]
    groups = buckets.group_by("partition").aggregate(more).to_pylist()
    names = _names(store, [g["partition"] for g in groups])
    made = [
        PartitionSize(
            name,
            g["size_count_sum"],
            g["rows_sum_sum"],
            g["size_sum_sum"],
            g["size_sum_count"],
            g["size_sum_max"],
            _moment(g["created_max_max"], store.zone),
        )
        for name, g in zip(names, groups, strict=True)
    ]
    made.sort(key=lambda p: (-p.size, p.name))
    return PartitionSizes(tuple(made[:MOST_PARTITIONS]), len(made), sum(p.size for p in made))


def listed_files(store: TableStore, order: FileOrder, start: int, most: int) -> ListedFiles:
    """Return at most `most` files of the list in an order, from number `start` on. Raises the errors of
    `file_sizes`.
    """
    found = _files(store)
    column, way = {
        FileOrder.LARGEST: ("size", "descending"),
        FileOrder.SMALLEST: ("size", "ascending"),
        FileOrder.NEWEST: ("created", "descending"),
        FileOrder.OLDEST: ("created", "ascending"),
        FileOrder.LEVEL: ("level", "ascending"),
    }[order]
    chosen = pc.sort_indices(found, sort_keys=[(column, way), ("name", "ascending")])[start : start + most]
    rows = found.take(chosen).to_pylist()
    names = dict(zip(partitions := list({r["partition"] for r in rows}), _names(store, partitions), strict=True))
    files = tuple(
        ListedFile(
            name=r["name"].decode("utf-8", "replace"),
            partition=names[r["partition"]],
            bucket=r["bucket"],
            level=r["level"],
            rows=r["rows"],
            size=r["size"],
            created=_moment(r["created"], store.zone),
        )
        for r in rows
    )
    return ListedFiles(files, start, found.num_rows)


def _files(store: TableStore) -> pa.Table:
    check_selectable(store)
    return live_table(store, snapshot_of_options(store, store.zone))


def _names(store: TableStore, partitions: list[bytes]) -> list[str]:
    fields, default = store.schema.partition_fields, store.options[PARTITION_DEFAULT_NAME]
    return [partition_path(fields, partition, default, store.zone) for partition in partitions]


def _total(column: pa.ChunkedArray) -> int:
    return pc.sum(column).as_py() or 0


def _moment(millis: int | None, zone: tzinfo | None) -> datetime | None:
    """Return the wall clock of a zone for a wall clock of this process."""
    if millis is None:
        return None
    return wall_clock_elsewhere(moment(millis).replace(tzinfo=None), zone)
