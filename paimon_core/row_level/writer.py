"""A task of DELETE, UPDATE or MERGE INTO: changes in, written files out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from paimon_core.options import BUCKET, POSTPONED
from paimon_core.row_level.append_changes import AppendChangesWriter
from paimon_core.row_level.column_updates import ColumnUpdates, EvolvedChangesWriter
from paimon_core.row_level.key_deletes import keys_store
from paimon_core.row_level.patches import PATCH, Patch, PatchWriter
from paimon_core.row_level.removed_rows import FILE_POSITIONS, FilePositions
from paimon_core.row_level.rules import ChangeRules
from paimon_core.spec.message import COMMIT_MESSAGE, CommitMessage
from paimon_core.spec.records import Column, Record
from paimon_core.store.data.time_units import as_stored_times
from paimon_core.store.table_store import TableStore
from paimon_core.write.buckets.dynamic import AssignmentBase
from paimon_core.write.buckets.postponed import PostponedWriter
from paimon_core.write.key_value import KeyValueWriter
from paimon_core.write.writer import check_buckets, written


@dataclass(frozen=True, slots=True)
class ChangesResult:
    """The result of a task: files of new rows (with `ChangeRules.by_key`, of keys), patches, and the rows that it
    removed from files, by path."""

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
    """Return a writer for one task of DELETE, UPDATE or MERGE; see `ChangeRules` for `once`, `updates` and `patched`.

    Its batches have `_VALUE_KIND` (int8), in append tables also the replaced row (`FILE_PATH`, `ROW_INDEX`, with row
    tracking `ROW_ID`), then the table's columns. Raises as `open_writer` does.
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
