"""DELETE and UPDATE in Python: rows that satisfy a condition are changed in one commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from paimon_core.errors import InvalidDataError
from paimon_core.expressions.predicate import conjunction
from paimon_core.row_level.rules import (
    check_deletable,
    delete_rules,
    deletes_whole_partitions,
    update_rules,
)
from paimon_core.scan.execution import is_answered_by_partitions
from paimon_core.spec.snapshot import Operation
from paimon_core.store.blob.columns import check_no_views_read
from paimon_core.table import Table
from paimon_sql.python.changed_rows import (
    ChangedRows,
    check_changed,
    commit_changes,
    computed_value,
    made_anew,
    rows_to_change,
)
from paimon_sql.python.scan import TableScan
from paimon_sql.python.where.condition import Computed, Condition, Where


def delete_rows(table: Table, where: Where) -> None:
    """Delete the rows that satisfy a condition. Raises the errors of `PaimonTable.delete`."""
    check_changed(table, replacing=None)
    check_deletable(table.store, table.hides_rows)
    condition = Condition.of(where, table.schema.fields, table.store.zone)
    pushed = [p for _, p in condition.pushed(table.schema.field_by_name)]
    known = [p for p in pushed if p is not None and is_answered_by_partitions(p, table.schema)]
    if len(known) == len(pushed) and deletes_whole_partitions(table.store):
        table.truncate(table.commit_info(Operation.TRUNCATE), conjunction(known))
        return
    rules = delete_rules(table.store, table.latest_snapshot())
    keeps = tuple(f.name for f in table.schema.fields) if table.store.has_primary_key else ()
    commit_changes(table, rules, _deleted(ChangedRows.of(table), rows_to_change(table, where, keeps, deletes=True)))


def update_rows(table: Table, assignments: Mapping[str, Any], where: Where | None) -> None:
    """Give rows that satisfy a condition other values. Raises the errors of `PaimonTable.update`."""
    check_changed(table, replacing="UPDATE")
    fields = table.schema.fields
    computed = {c.column: c for c in (computed_value(table, n, value, fields) for n, value in assignments.items())}
    if not computed or len(computed) < len(assignments):
        raise InvalidDataError(f"UPDATE of {table.name} must assign at least one column, and each only once.")
    read = {name for c in computed.values() for name in c.columns}
    if where is not None:
        read |= Condition.of(where, fields, table.store.zone).columns
    check_no_views_read(table.store, sorted(read), "UPDATE")
    names, changed = [f.name for f in fields], ChangedRows.of(table)
    computed |= made_anew(table, computed)
    rules = update_rules(table.store, table.latest_snapshot(), computed.keys())
    used = {name for c in computed.values() for name in c.columns} | (set(names) if rules.moves_rows else set())
    rows = rows_to_change(table, where, [n for n in names if n in used | changed.checks.columns])
    commit_changes(table, rules, _updated(changed, rows, computed))


def _deleted(changed: ChangedRows, rows: TableScan) -> Iterator[pa.RecordBatch]:
    for batch in changed.in_place(rows):
        yield changed.deleted(batch)


def _updated(changed: ChangedRows, rows: TableScan, computed: Mapping[str, Computed]) -> Iterator[pa.RecordBatch]:
    for batch in changed.in_place(rows):
        yield changed.updated(batch, {name: c.values(batch) for name, c in computed.items()})
