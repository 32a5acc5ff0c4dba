"""DELETE, UPDATE and MERGE INTO of append tables: a task writes new rows and records the rows that they replace."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.columns import fixed_values, int64_array
from paimon_core.arrow.types import FILE_PATH, ROW_ID, ROW_INDEX, SEQUENCE_NUMBER, VALUE_KIND
from paimon_core.lsm.rows import ROW_DELETE
from paimon_core.row_level.removed_rows import RemovedRows
from paimon_core.spec.message import CommitMessage
from paimon_core.store.data.row_tracking import tracking_fields
from paimon_core.store.table_store import TableStore
from paimon_core.write.append import AppendWriter


class AppendChangesWriter:
    """The changes of one task: `_VALUE_KIND`, file and position of the replaced row (with row tracking also its id),
    and the new row, which keeps the id."""

    def __init__(self, store: TableStore, sequence_start: int, once: bool):
        self._rows = AppendWriter(store, sequence_start)
        self._changed = AppendWriter(store, sequence_start, tracked=True) if tracking_fields(store) else None
        self.removed = RemovedRows(once=once)

    def write(self, batch: pa.RecordBatch) -> None:
        paths = batch.column(FILE_PATH)
        replacing = batch.filter(paths.is_valid()) if paths.null_count else batch
        if replacing.num_rows:
            self.removed.add(replacing.column(FILE_PATH), replacing.column(ROW_INDEX))
        kinds = fixed_values(batch.column(VALUE_KIND), np.int8)
        rows = batch.drop_columns([VALUE_KIND, FILE_PATH, ROW_INDEX])
        if (kinds == ROW_DELETE).any():
            rows = rows.take(int64_array(np.flatnonzero(kinds != ROW_DELETE)))
        if self._changed is not None:
            known = rows.column(ROW_ID).is_valid()
            changed, rows = rows.filter(known), rows.filter(pc.invert(known)).drop_columns([ROW_ID])
            if changed.num_rows:
                unnumbered = pa.nulls(changed.num_rows, pa.int64())
                self._changed.write(changed.append_column(SEQUENCE_NUMBER, unnumbered))
        if rows.num_rows:
            self._rows.write(rows)

    def finish(self) -> list[CommitMessage]:
        return [m for writer in self._writers for m in writer.finish()]

    def abort(self) -> None:
        for writer in self._writers:
            writer.abort()

    @property
    def _writers(self) -> list[AppendWriter]:
        return [self._rows, *([self._changed] if self._changed else [])]
