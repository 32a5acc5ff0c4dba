"""Steps: what happens to a column while the rows of each key are merged, and how rows are picked from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.formats.columns import int64_array, validity

Mask = NDArray[np.bool_]
Positions = NDArray[np.int64]

# SKIP: the row is none of the column's business. ADD: its value is newer than all before. ADD_OLDER: it came later, but
# its sequence group says it is older. RETRACT: its value is taken back. SET: its value replaces whatever was before.
SKIP, ADD, ADD_OLDER, RETRACT, SET = range(5)
_TURNS = 8  # steps back in all groups at once; most groups are smaller


@dataclass(frozen=True)
class Steps:
    """The steps of all groups, a group being the rows of one key.

    `rows` are row numbers of the batch, group after group, oldest first, shape (steps,); `starts` where groups begin in
    it, shape (groups,), no group being empty; `ops` what each step does, shape (steps,), None: all ADD.
    """

    rows: Positions
    starts: Positions
    ops: NDArray[np.int8] | None = None

    @cached_property
    def ends(self) -> Positions:
        """The last step of each group."""
        return np.append(self.starts[1:], len(self.rows)) - 1

    @cached_property
    def sizes(self) -> Positions:
        return self.ends - self.starts + 1

    @cached_property
    def live(self) -> Mask | None:
        """The steps that matter: those from the last SET of a group on, without SKIP. None: all."""
        if self.ops is None:
            return None
        sets: Mask = self.ops == SET
        counts: Mask = self.ops != SKIP
        sets[self.starts] = False  # nothing is before those
        if sets.any():
            begin = self.last(sets)
            counts &= np.arange(len(self.rows)) >= np.repeat(begin, self.sizes)
        return counts

    def is_op(self, *ops: int) -> Mask:
        """The steps of these kinds."""
        if self.ops is None:
            return np.full(len(self.rows), ADD in ops)
        result: Mask = np.logical_or.reduce([self.ops == op for op in ops])
        return result

    def narrowed(self, mask: Mask) -> Mask:
        """The steps of the mask that matter."""
        return mask if self.live is None else mask & self.live

    def without(self, op: int) -> Steps:
        """The steps with SKIP for `op`."""
        ops = np.full(len(self.rows), ADD, dtype=np.int8) if self.ops is None else self.ops
        return replace(self, ops=np.where(ops == op, np.int8(SKIP), ops))

    def last(self, mask: Mask) -> Positions:
        """The last step of the mask in each group, -1 where there is none."""
        result = np.where(mask[self.ends], self.ends, -1)
        left = np.flatnonzero(result < 0)
        place = self.ends[left]
        for _ in range(_TURNS):
            inside = place > self.starts[left]
            left, place = left[inside], place[inside] - 1
            if not len(left):
                return result
            found = mask[place]
            result[left[found]] = place[found]
            left, place = left[~found], place[~found]
        longest: Positions = np.maximum.reduceat(np.where(mask, np.arange(len(mask)), -1), self.starts)
        return longest

    def first(self, mask: Mask) -> Positions:
        """The first step of the mask in each group, the number of steps where there is none."""
        count = len(mask)
        result: Positions = np.minimum.reduceat(np.where(mask, np.arange(count), count), self.starts)
        return result

    def valid(self, column: pa.Array) -> Mask:
        """The steps whose value is not NULL."""
        return validity(column)[self.rows] if column.null_count else np.ones(len(self.rows), dtype=np.bool_)

    def groups_of(self, mask: Mask) -> Iterator[tuple[int, Positions]]:
        """Group number and steps of the mask, for each group that has some."""
        steps = np.flatnonzero(mask)
        groups = np.searchsorted(self.starts, steps, "right") - 1
        cuts = np.flatnonzero(groups[1:] != groups[:-1]) + 1
        for part in np.split(steps, cuts) if len(steps) else ():
            yield int(np.searchsorted(self.starts, part[0], "right")) - 1, part


def take_steps(column: pa.Array, steps: Steps, chosen: Positions) -> pa.Array:
    """The values at one step per group, NULL for -1."""
    present = chosen >= 0
    if present.all():
        return column.take(int64_array(steps.rows[chosen]))
    return column.take(int64_array(steps.rows[np.maximum(chosen, 0)], present))


def replaced(column: pa.Array, groups: Mask, values: pa.Array) -> pa.Array:
    """The column with `values` in the groups of the mask, in order."""
    if not len(values):
        return column
    rows = np.arange(len(column))
    rows[groups] = len(column) + np.arange(len(values))
    return pa.concat_arrays([column, values]).take(int64_array(rows))
