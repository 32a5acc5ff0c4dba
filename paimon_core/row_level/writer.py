"""A task of DELETE, UPDATE or MERGE INTO: it receives changes and writes files."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.columns import fixed_values, int64_array
from paimon_core.arrow.types import FILE_PATH, ROW_ID, ROW_INDEX, SEQUENCE_NUMBER, VALUE_KIND
from paimon_core.dataclass import dataclass
from paimon_core.lsm.rows import ROW_DELETE
from paimon_core.options import BUCKET, POSTPONED
from paimon_core.row_level.column_updates import ColumnUpdates, EvolvedChangesWriter
from paimon_core.row_level.key_deletes import keys_store
from paimon_core.row_level.patches import PATCH, Patch, PatchWriter
from paimon_core.row_level.removed_rows import FILE_POSITIONS, FilePositions, RemovedRows
from paimon_core.row_level.rules import ChangeRules
from paimon_core.spec.message import COMMIT_MESSAGE, CommitMessage
from paimon_core.spec.records import Column, Record
from paimon_core.store.data.row_tracking import tracking_fields
from paimon_core.store.data.time_units import as_stored_times
from paimon_core.store.table_store import TableStore
from paimon_core.write.append import AppendWriter
from paimon_core.write.buckets.dynamic import AssignmentBase
from paimon_core.write.buckets.postponed import PostponedWriter
from paimon_core.write.key_value import KeyValueWriter
from paimon_core.write.writer import check_buckets, written


@dataclass(frozen=True, slots=True)
class ChangesResult:
    """The result of a task.

    It has the files of new rows (of keys with `ChangeRules.by_key`), patches, and the rows that the task removed from
    files, by path."""

    messages: tuple[CommitMessage, ...] = ()
    removed: tuple[FilePositions, ...] = ()
    patches: tuple[Patch, ...] = ()


CHANGES_RESULT = Record(
    "changes result",
    ChangesResult,
    (
        Column("messages", "messages", record=COMMIT_MESSAGE, repeated=True),
        Column("removed", "removed", record=FILE_POSITIONS, repeated=True),
        Column("patches", "patches", record=PATCH, repeated=True),
    ),
)


def changes_store(store: TableStore, rules: ChangeRules) -> TableStore:
    """Return the store for the tasks of a statement."""
    return keys_store(store) if rules.by_key else store


def write_changes(
    store: TableStore,
    rules: ChangeRules,
    batches: Iterable[pa.RecordBatch],
    *,
    sequence_start: int,
    base: AssignmentBase | None = None,
) -> ChangesResult:
    """Write the changes of one task; see `open_changes_writer`. If this fails, no file is kept."""
    writer = open_changes_writer(
        store,
        sequence_start=sequence_start,
        once=rules.once,
        base=base,
        updates=rules.updates,
        patched=rules.patched,
    )
    messages = tuple(written(writer, batches))
    if isinstance(writer, PatchWriter):
        return ChangesResult(messages, patches=tuple(writer.patches))
    if isinstance(writer, AppendChangesWriter | EvolvedChangesWriter):
        return ChangesResult(messages, removed=writer.removed.file_positions())
    return ChangesResult(messages)


def open_changes_writer(
    store: TableStore,
    *,
    sequence_start: int,
    once: bool,
    base: AssignmentBase | None = None,
    updates: ColumnUpdates | None = None,
    patched: tuple[str, ...] | None = None,
) -> KeyValueWriter | PostponedWriter | AppendChangesWriter | EvolvedChangesWriter | PatchWriter:
    """Return a writer for one task of DELETE, UPDATE or MERGE. `ChangeRules` explains `once`, `updates` and `patched`.

    Batches have `_VALUE_KIND` (int8), in append tables also the replaced row (`FILE_PATH`, `ROW_INDEX`, with row
    tracking `ROW_ID`), then the table's columns. Raises the same errors as `open_writer`.
    """
    check_buckets(store)
    store = as_stored_times(store)
    if store.has_primary_key and store.options[BUCKET] == POSTPONED:
        return PostponedWriter(store, sequence_start, once)
    if store.has_primary_key:
        return KeyValueWriter(store, sequence_start, once, base)
    if updates is not None:
        return EvolvedChangesWriter(store, updates, once)
    if patched is not None:
        return PatchWriter(store, patched)
    return AppendChangesWriter(store, sequence_start, once)


class AppendChangesWriter:
    """Writes the changes of one task to an append table.

    Batches have `_VALUE_KIND`, file and position of the replaced row (with row tracking also its id), and the new row,
    which keeps the id."""

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
