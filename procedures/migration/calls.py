"""The procedures, and the kinds of sources that they accept."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from paimon_core.errors import DatabaseNotFoundError, InvalidOptionError
from paimon_core.format_table.options import SUPPORTED
from paimon_core.options import PRIMARY_KEY
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.listing import of_each, tables_of
from paimon_sql.procedures.arguments import check_parallelism, table_options
from paimon_sql.procedures.migration.files import is_stopped, migrate_folder, migrate_named
from paimon_sql.procedures.migration.iceberg import migrate_iceberg
from paimon_sql.procedures.migration.request import Migration
from paimon_sql.procedures.migration.runs import base_of, is_swapping
from paimon_sql.procedures.registry import Int, ProcedureContext, Rows, procedure, quoted

_TABLES = ("hive", "spark")
_KINDS: Mapping[str, Callable[[Migration], None]] = {
    **dict.fromkeys(_TABLES, migrate_named),
    "iceberg": migrate_iceberg,
    **dict.fromkeys(SUPPORTED, migrate_folder),
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
) -> Rows:
    """Turn the files of another table into an append table, or add them to an existing one.

    `source_type` is `hive` or `spark` for a table of Spark's session catalog or a format table of this catalog, a
    format (`parquet`, `orc`, `csv`, `json`) for the folder `table`, or `iceberg` for the current rows of an Iceberg
    table, given as its folder or a metadata file. The new table has the name of the old table, or `target_table`, and
    the options in `options` (`key=value,key=value`) and `options_map`. Parquet and ORC files are moved, or copied with
    `delete_origin => false`; other files are rewritten, in at most `parallelism` tasks at a time. The old table is
    dropped unless `delete_origin` is false. Rewritten files of a folder stay, and so do files of an Iceberg table that
    only older snapshots have. The result is true.
    """
    check_parallelism(parallelism)
    chosen = table_options(options or "") | (options_map or {})
    if PRIMARY_KEY.key in chosen:
        raise InvalidOptionError("Migrated tables are append tables: a primary key cannot be among the options.")
    migrate = _KINDS.get(source_type.strip().lower())
    if migrate is None:
        raise InvalidOptionError(
            f"source_type cannot be {source_type.strip().lower()!r}: use one of {', '.join(_KINDS)}."
        )
    migrate(Migration(context, source_type.strip().lower(), table, target_table, chosen, delete_origin))
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
        if name not in ours or (table not in chosen_tables and is_stopped(context, table)):
            chosen_tables.append(table)

    def migrate(table: Identifier) -> Rows:
        return migrate_table.call(context, {"source_type": source_type, "table": quoted(table), "options_map": chosen})

    done, errors = of_each(chosen_tables, migrate, "migrated")
    return [(f"migrate database is finished, success cnt: {len(done)} , failed cnt: {len(errors)}",)]
