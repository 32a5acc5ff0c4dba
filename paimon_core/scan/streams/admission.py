"""How many of the splits that are there a batch reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_core.scan.streams.options import ReadLimits
from paimon_core.spec.split import DataSplit, SplitKind


@dataclass(frozen=True, slots=True)
class Admitted:
    """What a batch reads so far. Splits of one kind only: rows of a version, and then its changes, are two batches, as
    their tasks run in any order."""

    files: int = 0
    rows: int = 0
    size: int = 0
    kind: SplitKind | None = None

    def plus(self, split: DataSplit) -> Admitted:
        """With one split more."""
        files = len(split.files) + len(split.before)
        return Admitted(self.files + files, self.rows + split.row_count, self.size + split.size, split.kind)

    def is_within(self, limits: ReadLimits) -> bool:
        """Whether no upper bound is passed."""
        bounds = ((self.files, limits.files), (self.rows, limits.rows), (self.size, limits.size))
        return all(bound is None or value <= bound for value, bound in bounds)


def admit(before: Admitted, splits: Sequence[DataSplit], limits: ReadLimits) -> tuple[int, Admitted]:
    """How many of the splits, from the first on, a batch still takes, and what it then reads.

    An empty batch takes its first split, however large: a stream always goes on.
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
    """Whether a stream waits for more rows, `waited` milliseconds after its last batch."""
    if limits.least_rows is None or limits.delay is None:
        return False
    return admitted.rows < limits.least_rows and waited <= limits.delay
