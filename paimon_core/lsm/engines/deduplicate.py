"""`merge-engine = deduplicate`: the newest row of a key is the row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_core.lsm.engines.groups import rows_taken, steps_of
from paimon_core.lsm.rows import KeyedRows, is_retract, row_kinds


def deduplicate(rows: KeyedRows, drop_delete: bool, ignore_delete: bool = False) -> pa.RecordBatch:
    """One row per key, in key order; keys whose row is a delete are left out where `drop_delete`.

    `ignore_delete`: a delete is no row where its key has others; a key with several deletes only is left out.
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
