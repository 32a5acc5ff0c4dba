"""A table with the columns that the rows of a statement add. Other readers see these columns once the rows are
committed.

Spark itself alters a table while it analyzes the statement: if the statement then fails, the new columns remain.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paimon_core.row_level.rules import row_position_columns
from paimon_core.scan.time_travel import without_version
from paimon_core.spec.identifier import Identifier
from paimon_core.store.ddl.row_rules import RowRules
from paimon_core.store.ddl.schema_changes import SchemaChange
from paimon_core.table import Table
from paimon_sql.catalog.base import StagedTable
from paimon_sql.spark.jvm import commands
from paimon_sql.spark.tables.catalog import SparkCatalog
from paimon_sql.spark.tables.table import SparkTable
from paimon_sql.spark.write.write import PaimonWriteBuilder, WriteRules
from paimon_sql.spark.write.write_options import CHECKED


class EvolvedTable(SparkTable):
    """A table with a new schema, which is published right before the rows written to it."""

    def __init__(self, catalog: SparkCatalog, staged: StagedTable, options: dict[str, str]) -> None:
        super().__init__(catalog.jvm, catalog.session, catalog.catalog_name, staged.table, options)
        self.publish = staged.publish

    def _write_builder(self, table: Table, info: Any, given: Mapping[str, str]) -> PaimonWriteBuilder:
        rules = WriteRules(before_commit=self.publish)
        return PaimonWriteBuilder(self.jvm, self.session, table, info, rules, given)

    class Java:
        implements = SparkTable.Java.implements


class CheckedSink(SparkTable):
    """A table that a stream writes to. The write gets a digest of the constraints that the stream's rows are checked
    against.
    """

    def _write_builder(self, table: Table, info: Any, given: Mapping[str, str]) -> PaimonWriteBuilder:
        return super()._write_builder(table, info, {**given, CHECKED: RowRules.of(self.table.schema).digest})

    class Java:
        implements = SparkTable.Java.implements


def checked_sink(catalog: SparkCatalog, name: Identifier, table: Table) -> CheckedSink:
    """Return the table of a stream with checked rows, under the session's other settings."""
    return CheckedSink(catalog.jvm, catalog.session, catalog.catalog_name, table, _options(catalog, name, None))


def latest_table(
    catalog: SparkCatalog, name: Identifier, table: Table, more: Mapping[str, str] | None = None
) -> SparkTable:
    """The latest version of a table that a statement changes, under the session's other settings and `more` options."""
    return SparkTable(catalog.jvm, catalog.session, catalog.catalog_name, table, _options(catalog, name, more))


def evolved_table(
    catalog: SparkCatalog, name: Identifier, changes: list[SchemaChange], more: Mapping[str, str] | None = None
) -> EvolvedTable:
    """Return the table of a statement that changes the schema, with `more` options in addition to the session's."""
    return EvolvedTable(catalog, catalog.catalog.stage_alter(name, changes), _options(catalog, name, more))


def _options(catalog: SparkCatalog, name: Identifier, more: Mapping[str, str] | None) -> dict[str, str]:
    return without_version(catalog.session.table_options(catalog.catalog_name, name)) | dict(more or {})


def named_relation(
    catalog: SparkCatalog, name: Identifier, table: SparkTable, full: tuple[str, ...], options: Mapping[str, str]
) -> Any:
    """Return the relation of a table to read, with columns that the name `full` can qualify. For a table without a
    primary key, metadata columns follow the table's columns.
    """
    positions = bool(row_position_columns(table.table.store))
    found = relation(catalog, name, table, options)
    return commands.qualified(catalog.jvm, commands.with_metadata_columns(found) if positions else found, full)


def relation(catalog: SparkCatalog, name: Identifier, table: SparkTable, options: Mapping[str, str]) -> Any:
    """Return a relation of a plan for a table, so that Spark need not look the table up."""
    found = catalog.jvm.fronted(table)
    return commands.relation(catalog.jvm, catalog, name.database, name.name, found, options)
