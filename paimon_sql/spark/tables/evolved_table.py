"""A table with the columns that the rows of a statement bring: nobody else sees them before the rows are committed.

Spark itself alters a table while it analyzes the statement, which leaves the columns behind where that fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paimon_core.scan.time_travel import without_version
from paimon_core.spec.identifier import Identifier
from paimon_core.store.ddl.schema_changes import SchemaChange
from paimon_sql.catalog.base import StagedTable
from paimon_sql.spark.jvm.gateway import SQL
from paimon_sql.spark.tables.catalog import SparkCatalog
from paimon_sql.spark.tables.table import SparkTable


class EvolvedTable(SparkTable):
    """A table under a schema that is published right before the rows written to it."""

    def __init__(self, catalog: SparkCatalog, staged: StagedTable, options: dict[str, str]) -> None:
        super().__init__(catalog.jvm, catalog.session, catalog.catalog_name, staged.table, options)
        self.publish = staged.publish

    def newWriteBuilder(self, info: Any) -> Any:
        builder = super().newWriteBuilder(info)
        builder.before_commit = self.publish
        return builder

    class Java:
        implements = SparkTable.Java.implements


def evolved_table(catalog: SparkCatalog, name: Identifier, changes: list[SchemaChange]) -> EvolvedTable:
    """The table of a statement that brings changes of its schema."""
    staged = catalog.catalog.stage_alter(name, changes)
    return EvolvedTable(catalog, staged, without_version(catalog.session.table_options(catalog.catalog_name, name)))


def named_relation(catalog: SparkCatalog, name: Identifier, table: SparkTable, options: Mapping[str, str]) -> Any:
    """The relation of a table to be read, columns to be qualified by its full name."""
    alias = catalog.jvm.scala_object(f"{SQL}.catalyst.plans.logical.SubqueryAlias")
    full = catalog.jvm.seq((catalog.catalog_name, name.database, name.name))
    return alias.apply(full, relation(catalog, name, table, options))


def relation(catalog: SparkCatalog, name: Identifier, table: SparkTable, options: Mapping[str, str]) -> Any:
    """A table as a relation of a plan, which Spark need not look up."""
    jvm = catalog.jvm
    make = jvm.java_class(f"{SQL}.execution.datasources.v2.DataSourceV2Relation").create
    given = jvm.java_class(f"{SQL}.util.CaseInsensitiveStringMap")(jvm.map(options))
    identifier = jvm.identifier([name.database], name.name)
    return make(table, jvm.some(catalog), jvm.some(identifier), given, jvm.none)
