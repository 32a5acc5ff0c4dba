"""The division of a bucket's files into splits: the files that one task reads together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from paimon_core.dataclass import dataclass
from paimon_core.lsm.runs import sections
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.row_ranges import RowRange
from paimon_core.spec.split import DataSplit, SplitKind
from paimon_core.spec.types import DataType

T = TypeVar("T")
_LEAST_SHARE = 16 * 2**20  # bytes: less is read faster than another task starts


@dataclass(frozen=True, slots=True)
class Section:
    """A group of files that share keys with each other, but with no other section.

    `raw`: no key has two versions or a delete.
    """

    files: tuple[DataFileMeta, ...]
    raw: bool

    @property
    def size(self) -> int:
        """The size of all files, in bytes."""
        return sum(f.file_size for f in self.files)


def key_sections(files: Iterable[DataFileMeta], key_types: Sequence[DataType]) -> list[Section]:
    """The sections of a primary-key bucket, in key order."""
    result = []
    for runs in sections(files, key_types):
        members = tuple(f for run in runs for f in run.files)
        result.append(Section(members, raw=len(runs) == 1 and not any(map(_may_delete, members))))
    return result


def pack_files(
    files: Sequence[DataFileMeta], target: int, open_cost: int
) -> Iterator[tuple[tuple[DataFileMeta, ...], bool]]:
    """Yield the splits of an append bucket: groups of files in order. The flag is False: they need no merge.

    `target` and `open_cost` (the cost of opening a file) are in bytes.
    """
    for group in pack(files, lambda f: max(f.file_size, open_cost), target):
        yield tuple(group), False


def pack_ranges(
    ranges: Sequence[RowRange], target: int, open_cost: int
) -> Iterator[tuple[tuple[DataFileMeta, ...], bool]]:
    """Yield the splits of a bucket with data evolution: the files of whole row ranges.

    The flag is True if columns of several files must be combined."""
    for group in pack(ranges, lambda r: max(sum(f.file_size for f in r.all_files), open_cost), target):
        yield tuple(f for r in group for f in r.all_files), not all(r.is_plain for r in group)


def pack_sections(
    parts: Sequence[Section], target: int, open_cost: int
) -> Iterator[tuple[tuple[DataFileMeta, ...], bool]]:
    """Yield the splits of a primary-key bucket: files, and whether they need a merge.

    Raw sections get their own splits.
    """
    for raw in (True, False):
        chosen = [p for p in parts if p.raw is raw]
        for group in pack(chosen, lambda p: max(p.size, open_cost), target):
            yield tuple(f for p in group for f in p.files), not raw


def spread(splits: Iterable[DataSplit], tasks: int, least: int = _LEAST_SHARE) -> Iterator[DataSplit]:
    """Divide splits if some of the `tasks` would have nothing to do: a task reads at least `least` bytes. Splits that
    need a merge stay whole."""
    known = list(splits)
    share = task_share(known, tasks, least)
    for split in known:
        if split.needs_merge or split.kind is not SplitKind.ROWS or split.size <= share:
            yield split
            continue
        for files in pack(split.files, lambda f: f.file_size, share):
            deletions = tuple(d for f in files if (d := split.deletions_by_file.get(f.file_name)) is not None)
            yield replace(split, files=tuple(files), deletions=deletions)


def whole_buckets(splits: Iterable[DataSplit], tasks: int) -> list[DataSplit]:
    """Put the plain splits of each bucket together, in their order. Return the splits unchanged if a bucket is more
    than twice as large as one task's share.
    """
    known = list(splits)
    by_bucket: dict[tuple[bytes, int], list[DataSplit]] = {}
    for split in known:
        by_bucket.setdefault((split.partition, split.bucket), []).append(split)
    parts, most = by_bucket.values(), 2 * task_share(known, tasks)
    if any(sum(s.size for s in part) > most for part in parts):
        return known
    return [replace(part[0], files=tuple(f for s in part for f in s.files)) for part in parts]


def task_share(splits: Iterable[DataSplit], tasks: int, least: int = _LEAST_SHARE) -> int:
    """Return the bytes that a task reads if `tasks` read the splits together."""
    return max(least, math.ceil(sum(s.size for s in splits) / tasks))


def _may_delete(file: DataFileMeta) -> bool:
    return file.delete_row_count != 0  # old writers do not store it


def pack(items: Iterable[T], weight: Callable[[T], int], target: int) -> Iterator[list[T]]:
    """Group neighbouring items up to the target weight. Each group has at least one item."""
    group: list[T] = []
    total = 0
    for item in items:
        if group and total + weight(item) > target:
            yield group
            group, total = [], 0
        group.append(item)
        total += weight(item)
    if group:
        yield group
