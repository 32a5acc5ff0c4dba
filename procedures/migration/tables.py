"""A table of the session's own catalog, or a format table of this catalog, as a source."""

from __future__ import annotations

from functools import partial

from paimon_core.errors import InvalidOptionError, TableNotFoundError
from paimon_core.format_table.options import is_format_table
from paimon_core.format_table.table import FormatTable
from paimon_core.spec.identifier import Identifier
from paimon_sql.procedures.migration.files import MigratedFiles, migrate_files, of_foreign
from paimon_sql.procedures.migration.request import Migration
from paimon_sql.procedures.migration.runs import Runs
from paimon_sql.procedures.registry import ProcedureContext, has_table

_SESSION_CATALOG = "spark_catalog"


def migrate_named(migration: Migration) -> None:
    """Migrate a table by its name, and drop the old table if the call requires it."""
    migrate_files(migration, lambda: _find(migration.context, migration.source))


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
    return Runs.of(source.files, source.files.plan()).has_begun(context.catalog.load_table(identifier).store)
