"""The groups of equal keys that engines merge, and the batches they make of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_array, taken
from paimon_core.arrow.types import VALUE_KIND
from paimon_core.lsm.functions.steps import Groups, Steps
from paimon_core.lsm.rows import KeyedRows, is_retract, row_kinds


def steps_of(rows: KeyedRows) -> Steps:
    """All rows as steps, a group per key."""
    ends = np.flatnonzero(rows.last)
    return Steps(rows.order, Groups(np.append(0, ends[:-1] + 1), len(rows.order)))


def ordered_kinds(rows: KeyedRows) -> NDArray[np.int8]:
    """The row kinds in the order of the steps."""
    kinds = row_kinds(rows.batch)
    return np.zeros(len(rows.order), dtype=np.int8) if kinds is None else kinds[rows.order]


def rows_taken(batch: pa.RecordBatch, winners: NDArray[np.int64]) -> pa.RecordBatch:
    """The rows of these numbers; the batch itself where that is what it holds."""
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
    """One row per group: of the row kinds given, with the values that `value_of` makes of a column.

    Where it makes none (keys, sequence numbers), those of the `newest` row of each group.
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
    return result.filter(fixed_array(~deleted, pa.bool_())) if drop_delete and deleted.any() else result
