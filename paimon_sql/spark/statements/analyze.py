"""ANALYZE TABLE: Spark computes statistics of rows and columns, and a commit stores them with the table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from py4j.java_gateway import JavaObject

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidSchemaError, UnsupportedFeatureError
from paimon_core.format_table.kind import is_format_table
from paimon_core.object_table import is_object_table
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.kinds import NESTED_KINDS
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.statistics import TableStatistics
from paimon_core.spec.types import DataField
from paimon_core.spec.value_texts import bound_text
from paimon_core.table import Table
from paimon_sql.catalog.base import with_databases
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm.commands import create_namespace
from paimon_sql.spark.jvm.plans import AnalyzeColumns, AnalyzeTable, analyzed_database
from paimon_sql.spark.jvm.scans.statistics import column_statistics
from paimon_sql.spark.statements.catalog_registry import CatalogRegistry
from paimon_sql.spark.statements.commands import FunctionCommand, TableCommand
from paimon_sql.spark.tables.catalog import SparkCatalog

_NO_SCAN = "NOSCAN is ineffective with paimon: leave it out, to count the rows."
ANALYZE_TABLES = re.compile(r"\banalyze\s+tables\b", re.IGNORECASE)
_COUNTS = ("distinctCount", "nullCount", "avgLen", "maxLen")
_ORDER = ("colId", "distinctCount", "min", "max", "nullCount", "avgLen", "maxLen")


def with_each_table(registry: CatalogRegistry, plan: JavaObject) -> JavaObject:
    """Return an ANALYZE TABLES as a command that analyzes each table of a Paimon database; any other statement
    unchanged."""
    asked = analyzed_database(plan)
    place = None if asked is None else registry.find_database(asked[0])
    if asked is None or place is None:
        return plan
    command = FunctionCommand(registry.jvm, "AnalyzeTables", partial(_analyze, registry, *place, no_scan=asked[1]))
    return create_namespace(registry.jvm, command, "AnalyzeTables")


def _analyze(registry: CatalogRegistry, catalog: SparkCatalog, database: str, *, no_scan: bool) -> None:
    if no_scan:
        raise UnsupportedFeatureError(_NO_SCAN)
    for name in with_databases(catalog.catalog).list_tables(database):
        options = catalog.catalog.load_table(Identifier(database, name)).schema.options
        if not is_format_table(options) and not is_object_table(options):  # which have no snapshots
            table = ".".join(map(quoted_name, (catalog.catalog_name, database, name)))
            registry.bridge.python_session.sql(f"ANALYZE TABLE {table} COMPUTE STATISTICS")


class AnalyzeStatement(TableCommand):
    """`ANALYZE TABLE t COMPUTE STATISTICS [FOR COLUMNS … | FOR ALL COLUMNS]`."""

    plan: AnalyzeTable | AnalyzeColumns

    def _run(self, table: Table) -> None:
        table.check_writable()
        fields = list(self._fields(table.schema))
        snapshot = table.latest_snapshot()
        if snapshot is None:
            return
        names = (self.catalog.catalog_name, self.identifier.database, self.identifier.table)
        frame = self.session.python_session.table(".".join(map(quoted_name, names)))
        rows, columns = column_statistics(self.jvm, frame, [f.name for f in fields])
        size = sum(s.size for s in table.plan(snapshot).splits)
        statistics = TableStatistics(
            snapshot_id=snapshot.id,
            schema_id=table.schema.id,
            merged_record_count=rows,
            merged_record_size=size * rows // max(rows, snapshot.total_record_count, 1),
            columns={f.name: _column(f, columns[f.name]) for f in fields},
        )
        table.commit_statistics(statistics, CommitInfo(user=table.new_commit_user()))

    def _fields(self, schema: TableSchema) -> Iterator[DataField]:
        """Return the columns to analyze. Raises an error if the statement cannot run."""
        if isinstance(self.plan, AnalyzeTable):
            if self.plan.names_partition:
                raise UnsupportedFeatureError(
                    "Analyze table partition is not supported: statistics are of a whole table. Leave PARTITION out."
                )
            if self.plan.no_scan:
                raise UnsupportedFeatureError(_NO_SCAN)
            return
        names = [f.name for f in schema.fields] if self.plan.columns is None else self.plan.columns
        exactly = self.session.is_case_sensitive()
        for name in dict.fromkeys(names):
            field = next((f for f in schema.fields if f.name == name), None)
            if field is None and not exactly:
                field = next((f for f in schema.fields if f.name.lower() == name.lower()), None)
            if field is None:
                known = ", ".join(f.name for f in schema.fields)
                raise InvalidSchemaError(f"Column {name} not found in {self.identifier}; it has {known}.")
            if field.type.kind in NESTED_KINDS:
                raise UnsupportedFeatureError(
                    f"Analyzing on col: {field.name}, data type: {field.type.sql()} is not supported: name the columns "
                    "of plain types after FOR COLUMNS."
                )
            yield field


def _column(field: DataField, found: dict[str, str]) -> dict[str, Any]:
    """Return a column's entry in the statistics file, made from Spark's texts."""
    values: dict[str, Any] = {k: int(found[k]) for k in _COUNTS if k in found}
    values |= {k: bound_text(field.type.kind, found[k]) for k in ("min", "max") if k in found}
    values["colId"] = field.id
    return {k: values[k] for k in _ORDER if k in values}
