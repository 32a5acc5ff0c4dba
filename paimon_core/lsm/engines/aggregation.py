"""`merge-engine = aggregation`: each column has a function that merges the values of a key into one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from paimon_core.dataclass import dataclass
from paimon_core.lsm.engines.groups import merged, ordered_kinds, rows_taken, steps_of
from paimon_core.lsm.functions.registry import FieldFunction
from paimon_core.lsm.functions.steps import ADD, RETRACT, SET, Steps
from paimon_core.lsm.rows import ROW_DELETE, ROW_INSERT, KeyedRows, is_retract


@dataclass(frozen=True, slots=True)
class Aggregation:
    """The engine, with the functions of the table's columns by name.

    `remove_on_delete`: a delete removes the row, and later rows start from the delete's values. Otherwise a delete
    retracts its values.
    """

    functions: Mapping[str, FieldFunction]
    remove_on_delete: bool = False

    def __call__(self, rows: KeyedRows, drop_delete: bool) -> pa.RecordBatch:
        """Return one row per key, in key order. Raises `MergeRefusedError` if a function cannot retract values."""
        steps, given = steps_of(rows), ordered_kinds(rows)
        retract = is_retract(given)
        if len(steps.starts) == len(rows.order) and not (drop_delete and retract.any()):
            return rows_taken(rows.batch, rows.order)
        kinds = np.where(steps.sizes == 1, given[steps.starts], np.int8(ROW_INSERT))
        if retract.any():
            single = np.repeat(steps.sizes == 1, steps.sizes)
            removed = (given == ROW_DELETE) & self.remove_on_delete
            ops = np.where(single | removed, SET, np.where(retract, RETRACT, ADD)).astype(np.int8)
            kinds = np.where(removed[steps.ends], np.int8(ROW_DELETE), kinds)
            steps = Steps(steps.rows, steps.groups, ops)

        def value_of(name: str, column: pa.Array) -> pa.Array | None:
            function = self.functions.get(name)
            return None if function is None else function(column, steps)

        return merged(rows.batch, rows.order[steps.ends], kinds, value_of, drop_delete)

    def check_retract(self, delete_only: bool) -> None:
        """Raise `MergeRefusedError` if the function of a column cannot retract values. `delete_only`: all rows are
        deletes.
        """
        if not (self.remove_on_delete and delete_only):
            for function in self.functions.values():
                function.check_retract()
