"""Steps: the changes of a column while the rows of each key are merged, and the choice of rows among them.

Aggregate functions are defined row by row: each row of a key adds its value to the result of the older rows. A loop
over rows would take a microsecond for each. Instead, all rows of a window are steps, group after group (a group is a
key), and a function is a few numpy calls over all steps:

    rows     the row number of each step                     [0 3 1 4 2 5]
    starts   the first step of each group                    [0   2   4 5]
    ops      the effect of each step: ADD, RETRACT, SET …    None: all ADD

Most functions pick one step per group (`first`, `last`) and take its value, or reduce numbers (`reduced`). Most groups
are small, two or three rows, and `ufunc.reduceat` has a cost for each group. So groups of up to `ROUNDS` steps are
reduced in rounds: round `i` combines the `i`-th step of every group that has one, in one call. Only larger groups use
`reduceat`. Functions with a result that depends on each step before (`picks.first_non_null_value` with older rows,
lists, sketches) loop over the groups that need it, and insert the results by `replaced`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import int64_array, taken, validity
from paimon_core.dataclass import dataclass
from paimon_core.lazy import cached_property

Mask = NDArray[np.bool_]
Positions = NDArray[np.int64]

# SKIP: the row does not set the column. ADD: its value is newer than all before. ADD_OLDER: the row came later, but is
# older by its sequence group. RETRACT: its value is retracted. SET: its value replaces the result so far.
SKIP, ADD, ADD_OLDER, RETRACT, SET = range(5)
ROUNDS = 32  # groups of at most so many steps are reduced step by step, all at once


@dataclass(frozen=True)
class Groups:
    """The division of `count` steps into groups that are not empty: `starts` are first steps, shape (groups,)."""

    starts: Positions
    count: int

    @cached_property
    def ends(self) -> Positions:
        """The last step of each group."""
        return np.append(self.starts[1:], self.count) - 1

    @cached_property
    def sizes(self) -> Positions:
        return self.ends - self.starts + 1

    @cached_property
    def rounds(self) -> list[tuple[Positions, Positions]]:
        """Return, for the second step of every group that has one, then the third, and so on: the groups, and the
        numbers of the steps.
        """
        groups, rounds = np.flatnonzero(self.sizes > 1), list[tuple[Positions, Positions]]()
        while len(groups) and len(rounds) < ROUNDS - 1:
            round_ = len(rounds) + 1
            rounds.append((groups, self.starts[groups] + round_))
            groups = groups[self.sizes[groups] > round_ + 1]
        return rounds

    @cached_property
    def large(self) -> Positions:
        """Return the groups that have more steps than `rounds`."""
        return np.flatnonzero(self.sizes > ROUNDS)

    @cached_property
    def numbers(self) -> NDArray[np.int32]:
        """The numbers of the steps, from 1."""
        return np.arange(1, self.count + 1, dtype=np.int32)


@dataclass(frozen=True)
class Steps:
    """The steps of all groups; a group is the rows of one key.

    `rows` are row numbers of the batch, group after group, oldest first, shape (steps,). `ops` are the effects of the
    steps, shape (steps,); None if every step is an ADD.
    """

    rows: Positions
    groups: Groups
    ops: NDArray[np.int8] | None = None

    @property
    def starts(self) -> Positions:
        """The first step of each group."""
        return self.groups.starts

    @property
    def ends(self) -> Positions:
        """The last step of each group."""
        return self.groups.ends

    @property
    def sizes(self) -> Positions:
        """The steps of each group."""
        return self.groups.sizes

    @cached_property
    def retracts(self) -> bool:
        """Return whether a step retracts a value."""
        return self.ops is not None and bool((self.ops == RETRACT).any())

    @cached_property
    def live(self) -> Mask | None:
        """Return the steps that matter: the steps from the last SET of a group on, without SKIP. Return None if all
        steps matter.
        """
        if self.ops is None:
            return None
        sets: Mask = self.ops == SET
        counts: Mask = self.ops != SKIP
        sets[self.starts] = False  # no step is before these
        if sets.any():
            begin = self.last(sets)
            counts &= np.arange(len(self.rows)) >= np.repeat(begin, self.sizes)
        return counts

    def is_op(self, *ops: int) -> Mask:
        """Return the steps of these kinds."""
        if self.ops is None:
            return np.full(len(self.rows), ADD in ops)
        result: Mask = np.logical_or.reduce([self.ops == op for op in ops])
        return result

    def narrowed(self, mask: Mask) -> Mask:
        """Return the steps of the mask, restricted to steps that matter."""
        return mask if self.live is None else mask & self.live

    def without(self, op: int) -> Steps:
        """Return the steps, with SKIP in the place of `op`."""
        ops = np.full(len(self.rows), ADD, dtype=np.int8) if self.ops is None else self.ops
        return replace(self, ops=np.where(ops == op, np.int8(SKIP), ops))

    def reduced(self, ufunc: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """Reduce the values of each group's steps to one value. Groups of up to `ROUNDS` steps are reduced from first
        to last.
        """
        result = values.take(self.starts, mode="clip")
        for groups, positions in self.groups.rounds:
            result[groups] = ufunc(result.take(groups, mode="clip"), values.take(positions, mode="clip"))
        if len(self.groups.large):
            result[self.groups.large] = ufunc.reduceat(values, self.starts)[self.groups.large]
        return result

    def any(self, mask: Mask) -> Mask:
        """Return the groups that have a step of the mask."""
        return self.reduced(np.logical_or, mask)

    def counts(self, mask: Mask) -> NDArray[np.int32]:
        """Count the steps of the mask in each group."""
        return self.reduced(np.add, mask.astype(np.int32))

    def last(self, mask: Mask) -> Positions:
        """Return the last step of the mask in each group, -1 for groups without one."""
        return self.reduced(np.maximum, mask * self.groups.numbers).astype(np.int64) - 1

    def first(self, mask: Mask) -> Positions:
        """Return the first step of the mask in each group. For groups without such a step, return the number of all
        steps.
        """
        return len(mask) - self.reduced(np.maximum, mask * self.groups.numbers[::-1]).astype(np.int64)

    def valid(self, column: pa.Array) -> Mask:
        """Return the steps with a value that is not NULL."""
        return self.of(validity(column)) if column.null_count else np.ones(len(self.rows), dtype=np.bool_)

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of the steps' rows."""
        return values.take(self.rows, mode="clip")

    def groups_of(self, mask: Mask) -> Iterator[tuple[int, Positions]]:
        """Yield the number of each group with steps of the mask, and these steps."""
        steps = np.flatnonzero(mask)
        groups = np.searchsorted(self.starts, steps, "right") - 1
        cuts = np.flatnonzero(groups[1:] != groups[:-1]) + 1
        for part in np.split(steps, cuts) if len(steps) else ():
            yield int(np.searchsorted(self.starts, part[0], "right")) - 1, part


def take_steps(column: pa.Array, steps: Steps, chosen: Positions) -> pa.Array:
    """Return the values at one step per group, NULL for -1."""
    present = chosen >= 0
    rows = steps.rows.take(chosen, mode="clip")
    return taken(column, rows, None if present.all() else present)


def replaced(column: pa.Array, groups: Mask, values: pa.Array) -> pa.Array:
    """Return the column with `values` in the groups of the mask, in order."""
    if not len(values):
        return column
    rows = np.arange(len(column))
    rows[groups] = len(column) + np.arange(len(values))
    return pa.concat_arrays([column, values]).take(int64_array(rows))
