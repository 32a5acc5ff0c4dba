"""Rows that UPDATE, DELETE and merges change: how they are read, and the changes that are written and committed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_core.arrow.columns import fixed_array
from paimon_core.arrow.types import FILE_PATH, ROW_INDEX, VALUE_KIND, arrow_type
from paimon_core.dataclass import dataclass
from paimon_core.errors import ColumnNotFoundError, InvalidDataError
from paimon_core.lsm.rows import ROW_DELETE, ROW_INSERT, ROW_UPDATE_AFTER
from paimon_core.options import DATA_EVOLUTION, READ_ALLOW_FULL_SCAN, SCALAR_INDEX_SEARCH_MODE
from paimon_core.row_level.rules import ChangeRules, check_changeable, row_position_columns
from paimon_core.row_level.statement import RowLevelStatement
from paimon_core.row_level.writer import changes_store, write_changes
from paimon_core.scan.derived_tables import DerivedTable
from paimon_core.spec.types import DataField
from paimon_core.store.blob.columns import options_of_change
from paimon_core.store.ddl.row_rules import RowRules
from paimon_core.store.features import check_seen_whole
from paimon_core.table import Table
from paimon_sql.python.assignment import AssignedRows
from paimon_sql.python.checks import RowChecks
from paimon_sql.python.executor import ThreadExecutor
from paimon_sql.python.scan import TableScan, new_scan
from paimon_sql.python.where.condition import Computed, Where


def check_changed(table: Table, *, replacing: str | None) -> None:
    """Raise an error if rows of a table cannot be changed (see `check_changeable`), or if the catalog's user may not
    change them.
    """
    table.check_writable()
    check_seen_whole(table.store)
    check_changeable(table.store, replacing=replacing)


def rows_to_change(
    table: Table, where: Where | None, names: Iterable[str], *, is_query: bool = False, deletes: bool = False
) -> TableScan:
    """Return the scan of the rows to change, with the place of each row in tables without a key.

    A full scan needs permission only if it `is_query`. `deletes`: the rows are not written again.
    """
    options = {} if is_query else {READ_ALLOW_FULL_SCAN.key: "true"}
    if not deletes:
        options |= options_of_change(table.schema)
    if table.store.options[DATA_EVOLUTION]:
        options[SCALAR_INDEX_SEARCH_MODE.key] = "full"  # a query for rows to change may skip none
    read = table.with_options(options)
    wanted = [*row_position_columns(table.store), *names]
    return new_scan(read, DerivedTable.ROWS, read.latest_snapshot(), wanted, where, None, read)


def computed_value(table: Table, name: str, value: Any, fields: Sequence[DataField]) -> Computed:
    """Return the new value of a column: a text is an expression on `fields`, any other value is a constant.

    Raises `ColumnNotFoundError`, `InvalidDataError` for a value that the column cannot have, and as `bind`.
    """
    known = {f.name: f for f in table.schema.fields}
    alike = [f for key, f in known.items() if key.lower() == name.lower()]
    field = known.get(name) or (alike[0] if len(alike) == 1 else None)
    if field is None:
        raise ColumnNotFoundError(f"Table {table.name} has no column {name!r} to assign; it has {', '.join(known)}.")
    if isinstance(value, str):
        return Computed.of(field.name, value, fields, table.store.zone)
    try:
        return Computed(field.name, scalar=pa.scalar(value, arrow_type(field.type)))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as e:
        raise InvalidDataError(
            f"Column {field.name!r} of table {table.name} is of type {field.type.sql()} and cannot be {value!r}: {e}"
        ) from e


def made_anew(table: Table, assigned: Iterable[str]) -> dict[str, Computed]:
    """Return NULL for each generated column that changes with assigned columns: `ChangedRows` puts its value in place
    of NULL.
    """
    types = {f.name: arrow_type(f.type) for f in table.schema.fields}
    return {c: Computed(c, scalar=pa.scalar(None, types[c])) for c in RowRules.of(table.schema).made_anew(assigned)}


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """Makes the changes of a statement in the form that tasks write: a kind, the place of the replaced row, and the new
    row.

    New values are cast as INSERT casts them, and must satisfy the table's constraints.
    """

    table: Table
    checks: RowChecks
    assigned: AssignedRows

    @staticmethod
    def of(table: Table) -> ChangedRows:
        """Return an object that makes changes of a table. Raises the errors of `RowChecks.of`."""
        return ChangedRows(table, RowChecks.of(table), AssignedRows(table.store, {}))

    def in_place(self, rows: TableScan) -> Iterator[pa.RecordBatch]:
        """Yield the rows to change. With data evolution, changes of a row range must come in order."""
        if self.table.store.options[DATA_EVOLUTION]:
            yield from rows.to_arrow().sort_by([(FILE_PATH, "ascending"), (ROW_INDEX, "ascending")]).to_batches()
        else:
            yield from rows.to_batches()

    def deleted(self, old: pa.RecordBatch) -> pa.RecordBatch:
        """Return the changes that delete rows."""
        return self._changes(old.num_rows, ROW_DELETE, self._places(old), self._own(old))

    def updated(self, old: pa.RecordBatch, values: Mapping[str, pa.Array]) -> pa.RecordBatch:
        """Return the changes that give columns new values. Columns that `old` lacks are NULL: the statement does not
        write them.
        """
        made = self._stored(values)
        row = self._own(old) | {name: made.column(name) for name in values}
        if self.checks.checks:
            (whole,) = self.checks.passed([pa.record_batch(row)])
            row = dict(zip(whole.schema.names, whole.columns, strict=True))
        return self._changes(old.num_rows, ROW_UPDATE_AFTER, self._places(old), row)

    def inserted(self, values: Mapping[str, pa.Array]) -> pa.RecordBatch:
        """Return the changes that add rows; other columns are NULL, or have their default."""
        (made,) = self.checks.passed([self._stored(values)])
        return self._changes(made.num_rows, ROW_INSERT, {}, dict(zip(made.schema.names, made.columns, strict=True)))

    def _stored(self, values: Mapping[str, pa.Array]) -> pa.RecordBatch:
        given = pa.record_batch(dict(values))
        (made,) = self.assigned.batches(pa.RecordBatchReader.from_batches(given.schema, [given]))
        return made

    def _places(self, old: pa.RecordBatch) -> dict[str, pa.Array]:
        return {name: old.column(name) for name in row_position_columns(self.table.store)}

    def _own(self, old: pa.RecordBatch) -> dict[str, pa.Array]:
        known = set(old.schema.names)
        return {f.name: old.column(f.name) for f in self.table.schema.fields if f.name in known}

    def _changes(
        self, count: int, kind: int, places: Mapping[str, pa.Array], held: Mapping[str, pa.Array]
    ) -> pa.RecordBatch:
        kinds = fixed_array(np.full(count, kind, dtype=np.int8), pa.int8())
        types = {FILE_PATH: pa.string()}
        place = {
            name: places.get(name, pa.nulls(count, types.get(name, pa.int64())))
            for name in row_position_columns(self.table.store)
        }
        row = {f.name: held.get(f.name, pa.nulls(count, arrow_type(f.type))) for f in self.table.schema.fields}
        return pa.record_batch({VALUE_KIND: kinds, **place, **row})


def commit_changes(table: Table, rules: ChangeRules, changes: Iterable[pa.RecordBatch]) -> None:
    """Write changes by the rules of a statement, in one commit. Raises the errors of `RowLevelStatement.commit`."""
    info = table.commit_info(rules.operation)
    table.check_not_made(info)
    base, store = table.assignment_base(1), table.write_store(overwrites=False)
    planned = table.for_write()
    statement = RowLevelStatement(planned, rules, ThreadExecutor())
    start = planned.max_sequence_number() + 1
    statement.commit([write_changes(changes_store(store, rules), rules, changes, sequence_start=start, base=base)])
