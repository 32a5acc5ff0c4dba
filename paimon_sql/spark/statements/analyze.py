"""ANALYZE TABLE: Spark computes statistics of rows and columns, and a commit stores them with the table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidSchemaError, UnsupportedFeatureError
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.statistics import TableStatistics
from paimon_core.spec.types import DataField, Kind
from paimon_core.spec.value_texts import bound_text
from paimon_core.table import Table
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm.plans import AnalyzeColumns, AnalyzeTable
from paimon_sql.spark.jvm.scans.statistics import column_statistics
from paimon_sql.spark.statements.commands import TableCommand

_WITHOUT_STATISTICS = (Kind.ARRAY, Kind.MAP, Kind.MULTISET, Kind.ROW, Kind.VARIANT)
_COUNTS = ("distinctCount", "nullCount", "avgLen", "maxLen")
_ORDER = ("colId", "distinctCount", "min", "max", "nullCount", "avgLen", "maxLen")


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
                raise UnsupportedFeatureError("NOSCAN is ineffective with paimon: leave it out, to count the rows.")
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
            if field.type.kind in _WITHOUT_STATISTICS:
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
