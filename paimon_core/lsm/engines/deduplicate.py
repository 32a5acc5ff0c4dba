"""`merge-engine = deduplicate`: the newest row of a key is the row."""

from __future__ import annotations

import pyarrow as pa

from paimon_core.formats.arrow_types import VALUE_KIND
from paimon_core.formats.columns import fixed_values, int64_array
from paimon_core.lsm.rows import KeyedRows, is_retract


def deduplicate(rows: KeyedRows, drop_delete: bool) -> pa.RecordBatch:
    """One row per key, in key order; keys whose row is a delete are left out where `drop_delete`."""
    winners = rows.order[rows.last]
    if drop_delete:
        kinds = fixed_values(rows.batch.column(VALUE_KIND), "i1")
        winners = winners[~is_retract(kinds[winners])]
    if len(winners) == rows.batch.num_rows and (winners[1:] > winners[:-1]).all():
        return rows.batch
    return rows.batch.take(int64_array(winners))
