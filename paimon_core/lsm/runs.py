"""Sorted runs: files in key order whose key ranges do not overlap, and how files of a bucket divide into them."""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from paimon_core.errors import CorruptFileError
from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.stats import bound_order
from paimon_core.spec.types import DataType

KeyOrder = tuple[Any, ...]
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SortedRun:
    """Files in ascending key order; no two share a key."""

    files: tuple[DataFileMeta, ...]

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return sum(f.file_size for f in self.files)


@dataclass(frozen=True, slots=True)
class KeyRange:
    """A file and the keys it spans, as values that compare in key order."""

    low: KeyOrder
    high: KeyOrder
    file: DataFileMeta


def key_range(file: DataFileMeta, key_types: Sequence[DataType]) -> KeyRange:
    """The keys that a file spans. Raises `CorruptFileError` where its metadata does not decode."""
    try:
        low, high = decode_row(key_types, file.min_key), decode_row(key_types, file.max_key)
        return KeyRange(key_order(low), key_order(high), file)
    except (ValueError, TypeError, struct.error) as e:
        raise CorruptFileError(file.file_name, f"the key range in its metadata does not decode ({e})") from e


def key_order(values: Iterable[Any]) -> KeyOrder:
    """Values of a key as a tuple that compares as keys do."""
    return tuple(map(bound_order, values))


def share_keys(ranges: Iterable[KeyRange]) -> tuple[KeyRange, KeyRange] | None:
    """Two of the files that may hold the same keys, None where there are none."""
    ordered = sorted(ranges, key=lambda r: r.low)
    return next(((a, b) for a, b in pairwise(ordered) if a.high >= b.low), None)


def age(file: DataFileMeta) -> tuple[int, int, datetime, str]:
    """What orders level-0 files from old to young, whatever order metadata lists them in."""
    return file.max_sequence_number, file.min_sequence_number, file.creation_time or _LONG_AGO, file.file_name


def in_key_order(files: Iterable[DataFileMeta], key_types: Sequence[DataType]) -> list[DataFileMeta]:
    """The files of a sorted run by the keys they begin with."""
    return sorted(files, key=lambda f: key_range(f, key_types).low)


def sections(files: Iterable[DataFileMeta], key_types: Sequence[DataType]) -> list[list[SortedRun]]:
    """Divide files into sections whose key ranges do not overlap, in key order, each in the fewest sorted runs.

    Rows of one key are all in one section. The runs of a section are in no order: sequence numbers decide. They do not
    depend on the order of the files, for writers at one time may have given one number to two rows of a key.
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
    """Order runs from old to young by level before number: what was compacted was committed before what was not."""
    return -max(f.level for f in run.files), max(f.max_sequence_number for f in run.files)


def written(run: SortedRun) -> tuple[Any, ...]:
    """Order runs from old to young by the time of writing, for tables in which the numbers of rows are the values of
    their `sequence.field`."""
    return max((-f.level, f.creation_time or _LONG_AGO, *age(f)) for f in run.files)
