"""`CALL sys.migrate_table` and `sys.migrate_database`: tables of other kinds, Iceberg among them, as append tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import (
    AlreadyCommittedError,
    DatabaseNotFoundError,
    InvalidOptionError,
    InvalidSchemaError,
    PaimonError,
    TableNotFoundError,
)
from paimon_core.format_table.iceberg import IcebergTable, read_iceberg_table, read_metadata_file
from paimon_core.format_table.iceberg_adoption import plan_iceberg_adoption, schemas_of
from paimon_core.format_table.migration import (
    ADOPTED,
    Adoption,
    import_job,
    plan_adoption,
    taken_files,
    without,
)
from paimon_core.format_table.options import FORMAT_TABLE, SUPPORTED, TYPE, is_format_table
from paimon_core.format_table.scan import FormatSplit
from paimon_core.format_table.table import FormatTable
from paimon_core.io.failure import on_certain_failure
from paimon_core.io.file_io import FileIO
from paimon_core.io.load import load_file_io, normalize
from paimon_core.io.transfer import take_files
from paimon_core.jobs import Executor, Job, ResultT, TaskT
from paimon_core.options import BUCKET, FILE_FORMAT, PARTITION_DEFAULT_NAME, PRIMARY_KEY
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.schemas import create_schema, read_schema, schema_ids
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_sql.catalog.base import SupportsDatabases
from paimon_sql.catalog.listing import of_each, tables_of
from paimon_sql.procedures.arguments import check_parallelism, table_options
from paimon_sql.procedures.file_tasks import copying
from paimon_sql.procedures.migration_runs import (
    Runs,
    base_of,
    delete_iceberg,
    delete_quietly,
    delete_source_files,
    drop_unused,
    is_swapping,
    new_name,
    swap,
)
from paimon_sql.procedures.registry import ForeignTable, Int, ProcedureContext, Rows, has_table, procedure, quoted

_ICEBERG = "iceberg"
_TABLES = ("hive", "spark")
_SESSION_CATALOG = "spark_catalog"
_MANY = 100  # splits
_NAMELESS = "A folder does not have a table name: pass target_table, too."
_HIVE_DEFAULT = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class _Source:
    """The migrated table as a format table; `drop` removes it, `identifier` is its name if it is in this catalog."""

    files: FormatTable
    drop: Callable[[], None]
    identifier: Identifier | None = None


@procedure(result="boolean")
def migrate_table(
    context: ProcedureContext,
    source_type: str,
    table: str,
    options: str | None = None,
    delete_origin: bool = True,
    target_table: str | None = None,
    options_map: dict[str, str] | None = None,
    parallelism: Int | None = None,
) -> Rows:
    """Turn the files of another table into an append table, or add them to an existing one.

    `source_type` is `hive` or `spark` for a table of Spark's session catalog or a format table of this catalog, a
    format (`parquet`, `orc`, `csv`, `json`) for the folder `table`, or `iceberg` for the folder or a metadata file of
    an Iceberg table, of which the current rows are taken. The new table has the name of the old table, or
    `target_table`, and the options in `options` (`key=value,key=value`) and `options_map`. Parquet and ORC files are
    moved, or copied with `delete_origin => false`; other files are rewritten, in at most `parallelism` tasks at a
    time. The old table is dropped unless `delete_origin` is false. Rewritten files of a folder stay, and so do files
    of an Iceberg table that only older snapshots have. The result is true.
    """
    check_parallelism(parallelism)
    chosen = table_options(options or "") | (options_map or {})
    if PRIMARY_KEY.key in chosen:
        raise InvalidOptionError("Migrated tables are append tables: a primary key cannot be among the options.")
    if source_type.strip().lower() == _ICEBERG:
        if target_table is None:
            raise InvalidOptionError(_NAMELESS)
        _migrate_iceberg(context, table, context.identifier(target_table), chosen, delete_origin=delete_origin)
        return [(True,)]
    name = context.named(table)[1] if target_table is None and "/" not in table else None
    if name is not None and delete_origin and is_swapping(context.catalog, name):
        swap(context.catalog, name)
        return [(True,)]
    source = _find_source(context, source_type.strip().lower(), table, chosen)
    _migrate(context, source, _target_name(context, source, table, target_table), chosen, delete_origin=delete_origin)
    return [(True,)]


@procedure(result="string")
def migrate_database(
    context: ProcedureContext,
    source_type: str,
    database: str,
    options: str | None = None,
    options_map: dict[str, str] | None = None,
    parallelism: Int | None = None,
) -> Rows:
    """Migrate all tables of a database of Spark's session catalog, and the format tables of this catalog's database,
    as `migrate_table` does.

    The result has the numbers of migrated and failed tables; failures are logged with the reason.
    """
    check_parallelism(parallelism)
    if source_type.strip().lower() not in _TABLES:
        raise InvalidOptionError(f"source_type cannot be {source_type!r}: use one of {', '.join(_TABLES)}.")
    chosen, catalog = table_options(options or "") | (options_map or {}), context.catalog
    foreign = context.executor.foreign_tables(database)
    if foreign is None and not catalog.database_exists(database):
        raise DatabaseNotFoundError(f"Neither this catalog nor Spark's session catalog has a database {database!r}.")
    exists = catalog.database_exists(database)
    ours = catalog.list_tables(database) if exists else []
    chosen_tables = tables_of(catalog, database, formats=True) if exists else []
    chosen_tables = [base_of(t) if is_swapping(catalog, base_of(t)) else t for t in chosen_tables]
    for name in foreign or ():
        table = Identifier(database, name)
        if name not in ours or (table not in chosen_tables and _is_stopped(context, table)):
            chosen_tables.append(table)

    def migrate(table: Identifier) -> Rows:
        return migrate_table.call(context, {"source_type": source_type, "table": quoted(table), "options_map": chosen})

    done, errors = of_each(chosen_tables, migrate, "migrated")
    return [(f"migrate database is finished, success cnt: {len(done)} , failed cnt: {len(errors)}",)]


def _find_source(context: ProcedureContext, kind: str, name: str, options: Mapping[str, str]) -> _Source:
    if kind in SUPPORTED:
        return _of_foreign(context, context.executor.folder_of_files(kind, name, options), lambda: None)
    if kind not in _TABLES:
        known = ", ".join((*_TABLES, _ICEBERG, *SUPPORTED))
        raise InvalidOptionError(f"source_type cannot be {kind!r}: use one of {known}.")
    catalog, identifier = context.named(name)
    if catalog != _SESSION_CATALOG and has_table(context.catalog, context.identifier(name)):
        table = context.catalog.load_table(identifier)
        if is_format_table(table.schema.options):
            return _Source(FormatTable.of(table.store), partial(context.catalog.drop_table, identifier), identifier)
        if not _is_stopped(context, identifier):
            raise InvalidOptionError(f"Table {identifier} is a Paimon table already: there is nothing to migrate.")
    foreign = context.executor.foreign_table(identifier.database, identifier.table)
    if foreign is None:
        raise TableNotFoundError(f"Neither this catalog nor Spark's session catalog has a table {identifier}.")
    drop = partial(context.executor.drop_foreign_table, identifier.database, identifier.table)
    return _of_foreign(context, foreign, drop, identifier)


def _is_stopped(context: ProcedureContext, identifier: Identifier) -> bool:
    """Return whether a stopped migration of the session catalog's table of the same name has begun this table."""
    foreign = context.executor.foreign_table(identifier.database, identifier.table)
    if foreign is None:
        return False
    source = _of_foreign(context, foreign, lambda: None)
    return Runs.of(source.files, source.files.plan()).has_begun(context.catalog.load_table(identifier).store)


