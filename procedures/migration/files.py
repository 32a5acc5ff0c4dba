"""The files of a folder, or of a table by its name, as a source. They are read through a format table, and moved,
copied or rewritten. A named table is in the session's own catalog, or is a format table of this catalog.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial

from paimon_core.commit.draft import CommitInfo
from paimon_core.dataclass import dataclass
from paimon_core.errors import AlreadyCommittedError, InvalidOptionError, InvalidSchemaError, TableNotFoundError
from paimon_core.format_table.kind import FORMAT_TABLE, TYPE, is_format_table
from paimon_core.format_table.migration import ADOPTED, import_job, partition_of, plan_adoption, taken_files, without
from paimon_core.format_table.scan import FormatSplit
from paimon_core.format_table.table import FormatTable
from paimon_core.io.failure import on_certain_failure
from paimon_core.io.load import load_file_io, normalize
from paimon_core.jobs import Executor, Job, ResultT, TaskT
from paimon_core.maintenance.running import announced
from paimon_core.options import BUCKET, FILE_FORMAT, PARTITION_DEFAULT_NAME
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.store.ddl.constraints import check_takes_rows
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_sql.catalog.base import SupportsDatabases
from paimon_sql.procedures.dry_runs import FilesOfPartition, summed_by_partition
from paimon_sql.procedures.migration.adoption import adopted_rows, commit_adopted
from paimon_sql.procedures.migration.request import Migration
from paimon_sql.procedures.migration.runs import Runs, delete_source_files, drop_unused, is_swapping, new_name, swap
from paimon_sql.procedures.registry import ForeignTable, ProcedureContext, Rows, has_table

_MANY = 100  # splits, each a task
_HIVE_DEFAULT = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class MigratedFiles:
    """A table to migrate, as a format table. `drop` removes it. `identifier` is its name if it is in this catalog."""

    files: FormatTable
    drop: Callable[[], None]
    identifier: Identifier | None = None


def migrate_files(migration: Migration, find: Callable[[], MigratedFiles]) -> None:
    """Migrate the source that `find` returns. If an earlier run stopped while it renamed the tables, finish
    that run.
    """
    catalog, own = migration.context.catalog, migration.source_name
    if own is not None and migration.delete_origin and is_swapping(catalog, own):
        swap(catalog, own)
        return
    source = find()
    _migrate(migration, source, _target_name(migration, source))


def _target_name(migration: Migration, source: MigratedFiles) -> Identifier:
    """Return the name under which the new table is filled."""
    own = source.identifier
    return new_name(own) if migration.target is None and own is not None else migration.target_name()


def migrate_folder(migration: Migration) -> None:
    """Migrate the files of a folder; the folder itself stays."""
    migrate_files(migration, partial(_find_folder, migration))


def plan_folder(migration: Migration) -> Rows:
    """Return the rows of a dry run of `migrate_folder`."""
    return _plan_files(migration, partial(_find_folder, migration))


def _find_folder(migration: Migration) -> MigratedFiles:
    context = migration.context
    found = context.executor.folder_of_files(migration.kind, migration.source, migration.options)
    return of_foreign(context, found, lambda: None)


def _plan_files(migration: Migration, find: Callable[[], MigratedFiles]) -> Rows:
    """Return a row for each partition of files that `migrate_files` would take over or rewrite. Raises its errors."""
    context, delete_origin, work = migration.context, migration.delete_origin, migration.work
    catalog, own = context.catalog, migration.source_name
    if own is not None and delete_origin and is_swapping(catalog, own):
        return [(work, None, None, 0, 0, None, "completes the renames of a migration that stopped")]
    source = find()
    name, files, splits = _target_name(migration, source), source.files, source.files.plan().splits
    identifier = source.identifier
    runs = Runs.of(files, splits) if identifier is None else Runs.of_table(identifier, files, splits)
    replaces = identifier is not None and name == new_name(identifier)
    exists = has_table(catalog, name) and not (replaces and _is_outdated(catalog, name, runs))
    draft = _new_schema(files, migration.options)
    target = catalog.load_table(name) if exists else Table(TableStore.of(files.store.io, files.store.root, draft))
    _check_fits(files, target)
    adoption = plan_adoption(files.store, splits, target.store, _FewHere(context.executor))
    if adoption is None:
        if delete_origin and exists and runs.is_done(target):
            return []
        parts = (
            FilesOfPartition(partition_of(files.store, s, target.store), len(s.paths), s.size, None) for s in splits
        )
        return summed_by_partition(work, target.store, parts, "rewritten")
    if delete_origin and exists:
        adoption = without(adoption, taken_files(target.store))
    return adopted_rows(work, target.store, adoption, delete_origin=delete_origin)


def of_foreign(
    context: ProcedureContext, found: ForeignTable, drop: Callable[[], None], identifier: Identifier | None = None
) -> MigratedFiles:
    """Return a table of another engine as a source."""
    fixed = {TYPE: FORMAT_TABLE, FILE_FORMAT.key: found.format, PARTITION_DEFAULT_NAME.key: _HIVE_DEFAULT}
    schema = new_table_schema(found.fields, found.partition_keys, {**found.options, **fixed})
    io = load_file_io(found.location, context.catalog.options)
    return MigratedFiles(
        FormatTable.of(TableStore.of(io, normalize(found.location), schema, identifier=identifier)), drop
    )


def _migrate(migration: Migration, source: MigratedFiles, name: Identifier) -> None:
    context, delete_origin = migration.context, migration.delete_origin
    catalog, own, splits = context.catalog, source.identifier, source.files.plan().splits
    replaces = own is not None and name == new_name(own)
    runs = Runs.of(source.files, splits) if own is None else Runs.of_table(own, source.files, splits)
    catalog.create_database(name.database, ignore_if_exists=True)
    if replaces and _is_outdated(catalog, name, runs):
        catalog.drop_table(name)
    made = not catalog.table_exists(name)
    if made:
        _create(context, source.files, name, migration.options)
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
    """Return whether an earlier run left the new table with rows of files that the format table no longer has."""
    if not has_table(catalog, name):
        return False
    left = catalog.load_table(name)
    return left.latest_snapshot() is not None and runs.has_begun(left.store) and not runs.is_done(left)


def _create(context: ProcedureContext, source: FormatTable, name: Identifier, options: Mapping[str, str]) -> None:
    context.catalog.create_table(name, _new_schema(source, options))


def _new_schema(source: FormatTable, options: Mapping[str, str]) -> TableSchema:
    kind = source.store.options[FILE_FORMAT]
    given = ({FILE_FORMAT.key: kind} if kind in ADOPTED else {}) | dict(options) | {BUCKET.key: "-1"}
    return new_table_schema(source.schema.fields, source.schema.partition_keys, given, source.schema.comment)


def _check_fits(source: FormatTable, target: Table) -> None:
    target.check_writable()
    check_takes_rows(source.schema.options, target.schema.options, target.name)
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
    """Commit the rows, unless one of the `runs` of this migration has done so (None: commit them always).

    Return the files that were taken over; the caller must then delete these.
    """
    with announced(target.store, "migrate_table"):
        return _import(context, source, splits, target, runs)


def _import(
    context: ProcedureContext, source: FormatTable, splits: Sequence[FormatSplit], target: Table, runs: Runs | None
) -> list[str]:
    adoption = plan_adoption(source.store, splits, target.store, _FewHere(context.executor))
    if adoption is not None:
        commit_adopted(context, source.store.io, target, adoption, runs)
        return [path for path, _ in adoption.paths]
    if runs is None:
        info = CommitInfo(user=target.new_commit_user())
        target.commit_or_abort(target.run(context.executor, import_job(source.store, splits, target.store)), info)
    elif not runs.is_done(target):
        written = target.run(context.executor, import_job(source.store, splits, target.store))
        with suppress(AlreadyCommittedError):  # another run committed them meanwhile
            target.commit_or_abort(written, runs.info())
    return []


@dataclass(frozen=True, slots=True)
class _FewHere:
    """An executor that runs jobs in the driver, unless they have many tasks."""

    executor: Executor

    def run(self, job: Job[TaskT, ResultT]) -> list[ResultT]:
        return job.run_here() if len(job.tasks) < _MANY else self.executor.run(job)


_SESSION_CATALOG = "spark_catalog"


def migrate_named(migration: Migration) -> None:
    """Migrate a table by its name, and drop the old table if the call requires it."""
    migrate_files(migration, partial(_find, migration.context, migration.source))


def plan_named(migration: Migration) -> Rows:
    """Return the rows of a dry run of `migrate_named`."""
    return _plan_files(migration, partial(_find, migration.context, migration.source))


def _find(context: ProcedureContext, name: str) -> MigratedFiles:
    catalog, identifier = context.named(name)
    if catalog != _SESSION_CATALOG and has_table(context.catalog, context.identifier(name)):
        table = context.catalog.load_table(identifier)
        if is_format_table(table.schema.options):
            return MigratedFiles(
                FormatTable.of(table.store), partial(context.catalog.drop_table, identifier), identifier
            )
        if not is_stopped(context, identifier):
            raise InvalidOptionError(f"Table {identifier} is a Paimon table already: there is nothing to migrate.")
    foreign = context.executor.foreign_table(identifier.database, identifier.table)
    if foreign is None:
        raise TableNotFoundError(f"Neither this catalog nor Spark's session catalog has a table {identifier}.")
    drop = partial(context.executor.drop_foreign_table, identifier.database, identifier.table)
    return of_foreign(context, foreign, drop, identifier)


def is_stopped(context: ProcedureContext, identifier: Identifier) -> bool:
    """Return whether a stopped migration has begun this table from the session catalog's table of the same name."""
    foreign = context.executor.foreign_table(identifier.database, identifier.table)
    if foreign is None:
        return False
    source = of_foreign(context, foreign, lambda: None)
    return Runs.of(source.files, source.files.plan().splits).has_begun(context.catalog.load_table(identifier).store)
