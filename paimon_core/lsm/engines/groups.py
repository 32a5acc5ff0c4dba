"""Groups of equal keys, which engines merge, and the merged batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core import compute as pc
from paimon_core.arrow.columns import fixed_array, taken
from paimon_core.arrow.types import VALUE_KIND
from paimon_core.lazy import ImportedOnCall
from paimon_core.lsm.rows import KeyedRows, is_retract, row_kinds

if TYPE_CHECKING:
    from paimon_core.lsm.functions.steps import Groups, Steps
else:
    Groups = ImportedOnCall("paimon_core.lsm.functions.steps", "Groups")
    Steps = ImportedOnCall("paimon_core.lsm.functions.steps", "Steps")


def steps_of(rows: KeyedRows) -> Steps:
    """Return all rows as steps, with a group per key."""
    ends = np.flatnonzero(rows.last)
    return Steps(rows.order, Groups(np.append(0, ends[:-1] + 1), len(rows.order)))


def ordered_kinds(rows: KeyedRows) -> NDArray[np.int8]:
    """Return the row kinds in the order of the steps."""
    kinds = row_kinds(rows.batch)
    return np.zeros(len(rows.order), dtype=np.int8) if kinds is None else kinds[rows.order]


def rows_taken(batch: pa.RecordBatch, winners: NDArray[np.int64]) -> pa.RecordBatch:
    """Return the rows with these numbers, or the batch itself if they are all its rows in order."""
    if len(winners) == batch.num_rows and (winners[1:] > winners[:-1]).all():
        return batch
    return pa.RecordBatch.from_arrays([taken(c, winners) for c in batch.columns], schema=batch.schema)


def merged(
    batch: pa.RecordBatch,
    newest: NDArray[np.int64],
    kinds: NDArray[np.int8],
    value_of: Callable[[str, pa.Array], pa.Array | None],
    drop_delete: bool,
) -> pa.RecordBatch:
    """Return one row per group, with the given row kinds and the values that `value_of` returns for a column.

    If `value_of` returns None (keys, sequence numbers), the column has the values of each group's `newest` row.
    """
    columns = []
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if field.name == VALUE_KIND:
            columns.append(fixed_array(kinds, pa.int8()))
            continue
        value = value_of(field.name, column)
        columns.append(taken(column, newest) if value is None else value)
    result = pa.RecordBatch.from_arrays(columns, schema=batch.schema)
    deleted = is_retract(kinds)
    return pc.kept(result, fixed_array(~deleted, pa.bool_())) if drop_delete and deleted.any() else result
