"""ChangedKeys: the check that a statement changes each row once, over all buffers of a task.

Each buffer is checked in memory. The keys of all buffers except the last are sorted and kept on the local disk. At the
end they are merged, which finds keys that are in two buffers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from paimon_core.arrow.columns import fixed_values, int64_array
from paimon_core.arrow.types import VALUE_KIND
from paimon_core.errors import SeveralMatchesError
from paimon_core.lsm.keys import Words
from paimon_core.lsm.merge import MergeSpec, merge_runs
from paimon_core.lsm.rows import ROW_INSERT, KeyedRows
from paimon_core.options import TableOptions
from paimon_core.write.rows.incoming import SEVERAL_MATCHES
from paimon_core.write.rows.spilled_runs import SpilledRuns


class ChangedKeys:
    """The keys of rows that are not inserts.

    Keys are spilled even if the options forbid this for rows: otherwise they would not fit in memory."""

    def __init__(self, key_names: Sequence[str], options: TableOptions):
        self._key_names = tuple(key_names)
        self._spilled = SpilledRuns(options)

    def add(self, rows: pa.RecordBatch, key: Words, *, more: bool) -> None:
        """Add the rows of a buffer with the words of their keys. `more`: other buffers follow. Raises
        `InvalidDataError` if two rows change one key."""
        changed = np.flatnonzero(fixed_values(rows.column(VALUE_KIND), np.int8) != ROW_INSERT)
        order = changed[np.argsort(key[changed], kind="stable")]
        ordered = key[order]
        if (ordered[1:] == ordered[:-1]).any():
            raise SeveralMatchesError(SEVERAL_MATCHES)
        runs = self._spilled.runs()
        if more or runs:
            keys = rows.select(self._key_names).take(int64_array(order))
            if more:
                self._spilled.add(keys)
                return
            for _ in merge_runs([*runs, iter([keys])], MergeSpec(key_names=self._key_names, engine=_refuse_second)):
                pass  # the engine sees keys that occur twice
            self._spilled.clear()

    def clear(self) -> None:
        """Delete all keys."""
        self._spilled.clear()


def _refuse_second(rows: KeyedRows, _: bool) -> pa.RecordBatch:
    if not rows.last.all():
        raise SeveralMatchesError(SEVERAL_MATCHES)
    return rows.batch.slice(0, 0)
