"""Which table a checkpoint is of, and whether its history is still the one that was read."""

from __future__ import annotations

from paimon_core.errors import InvalidDataError, SnapshotNotFoundError
from paimon_core.scan.streams.position import Position
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.schemas import load_schema, schema_ids
from paimon_core.store.table_store import TableStore


def table_identity(store: TableStore) -> str:
    """What tells a table from another one, and from one made later at its path: its branch, and when it was created.

    Raises `SnapshotNotFoundError` where there is no table any more.
    """
    root = store.paths.version_root
    ids = schema_ids(store.io, root)
    if not ids:
        raise SnapshotNotFoundError(f"Table {store.name} was dropped while a stream reads it: stop the query.")
    return f"{store.branch or 'main'}@{load_schema(store.io, root, ids[0]).time_millis}"


def check_same_table(store: TableStore, position: Position, identity: str) -> None:
    """Raises `InvalidDataError` where a checkpoint is of another table."""
    if position.table is not None and position.table != identity:
        raise InvalidDataError(
            f"The checkpoint is not of table {store.name} as it is now ({identity}), but of {position.table}: another "
            "table or branch, or one of this name that was dropped and made again. Start the query with a new "
            "checkpoint."
        )


def check_same_history(store: TableStore, position: Position, found: Snapshot | None, latest: Snapshot | None) -> None:
    """Raises `InvalidDataError` where the table was rolled back behind a position; `found` is its snapshot, None where
    there is none any more."""
    if position.is_start and not position.scan:
        return  # nothing was read
    newest = 0 if latest is None else latest.id
    is_another = found is not None and None not in (position.uuid, found.uuid) and found.uuid != position.uuid
    if position.snapshot_id <= newest and not is_another:
        return
    raise InvalidDataError(
        f"The stream has read snapshot {position.snapshot_id} of table {store.name}, which is not in its history any "
        f"more: the table was rolled back, its latest snapshot is {newest}. What was read cannot be taken back: "
        "start the query with a new checkpoint, and 'scan.snapshot-id' to say where."
    )
