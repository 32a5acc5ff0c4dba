"""Sequence groups: columns that say how new a row is, for themselves and for the columns they protect.

A row whose sequence columns are all NULL says nothing about the group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.formats.columns import validity
from paimon_core.lsm.functions.steps import ADD, ADD_OLDER, RETRACT, SET, SKIP, Mask, Steps
from paimon_core.lsm.keys import flatten, fold, key_words, widths


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


@dataclass(frozen=True, slots=True)
class Course:
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

    def ungrouped(self) -> Steps:
        """The steps of a column that is in no sequence group."""
        if self.is_plain:
            return self.steps
        ops = np.full(len(self.sets), ADD, dtype=np.int8)
        ops[self.retracts | self.ignored] = SKIP
        return self._with(ops)

    def _with(self, ops: NDArray[np.int8]) -> Steps:
        ops[self.sets] = SET
        return Steps(self.steps.rows, self.steps.starts, ops)


@dataclass(frozen=True)
class GroupCourse:
    """A course as one sequence group sees it: rows it knows something of, and those that are the newest so far."""

    course: Course
    known: Mask
    newest: Mask

    @cached_property
    def of_sequence(self) -> Steps:
        """The steps of a sequence column."""
        return self._steps(np.where(self.known & self.newest, ADD, SKIP))

    @cached_property
    def of_protected(self) -> Steps:
        """The steps of a column without a function."""
        ops = np.where(self.course.retracts, RETRACT, ADD)
        return self._steps(np.where(self.known & self.newest, ops, SKIP))

    @cached_property
    def of_aggregated(self) -> Steps:
        """The steps of a column with a function: older rows count as well."""
        ops = np.where(self.course.retracts, RETRACT, np.where(self.newest, ADD, ADD_OLDER))
        return self._steps(np.where(self.known, ops, SKIP))

    def _steps(self, ops: NDArray[np.int64]) -> Steps:
        return self.course._with(ops.astype(np.int8))


def group_course(batch: pa.RecordBatch, group: SequenceGroup, course: Course) -> GroupCourse:
    """The course as a group sees it."""
    columns = [batch.column(n) for n in group.sequence]
    rows = course.steps.rows
    known = np.logical_or.reduce([validity(c) for c in columns])[rows] & ~course.ignored
    counts = known | course.sets
    begins = course.sets.copy()
    begins[course.steps.starts] = True
    key = key_words(columns)
    place = fold([np.cumsum(begins), *(w[rows] for w in flatten(key, widths([key])))])
    highest = np.maximum.accumulate(np.where(counts, place, np.iinfo(np.int64).min))
    return GroupCourse(course, known, place >= highest)
