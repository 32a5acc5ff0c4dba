"""`merge-engine = partial-update`: NULL does not overwrite, and each sequence group orders its own columns.

A row of this engine may set only some columns, and each column is merged by itself:

    in no sequence group     the newest value that is not NULL, or an aggregate function
    in a sequence group      the group's sequence columns decide which row is newer, not the order of writes:
        its sequence columns     the largest so far
        protected columns        the value of the row with the largest sequence, even NULL
        aggregated columns       a function over all rows with a sequence of the group; older rows count as older

So the merge of a window is a sequence of steps per column (`lsm.functions.steps`). `RowSteps` has the effect of rows on
all columns: a row is added, ignored, or retracted, or it replaces the merged row. The first row of a key replaces it,
and so does a delete that removes the row. `group_steps` narrows this for each group to the rows that have a sequence of
it, and marks the newest so far. Columns of a group share them, so a group costs one sort key and one running maximum.

A delete that is a key's first row becomes two steps: first it sets the values that later rows are merged into, then it
retracts its groups. Source: Paimon's page "Partial Update"; `PartialUpdateMergeFunction`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.dataclass import dataclass
from paimon_core.errors import MergeRefusedError
from paimon_core.lsm.engines.groups import merged, ordered_kinds, rows_taken, steps_of
from paimon_core.lsm.engines.sequence_groups import GroupSteps, RowSteps, SequenceGroup, group_steps, known_rows
from paimon_core.lsm.functions.registry import FieldFunction
from paimon_core.lsm.functions.steps import Groups, Mask, Steps
from paimon_core.lsm.rows import ROW_DELETE, ROW_INSERT, KeyedRows, is_retract


@dataclass(frozen=True, slots=True)
class PartialUpdate:
    """The engine, with the functions of the table's columns by name, and the table's sequence groups.

    Deletes are skipped with `ignore_delete`, and remove the row with `remove_on_delete`. Otherwise a delete retracts
    the columns of each group for which it has a sequence. A delete that is a key's first row sets the initial values.
    """

    functions: Mapping[str, FieldFunction]
    groups: tuple[SequenceGroup, ...] = ()
    ignore_delete: bool = False
    remove_on_delete: bool = False
    _group_of: Mapping[str, SequenceGroup] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_group_of", {c: g for g in self.groups for c in g.columns})

    def __call__(self, rows: KeyedRows, drop_delete: bool) -> pa.RecordBatch:
        """Return one row per key, in key order. Raises `MergeRefusedError` for deletes if no option allows them."""
        steps, given = steps_of(rows), ordered_kinds(rows)
        retract = is_retract(given)
        if len(steps.starts) == len(rows.order) and not (drop_delete and retract.any()):
            return rows_taken(rows.batch, rows.order)
        single = np.repeat(steps.sizes == 1, steps.sizes)
        newest = steps.ends
        deleted = np.zeros(len(steps.starts), dtype=np.bool_)
        if not (retract & ~single).any():
            nothing = np.zeros(len(single), dtype=np.bool_)
            row_steps = RowSteps(steps, single if self.groups or retract.any() else nothing, nothing, nothing)
        else:
            self.check_retract()
            row_steps = self._row_steps(rows.batch, steps, given, single)
            last = row_steps.steps.ends
            deleted = row_steps.sets[last] & (given[newest] == ROW_DELETE) & (not self.ignore_delete)
            deleted |= ~steps.any(~retract)
            if self.ignore_delete:
                kept = steps.last(~retract)
                newest = np.where(kept < 0, steps.starts, kept)
        kinds = np.where(deleted, np.int8(ROW_DELETE), np.int8(ROW_INSERT))
        kinds = np.where(steps.sizes == 1, given[steps.starts], kinds)
        values = _Values(self.functions, self._group_of, rows.batch, row_steps)
        return merged(rows.batch, rows.order[newest], kinds, values.value_of, drop_delete)

    def check_retract(self) -> None:
        """Raise `MergeRefusedError` if no option allows deletes."""
        if not (self.groups or self.ignore_delete or self.remove_on_delete):
            raise MergeRefusedError(
                "Merge engine 'partial-update' cannot delete rows (row kinds -D and -U) by default. Set "
                "'ignore-delete' to ignore them, 'partial-update.remove-record-on-delete' to remove the row, or define "
                "sequence groups."
            )

    def check_rows(self, batch: pa.RecordBatch, kinds: NDArray[np.int8]) -> None:
        """Raise `MergeRefusedError` if new rows retract values and the function of a column cannot."""
        self.check_retract()
        known = {g: known_rows(batch, g) for g in self.groups}
        removed = kinds == ROW_DELETE
        removed &= np.logical_or.reduce([known[g] for g in self.groups if g.removes] or [np.zeros_like(removed)])
        for group in self.groups:
            if (is_retract(kinds) & ~removed & known[group]).any():
                for name in group.aggregated:
                    self.functions[name].check_retract()

    def _row_steps(self, batch: pa.RecordBatch, steps: Steps, kinds: NDArray[np.int8], single: Mask) -> RowSteps:
        """Return the steps of rows with deletes among them. Groups keep their numbers; a group that begins with a
        delete may get one more step.
        """
        retract = is_retract(kinds)
        begin = np.zeros(len(kinds), dtype=np.bool_)
        begin[steps.starts] = True
        begin &= retract
        nothing = np.zeros(len(kinds), dtype=np.bool_)
        if self.ignore_delete:
            sets = begin | single
            return RowSteps(steps, sets, nothing, retract & ~sets)
        if not self.groups:
            sets = begin | single | (kinds == ROW_DELETE)
            return RowSteps(steps, sets, nothing, retract & ~sets)
        # The first delete of a key has two steps: the first sets its values, the second retracts its groups.
        begin &= ~single
        origin = np.repeat(np.arange(len(kinds)), 1 + begin)
        again = np.append(origin[1:] == origin[:-1], False)
        starts = steps.starts + np.cumsum(begin)[steps.starts] - begin[steps.starts]
        sets = again | single[origin]
        wide = Steps(steps.rows[origin], Groups(starts, len(origin)))
        row_steps = RowSteps(wide, sets, retract[origin] & ~sets, nothing[origin])
        return self._with_removals(batch, row_steps, (kinds == ROW_DELETE)[origin])

    def _with_removals(self, batch: pa.RecordBatch, row_steps: RowSteps, deletes: Mask) -> RowSteps:
        """Return the steps, with the deletes that remove a row added to `sets`."""
        removing = [g for g in self.groups if g.removes]
        while removing:
            found = np.zeros(len(deletes), dtype=np.bool_)
            for group in removing:
                seen = group_steps(batch, group, row_steps)
                found |= seen.known & seen.newest
            found &= deletes & row_steps.retracts
            if not found.any():
                break
            if len(removing) > 1:  # a removal changes the state of the other groups: one per key and round
                first = row_steps.steps.first(found)
                found[:] = False
                found[first[first < len(found)]] = True
            sets = row_steps.sets | found
            row_steps = replace(row_steps, sets=sets, retracts=row_steps.retracts & ~sets)
            if len(removing) == 1:
                break
        return row_steps


@dataclass(frozen=True, slots=True)
class _Values:
    """The columns of a merge, each merged by its own function."""

    functions: Mapping[str, FieldFunction]
    group_of: Mapping[str, SequenceGroup]
    batch: pa.RecordBatch
    row_steps: RowSteps
    _group_steps: dict[tuple[str, ...], GroupSteps] = field(default_factory=dict)

    def value_of(self, name: str, column: pa.Array) -> pa.Array | None:
        function = self.functions.get(name)
        if function is None:
            return None
        group = self.group_of.get(name)
        if group is None:
            return function(column, self.row_steps.ungrouped)
        seen = self._group_steps.get(group.sequence)
        if seen is None:
            seen = self._group_steps[group.sequence] = group_steps(self.batch, group, self.row_steps)
        if name in group.sequence:
            return function(column, seen.of_sequence)
        return function(column, seen.of_protected if name in group.protected else seen.of_aggregated)
