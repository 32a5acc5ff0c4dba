"""Numbers of rows as bitmaps, one per binary digit: slice `i` has the rows with bit `i` in their number.

Comparing a number with the numbers of all rows takes one operation per slice: O'Neil and Quass, "Improved query
performance with variant indexes".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from paimon_core.dataclass import dataclass
from paimon_core.indexes.file_index.cursor import Rows


@dataclass(frozen=True, slots=True)
class BitSlices:
    """The rows that have a number, and the slices of the numbers, lowest bit first."""

    rows: Rows
    slices: Sequence[Rows]

    def equal(self, number: int) -> Rows:
        """Return the rows with this number."""
        return self._compared(number)[1]

    def less(self, number: int, or_equal: bool) -> Rows:
        """Return the rows with a smaller number."""
        smaller, same = self._compared(number)
        return smaller | same if or_equal else smaller

    def greater(self, number: int, or_equal: bool) -> Rows:
        """Return the rows with a larger number."""
        return self.rows - self.less(number, not or_equal)

    def _compared(self, number: int) -> tuple[Rows, Rows]:
        """Return the rows with a smaller number, and the rows with this number."""
        if number < 0:
            return BitMap(), BitMap()
        if number >> len(self.slices):
            return self.rows.copy(), BitMap()
        smaller, same = BitMap(), self.rows.copy()
        for i in range(len(self.slices) - 1, -1, -1):
            if number >> i & 1:
                smaller |= same - self.slices[i]
                same &= self.slices[i]
            else:
                same -= self.slices[i]
        return smaller, same


def slices_of(rows: NDArray[np.int64], numbers: NDArray[np.int64], count: int) -> list[Rows]:
    """Return the slices of numbers of 0 or more, for ascending rows; both have shape (rows,)."""
    positions = rows.astype(np.uint32)
    return [BitMap(positions[(numbers >> i & 1).astype(np.bool_)]) for i in range(count)]
