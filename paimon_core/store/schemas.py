"""Versions of a table's schema: `TABLE/schema/schema-N`, each written once. Source: specification, "Schema"."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from paimon_core.errors import CorruptFileError, SchemaNotFoundError, TableNotFoundError
from paimon_core.io.file_io import FileIO, FileStatus
from paimon_core.io.side_by_side import both, outcome_of
from paimon_core.spec.paths import TablePaths, parse_schema_id
from paimon_core.spec.schema import TableSchema, decode_schema, encode_schema
from paimon_core.store.cache import MetadataCache
from paimon_core.store.named_files import files_at
from paimon_core.store.table_store import TableStore


def schema_ids(io: FileIO, root: str) -> list[int]:
    """Return the numbers of all schema versions of the table or branch at `root`, ascending.

    Return none if it does not exist.
    """
    return sorted(schema_files(io, root))


def schema_files(io: FileIO, root: str) -> dict[int, FileStatus]:
    """Return the files of all schema versions, by their numbers."""
    found = ((parse_schema_id(f.name), f) for f in io.list(TablePaths(root).schema_dir))
    return {number: file for number, file in found if number is not None}


def latest_schema(io: FileIO, root: str, cache: MetadataCache | None = None) -> TableSchema | None:
    """The latest schema, or None if the table does not exist.

    A table may be dropped and created again under its old name, with another schema of the same number. So `cache`
    keeps a schema by the ETag of its file, and each call lists the files with their ETags. A listed ETag may also be
    one that was read earlier: after two renames, the first table has its old name again, with its files and their
    ETags.
    """
    first = None
    if cache is None or cache.tagged_schemas.get(root) is not None or io.requests_at_once < 2:
        files = schema_files(io, root)
    else:  # most tables have only their first schema
        read_first = partial(io.read_tagged, TablePaths(root).schema(0))
        files, first = both(io, partial(schema_files, io, root), partial(outcome_of, read_first))
    if not files:
        return None
    newest = files[max(files)]
    if cache is not None and (known := known_schema(cache, newest)) is not None:
        return known
    read = io.read_tagged if first is None or max(files) > 0 else partial(_read_ahead, io, newest, first)
    schema, tag = _load(io, root, max(files), read)
    if cache is not None and tag is not None:
        cache.get(f"{newest.path}?{tag}", lambda: (schema,))
        cache.tagged_schemas.put(root, schema.id)
    return schema


def _read_ahead(
    io: FileIO, listed: FileStatus, read: Callable[[], tuple[bytes, str | None]], path: str
) -> tuple[bytes, str | None]:
    """Return the content and ETag of a file that was read while its folder was listed. If the file was created or
    replaced in between, read it again.
    """
    with suppress(FileNotFoundError):
        data, tag = read()
        if tag == listed.tag:
            return data, tag
    return io.read_tagged(path)


def known_schema(cache: MetadataCache, file: FileStatus) -> TableSchema | None:
    """Return the schema in a listed file, if the cache has the file by its ETag."""
    found = None if file.tag is None else cache.find(f"{file.path}?{file.tag}")
    return None if found is None else found[0]


def load_schema(io: FileIO, root: str, schema_id: int) -> TableSchema:
    """Read one version. Raises `SchemaNotFoundError`, which lists the versions."""
    return _load(io, root, schema_id, lambda path: (io.read_bytes(path), None))[0]


def _load(
    io: FileIO, root: str, schema_id: int, read: Callable[[str], tuple[bytes, str | None]]
) -> tuple[TableSchema, str | None]:
    """Read one version, and its tag."""
    path = TablePaths(root).schema(schema_id)
    try:
        data, tag = read(path)
        with files_at(io, TablePaths(root)):
            schema = decode_schema(path, data)
    except FileNotFoundError:
        known = ", ".join(map(str, schema_ids(io, root))) or "none"
        raise SchemaNotFoundError(f"The table at {root} has no schema {schema_id}; it has {known}.") from None
    if schema.id != schema_id:
        raise CorruptFileError(path, f"it contains schema {schema.id}")
    return schema, tag


def read_schema(store: TableStore, schema_id: int) -> TableSchema:
    """Read one schema version of the store's table. The current version needs no read."""
    return store.schema if schema_id == store.schema.id else load_schema(store.io, store.paths.version_root, schema_id)


def check_same(store: TableStore, *, must_exist: bool) -> None:
    """Raise `TableNotFoundError` if another table has the place of the table that was opened: its files cannot be read
    by the columns and keys of the old one. With `must_exist`, also raise the error if the table was dropped.

    The schema of the opened table may not be a file: a MERGE that adds columns has not published it yet, or only a
    server has it.
    """
    try:
        if store.schema.is_of_table(load_schema(store.io, store.paths.version_root, store.schema.id)):
            return
        what = "dropped and created again"
    except SchemaNotFoundError:
        if not must_exist:
            return
        what = "dropped"
    raise TableNotFoundError(f"Table {store.name} was {what} since it was opened: open it again.")


def list_schemas(store: TableStore) -> list[TableSchema]:
    """Return all schema versions, ascending."""
    return [load_schema(store.io, store.paths.version_root, n) for n in schema_ids(store.io, store.paths.version_root)]


def create_schema(io: FileIO, root: str, schema: TableSchema) -> bool:
    """Write a schema version that must not exist yet. Return False if another process wrote it first.

    Raises `UnsafeStorageError` if the storage cannot create a file atomically.
    """
    return io.create_exclusive(TablePaths(root).schema(schema.id), encode_schema(schema))
