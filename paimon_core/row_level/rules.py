"""The rules by which row-level statements change a table, decided from the table and the statement before any row is
read."""

from __future__ import annotations

from collections.abc import Callable, Collection

from paimon_core.arrow.types import FILE_PATH, ROW_ID, ROW_INDEX
from paimon_core.dataclass import dataclass
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.lsm.engines.registry import replaces_rows
from paimon_core.options import (
    DATA_EVOLUTION,
    DELETE_PRODUCES_CHANGELOG,
    DELETION_VECTORS,
    MERGE_ENGINE,
    SCAN_DELTA_BRANCH,
    SCAN_FALLBACK_BRANCH,
    SCAN_SNAPSHOT_BRANCH,
)
from paimon_core.row_level.column_updates import ColumnUpdates
from paimon_core.row_level.key_deletes import rewrites_keys
from paimon_core.row_level.patches import patched_columns
from paimon_core.scan.chain import is_chain
from paimon_core.spec.snapshot import Operation, Snapshot
from paimon_core.store.data.row_tracking import tracking_fields
from paimon_core.store.table_store import TableStore


@dataclass(frozen=True, slots=True)
class ChangeRules:
    """The rules for tasks that write the changes of a statement, and for its commit.

    `once`: two changes of one row are an error. At most one of the other fields is set. If none is set, tasks write new
    rows, and record which rows these replace.

    With `updates`, tasks write single columns of rows (data evolution). With `by_key`, files are rewritten without the
    keys of the changes, because the merge engine does not accept deletes. With `patched`, files are rewritten with new
    values in these columns.
    """

    operation: Operation
    once: bool = False
    updates: ColumnUpdates | None = None
    by_key: bool = False
    patched: tuple[str, ...] | None = None

    @property
    def moves_rows(self) -> bool:
        """Whether tasks write new rows to the partitions and buckets of these rows."""
        return self.updates is None and self.patched is None


def delete_rules(store: TableStore, snapshot: Snapshot | None) -> ChangeRules:
    """Return the rules of DELETE.

    In all functions, `snapshot` is the latest snapshot before the statement reads rows.
    """
    return ChangeRules(Operation.DELETE, updates=_column_updates(store, snapshot, ()), by_key=rewrites_keys(store))


def update_rules(store: TableStore, snapshot: Snapshot | None, assigned: Collection[str]) -> ChangeRules:
    """Return the rules of an UPDATE that assigns columns.

    Raises `UnsupportedFeatureError` for columns that cannot be assigned."""
    _check_keys(store, assigned)
    updates = _column_updates(store, snapshot, assigned)
    return ChangeRules(Operation.UPDATE, updates=updates, patched=patched_columns(store, assigned))


def merge_rules(store: TableStore, snapshot: Snapshot | None, assigned: Collection[str], *, once: bool) -> ChangeRules:
    """Return the rules of a MERGE INTO with updates that assign columns.

    Raises `UnsupportedFeatureError` like `update_rules`, except for keys: a MERGE may assign the same value to a key.
    """
    return ChangeRules(Operation.MERGE, once=once, updates=_column_updates(store, snapshot, assigned))


def row_position_columns(store: TableStore) -> tuple[str, ...]:
    """Return the columns that identify the row that a change replaces."""
    if store.has_primary_key:
        return ()
    return (FILE_PATH, ROW_INDEX, ROW_ID) if tracking_fields(store) else (FILE_PATH, ROW_INDEX)


def deletes_whole_partitions(store: TableStore) -> bool:
    """Return whether a DELETE of all rows of partitions may drop their files without reading the rows."""
    return not (store.options[DELETE_PRODUCES_CHANGELOG] and store.has_primary_key)


def check_changeable(store: TableStore, *, replacing: str | None) -> None:
    """Raise `UnsupportedFeatureError` if rows of a table cannot be changed.

    `replacing` names the statement if it replaces rows of a key by other rows."""
    engine = store.options[MERGE_ENGINE]
    if replacing is not None and store.has_primary_key and not replaces_rows(store.schema, store.options):
        raise UnsupportedFeatureError(
            f"{replacing} of table {store.name} is not supported: with merge engine {engine}, a new row does not "
            "replace the old row of its key. INSERT rows to be merged, or DELETE the row and INSERT it again."
        )
    if store.options[SCAN_FALLBACK_BRANCH]:
        raise UnsupportedFeatureError(
            f"Rows of table {store.name} cannot be changed while it reads partitions from a branch: unset "
            f"'{SCAN_FALLBACK_BRANCH.key}' first, or change the branch's rows."
        )
    if is_chain(store):
        full, changes = (store.options[o] for o in (SCAN_SNAPSHOT_BRANCH, SCAN_DELTA_BRANCH))
        raise UnsupportedFeatureError(
            f"Rows of chain table {store.name} cannot be changed as a whole: change them in branch {full!r} (full "
            f"partitions) or in branch {changes!r} (changes)."
        )


def check_deletable(store: TableStore, hides_rows: Callable[[], bool]) -> None:
    """Raise `UnsupportedFeatureError` if rows cannot be deleted one by one.

    `hides_rows` returns whether the latest version has rows that queries do not see before a compaction."""
    if store.options[MERGE_ENGINE] == "first-row" and hides_rows():
        raise UnsupportedFeatureError(
            f"Rows of {store.name} cannot be deleted before they are compacted: some are not visible yet. CALL "
            f"sys.compact(table => '{store.name}') first."
        )
    if store.options[DATA_EVOLUTION] and not store.options[DELETION_VECTORS]:
        raise UnsupportedFeatureError(
            "Can only perform deletion operation on data evolution tables with DeletionVector enabled: "
            f"create {store.name} with '{DELETION_VECTORS.key}' = 'true'."
        )


def _check_keys(store: TableStore, assigned: Collection[str]) -> None:
    keys = [k for k in store.schema.primary_keys if k in assigned]
    if keys:
        raise UnsupportedFeatureError(
            f"Table {store.name}: column {keys[0]!r} belongs to the primary key and cannot be updated. Delete "
            "the row and insert it with its new key."
        )


def _column_updates(store: TableStore, snapshot: Snapshot | None, assigned: Collection[str]) -> ColumnUpdates | None:
    """Return the updates of a table with data evolution, or None for other tables.

    Raises `UnsupportedFeatureError` for partition columns."""
    if not store.options[DATA_EVOLUTION]:
        return None
    written = tuple(f.name for f in store.schema.fields if f.name in assigned)
    if not set(written).isdisjoint(store.schema.partition_keys):
        raise UnsupportedFeatureError(
            f"Update to partition columns is not supported for data evolution tables: rows of {store.name} "
            "keep their partition. Delete the row and insert it into the other partition."
        )
    return ColumnUpdates(written, snapshot)
