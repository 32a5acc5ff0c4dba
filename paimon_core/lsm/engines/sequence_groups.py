"""Sequence groups: columns that say how new a row is, for themselves and for the columns they protect.

A row whose sequence columns are all NULL says nothing about the group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import validity
from paimon_core.lsm.functions.steps import ADD, ADD_OLDER, RETRACT, SET, SKIP, Mask, Steps
from paimon_core.lsm.keys import flatten, fold, key_words, widths

_SKIP, _ADD, _ADD_OLDER, _RETRACT = (np.int8(op) for op in (SKIP, ADD, ADD_OLDER, RETRACT))


@dataclass(frozen=True, slots=True)
class SequenceGroup:
    """`protected` columns have no function, `aggregated` ones do. `removes`: a delete of the group removes the row."""

    sequence: tuple[str, ...]
    protected: tuple[str, ...] = ()
    aggregated: tuple[str, ...] = ()
    removes: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return self.sequence + self.protected + self.aggregated


@dataclass(frozen=True)
class RowSteps:
    """What the rows of all keys are, step by step: `sets` replace the row, `retracts` take values back (and are none of
    `sets`), `ignored` are no rows; the others are added. Shapes (steps,)."""

    steps: Steps
    sets: Mask
    retracts: Mask
    ignored: Mask

    @property
    def is_plain(self) -> bool:
        """Whether all rows are added."""
        return not (self.sets.any() or self.retracts.any() or self.ignored.any())

    @cached_property
    def ungrouped(self) -> Steps:
        """The steps of a column that is in no sequence group."""
        if self.is_plain:
            return self.steps
        ops = np.full(len(self.sets), ADD, dtype=np.int8)
        ops[self.retracts | self.ignored] = SKIP
        return self.with_ops(ops)

    def with_ops(self, ops: NDArray[np.int8]) -> Steps:
        """The steps with these ops where no row is set."""
        return Steps(self.steps.rows, self.steps.groups, np.where(self.sets, np.int8(SET), ops))


@dataclass(frozen=True)
class GroupSteps:
    """The steps as one sequence group sees them: rows it knows something of, and those that are the newest so far."""

    row_steps: RowSteps
    known: Mask
    newest: Mask

    @cached_property
    def of_sequence(self) -> Steps:
        """The steps of a sequence column."""
        return self.row_steps.with_ops(np.where(self.known & self.newest, _ADD, _SKIP))

    @cached_property
    def of_protected(self) -> Steps:
        """The steps of a column without a function."""
        ops = np.where(self.row_steps.retracts, _RETRACT, _ADD)
        return self.row_steps.with_ops(np.where(self.known & self.newest, ops, _SKIP))

    @cached_property
    def of_aggregated(self) -> Steps:
        """The steps of a column with a function: older rows count as well."""
        ops = np.where(self.row_steps.retracts, _RETRACT, np.where(self.newest, _ADD, _ADD_OLDER))
        return self.row_steps.with_ops(np.where(self.known, ops, _SKIP))


def known_rows(batch: pa.RecordBatch, group: SequenceGroup) -> Mask:
    """Where a row says something about the group."""
    known: Mask = np.logical_or.reduce([validity(batch.column(n)) for n in group.sequence])
    return known


def group_steps(batch: pa.RecordBatch, group: SequenceGroup, row_steps: RowSteps) -> GroupSteps:
    """The steps as a group sees them."""
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