def _of_foreign(
    context: ProcedureContext, found: ForeignTable, drop: Callable[[], None], identifier: Identifier | None = None
) -> _Source:
    fixed = {TYPE: FORMAT_TABLE, FILE_FORMAT.key: found.format, PARTITION_DEFAULT_NAME.key: _HIVE_DEFAULT}
    schema = new_table_schema(found.fields, found.partition_keys, {**found.options, **fixed})
    io = load_file_io(found.location, context.catalog.options)
    return _Source(FormatTable.of(TableStore.of(io, normalize(found.location), schema, identifier=identifier)), drop)


def _target_name(context: ProcedureContext, source: _Source, table: str, target: str | None) -> Identifier:
    if target is not None:
        return context.identifier(target)
    if source.identifier is not None:
        return new_name(source.identifier)
    if "/" in table:
        raise InvalidOptionError(_NAMELESS)
    return context.named(table)[1]


def _migrate(
    context: ProcedureContext, source: _Source, name: Identifier, options: Mapping[str, str], *, delete_origin: bool
) -> None:
    catalog, own, splits = context.catalog, source.identifier, source.files.plan()
    replaces = own is not None and name == new_name(own)
    runs = Runs.of(source.files, splits) if own is None else Runs.of_table(own, source.files, splits)
    catalog.create_database(name.database, ignore_if_exists=True)
    if replaces and _is_outdated(catalog, name, runs):
        catalog.drop_table(name)
    made = not catalog.table_exists(name)
    if made:
        _create(context, source.files, name, options)
    target = catalog.load_table(name)
    drop = on_certain_failure(lambda: drop_unused(catalog, name), FileNotFoundError)
    with drop if made else nullcontext():
        _check_fits(source.files, target)
        taken = _import_rows(context, source.files, splits, target, runs if delete_origin else None)
    if not delete_origin:
        return
    if replaces and own is not None:
        swap(catalog, own)
        return
    delete_source_files(source.files.store.io, taken)
    source.drop()


def _is_outdated(catalog: SupportsDatabases, name: Identifier, runs: Runs) -> bool:
    """Whether a run left the table with rows of other files than the format table has now."""
    if not has_table(catalog, name):
        return False
    left = catalog.load_table(name)
    return left.latest_snapshot() is not None and runs.has_begun(left.store) and not runs.is_done(left)


