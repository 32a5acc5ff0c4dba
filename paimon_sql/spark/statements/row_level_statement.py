"""A parsed DELETE, UPDATE or MERGE INTO."""

from __future__ import annotations

from typing import Any

from pyspark.errors.exceptions.captured import CapturedException

from paimon_core.row_level.rules import check_changeable
from paimon_core.table import Table
from paimon_sql.spark.jvm.gateway import class_name
from paimon_sql.spark.statements.commands import TableCommand
from paimon_sql.spark.statements.merge_into import brings_columns, merged_rows, new_columns
from paimon_sql.spark.statements.row_level import (
    Changes,
    Target,
    delete_by_metadata,
    deleted_rows,
    open_target,
    updated_rows,
)
from paimon_sql.spark.tables.evolved_table import EvolvedTable, evolved_table

# statements that replace rows by others, which not every merge engine does
_REPLACING = {"UpdateTable": "UPDATE", "MergeIntoTable": "MERGE INTO"}


class RowLevelStatement(TableCommand):
    """Changes rows of one table."""

    def explained(self) -> Any:
        """The plan that EXPLAIN shows: the rows that change, and the write of them. Nothing is changed."""
        try:
            target = self._target(self.plan, self._load())
            return target.command(self._changes(self.plan, target))
        except CapturedException:
            return self.plan  # Spark says what is wrong

    def _run(self, plan: Any, table: Table) -> None:
        target = self._target(plan, table)
        if class_name(plan) == "MergeIntoTable" and brings_columns(table, plan):
            changes = new_columns(target, plan)
            if changes:
                evolved = evolved_table(self.catalog, self.identifier, changes)
                target = self._target(plan, evolved.table, evolved)
        if class_name(plan) == "DeleteFromTable" and delete_by_metadata(target, plan.condition()):
            return
        self.jvm.frame(self.session.session, target.command(self._changes(plan, target)))

    def _target(self, plan: Any, table: Table, evolved: EvolvedTable | None = None) -> Target:
        table.check_writable()
        check_changeable(table.store, replacing=_REPLACING.get(class_name(plan)))
        return open_target(self.catalog, table, self.identifier, plan, evolved)

    def _changes(self, plan: Any, target: Target) -> Changes:
        kind = class_name(plan)
        if kind == "DeleteFromTable":
            return deleted_rows(target, plan.condition())
        if kind == "UpdateTable":
            condition = plan.condition()
            return updated_rows(
                target, self.jvm.items(plan.assignments()), condition.get() if condition.isDefined() else None
            )
        return merged_rows(target, plan)
