"""Checks that a checkpoint belongs to a table, and that the table's history is still the history that the stream has
read.
"""

from __future__ import annotations

from paimon_core.errors import InvalidDataError, SnapshotNotFoundError
from paimon_core.scan.streams.position import Position
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.schemas import load_schema, schema_ids
from paimon_core.store.table_store import TableStore


def table_identity(store: TableStore) -> str:
    """Return a text that identifies a table by its branch and its creation time, so that a later table at its path has
    another text.

    Raises `SnapshotNotFoundError` if the table no longer exists.
    """
    root = store.paths.version_root
    ids = schema_ids(store.io, root)
    if not ids:
        raise SnapshotNotFoundError(f"Table {store.name} was dropped while a stream reads it: stop the query.")
    return f"{store.branch or 'main'}@{load_schema(store.io, root, ids[0]).time_millis}"


def check_same_table(store: TableStore, position: Position, identity: str) -> None:
    """Raise `InvalidDataError` if a checkpoint is of another table."""
    if position.table is not None and position.table != identity:
        raise InvalidDataError(
            f"The checkpoint is not of table {store.name} as it is now ({identity}), but of {position.table}: another "
            "table or branch, or a table of this name that was dropped and created again. Start the query with a new "
            "checkpoint."
        )


def check_same_history(store: TableStore, position: Position, found: Snapshot | None, latest: Snapshot | None) -> None:
    """Raise `InvalidDataError` if the table was rolled back to before a position.

    `found` is the position's snapshot, None if it no longer exists."""
    if position.is_start and not position.scan:
        return  # nothing was read
    newest = 0 if latest is None else latest.id
    is_another = found is not None and position.uuid is not None and found.identity != position.uuid
    if position.snapshot_id <= newest and not is_another:
        return
    raise InvalidDataError(
        f"The stream has read snapshot {position.snapshot_id} of table {store.name}, which is no longer in the table's "
        f"history: the table was rolled back, and its latest snapshot is {newest}. The stream cannot take back rows "
        "that it has read. Start the query with a new checkpoint, and set its start by 'scan.snapshot-id'."
    )
