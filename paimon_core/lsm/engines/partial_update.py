"""`merge-engine = partial-update`: NULL does not overwrite, and sequence groups order their columns by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.errors import MergeRefusedError
from paimon_core.lsm.engines.groups import merged, ordered_kinds, rows_taken, steps_of
from paimon_core.lsm.engines.sequence_groups import Course, GroupCourse, SequenceGroup, group_course, known_rows
from paimon_core.lsm.functions.registry import FieldFunction
from paimon_core.lsm.functions.steps import Groups, Mask, Steps
from paimon_core.lsm.rows import ROW_DELETE, ROW_INSERT, KeyedRows, is_retract


@dataclass(frozen=True, slots=True)
class PartialUpdate:
    """The engine with the functions of the table's columns, by name, and its sequence groups.

    Deletes are left out with `ignore_delete`, remove the row with `remove_on_delete`, else take back the columns of the
    groups they say something of. A delete that is a key's first row gives the values that rows are merged into.
    """

    functions: Mapping[str, FieldFunction]
    groups: tuple[SequenceGroup, ...] = ()
    ignore_delete: bool = False
    remove_on_delete: bool = False
    _group_of: Mapping[str, SequenceGroup] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_group_of", {c: g for g in self.groups for c in g.columns})

    def __call__(self, rows: KeyedRows, drop_delete: bool) -> pa.RecordBatch:
        """One row per key, in key order. Raises `MergeRefusedError` for deletes that no option gives a meaning."""
        steps, given = steps_of(rows), ordered_kinds(rows)
        retract = is_retract(given)
        if len(steps.starts) == len(rows.order) and not (drop_delete and retract.any()):
            return rows_taken(rows.batch, rows.order)
        single = np.repeat(steps.sizes == 1, steps.sizes)
        newest = steps.ends
        deleted = np.zeros(len(steps.starts), dtype=np.bool_)
        if not (retract & ~single).any():
            nothing = np.zeros(len(single), dtype=np.bool_)
            course = Course(steps, single if self.groups or retract.any() else nothing, nothing, nothing)
        else:
            self.check_retract()
            course = self._course(rows.batch, steps, given, single)
            last = course.steps.ends
            deleted = course.sets[last] & (given[newest] == ROW_DELETE) & (not self.ignore_delete)
            deleted |= ~steps.any(~retract)
            if self.ignore_delete:
                kept = steps.last(~retract)
                newest = np.where(kept < 0, steps.starts, kept)
        kinds = np.where(deleted, np.int8(ROW_DELETE), np.int8(ROW_INSERT))
        kinds = np.where(steps.sizes == 1, given[steps.starts], kinds)
        values = _Values(self.functions, self._group_of, rows.batch, course)
        return merged(rows.batch, rows.order[newest], kinds, values.value_of, drop_delete)

    def check_retract(self) -> None:
        """Raises `MergeRefusedError` where no option gives deletes a meaning."""
        if not (self.groups or self.ignore_delete or self.remove_on_delete):
            raise MergeRefusedError(
                "Merge engine 'partial-update' takes no delete (row kinds -D and -U) by default: set 'ignore-delete' "
                "to leave them out, 'partial-update.remove-record-on-delete' to remove the row, or define sequence "
                "groups."
            )

    def check_rows(self, batch: pa.RecordBatch, kinds: NDArray[np.int8]) -> None:
        """Raises `MergeRefusedError` for rows to be written that take back what a function of their groups cannot."""
        self.check_retract()
        known = {g: known_rows(batch, g) for g in self.groups}
        removed = kinds == ROW_DELETE
        removed &= np.logical_or.reduce([known[g] for g in self.groups if g.removes] or [np.zeros_like(removed)])
        for group in self.groups:
            if (is_retract(kinds) & ~removed & known[group]).any():
                for name in group.aggregated:
                    self.functions[name].check_retract()

    def _course(self, batch: pa.RecordBatch, steps: Steps, kinds: NDArray[np.int8], single: Mask) -> Course:
        """What becomes of the rows where some delete. Groups keep their number, and may get one step more."""
        retract = is_retract(kinds)
        begin = np.zeros(len(kinds), dtype=np.bool_)
        begin[steps.starts] = True
        begin &= retract
        nothing = np.zeros(len(kinds), dtype=np.bool_)
        if self.ignore_delete:
            sets = begin | single
            return Course(steps, sets, nothing, retract & ~sets)
        if not self.groups:
            sets = begin | single | (kinds == ROW_DELETE)
            return Course(steps, sets, nothing, retract & ~sets)
        # a first delete has two steps: its values are set, then its groups are taken back
        begin &= ~single
        origin = np.repeat(np.arange(len(kinds)), 1 + begin)
        again = np.append(origin[1:] == origin[:-1], False)
        starts = steps.starts + np.cumsum(begin)[steps.starts] - begin[steps.starts]
        sets = again | single[origin]
        wide = Steps(steps.rows[origin], Groups(starts, len(origin)))
        course = Course(wide, sets, retract[origin] & ~sets, nothing[origin])
        return self._with_removals(batch, course, (kinds == ROW_DELETE)[origin])

    def _with_removals(self, batch: pa.RecordBatch, course: Course, deletes: Mask) -> Course:
        """The course with the deletes that remove the row among its `sets`."""
        removing = [g for g in self.groups if g.removes]
        while removing:
            found = np.zeros(len(deletes), dtype=np.bool_)
            for group in removing:
                seen = group_course(batch, group, course)
                found |= seen.known & seen.newest
            found &= deletes & course.retracts
            if not found.any():
                break
            if len(removing) > 1:  # a removal changes what the other groups go by: one per key and round
                first = course.steps.first(found)
                found[:] = False
                found[first[first < len(found)]] = True
            sets = course.sets | found
            course = replace(course, sets=sets, retracts=course.retracts & ~sets)
            if len(removing) == 1:
                break
        return course


@dataclass(frozen=True, slots=True)
class _Values:
    """The columns of a merge."""

    functions: Mapping[str, FieldFunction]
    group_of: Mapping[str, SequenceGroup]
    batch: pa.RecordBatch
    course: Course
    _courses: dict[tuple[str, ...], GroupCourse] = field(default_factory=dict)

    def value_of(self, name: str, column: pa.Array) -> pa.Array | None:
        function = self.functions.get(name)
        if function is None:
            return None
        group = self.group_of.get(name)
        if group is None:
            return function(column, self.course.ungrouped)
        seen = self._courses.get(group.sequence)
        if seen is None:
            seen = self._courses[group.sequence] = group_course(self.batch, group, self.course)
        if name in group.sequence:
            return function(column, seen.of_sequence)
        return function(column, seen.of_protected if name in group.protected else seen.of_aggregated)
