"""The choice of how many available splits a batch reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_core.scan.streams.options import ReadLimits
from paimon_core.spec.split import DataSplit, SplitKind


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
