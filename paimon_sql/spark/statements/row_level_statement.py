"""A parsed DELETE, UPDATE or MERGE INTO."""

from __future__ import annotations

from typing import Any

from pyspark.errors.exceptions.captured import CapturedException

from paimon_core.row_level.rules import check_changeable
from paimon_core.store.features import check_seen_whole
from paimon_core.table import Table
from paimon_sql.spark.jvm.frames import run
from paimon_sql.spark.jvm.plans import Delete, Merge, Update
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


class SparkRowLevelStatement(TableCommand):
    """Changes rows of one table."""

    plan: Delete | Update | Merge

    def explained(self) -> Any:
        """Return the plan that EXPLAIN shows: the rows that change, and their write. Nothing is changed."""
        try:
            target = self._target(self._load())
            return target.command(self._changes(target, runs=False))
        except CapturedException:
            return self.plan.node  # Spark reports the error

    def _run(self, table: Table) -> None:
        target = self._target(table)
        if isinstance(self.plan, Merge) and brings_columns(table, self.plan):
            changes = new_columns(target, self.plan)
            if changes:
                evolved = evolved_table(self.catalog, self.identifier, changes)
                target = self._target(evolved.table, evolved)
        if isinstance(self.plan, Delete) and delete_by_metadata(target, self.plan.condition):
            return
        run(self.jvm, self.session.session, target.command(self._changes(target, runs=True)))

    def _target(self, table: Table, evolved: EvolvedTable | None = None) -> Target:
        table.check_writable()
        check_seen_whole(table.store)
        replacing = {Update: "UPDATE", Merge: "MERGE INTO"}.get(type(self.plan))
        check_changeable(table.store, replacing=replacing)
        return open_target(self.catalog, table, self.identifier, self.plan, evolved)

    def _changes(self, target: Target, *, runs: bool) -> Changes:
        match self.plan:
            case Delete(condition=condition):
                return deleted_rows(target, condition, runs=runs)
            case Update(assignments=assignments, condition=condition):
                return updated_rows(target, assignments, condition, runs=runs)
            case Merge():
                return merged_rows(target, self.plan, runs=runs)
