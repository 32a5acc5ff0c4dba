"""Checks before a publish that the table is still the table that was loaded: it was neither dropped nor replaced, and
the same column names do not belong to other columns by now.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from paimon_core.errors import CommitConflictError, SchemaNotFoundError
from paimon_core.io.side_by_side import both
from paimon_core.store.schemas import known_schema, load_schema, read_schema, schema_files
from paimon_core.store.table_store import TableStore


def check_table(store: TableStore) -> None:
    """Raise `CommitConflictError` if the table was dropped since it was loaded, even if it was created again."""
    try:
        same = store.schema.is_version(load_schema(store.io, store.paths.version_root, store.schema.id))
    except SchemaNotFoundError:
        raise CommitConflictError(
            f"Table {store.name} was dropped while rows were written to it. Nothing was committed. "
            "If it was created again, run the statement again."
        ) from None
    if not same:
        raise CommitConflictError(
            f"Table {store.name} was dropped and created again while rows were written to it. Nothing was committed; "
            "run the statement again on the new table."
        )


def checked_schema_id(store: TableStore) -> int:
    """Check the table as `check_table` does. Return the id of the schema in force; schema ids have no gaps.

    If the storage gives tags of files, one listing shows both.
    """
    root = store.paths.version_root
    if store.cache.tagged_schemas.get(root) is None:
        _, last = both(store.io, partial(check_table, store), partial(_last_schema_id, store))
        return last
    files = schema_files(store.io, root)
    file = files.get(store.schema.id)
    known = None if file is None else known_schema(store.cache, file)
    if known is None or not store.schema.is_version(known):
        check_table(store)
    return max(files, default=store.schema.id)


def check_columns(store: TableStore, schema_id: int) -> None:
    """Raise `CommitConflictError` if the schema in force has dropped and added again a column of the new rows. The
    column has a new id in that schema, so readers would not find its values in the files.
    """
    if schema_id <= store.schema.id:
        return
    in_force = read_schema(store, schema_id)
    ids = {f.id for f in in_force.fields}
    lost = [f.name for f in store.schema.fields if f.id not in ids and f.name in in_force.field_by_name]
    if lost:
        raise CommitConflictError(
            f"Table {store.name}: column {lost[0]!r} was dropped and added again while rows were written, and readers "
            "would find none of its values in these rows. Nothing was committed; run the statement again."
        )


def _last_schema_id(store: TableStore) -> int:
    schema_id = store.schema.id
    with suppress(FileNotFoundError):  # one request; `exists` also looks for a folder
        while store.io.read_bytes(store.paths.schema(schema_id + 1)) is not None:
            schema_id += 1
    return schema_id
