"""`CALL sys.clone` and `sys.copy`: tables, databases and whole catalogs, copied file by file to other names or
catalogs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.dataclass import dataclass
from paimon_core.errors import DatabaseNotFoundError, InvalidOptionError, TableExistsError, TableNotFoundError
from paimon_core.maintenance.copying import adopt_schemas, check_takes_files, copy_files
from paimon_core.maintenance.running import announced
from paimon_core.options import BUCKET, FILE_FORMAT
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.snapshot import Operation
from paimon_core.store.branches import LENDING
from paimon_core.store.ddl.option_changes import check_option_set
from paimon_core.store.features import check_selectable, check_stays
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter, only_partitions
from paimon_core.store.schemas import create_schema, list_schemas
from paimon_core.table import Table
from paimon_sql.catalog.base import SYSTEM_DATABASE, SupportsDatabases, SupportsViews, check_new_database
from paimon_sql.catalog.listing import UNREADABLE, of_some, tables_of
from paimon_sql.catalog.load import load_catalog
from paimon_sql.catalog.privileges.catalog import PrivilegedCatalog
from paimon_sql.catalog.schema_files import check_is_table
from paimon_sql.procedures.arguments import check_parallelism, given, table_options
from paimon_sql.procedures.dry_runs import rows_of_partitions
from paimon_sql.procedures.file_tasks import copying
from paimon_sql.procedures.partition_choice import chosen_partitions
from paimon_sql.procedures.registry import (
    DryRunRows,
    Int,
    ProcedureContext,
    Rows,
    has_table,
    load_table,
    procedure,
)

_FORMATS = ("parquet", "orc", "avro")
# a clone keeps these values of the source, because it takes over the files of its buckets
_FIXED = (BUCKET.key, "path")


@procedure(result="string")
def clone(
    context: ProcedureContext,
    database: str | None = None,
    table: str | None = None,
    catalog_conf: str | None = None,
    target_database: str | None = None,
    target_table: str | None = None,
    target_catalog_conf: str | None = None,
    parallelism: Int | None = None,
    where: str | None = None,
    included_tables: str | None = None,
    excluded_tables: str | None = None,
    prefer_file_format: str | None = None,
    clone_from: str = "paimon",
    meta_only: bool = False,
    clone_if_exists: bool = True,
    target_table_conf: str | None = None,
    dry_run: bool = False,
) -> Rows:
    """Clone a table (`database`, `table` to `target_database`, `target_table`), all tables of a database (to
    `target_database`), or all tables of a catalog: each as `copy` does, so that the call can be repeated.

    Both catalogs are this catalog, unless `catalog_conf` or `target_catalog_conf` (`warehouse=/elsewhere`) have the
    options of another one. For a database or catalog, `included_tables` (`db.a,db.b`; default: all) selects tables, and
    `excluded_tables` leaves some out. Tables are cloned with the rows of the partitions that satisfy `where`; with
    `meta_only` without rows. `clone_if_exists => false` skips tables that exist. New tables get the options
    `target_table_conf` (`key=value`), and write new files in `prefer_file_format`. The result has the numbers of cloned
    and skipped tables. If a table of several cannot be cloned, it is counted, and logged with the reason. With
    `dry_run` nothing changes: the result has the rows of a dry run of `copy` for each table, and for each table that is
    skipped or cannot be cloned a row with the reason.
    """
    check_parallelism(parallelism)
    if clone_from.strip().lower() != "paimon":
        raise InvalidOptionError(
            f"clone_from cannot be {clone_from!r}: only 'paimon' is supported. To copy tables of Hive or Spark, call "
            "migrate_table with delete_origin => false."
        )
    options = _options(target_table_conf, prefer_file_format)
    source, target = (_catalog(context, text) for text in (catalog_conf, target_catalog_conf))
    pairs = list(_pairs(source, given(database), given(table), given(target_database), given(target_table)))
    pairs = _chosen(pairs, _names(included_tables), _names(excluded_tables), is_one=given(table) is not None)
    targets = {here: there for here, there in pairs if clone_if_exists or not has_table(target, there)}
    if dry_run:
        call = _Clone(context, source, target, where, meta_only, clone_if_exists, options)
        return DryRunRows(row for pair in pairs for row in _planned_clone(call, *pair, raises=len(pairs) == 1))

    def clone_one(here: Identifier) -> None:
        found = load_table(source, here).in_zone(context.zone)
        if not meta_only:
            copy_table(context, found, target, targets[here], where, options)
        elif not has_table(target, targets[here]):
            _check_options(found, options)
            create_alike(found, target, targets[here], options)

    done = of_some(targets, clone_one, "cloned")
    failed = f", Failed: {len(targets) - len(done)}" if len(done) < len(targets) else ""
    return [(f"Clone finished. Success: {len(done)}, Skipped: {len(pairs) - len(targets)}{failed}",)]


@dataclass(frozen=True, slots=True)
class _Clone:
    """The arguments of a call of `clone` that decide what is copied."""

    context: ProcedureContext
    source: SupportsDatabases
    target: SupportsDatabases
    where: str | None
    meta_only: bool
    clone_if_exists: bool
    options: Mapping[str, str]


def _planned_clone(call: _Clone, here: Identifier, there: Identifier, *, raises: bool) -> Iterable[tuple[Any, ...]]:
    """Return the rows of a dry run for one table. `raises`: raise the error of a table that cannot be cloned."""
    work = f"clone {here}"
    exists = has_table(call.target, there)
    if exists and (call.meta_only or not call.clone_if_exists):
        return [(work, None, None, 0, 0, None, f"skipped: {there} exists")]
    try:
        found = load_table(call.source, here).in_zone(call.context.zone)
        _check_options(found, call.options)
        if call.meta_only:
            _check_new(call.target, there, with_rows=False)
            return [_created(work, there)]
        return planned_copy(call.context, work, found, call.target, there, call.where)
    except UNREADABLE as error:
        if raises:
            raise
        return [(work, None, None, None, None, None, str(error))]


def _created(work: str, name: Identifier) -> tuple[Any, ...]:
    return work, None, None, 0, 0, None, f"creates {name} without rows"


def _options(target_table_conf: str | None, prefer_file_format: str | None) -> dict[str, str]:
    options = {k: v for k, v in table_options(target_table_conf or "").items() if k not in _FIXED}
    text = given(prefer_file_format)
    if text is None:
        return options
    if text.strip().lower() not in _FORMATS:
        raise InvalidOptionError(f"prefer_file_format cannot be {text!r}: use one of {', '.join(_FORMATS)}.")
    return {**options, FILE_FORMAT.key: text.strip().lower()}


def _check_options(source: Table, options: Mapping[str, str]) -> None:
    """Raise `InvalidOptionError` for an option that gives files of the source another meaning, as ALTER TABLE does.

    Raises `UnsupportedFeatureError` if the files of the source cannot be copied."""
    check_stays(list_schemas(source.store), source.name, "copied with its files")
    for key, value in options.items():
        check_option_set(source.schema, key, value)


def _catalog(context: ProcedureContext, options: str | None) -> SupportsDatabases:
    chosen: Mapping[str, str] = table_options(options or "")
    return load_catalog({**context.catalog.options, **chosen}) if chosen else context.catalog


def _pairs(
    source: SupportsDatabases,
    database: str | None,
    table: str | None,
    target_database: str | None,
    target_table: str | None,
) -> Iterator[tuple[Identifier, Identifier]]:
    """Yield each table to clone, and its target. Raises `InvalidOptionError` for arguments that exclude each other."""
    if database is None:
        if table or target_database or target_table:
            raise InvalidOptionError(
                "A whole catalog is cloned: leave table, target_database and target_table out, or name a database."
            )
        names = (d for d in source.list_databases() if d != SYSTEM_DATABASE)
        yield from ((i, i) for d in names for i in tables_of(source, d, formats=False))
        return
    if target_database is None:
        raise InvalidOptionError(f"clone needs target_database: the name of the copy of database {database!r}.")
    if (table is None) != (target_table is None):
        raise InvalidOptionError("table and target_table go together: give both, or neither for a whole database.")
    if table is None:
        yield from ((i, Identifier.of(target_database, i.table)) for i in tables_of(source, database, formats=False))
    else:
        yield Identifier.of(database, table), Identifier.of(target_database, str(target_table))


def _names(text: str | None) -> frozenset[str]:
    return frozenset(n.strip() for n in (text or "").split(",") if n.strip())


def _chosen(
    pairs: list[tuple[Identifier, Identifier]], included: frozenset[str], excluded: frozenset[str], *, is_one: bool
) -> list[tuple[Identifier, Identifier]]:
    """Return the pairs of a table to clone and its new name. `is_one`: the call names one table. Raises
    `InvalidOptionError`, `TableNotFoundError`.
    """
    if is_one and (included or excluded):
        raise InvalidOptionError(
            "included_tables and excluded_tables choose tables of a database, but this call clones one table: leave "
            "them out."
        )
    if is_one:
        return pairs
    known = {str(here) for here, _ in pairs}
    unknown = sorted((included | excluded) - known)
    if unknown:
        raise TableNotFoundError(f"There is no table {unknown[0]!r} to clone; there are {', '.join(sorted(known))}.")
    chosen = [p for p in pairs if (not included or str(p[0]) in included) and str(p[0]) not in excluded]
    if not chosen:
        raise TableNotFoundError("There is no table to clone: check database, included_tables and excluded_tables.")
    return chosen


@procedure(result="boolean")
def copy(
    context: ProcedureContext, source_table: str, target_table: str, where: str | None = None, dry_run: bool = False
) -> Rows:
    """Copy a table to a new one: its schema, options and files, without its history. If the target exists, partitions
    that get rows are replaced; the target must have the same keys, buckets and columns.

    Both tables may be in any Paimon catalog of the session (`catalog.database.table`). `where` is a condition on
    partition columns only, such as `dt >= '2024-01-01' AND hh = 10`. The result is true. With `dry_run` nothing
    changes: the result has a row for each partition that would be copied, and for each partition of the target that
    would be removed, with its data files, bytes and rows.
    """
    source = load_table(*context.find(source_table)).in_zone(context.zone)
    catalog, identifier = context.find(target_table)
    if dry_run:
        return planned_copy(context, "copy", source, catalog, identifier, where)
    copy_table(context, source, catalog, identifier, where)
    return [(True,)]


def copy_table(
    context: ProcedureContext,
    source: Table,
    catalog: SupportsDatabases,
    identifier: Identifier,
    where: str | None,
    options: Mapping[str, str] | None = None,
) -> None:
    """Copy a table as `copy` does. A new table has the source's options and `options`."""
    check_selectable(source.store)
    _check_options(source, options or {})
    which = chosen_partitions(context, source, source.latest_snapshot(), None, where)
    if has_table(catalog, identifier):
        _replace(context, source, load_table(catalog, identifier), which)
        return
    target = create_alike(source, catalog, identifier, options or {})
    target.check_writable()
    with announced(target.store, "copy"):
        messages = copy_files(source.store, source.latest_snapshot(), target.store, which, None, copying(context))
        target.commit(messages, CommitInfo(user=target.new_commit_user(), operation=Operation.WRITE))


