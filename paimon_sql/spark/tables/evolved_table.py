"""A table with the columns that the rows of a statement bring: nobody else sees them before the rows are committed.

Spark itself alters a table while it analyzes the statement, which leaves the columns behind where that fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paimon_core.scan.time_travel import without_version
from paimon_core.spec.identifier import Identifier
from paimon_core.store.ddl.schema_changes import SchemaChange
from paimon_core.table import Table
from paimon_sql.catalog.base import StagedTable
from paimon_sql.spark.jvm import commands
from paimon_sql.spark.tables.catalog import SparkCatalog
from paimon_sql.spark.tables.table import SparkTable
from paimon_sql.spark.write.write import PaimonWriteBuilder, WriteRules


class EvolvedTable(SparkTable):
    """A table under a schema that is published right before the rows written to it."""

    def __init__(self, catalog: SparkCatalog, staged: StagedTable, options: dict[str, str]) -> None:
        super().__init__(catalog.jvm, catalog.session, catalog.catalog_name, staged.table, options)
        self.publish = staged.publish

    def _write_builder(self, table: Table, info: Any) -> PaimonWriteBuilder:
        return PaimonWriteBuilder(self.jvm, self.session, table, info, WriteRules(before_commit=self.publish))

    class Java:
        implements = SparkTable.Java.implements


def latest_table(
    catalog: SparkCatalog, name: Identifier, table: Table, more: Mapping[str, str] | None = None
) -> SparkTable:
    """A table whose rows a statement changes: as it is now, under the other settings of the session, and more."""
    return SparkTable(catalog.jvm, catalog.session, catalog.catalog_name, table, _options(catalog, name, more))


def evolved_table(
    catalog: SparkCatalog, name: Identifier, changes: list[SchemaChange], more: Mapping[str, str] | None = None
) -> EvolvedTable:
    """The table of a statement that brings changes of its schema, with `more` options than those of the session."""
    return EvolvedTable(catalog, catalog.catalog.stage_alter(name, changes), _options(catalog, name, more))


def _options(catalog: SparkCatalog, name: Identifier, more: Mapping[str, str] | None) -> dict[str, str]:
    return without_version(catalog.session.table_options(catalog.catalog_name, name)) | dict(more or {})


def named_relation(
    catalog: SparkCatalog, name: Identifier, table: SparkTable, options: Mapping[str, str], *, positions: bool
) -> Any:
    """The relation of a table to be read, columns to be qualified by its full name; with `positions`, metadata columns
    are behind those of the table."""
    full = (catalog.catalog_name, name.database, name.name)
    found = relation(catalog, name, table, options)
    return commands.qualified(catalog.jvm, commands.with_metadata_columns(found) if positions else found, full)


def relation(catalog: SparkCatalog, name: Identifier, table: SparkTable, options: Mapping[str, str]) -> Any:
    """A table as a relation of a plan, which Spark need not look up."""
    found = catalog.jvm.fronted(table)
    return commands.relation(catalog.jvm, catalog, name.database, name.name, found, options)
