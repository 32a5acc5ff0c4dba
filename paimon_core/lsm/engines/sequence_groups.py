"""Sequence groups: their sequence columns order the rows, both for themselves and for the columns that they protect.

A row with only NULL in the sequence columns does not change the group.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import validity
from paimon_core.dataclass import dataclass
from paimon_core.lazy import cached_property
from paimon_core.lsm.functions.steps import ADD, ADD_OLDER, RETRACT, SET, SKIP, Mask, Steps
from paimon_core.lsm.keys import flatten, fold, key_words, widths

_SKIP, _ADD, _ADD_OLDER, _RETRACT = (np.int8(op) for op in (SKIP, ADD, ADD_OLDER, RETRACT))


@dataclass(frozen=True, slots=True)
class SequenceGroup:
    """A sequence group. `protected` columns have no aggregate function, `aggregated` columns have one. `removes`: a
    delete with a sequence of the group removes the row."""

    sequence: tuple[str, ...]
    protected: tuple[str, ...] = ()
    aggregated: tuple[str, ...] = ()
    removes: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return self.sequence + self.protected + self.aggregated


@dataclass(frozen=True)
class RowSteps:
    """The effect of the rows of all keys, step by step; arrays have shape (steps,).

    `sets` replace the row, `retracts` retract values (and exclude `sets`), `ignored` have no effect; others add."""

    steps: Steps
    sets: Mask
    retracts: Mask
    ignored: Mask

    @property
    def is_plain(self) -> bool:
        """Return whether all rows are added."""
        return not (self.sets.any() or self.retracts.any() or self.ignored.any())

    @cached_property
    def ungrouped(self) -> Steps:
        """Return the steps of a column without a sequence group."""
        if self.is_plain:
            return self.steps
        ops = np.full(len(self.sets), ADD, dtype=np.int8)
        ops[self.retracts | self.ignored] = SKIP
        return self.with_ops(ops)

    def with_ops(self, ops: NDArray[np.int8]) -> Steps:
        """Return the steps with these ops, except for steps that set the row."""
        return Steps(self.steps.rows, self.steps.groups, np.where(self.sets, np.int8(SET), ops))


@dataclass(frozen=True)
class GroupSteps:
    """The steps of one sequence group: `known` marks rows with a sequence, `newest` marks rows that are the newest so
    far.
    """

    row_steps: RowSteps
    known: Mask
    newest: Mask

    @cached_property
    def of_sequence(self) -> Steps:
        """Return the steps of a sequence column."""
        return self.row_steps.with_ops(np.where(self.known & self.newest, _ADD, _SKIP))

    @cached_property
    def of_protected(self) -> Steps:
        """Return the steps of a column without a function."""
        ops = np.where(self.row_steps.retracts, _RETRACT, _ADD)
        return self.row_steps.with_ops(np.where(self.known & self.newest, ops, _SKIP))

    @cached_property
    def of_aggregated(self) -> Steps:
        """Return the steps of a column with a function; older rows count, too."""
        ops = np.where(self.row_steps.retracts, _RETRACT, np.where(self.newest, _ADD, _ADD_OLDER))
        return self.row_steps.with_ops(np.where(self.known, ops, _SKIP))


def known_rows(batch: pa.RecordBatch, group: SequenceGroup) -> Mask:
    """Return which rows have a sequence of the group: a value that is not NULL."""
    known: Mask = np.logical_or.reduce([validity(batch.column(n)) for n in group.sequence])
    return known


def group_steps(batch: pa.RecordBatch, group: SequenceGroup, row_steps: RowSteps) -> GroupSteps:
    """Return the steps of a group."""
    columns = [batch.column(n) for n in group.sequence]
    rows = row_steps.steps.rows
    known = known_rows(batch, group)[rows] & ~row_steps.ignored
    counts = known | row_steps.sets
    begins = row_steps.sets.copy()
    begins[row_steps.steps.starts] = True
    key = key_words(columns)
    order = fold([np.cumsum(begins), *(w[rows] for w in flatten(key, widths([key])))])
    highest = np.maximum.accumulate(np.where(counts, order, np.iinfo(np.int64).min))
    return GroupSteps(row_steps, known, order >= highest)