def planned_copy(
    context: ProcedureContext,
    work: str,
    source: Table,
    catalog: SupportsDatabases,
    identifier: Identifier,
    where: str | None,
) -> DryRunRows:
    """Return the rows of a dry run of `copy_table`. Raises the errors of `copy_table`."""
    check_selectable(source.store)
    snapshot = source.latest_snapshot()
    copied = live_files(source.store, snapshot, chosen_partitions(context, source, snapshot, None, where)).values()
    rows = rows_of_partitions(work, source.store, copied, f"copied to {identifier}")
    if not has_table(catalog, identifier):
        _check_new(catalog, identifier, with_rows=True)
        return rows or DryRunRows([_created(work, identifier)])
    target = load_table(catalog, identifier)
    _check_replaces(source, target)
    replaced = only_partitions(target.schema.partition_fields, {entry.partition for entry in copied})
    removed = live_files(target.store, target.latest_snapshot(), replaced).values() if copied else ()
    return DryRunRows([*rows, *rows_of_partitions(work, target.store, removed, f"removed from {identifier}")])


def _check_new(catalog: SupportsDatabases, identifier: Identifier, *, with_rows: bool) -> None:
    """Raise the errors that `create_alike` would raise: for the name of the new table, and for missing rights of the
    catalog's user, on the database (which may not exist yet) and, if the table gets rows, on the table.
    """
    check_is_table(identifier)
    exists = catalog.database_exists(identifier.database)
    if not exists:
        check_new_database(identifier.database)
    if isinstance(catalog, PrivilegedCatalog):
        catalog.check_can_copy_to(identifier, creates_database=not exists, with_rows=with_rows)
    with suppress(DatabaseNotFoundError):
        catalog.table_exists(identifier)  # checks the name
        if isinstance(catalog, SupportsViews) and catalog.view_exists(identifier):
            raise TableExistsError(f"Table {identifier} cannot be created: a view has that name.")


