"""An Iceberg table as a source: its current rows, with all its schemas."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from paimon_core.errors import InvalidOptionError, PaimonError, TableExistsError
from paimon_core.format_table.iceberg import IcebergTable, read_iceberg_table, read_metadata_file
from paimon_core.format_table.iceberg_adoption import plan_iceberg_adoption, schemas_of
from paimon_core.io.failure import on_certain_failure
from paimon_core.io.file_io import FileIO
from paimon_core.io.load import load_file_io, normalize
from paimon_core.maintenance.running import announced
from paimon_core.options import BUCKET
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.store.schemas import create_schema, read_schema, schema_ids
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_sql.procedures.migration.adoption import adopted_rows, commit_adopted
from paimon_sql.procedures.migration.request import NAMELESS, Migration
from paimon_sql.procedures.migration.runs import Runs, delete_iceberg, drop_unused
from paimon_sql.procedures.registry import Rows, has_table


def migrate_iceberg(migration: Migration) -> None:
    """Make a table from the current snapshot of the Iceberg table at a path, with all its schemas. With
    `delete_origin`, then delete its files and its metadata.
    """
    context, delete_origin, name = migration.context, migration.delete_origin, _target_name(migration)
    location, catalog = normalize(migration.source), context.catalog
    storage = load_file_io(location, catalog.options)
    path, content = read_metadata_file(storage, location)
    runs = Runs.of_iceberg(path, content)
    exists = has_table(catalog, name)
    if delete_origin and exists and runs.is_done(catalog.load_table(name)):
        delete_iceberg(storage, path, _what_is_left(storage, path))
        return
    source = read_iceberg_table(storage, path)
    schemas = schemas_of(source, {**migration.options, BUCKET.key: "-1"})
    catalog.create_database(name.database, ignore_if_exists=True)
    if not (delete_origin and exists and _has_begun(catalog.load_table(name), schemas)):
        exists = False
        catalog.create_table(name, schemas[0])
    with on_certain_failure(lambda: drop_unused(catalog, name), FileNotFoundError) if not exists else nullcontext():
        made = catalog.load_table(name)
        for schema in schemas:
            create_schema(made.store.io, made.store.root, schema)
        target = catalog.load_table(name)
        target.check_writable()
        adoption = plan_iceberg_adoption(storage, source, schemas, target.store)
        if adoption.messages:
            with announced(target.store, "migrate_table"):
                commit_adopted(context, storage, target, adoption, runs if delete_origin else None)
    if delete_origin:
        delete_iceberg(storage, path, source)


def plan_iceberg(migration: Migration) -> Rows:
    """Return the rows of a dry run of `migrate_iceberg`. Raises the errors of `migrate_iceberg`."""
    catalog, name, work = migration.context.catalog, _target_name(migration), migration.work
    location = normalize(migration.source)
    storage = load_file_io(location, catalog.options)
    path, content = read_metadata_file(storage, location)
    old = catalog.load_table(name) if has_table(catalog, name) else None
    if migration.delete_origin and old is not None and Runs.of_iceberg(path, content).is_done(old):
        left = _what_is_left(storage, path)
        files = () if left is None else left.files
        return [(work, None, None, len(files), sum(f.size for f in files), None, "deleted: their rows are migrated")]
    source = read_iceberg_table(storage, path)
    schemas = schemas_of(source, {**migration.options, BUCKET.key: "-1"})
    if old is not None and not (migration.delete_origin and _has_begun(old, schemas)):
        raise TableExistsError(f"Table {name} already exists.")
    target = Table(TableStore.of(storage, location, schemas[-1], identifier=name))
    target.check_writable()
    adoption = plan_iceberg_adoption(storage, source, schemas, target.store)
    return adopted_rows(work, target.store, adoption, delete_origin=migration.delete_origin)


def _target_name(migration: Migration) -> Identifier:
    if migration.target is None:
        raise InvalidOptionError(NAMELESS)
    return migration.context.identifier(migration.target)


def _what_is_left(storage: FileIO, path: str) -> IcebergTable | None:
    try:
        return read_iceberg_table(storage, path)
    except PaimonError:  # its manifests are deleted already, so its files are, too: files are deleted first
        return None


def _has_begun(target: Table, schemas: Sequence[TableSchema]) -> bool:
    """Return whether an earlier run may have created this table and stopped: it has some of the schemas, and no rows
    yet.
    """
    found = [read_schema(target.store, number) for number in schema_ids(target.store.io, target.store.root)]
    same = all(
        (f.fields, f.partition_keys, f.primary_keys) == (s.fields, s.partition_keys, ())
        and s.options.items() <= f.options.items()
        for f in found
        for s in schemas[f.id : f.id + 1]
    )
    return same and found[-1].id < len(schemas) and target.latest_snapshot() is None
