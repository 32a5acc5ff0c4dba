"""What a task of DELETE, UPDATE or MERGE INTO uses: changes in, commit messages out."""

from __future__ import annotations

from paimon_core.options import BUCKET, POSTPONED
from paimon_core.row_level.column_updates import ColumnUpdates, EvolvedChangesWriter
from paimon_core.row_level.patches import PatchWriter
from paimon_core.row_level.row_changes import AppendChangesWriter
from paimon_core.store.data.time_units import as_stored_times
from paimon_core.store.table_store import TableStore
from paimon_core.write.buckets.dynamic import AssignmentBase
from paimon_core.write.buckets.postponed import PostponedWriter
from paimon_core.write.key_value import KeyValueWriter
from paimon_core.write.writer import check_buckets


def open_changes_writer(
    store: TableStore,
    *,
    sequence_start: int,
    once: bool,
    base: AssignmentBase | None = None,
    updates: ColumnUpdates | None = None,
    patched: tuple[str, ...] | None = None,
) -> KeyValueWriter | PostponedWriter | AppendChangesWriter | EvolvedChangesWriter | PatchWriter:
    """A writer for one task of DELETE, UPDATE or MERGE; `once`: a row that two change is an error. `updates` is what
    the tasks of a table with data evolution go by. `patched` are the columns that files get other values in.

    Its batches have `_VALUE_KIND` (int8), for append tables the place of the row replaced (`FILE_PATH`,
    `ROW_INDEX`, with row tracking `ROW_ID`), then the table's columns. Raises as `open_writer` does.
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
