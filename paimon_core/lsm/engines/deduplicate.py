"""`merge-engine = deduplicate`: the newest row of a key stays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_core.lsm.engines.groups import rows_taken, steps_of
from paimon_core.lsm.rows import KeyedRows, is_retract, row_kinds


def deduplicate(rows: KeyedRows, drop_delete: bool, ignore_delete: bool = False) -> pa.RecordBatch:
    """Return the newest row per key, in key order.

    `drop_delete`: leave out keys with a delete as their newest row. `ignore_delete`: skip a delete if its key has other
    rows; leave out a key with several rows that are all deletes.
    """
    winners, kinds = rows.order[rows.last], row_kinds(rows.batch)
    if kinds is not None and (drop_delete or ignore_delete):
        retract = is_retract(kinds)
        if ignore_delete and retract.any():
            steps = steps_of(rows)
            newest = steps.last(~retract[rows.order] | np.repeat(steps.sizes == 1, steps.sizes))
            winners = rows.order[newest[newest >= 0]]
        if drop_delete:
            winners = winners[~retract[winners]]
    return rows_taken(rows.batch, winners)