def create_alike(
    source: Table, catalog: SupportsDatabases, identifier: Identifier, options: Mapping[str, str]
) -> Table:
    """Create a table with all schema versions of another, and with more options. Create its database, too, if it is
    missing.
    """
    first, *later = (
        replace(s, options={k: v for k, v in s.options.items() if k not in LENDING} | dict(options))
        for s in list_schemas(source.store)
    )
    catalog.create_database(identifier.database, ignore_if_exists=True)
    catalog.create_table(identifier, first)
    target = catalog.load_table(identifier)
    for schema in later:
        create_schema(target.store.io, target.store.root, schema)
    return catalog.load_table(identifier)


def _replace(context: ProcedureContext, source: Table, target: Table, which: PartitionFilter) -> None:
    """Replace partitions of a table by the partitions of another table."""
    _check_replaces(source, target)
    snapshot = source.latest_snapshot()
    schemas = adopt_schemas(source.store, snapshot, target.store)
    with announced(target.store, "copy"):
        messages = copy_files(source.store, snapshot, target.store, which, schemas, copying(context))
        if messages:
            info = CommitInfo(user=target.new_commit_user(), operation=Operation.OVERWRITE)
            target.commit(messages, info, Overwrite(dynamic=True))


def _check_replaces(source: Table, target: Table) -> None:
    """Raise the error for a table that cannot replace partitions of another one."""
    if source.store.root == target.store.root:
        raise InvalidOptionError(f"Table {source.name} cannot be copied into itself. Name another target.")
    target.check_writable()
    check_takes_files(source.store, target.store)
