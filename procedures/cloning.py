"""`CALL sys.clone` and `sys.copy`: tables, databases and whole catalogs, copied file by file to other names or
catalogs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidOptionError, TableNotFoundError
from paimon_core.maintenance.copying import adopt_schemas, check_takes_files, copy_files
from paimon_core.options import BUCKET, FILE_FORMAT
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.snapshot import Operation
from paimon_core.store.branches import LENDING
from paimon_core.store.features import check_selectable
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.schemas import create_schema, list_schemas
from paimon_core.table import Table
from paimon_sql.catalog.base import SYSTEM_DATABASE, SupportsDatabases
from paimon_sql.catalog.listing import of_some, tables_of
from paimon_sql.catalog.load import load_catalog
from paimon_sql.procedures.arguments import check_parallelism, given, table_options
from paimon_sql.procedures.file_tasks import copying
from paimon_sql.procedures.partition_choice import chosen_partitions
from paimon_sql.procedures.registry import Int, ProcedureContext, Rows, has_table, load_table, procedure

_FORMATS = ("parquet", "orc", "avro")
_FIXED = (BUCKET.key, "path")  # always as in the source: its files are in its buckets


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
) -> Rows:
    """Clone a table (`database`, `table` to `target_database`, `target_table`), all tables of a database (to
    `target_database`), or all tables of a catalog: each as `copy` does, so that the call can be repeated.

    Both catalogs are this catalog, unless `catalog_conf` or `target_catalog_conf` (`warehouse=/elsewhere`) have the
    options of another one. For a database or catalog, `included_tables` (`db.a,db.b`; default: all) selects tables, and
    `excluded_tables` leaves some out. Tables are cloned with the rows of the partitions that satisfy `where`; with
    `meta_only` without rows. `clone_if_exists => false` skips tables that exist. New tables get the options
    `target_table_conf` (`key=value`), and write new files in `prefer_file_format`. The result has the numbers of cloned
    and skipped tables. If a table of several cannot be cloned, it is counted, and logged with the reason.
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
    if given(table) is None:
        pairs = _chosen(pairs, _names(included_tables), _names(excluded_tables))
    elif given(included_tables) or given(excluded_tables):
        raise InvalidOptionError(
            "included_tables and excluded_tables choose tables of a database, but this call clones one table: leave "
            "them out."
        )
    if not pairs:
        raise TableNotFoundError("There is no table to clone: check database, included_tables and excluded_tables.")
    targets = {here: there for here, there in pairs if clone_if_exists or not has_table(target, there)}

    def clone_one(here: Identifier) -> None:
        found = load_table(source, here).in_zone(context.zone)
        if not meta_only:
            copy_table(context, found, target, targets[here], where, options)
        elif not has_table(target, targets[here]):
            create_alike(found, target, targets[here], options)

    done = of_some(targets, clone_one, "cloned")
    failed = f", Failed: {len(targets) - len(done)}" if len(done) < len(targets) else ""
    return [(f"Clone finished. Success: {len(done)}, Skipped: {len(pairs) - len(targets)}{failed}",)]


def _options(target_table_conf: str | None, prefer_file_format: str | None) -> dict[str, str]:
    options = {k: v for k, v in table_options(target_table_conf or "").items() if k not in _FIXED}
    text = given(prefer_file_format)
    if text is None:
        return options
    if text.strip().lower() not in _FORMATS:
        raise InvalidOptionError(f"prefer_file_format cannot be {text!r}: use one of {', '.join(_FORMATS)}.")
    return {**options, FILE_FORMAT.key: text.strip().lower()}


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
    pairs: Sequence[tuple[Identifier, Identifier]], included: frozenset[str], excluded: frozenset[str]
) -> list[tuple[Identifier, Identifier]]:
    known = {str(here) for here, _ in pairs}
    unknown = sorted((included | excluded) - known)
    if unknown:
        raise TableNotFoundError(f"There is no table {unknown[0]!r} to clone; there are {', '.join(sorted(known))}.")
    return [p for p in pairs if (not included or str(p[0]) in included) and str(p[0]) not in excluded]


@procedure(result="boolean")
def copy(context: ProcedureContext, source_table: str, target_table: str, where: str | None = None) -> Rows:
    """Copy a table to a new one: its schema, options and files, without its history. If the target exists, partitions
    that get rows are replaced; the target must have the same keys, buckets and columns.

    Both tables may be in any Paimon catalog of the session (`catalog.database.table`). `where` is a condition on
    partition columns only, such as `dt >= '2024-01-01' AND hh = 10`. The result is true.
    """
    source = load_table(*context.find(source_table)).in_zone(context.zone)
    catalog, identifier = context.find(target_table)
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
    which = chosen_partitions(context, source, source.latest_snapshot(), None, where)
    if has_table(catalog, identifier):
        _replace(context, source, load_table(catalog, identifier), which)
        return
    target = create_alike(source, catalog, identifier, options or {})
    target.check_writable()
    messages = copy_files(source.store, source.latest_snapshot(), target.store, which, None, copying(context))
    target.commit(messages, CommitInfo(user=target.new_commit_user(), operation=Operation.WRITE))


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
    if source.store.root == target.store.root:
        raise InvalidOptionError(f"Table {source.name} cannot be copied into itself.")
    target.check_writable()
    check_takes_files(source.store, target.store)
    snapshot = source.latest_snapshot()
    schemas = adopt_schemas(source.store, snapshot, target.store)
    messages = copy_files(source.store, snapshot, target.store, which, schemas, copying(context))
    if messages:
        info = CommitInfo(user=target.new_commit_user(), operation=Operation.OVERWRITE)
        target.commit(messages, info, Overwrite(dynamic=True))
