"""A parsed DELETE, UPDATE or MERGE INTO."""

from __future__ import annotations

from typing import Any

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.options import SCAN_FALLBACK_BRANCH
from paimon_core.table import Table
from paimon_sql.spark.jvm import class_name
from paimon_sql.spark.merge_into import merge_rows
from paimon_sql.spark.row_level import delete_rows, open_target, update_rows
from paimon_sql.spark.statement import Statement


class RowLevelStatement(Statement):
    """Changes rows of one table."""

    def _run(self, plan: Any, table: Table) -> None:
        table.check_writable()
        if table.store.options[SCAN_FALLBACK_BRANCH]:
            raise UnsupportedFeatureError(
                f"Rows of table {table.name} cannot be changed while it reads partitions from a branch: unset "
                f"'{SCAN_FALLBACK_BRANCH.key}' first, or change the branch's rows."
            )
        kind = class_name(plan)
        relation = plan.targetTable() if kind == "MergeIntoTable" else plan.table()
        target = open_target(self.jvm, self.session, self.catalog.catalog_name, table, self.identifier, relation)
        if kind == "DeleteFromTable":
            delete_rows(target, plan.condition())
        elif kind == "UpdateTable":
            condition = plan.condition()
            update_rows(target, self.jvm.items(plan.assignments()), condition.get() if condition.isDefined() else None)
        else:
            merge_rows(target, plan)
