"""Sorted runs, which are files in key order with key ranges that do not overlap, and the division of a bucket's files
into runs.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnfamiliarFormError
from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.stats import bound_order
from paimon_core.spec.types import DataType

KeyOrder = tuple[Any, ...]
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SortedRun:
    """Files in ascending key order. No key is in two of them."""

    files: tuple[DataFileMeta, ...]

    @property
    def size(self) -> int:
        """The size of all files, in bytes."""
        return sum(f.file_size for f in self.files)


@dataclass(frozen=True, slots=True)
class KeyRange:
    """A file and its key range, as values that compare in key order."""

    low: KeyOrder
    high: KeyOrder
    file: DataFileMeta


def key_range(file: DataFileMeta, key_types: Sequence[DataType]) -> KeyRange:
    """Return the key range of a file. Raises `UnfamiliarFormError` if its metadata does not decode."""
    try:
        low, high = decode_row(key_types, file.min_key), decode_row(key_types, file.max_key)
        return KeyRange(key_order(low), key_order(high), file)
    except (ValueError, TypeError, struct.error) as e:
        raise UnfamiliarFormError(file.file_name, f"its keys in the manifest do not decode ({e})") from e


def key_order(values: Iterable[Any]) -> KeyOrder:
    """Return the values of a key as a tuple that compares in key order."""
    return tuple(map(bound_order, values))


def share_keys(ranges: Iterable[KeyRange]) -> tuple[KeyRange, KeyRange] | None:
    """Return two files that may contain the same key, or None if no key ranges overlap."""
    ordered = sorted(ranges, key=lambda r: r.low)
    return next(((a, b) for a, b in pairwise(ordered) if a.high >= b.low), None)


def age(file: DataFileMeta) -> tuple[int, int, datetime, str]:
    """Return a sort key for level-0 files, from old to young.

    It does not depend on the files' order in the metadata.
    """
    return file.max_sequence_number, file.min_sequence_number, file.creation_time or _LONG_AGO, file.file_name


def in_key_order(files: Iterable[DataFileMeta], key_types: Sequence[DataType]) -> list[DataFileMeta]:
    """Return the files of a sorted run by their first keys."""
    return sorted(files, key=lambda f: key_range(f, key_types).low)


def sections(files: Iterable[DataFileMeta], key_types: Sequence[DataType]) -> list[list[SortedRun]]:
    """Divide files into sections with key ranges that do not overlap, in key order, each in the fewest sorted runs.

    All rows of a key are in one section. The runs of a section have no order: sequence numbers decide which row is
    newer. The result does not depend on the order of `files`: concurrent writers may give two rows of a key the same
    number, and every reader must then choose the same row.
    """
    ranges = sorted((key_range(f, key_types) for f in files), key=lambda r: (r.low, r.high, age(r.file)))
    result: list[list[KeyRange]] = []
    bound: KeyOrder = ()
    for each in ranges:
        if not result or each.low > bound:
            result.append([])
            bound = each.high
        result[-1].append(each)
        bound = max(bound, each.high)
    return [_runs(section) for section in result]


def _runs(section: Sequence[KeyRange]) -> list[SortedRun]:
    runs: list[list[DataFileMeta]] = []
    ends: list[tuple[KeyOrder, int]] = []  # a heap: the last key of each run, and its index in `runs`
    for each in section:
        if ends and each.low > ends[0][0]:
            run = ends[0][1]
            runs[run].append(each.file)
            heapq.heapreplace(ends, (each.high, run))
        else:
            heapq.heappush(ends, (each.high, len(runs)))
            runs.append([each.file])
    return [SortedRun(tuple(r)) for r in runs]


def run_age(run: SortedRun) -> tuple[int, int]:
    """Return a sort key for runs, from old to young. The level comes before the sequence number: compacted files are
    older.
    """
    return -max(f.level for f in run.files), max(f.max_sequence_number for f in run.files)


def written(run: SortedRun) -> tuple[Any, ...]:
    """Return a sort key for runs, from old to young by the time of writing.

    Use it for tables that store the values of `sequence.field` as sequence numbers."""
    return max((-f.level, f.creation_time or _LONG_AGO, *age(f)) for f in run.files)
