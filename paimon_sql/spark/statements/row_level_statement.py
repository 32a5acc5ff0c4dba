"""A parsed DELETE, UPDATE or MERGE INTO."""

from __future__ import annotations

from typing import Any

from pyspark.errors.exceptions.captured import CapturedException

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.lsm.engines.registry import replaces_rows
from paimon_core.options import MERGE_ENGINE, SCAN_DELTA_BRANCH, SCAN_FALLBACK_BRANCH, SCAN_SNAPSHOT_BRANCH
from paimon_core.scan.chain import is_chain
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

# statements that put a row in the place of another, which not every engine does
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
        _check_replaces(table, class_name(plan))
        if table.store.options[SCAN_FALLBACK_BRANCH]:
            raise UnsupportedFeatureError(
                f"Rows of table {table.name} cannot be changed while it reads partitions from a branch: unset "
                f"'{SCAN_FALLBACK_BRANCH.key}' first, or change the branch's rows."
            )
        if is_chain(table.store):
            full, changes = (table.store.options[o] for o in (SCAN_SNAPSHOT_BRANCH, SCAN_DELTA_BRANCH))
            raise UnsupportedFeatureError(
                f"Rows of chain table {table.name} cannot be changed as a whole: change them in its branch {full!r} of "
                f"full partitions, or in {changes!r}, that of changes."
            )
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


def _check_replaces(table: Table, kind: str) -> None:
    """Raises `UnsupportedFeatureError` for a statement that the table's merge engine would not do."""
    if not table.schema.primary_keys or kind not in _REPLACING:
        return
    engine = table.store.options[MERGE_ENGINE]
    if not replaces_rows(table.schema, table.store.options):
        raise UnsupportedFeatureError(
            f"{_REPLACING[kind]} of table {table.name} is not supported: with merge engine {engine} a new row does not "
            "replace the one of its key. INSERT rows to be merged, or DELETE the row and INSERT it anew."
        )
