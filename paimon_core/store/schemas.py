"""Versions of a table's schema: `TABLE/schema/schema-N`, each written once. Source: specification, "Schema"."""

from __future__ import annotations

from paimon_core.errors import CorruptFileError, SchemaNotFoundError
from paimon_core.io.file_io import FileIO
from paimon_core.spec.paths import TablePaths, parse_schema_id
from paimon_core.spec.schema import TableSchema, decode_schema, encode_schema
from paimon_core.store.table_store import TableStore


def schema_ids(io: FileIO, root: str) -> list[int]:
    """Return the numbers of all schema versions of the table or branch at `root`, ascending.

    Return none if it does not exist.
    """
    found = (parse_schema_id(f.name) for f in io.list(TablePaths(root).schema_dir))
    return sorted(n for n in found if n is not None)


def latest_schema(io: FileIO, root: str) -> TableSchema | None:
    """The latest schema, or None if the table does not exist."""
    ids = schema_ids(io, root)
    return load_schema(io, root, ids[-1]) if ids else None


def load_schema(io: FileIO, root: str, schema_id: int) -> TableSchema:
    """Read one version. Raises `SchemaNotFoundError`, which lists the versions."""
    path = TablePaths(root).schema(schema_id)
    try:
        schema = decode_schema(path, io.read_bytes(path))
    except FileNotFoundError:
        known = ", ".join(map(str, schema_ids(io, root))) or "none"
        raise SchemaNotFoundError(f"The table at {root} has no schema {schema_id}; it has {known}.") from None
    if schema.id != schema_id:
        raise CorruptFileError(path, f"it contains schema {schema.id}")
    return schema


def read_schema(store: TableStore, schema_id: int) -> TableSchema:
    """Read one schema version of the store's table. The current version needs no read."""
    return store.schema if schema_id == store.schema.id else load_schema(store.io, store.paths.version_root, schema_id)


def list_schemas(store: TableStore) -> list[TableSchema]:
    """Return all schema versions, ascending."""
    return [load_schema(store.io, store.paths.version_root, n) for n in schema_ids(store.io, store.paths.version_root)]


def create_schema(io: FileIO, root: str, schema: TableSchema) -> bool:
    """Write a schema version that must not exist yet. Return False if another process wrote it first.

    Raises `UnsafeStorageError` if the storage cannot create a file atomically.
    """
    return io.create_exclusive(TablePaths(root).schema(schema.id), encode_schema(schema))
