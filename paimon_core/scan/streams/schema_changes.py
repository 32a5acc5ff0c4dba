"""Schema changes during a stream. Its columns are the table's columns when the query started.

New nullable columns appear after a restart, and renamed columns keep their old names until then, because files are read
by column ids. A change that would make the query read wrong values stops it.
"""

from __future__ import annotations

from paimon_core.errors import InvalidSchemaError
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.schemas import read_schema
from paimon_core.store.table_store import TableStore


def check_followed(store: TableStore, snapshot: Snapshot) -> None:
    """Raise `InvalidSchemaError` naming the change, if the stream's columns cannot represent the rows of a snapshot."""
    if snapshot.schema_id <= store.schema.id:
        return
    change = unfollowed(store.schema, read_schema(store, snapshot.schema_id))
    if change is not None:
        raise InvalidSchemaError(
            f"The stream cannot go on at snapshot {snapshot.id} of table {store.name}: since the query started, "
            f"{change}. Start the query again, with the same checkpoint: it reads the columns as they are now."
        )


def unfollowed(read: TableSchema, now: TableSchema) -> str | None:
    """Return the change between two schemas that requires a restart of the stream, in words, or None."""
    by_id = {f.id: f for f in now.fields}
    for field in read.fields:
        other = by_id.get(field.id)
        if other is None:
            return f"column {field.name!r} was dropped"
        if other.type.with_nullable(True) != field.type.with_nullable(True):
            return f"column {field.name!r} became {other.type.sql()} instead of {field.type.sql()}"
        if other.type.nullable and not field.type.nullable:
            return f"column {field.name!r} may be NULL"
    if read.primary_keys and not now.primary_keys:
        return "the primary key was dropped"
    return None
