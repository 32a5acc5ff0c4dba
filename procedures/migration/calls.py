"""The procedures, and the kinds of sources that they accept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from paimon_core.errors import DatabaseNotFoundError, InvalidOptionError
from paimon_core.format_table.options import SUPPORTED
from paimon_core.options import PRIMARY_KEY
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.listing import UNREADABLE, of_each, tables_of
from paimon_sql.procedures.arguments import check_parallelism, table_options
from paimon_sql.procedures.migration.files import is_stopped, migrate_folder, migrate_named, plan_folder, plan_named
from paimon_sql.procedures.migration.iceberg import migrate_iceberg, plan_iceberg
from paimon_sql.procedures.migration.request import Migration
from paimon_sql.procedures.migration.runs import base_of, is_swapping
from paimon_sql.procedures.registry import DryRunRows, Int, ProcedureContext, Rows, procedure, quoted

_TABLES = ("hive", "spark")
# by the kind of source: how it is migrated, and what a dry run returns
_KINDS: Mapping[str, tuple[Callable[[Migration], None], Callable[[Migration], Rows]]] = {
    **dict.fromkeys(_TABLES, (migrate_named, plan_named)),
    "iceberg": (migrate_iceberg, plan_iceberg),
    **dict.fromkeys(SUPPORTED, (migrate_folder, plan_folder)),
}


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
    dry_run: bool = False,
) -> Rows:
    """Turn the files of another table into an append table, or add them to an existing one.

    `source_type` is `hive` or `spark` for a table of Spark's session catalog or a format table of this catalog, a
    format (`parquet`, `orc`, `csv`, `json`) for the folder `table`, or `iceberg` for the current rows of an Iceberg
    table, given as its folder or a metadata file. The new table has the name of the old table, or `target_table`, and
    the options in `options` (`key=value,key=value`) and `options_map`. Parquet and ORC files are moved, or copied with
    `delete_origin => false`; other files are rewritten, in at most `parallelism` tasks at a time. The old table is
    dropped unless `delete_origin` is false. Rewritten files of a folder stay, and so do files of an Iceberg table that
    only older snapshots have. The result is true. With `dry_run` nothing changes: the result has a row for each
    partition that would be moved, copied or rewritten, with its files and bytes, and with its rows if the files are not
    rewritten.
    """
    check_parallelism(parallelism)
    chosen = table_options(options or "") | (options_map or {})
    if PRIMARY_KEY.key in chosen:
        raise InvalidOptionError(
            "Migrated tables are append tables: a primary key cannot be among the options. Leave it out."
        )
    kind = source_type.strip().lower()
    if kind not in _KINDS:
        raise InvalidOptionError(f"source_type cannot be {kind!r}: use one of {', '.join(_KINDS)}.")
    migrate, plan = _KINDS[kind]
    migration = Migration(context, kind, table, target_table, chosen, delete_origin, f"migrate {table}")
    if dry_run:
        return DryRunRows(plan(migration))
    migrate(migration)
    return [(True,)]


@procedure(result="string")
def migrate_database(
    context: ProcedureContext,
    source_type: str,
    database: str,
    options: str | None = None,
    options_map: dict[str, str] | None = None,
    parallelism: Int | None = None,
    dry_run: bool = False,
) -> Rows:
    """Migrate all tables of a database of Spark's session catalog, and the format tables of this catalog's database,
    as `migrate_table` does.

    The result has the numbers of migrated and failed tables; failures are logged with the reason. With `dry_run`
    nothing changes: the result has the rows of a dry run of `migrate_table` for each table, and for each table that
    cannot be migrated a row with the reason.
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
        if name not in ours or (table not in chosen_tables and is_stopped(context, table)):
            chosen_tables.append(table)

    def migrate(table: Identifier, *, dry: bool = False) -> Rows:
        given = {"source_type": source_type, "table": quoted(table), "options_map": chosen, "dry_run": dry}
        return migrate_table.call(context, given)

    if dry_run:
        return DryRunRows(row for table in chosen_tables for row in _rows_or_reason(table, partial(migrate, dry=True)))
    done, errors = of_each(chosen_tables, migrate, "migrated")
    return [(f"migrate database is finished, success cnt: {len(done)} , failed cnt: {len(errors)}",)]


def _rows_or_reason(table: Identifier, plan: Callable[[Identifier], Rows]) -> Iterator[tuple[Any, ...]]:
    work = f"migrate {table}"
    try:
        for _, *row in plan(table):
            yield work, *row
    except UNREADABLE as error:
        yield work, None, None, None, None, None, str(error)
