"""Steps: what happens to a column while the rows of each key are merged, and how rows are picked from them.

Aggregate functions are defined row by row: each row of a key adds its value to what the older ones made. Looping over
rows would take a microsecond for each. Instead all rows of a window are steps, group after group (a group is a key),
and a function is a few numpy calls over all of them:

    rows     the row number of each step                     [0 3 1 4 2 5]
    starts   where each group begins                         [0   2   4 5]
    ops      what each step does: ADD, RETRACT, SET …        None: all ADD

Most functions pick one step per group (`first`, `last`) and take its value, or reduce numbers (`reduced`). Groups are
small, as a rule two or three rows, where `ufunc.reduceat` pays for each group. So groups of up to `ROUNDS` steps are
reduced in rounds: round `i` combines the `i`-th step of every group that has one, in one call. Only larger groups go
through `reduceat`. Functions whose outcome depends on each step before (`picks.first_non_null_value` with older rows,
lists, sketches) loop over the groups that need it, and put the results in by `replaced`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import int64_array, taken, validity

Mask = NDArray[np.bool_]
Positions = NDArray[np.int64]

# SKIP: the row says nothing of the column. ADD: its value is newer than all before. ADD_OLDER: it came later, but
# its sequence group says it is older. RETRACT: its value is taken back. SET: its value replaces whatever was before.
SKIP, ADD, ADD_OLDER, RETRACT, SET = range(5)
ROUNDS = 32  # groups of at most so many steps are reduced step by step, all at once


@dataclass(frozen=True)
class Groups:
    """How `count` steps make groups: `starts` are where these begin, shape (groups,); none is empty."""

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
        """For the second step of groups, the third, …: the groups that have one, and the number of that step."""
        groups, rounds = np.flatnonzero(self.sizes > 1), list[tuple[Positions, Positions]]()
        while len(groups) and len(rounds) < ROUNDS - 1:
            round_ = len(rounds) + 1
            rounds.append((groups, self.starts[groups] + round_))
            groups = groups[self.sizes[groups] > round_ + 1]
        return rounds

    @cached_property
    def large(self) -> Positions:
        """The groups that have more steps than `rounds`."""
        return np.flatnonzero(self.sizes > ROUNDS)

    @cached_property
    def numbers(self) -> NDArray[np.int32]:
        """The numbers of the steps, from 1."""
        return np.arange(1, self.count + 1, dtype=np.int32)


@dataclass(frozen=True)
class Steps:
    """The steps of all groups, a group being the rows of one key.

    `rows` are row numbers of the batch, group after group, oldest first, shape (steps,); `ops` what each step does,
    shape (steps,), None: all ADD.
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
        """Whether a step takes a value back."""
        return self.ops is not None and bool((self.ops == RETRACT).any())

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

    def reduced(self, ufunc: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """One value per group of those of its steps, from the first to the last (in groups of up to `ROUNDS` steps)."""
        result = values.take(self.starts, mode="clip")
        for groups, positions in self.groups.rounds:
            result[groups] = ufunc(result.take(groups, mode="clip"), values.take(positions, mode="clip"))
        if len(self.groups.large):
            result[self.groups.large] = ufunc.reduceat(values, self.starts)[self.groups.large]
        return result

    def any(self, mask: Mask) -> Mask:
        """The groups that have a step of the mask."""
        return self.reduced(np.logical_or, mask)

    def counts(self, mask: Mask) -> NDArray[np.int32]:
        """The steps of the mask in each group."""
        return self.reduced(np.add, mask.astype(np.int32))

    def last(self, mask: Mask) -> Positions:
        """The last step of the mask in each group, -1 where there is none."""
        return self.reduced(np.maximum, mask * self.groups.numbers).astype(np.int64) - 1

    def first(self, mask: Mask) -> Positions:
        """The first step of the mask in each group, the number of steps where there is none."""
        return len(mask) - self.reduced(np.maximum, mask * self.groups.numbers[::-1]).astype(np.int64)

    def valid(self, column: pa.Array) -> Mask:
        """The steps whose value is not NULL."""
        return self.of(validity(column)) if column.null_count else np.ones(len(self.rows), dtype=np.bool_)

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values of rows as those of the steps."""
        return values.take(self.rows, mode="clip")

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
    rows = steps.rows.take(chosen, mode="clip")
    return taken(column, rows, None if present.all() else present)


def replaced(column: pa.Array, groups: Mask, values: pa.Array) -> pa.Array:
    """The column with `values` in the groups of the mask, in order."""
    if not len(values):
        return column
    rows = np.arange(len(column))
    rows[groups] = len(column) + np.arange(len(values))
    return pa.concat_arrays([column, values]).take(int64_array(rows))
