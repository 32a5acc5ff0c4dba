"""`merge-engine = first-row`: the first row of a key stays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_core.errors import MergeRefusedError
from paimon_core.lsm.engines.groups import ordered_kinds, rows_taken, steps_of
from paimon_core.lsm.rows import KeyedRows, is_retract


def first_row(rows: KeyedRows, drop_delete: bool, ignore_delete: bool = False) -> pa.RecordBatch:
    """Return the first row per key, in key order.

    A delete among several rows of a key raises `MergeRefusedError`, or is skipped with `ignore_delete`."""
    if not rows.batch.num_rows:
        return rows.batch
    steps, retract = steps_of(rows), is_retract(ordered_kinds(rows))
    if not retract.any():
        return rows_taken(rows.batch, rows.order[steps.starts])
    single = np.repeat(steps.sizes == 1, steps.sizes)
    if not ignore_delete and (retract & ~single).any():
        refuse_delete()
    first = steps.first(~retract if drop_delete else ~retract | single)
    return rows_taken(rows.batch, rows.order[first[first < len(rows.order)]])


def refuse_delete() -> None:
    """Raise `MergeRefusedError`: this engine never deletes rows."""
    raise MergeRefusedError(
        "Merge engine 'first-row' cannot delete rows (row kinds -D and -U). Set 'ignore-delete' = 'true' to skip them."
    )
