"""The splits of a batch: how many of the available ones it takes, and how they are packed for tasks.

Tasks run in any order. So all changes of a bucket of keyed rows are one split, in which they keep their order. A
consumer that writes them on by key then ends with the newest row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from paimon_core.dataclass import dataclass
from paimon_core.lsm.runs import sections
from paimon_core.options import SPLIT_OPEN_FILE_COST, SPLIT_TARGET_SIZE
from paimon_core.scan.splits import pack
from paimon_core.scan.streams.options import ReadLimits
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.split import DataSplit, SplitKind
from paimon_core.spec.types import DataType
from paimon_core.store.table_store import TableStore


def packed(store: TableStore, splits: Iterable[DataSplit], *, by_snapshot: bool = False) -> Iterator[DataSplit]:
    """Pack the splits of one batch, which have one kind.

    `by_snapshot`: do not combine splits of different snapshots.
    """
    target, open_cost = store.options[SPLIT_TARGET_SIZE], store.options[SPLIT_OPEN_FILE_COST]
    buckets: dict[tuple[bytes, int, int], list[DataSplit]] = {}
    for split in splits:
        buckets.setdefault((split.partition, split.bucket, split.snapshot_id * by_snapshot), []).append(split)
    for members in buckets.values():
        kind = members[0].kind
        if kind is SplitKind.CHANGES and store.has_primary_key:
            yield _joined(members)
        elif kind in (SplitKind.ROWS, SplitKind.CHANGES):
            for _, alike in groupby(members, lambda s: s.needs_merge):
                yield from map(_joined, pack(alike, lambda s: max(s.size, open_cost), target))
        else:
            yield from members


def keeps_order(store: TableStore, splits: Iterable[DataSplit]) -> bool:
    """Return whether an engine may read the files and parts of them in any order, because no key has two rows."""
    if not store.has_primary_key:
        return True
    types = store.schema.types(store.schema.trimmed_primary_keys)
    return all(s.kind is not SplitKind.CHANGES or _are_apart(s.files, types) for s in splits)


def _are_apart(files: Sequence[DataFileMeta], key_types: Sequence[DataType]) -> bool:
    """Return whether no two files can have the same key."""
    return len(files) == 1 or all(len(runs) == 1 for runs in sections(files, key_types))


def _joined(members: Sequence[DataSplit]) -> DataSplit:
    if len(members) == 1:
        return members[0]
    return replace(
        members[0],
        files=tuple(f for s in members for f in s.files),
        deletions=tuple(d for s in members for d in s.deletions),
        needs_merge=any(s.needs_merge for s in members),
    )


@dataclass(frozen=True, slots=True)
class Admitted:
    """The totals of the splits that a batch has taken so far. All of them have one kind.

    The rows of a version, and then its changes, are in two batches, because the tasks of a batch run in any order."""

    files: int = 0
    rows: int = 0
    size: int = 0
    kind: SplitKind | None = None

    def plus(self, split: DataSplit) -> Admitted:
        """Add one split."""
        files = len(split.files) + len(split.before)
        return Admitted(self.files + files, self.rows + split.row_count, self.size + split.size, split.kind)

    def is_within(self, limits: ReadLimits) -> bool:
        """Return whether all upper bounds are kept."""
        bounds = ((self.files, limits.files), (self.rows, limits.rows), (self.size, limits.size))
        return all(bound is None or value <= bound for value, bound in bounds)


def admit(before: Admitted, splits: Sequence[DataSplit], limits: ReadLimits) -> tuple[int, Admitted]:
    """Return how many of the splits a batch still takes, counted from the first split, and the new totals.

    An empty batch takes its first split, whatever its size, so that a stream always makes progress.
    """
    admitted = before
    for count, split in enumerate(splits):
        more = admitted.plus(split)
        fits = admitted.kind is None or (admitted.kind is split.kind and more.is_within(limits))
        if not fits:
            return count, admitted
        admitted = more
    return len(splits), admitted


def waits(admitted: Admitted, limits: ReadLimits, waited: float) -> bool:
    """Return whether a stream should wait for more rows, `waited` milliseconds after its last batch."""
    if limits.least_rows is None or limits.delay is None:
        return False
    return admitted.rows < limits.least_rows and waited <= limits.delay