def _create(context: ProcedureContext, source: FormatTable, name: Identifier, options: Mapping[str, str]) -> None:
    kind = source.store.options[FILE_FORMAT]
    given = ({FILE_FORMAT.key: kind} if kind in ADOPTED else {}) | dict(options) | {BUCKET.key: "-1"}
    schema = new_table_schema(source.schema.fields, source.schema.partition_keys, given, source.schema.comment)
    context.catalog.create_table(name, schema)


def _check_fits(source: FormatTable, target: Table) -> None:
    target.check_writable()
    ours, theirs = ([(f.name, f.type.with_nullable(True)) for f in s.fields] for s in (target.schema, source.schema))
    keys = target.schema.partition_keys == source.schema.partition_keys
    if ours != theirs or not keys or target.store.has_primary_key or target.store.options[BUCKET] != -1:
        raise InvalidSchemaError(
            f"Files of {source.name} cannot be added to {target.name}: the target must have the same columns in the "
            "same order, the same partition columns, no primary key, and 'bucket' = '-1'."
        )


def _import_rows(
    context: ProcedureContext, source: FormatTable, splits: Sequence[FormatSplit], target: Table, runs: Runs | None
) -> list[str]:
    """Commit the rows, unless one of the `runs` of this migration did (None: always).

    Returns the files that were taken over, which the caller must then delete."""
    adoption = plan_adoption(source.store, splits, target.store, _FewHere(context.executor))
    if adoption is not None:
        _commit_adopted(context, source.store.io, target, adoption, runs)
        return [path for path, _ in adoption.paths]
    if runs is None:
        info = CommitInfo(user=target.new_commit_user())
        target.commit_or_abort(target.run(context.executor, import_job(source.store, splits, target.store)), info)
    elif not runs.is_done(target):
        written = target.run(context.executor, import_job(source.store, splits, target.store))
        with suppress(AlreadyCommittedError):  # by another run, meanwhile
            target.commit_or_abort(written, runs.info())
    return []


@dataclass(frozen=True, slots=True)
class _FewHere:
    """Runs jobs in the driver, unless they have many tasks."""

    executor: Executor

    def run(self, job: Job[TaskT, ResultT]) -> list[ResultT]:
        return job.run_here() if len(job.tasks) < _MANY else self.executor.run(job)


def _migrate_iceberg(
    context: ProcedureContext, location: str, name: Identifier, options: Mapping[str, str], *, delete_origin: bool
) -> None:
    """Make a table of the current snapshot of the Iceberg table at a path, with all its schemas. With `delete_origin`
    its files and its metadata are deleted then."""
    location, catalog = normalize(location), context.catalog
    storage = load_file_io(location, catalog.options)
    path, content = read_metadata_file(storage, location)
    runs = Runs.of_iceberg(path, content)
    exists = has_table(catalog, name)
    if delete_origin and exists and runs.is_done(catalog.load_table(name)):
        delete_iceberg(storage, path, _what_is_left(storage, path))
        return
    source = read_iceberg_table(storage, path)
    schemas = schemas_of(source, {**options, BUCKET.key: "-1"})
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
            _commit_adopted(context, storage, target, adoption, runs if delete_origin else None)
    if delete_origin:
        delete_iceberg(storage, path, source)


def _what_is_left(storage: FileIO, path: str) -> IcebergTable | None:
    try:
        return read_iceberg_table(storage, path)
    except PaimonError:  # its manifests are deleted, which is done after its files
        return None


def _has_begun(target: Table, schemas: Sequence[TableSchema]) -> bool:
    """Whether a run may have made this table and stopped: it has some of the schemas, and no rows yet."""
    found = [read_schema(target.store, number) for number in schema_ids(target.store.io, target.store.root)]
    same = all(
        (f.fields, f.partition_keys, f.primary_keys) == (s.fields, s.partition_keys, ())
        and s.options.items() <= f.options.items()
        for f in found
        for s in schemas[f.id : f.id + 1]
    )
    return same and found[-1].id < len(schemas) and target.latest_snapshot() is None


def _commit_adopted(
    context: ProcedureContext, source: FileIO, target: Table, adoption: Adoption, runs: Runs | None
) -> None:
    """Give files a path in a table and commit them, without files that one of the `runs` of this migration committed.

    `runs` None copies all files. After a certain failure, new files are deleted."""
    copy = copying(context)
    if runs is not None:
        adoption = without(adoption, taken_files(target.store))
    if not adoption.messages:
        return
    taken = [path for _, path in adoption.paths]
    info = CommitInfo(user=target.new_commit_user()) if runs is None else runs.info()
    with (
        suppress(AlreadyCommittedError),  # by another run, meanwhile
        on_certain_failure(lambda: delete_quietly(target.store.io, taken), FileNotFoundError),
    ):
        if runs is None:
            copy(source, target.store.io, adoption.paths)
        else:
            take_files(source, target.store.io, adoption.paths, copy)
        target.commit(adoption.messages, info)
