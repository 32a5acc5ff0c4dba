"""The position of a stream in a table's history: the offset that an engine stores in its checkpoint.

It is the JSON of Paimon's Java connector, with two fields that Java ignores:

    {"snapshotId": N, "index": I, "scanSnapshot": true: all rows of N are read, false: its changes,
     "totalSplits": the number of splits of N, "table": the table's identity, "uuid": the identity of snapshot N}

Splits 0 to I of snapshot N were read; I = -1: none of them. After the last split, the next snapshot follows. Java's
connector leaves `totalSplits` out if the stream has no consumer, and counts splits differently.

A checkpoint must belong to the table, and the history that the stream has read must still be the table's history.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError, SnapshotNotFoundError
from paimon_core.options import WAP_ENABLED
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.schemas import load_schema, schema_ids
from paimon_core.store.table_store import TableStore

START = -1  # the index before the first split of a snapshot


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a table's history, as the module describes. Equal positions have equal JSON."""

    snapshot_id: int
    index: int = START
    scan: bool = False
    total: int | None = None
    table: str | None = None
    uuid: str | None = None

    @property
    def is_complete(self) -> bool:
        """Return whether all of the position's snapshot was read."""
        return self.total is not None and self.index == self.total - 1

    @property
    def is_start(self) -> bool:
        """Return whether nothing of the position's snapshot was read."""
        return self.index == START

    @property
    def is_of_java(self) -> bool:
        """Return whether Java's connector made the position."""
        return self.table is None

    @property
    def next_snapshot(self) -> int:
        """The number of the first snapshot that is not read completely."""
        return self.snapshot_id + self.is_complete

    def whole(self) -> Position:
        """The end of the position's snapshot."""
        total = self.total or 1
        return replace(self, index=total - 1, total=total)

    def json(self) -> str:
        """Return the position as text of a checkpoint."""
        node: dict[str, Any] = {"snapshotId": self.snapshot_id, "index": self.index, "scanSnapshot": self.scan}
        more = {"totalSplits": self.total, "table": self.table, "uuid": self.uuid}
        return json.dumps(node | {k: v for k, v in more.items() if v is not None}, separators=(",", ":"))


def parse_position(text: str) -> Position:
    """Parse the JSON of a position of Java's connector or of this package. Raises `InvalidDataError`."""
    try:
        node = json.loads(text)
        total, table, uuid = (node.get(k) for k in ("totalSplits", "table", "uuid"))
        position = Position(node["snapshotId"], node["index"], node["scanSnapshot"], total, table, uuid)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _no_offset(text) from None
    numbers = (position.snapshot_id, position.index, 0 if total is None else total)
    named = all(isinstance(v, str | None) for v in (table, uuid))
    if not (named and isinstance(position.scan, bool) and all(type(n) is int for n in numbers)):
        raise _no_offset(text)
    if position.snapshot_id < 0 or position.index < START or (total is not None and total <= max(position.index, 0)):
        raise _no_offset(text)
    return position


def _no_offset(text: str) -> InvalidDataError:
    return InvalidDataError(
        f"The checkpoint has the offset {text[:200]!r}, which is not an offset of a Paimon table. Start the query with "
        "its own checkpoint, or with a new one."
    )


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


def check_same_table(store: TableStore, position: Position, identity: str, found: Snapshot | None) -> None:
    """Raise `InvalidDataError` if a checkpoint is of another table. `found` is as in `check_same_history`.

    With `write.wap.enabled`, a branch has rows for an audit. The branch gets snapshots from the table, and the table
    gets the branch's snapshots after the audit. So a checkpoint of another branch is valid if its last snapshot is also
    in this history.
    """
    if position.table in (None, identity) or (store.options[WAP_ENABLED] and _is_shared(position, identity, found)):
        return
    audit = ", or publish the audited rows that it has read, by CALL sys.publish" if store.options[WAP_ENABLED] else ""
    raise InvalidDataError(
        f"The checkpoint belongs to {position.table}, but table {store.name} is {identity}. Either the checkpoint is "
        "of another table or branch, or the table was dropped and created again. Start the query with a new "
        f"checkpoint{audit}."
    )


def _is_shared(position: Position, identity: str, found: Snapshot | None) -> bool:
    if position.uuid is not None:
        return found is not None and found.identity == position.uuid
    begins = position.is_start and not position.scan and position.snapshot_id <= 1
    return begins and str(position.table).partition("@")[2] == identity.partition("@")[2]


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
