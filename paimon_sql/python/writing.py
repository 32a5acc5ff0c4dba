"""Writes in Python: rows become files, and one commit makes them visible. The steps are the ones of INSERT, DELETE and
UPDATE in Spark, with one task in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_core.arrow.columns import fixed_array
from paimon_core.arrow.table_fields import table_fields
from paimon_core.arrow.types import FILE_PATH, ROW_INDEX, VALUE_KIND, arrow_type
from paimon_core.commit.changes import Overwrite
from paimon_core.errors import ColumnNotFoundError, InvalidDataError, UnsupportedFeatureError
from paimon_core.expressions.predicate import columns, conjunction, equals
from paimon_core.expressions.terms import core_value
from paimon_core.insert import insert_rows
from paimon_core.lsm.rows import ROW_DELETE, ROW_UPDATE_AFTER
from paimon_core.options import (
    DATA_EVOLUTION,
    MERGE_SCHEMA,
    READ_ALLOW_FULL_SCAN,
    SCALAR_INDEX_SEARCH_MODE,
    UPSERT_KEY,
)
from paimon_core.row_level.rules import (
    ChangeRules,
    check_changeable,
    check_deletable,
    delete_rules,
    deletes_whole_partitions,
    row_position_columns,
    update_rules,
)
from paimon_core.row_level.statement import RowLevelStatement
from paimon_core.row_level.writer import changes_store, write_changes
from paimon_core.scan.derived_tables import DerivedTable
from paimon_core.scan.execution import is_answered_by_partitions
from paimon_core.spec.snapshot import Operation
from paimon_core.store.ddl.merged_schema import merging_changes
from paimon_core.store.ddl.schema_changes import SchemaChange
from paimon_core.store.features import check_seen_whole
from paimon_core.table import Table
from paimon_sql.catalog.base import StagedTable
from paimon_sql.python.assignment import AssignedRows, rows_of
from paimon_sql.python.checks import RowChecks
from paimon_sql.python.executor import ThreadExecutor
from paimon_sql.python.planned_write import PlannedWrite
from paimon_sql.python.scan import TableScan, new_scan
from paimon_sql.python.where.condition import Computed, Condition


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """A table to write, as the options of a write change it. `stage` prepares the table with another schema."""

    table: Table
    options: Mapping[str, str]
    stage: Callable[[list[SchemaChange]], StagedTable]

    def of_rows(self, rows: pa.RecordBatchReader) -> tuple[Table, Callable[[], None] | None]:
        """Return the table for rows, with the columns that they add, and the step that makes these columns visible.

        Raises `UnsupportedFeatureError` for a column with a type that a table cannot have, `InvalidSchemaError`.
        """
        table = self.table
        if not table.store.options[MERGE_SCHEMA]:
            return table, None
        typed = pa.schema([f for f in rows.schema if not pa.types.is_null(f.type)])
        changes = merging_changes(table.store, table_fields(typed))
        if not changes:
            return table, None
        staged = self.stage(changes)
        return staged.table.in_zone(table.store.zone).with_options(self.options), staged.publish


def append_rows(target: WrittenTable, data: Any, *, upserts: bool) -> None:
    """Append rows to a table without a key, or upsert rows into a table with one. Raises as `PaimonTable.append`."""
    table = target.table
    _check_mergeable(table)
    if upserts is not table.store.has_primary_key:
        wanted = "append" if upserts else "upsert"
        raise UnsupportedFeatureError(
            f"Table {table.name} has {'no' if upserts else 'a'} primary key: call {wanted} instead."
        )
    _write(target, data, None, {})


def overwrite_rows(
    target: WrittenTable, data: Any, partition: Mapping[str, Any] | None, where: str | None, *, dynamic: bool
) -> None:
    """Replace rows of a table by others. Raises as `PaimonTable.overwrite`."""
    _write(target, data, *_replaced(target.table, partition, where, dynamic=dynamic))


def planned_write(
    table: Table, overwrites: bool, partition: Mapping[str, Any] | None, where: str | None, *, dynamic: bool
) -> PlannedWrite:
    """Return a write for several processes. Raises as `PaimonTable.plan_write`."""
    if not overwrites and (partition is not None or where is not None or dynamic):
        raise InvalidDataError("Only an overwrite replaces rows: pass overwrite=True with partition, where or dynamic.")
    overwrite, fixed = _replaced(table, partition, where, dynamic=dynamic) if overwrites else (None, {})
    if overwrite is None:
        _check_mergeable(table)
    return PlannedWrite.begin(table, overwrite, fixed).in_parts()


def _replaced(
    table: Table, partition: Mapping[str, Any] | None, where: str | None, *, dynamic: bool
) -> tuple[Overwrite, dict[str, pa.Scalar]]:
    """Return the rows that an overwrite replaces, and the values of partition columns in all new rows."""
    if sum((partition is not None, where is not None, dynamic)) > 1:
        raise InvalidDataError("An overwrite replaces either a partition, a condition, or the partitions of the rows.")
    if partition is not None:
        fixed = _partition_values(table, partition)
        known = {name: _internal(value) for name, value in fixed.items()}
        fields = table.schema.field_by_name
        return Overwrite(predicate=equals(known, [core_value(v, fields[n]) for n, v in known.items()])), fixed
    if where is not None:
        return Overwrite(predicate=_of_partitions(table, where)), {}
    return Overwrite(dynamic=dynamic), {}


def delete_rows(table: Table, where: str) -> None:
    """Delete the rows that satisfy a condition. Raises as `PaimonTable.delete`."""
    _check_changed(table, replacing=None)
    check_deletable(table.store, table.hides_rows)
    condition = Condition.of(where, table.schema.fields, table.store.zone)
    pushed = [p for _, p in condition.pushed(table.schema.field_by_name)]
    known = [p for p in pushed if p is not None and is_answered_by_partitions(p, table.schema)]
    if len(known) == len(pushed) and deletes_whole_partitions(table.store):
        table.truncate(table.commit_info(Operation.TRUNCATE), conjunction(known))
        return
    rules = delete_rules(table.store, table.latest_snapshot())
    keeps = tuple(f.name for f in table.schema.fields) if table.store.has_primary_key else ()
    changes = _deleted(table, _matching(table, where, keeps))
    _change(table, rules, changes)


def update_rows(table: Table, assignments: Mapping[str, Any], where: str | None) -> None:
    """Give rows that satisfy a condition other values. Raises as `PaimonTable.update`."""
    _check_changed(table, replacing="UPDATE")
    computed = {c.column: c for c in (_computed(table, name, value) for name, value in assignments.items())}
    if not computed or len(computed) < len(assignments):
        raise InvalidDataError(f"UPDATE of {table.name} must assign at least one column, and each only once.")
    rules = update_rules(table.store, table.latest_snapshot(), computed.keys())
    names = [f.name for f in table.schema.fields]
    checks = RowChecks.of(table)
    used = {name for c in computed.values() for name in c.columns} | (set(names) if rules.moves_rows else set())
    rows = _matching(table, where, [n for n in names if n in used | checks.columns])
    _change(table, rules, _updated(table, rows, computed, checks, keeps=rules.moves_rows))


def _check_mergeable(table: Table) -> None:
    if table.store.options[UPSERT_KEY]:
        raise UnsupportedFeatureError(
            f"Table {table.name} has '{UPSERT_KEY.key}': its rows are merged by MERGE INTO, which needs Spark."
        )


# -- new rows ---------------------------------------------------------------------------------------------------------
def _write(target: WrittenTable, data: Any, overwrite: Overwrite | None, fixed: Mapping[str, pa.Scalar]) -> None:
    rows = rows_of(data, target.table.schema.fields)
    table, publish = target.of_rows(rows)
    write = PlannedWrite.begin(table, overwrite, fixed)
    part = write.write(rows)  # no other process has it, so a failed commit deletes its files
    insert_rows(write.table, part.messages, write.info, ThreadExecutor(), overwrite, publish)


def _partition_values(table: Table, partition: Mapping[str, Any]) -> dict[str, pa.Scalar]:
    fields = {f.name: f for f in table.schema.partition_fields}
    for name, value in partition.items():
        if name not in fields:
            raise ColumnNotFoundError(
                f"Table {table.name} has no partition column {name!r}; it has {', '.join(fields) or 'none'}."
            )
        if value is None:
            raise InvalidDataError(f"Partition column {name!r} needs a value: for NULL, pass where=… as in SQL.")
    try:
        return {name: pa.scalar(value, arrow_type(fields[name].type)) for name, value in partition.items()}
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as e:
        raise InvalidDataError(f"The partition {dict(partition)!r} of {table.name} is not valid: {e}") from e


def _internal(value: pa.Scalar) -> Any:
    """A value as Spark's rows store it: days, microseconds."""
    if pa.types.is_date(value.type):
        return value.cast(pa.int32()).as_py()
    if pa.types.is_timestamp(value.type):
        return value.cast(pa.timestamp("us", value.type.tz)).cast(pa.int64()).as_py()
    return value.as_py()


def _of_partitions(table: Table, where: str) -> Any:
    """The predicate of a condition on partition columns."""
    condition = Condition.of(where, table.schema.fields, table.store.zone)
    pushed = [p for _, p in condition.pushed(table.schema.field_by_name)]
    keys = frozenset(table.schema.partition_keys)
    known = [p for p in pushed if p is not None and columns(p) <= keys]
    if len(known) < len(pushed):
        raise UnsupportedFeatureError(
            f"Table {table.name}: an overwrite replaces whole partitions. Filter by partition columns only "
            f"({', '.join(table.schema.partition_keys) or 'it has none'}), or delete rows and append others."
        )
    return conjunction(known)


# -- changed rows -----------------------------------------------------------------------------------------------------
def _check_changed(table: Table, *, replacing: str | None) -> None:
    table.check_writable()
    check_seen_whole(table.store)
    check_changeable(table.store, replacing=replacing)


def _matching(table: Table, where: str | None, names: Iterable[str]) -> TableScan:
    """The rows to change, with the place of each row in tables without a key."""
    options = {READ_ALLOW_FULL_SCAN.key: "true"}  # full scans need permission only in queries
    if table.store.options[DATA_EVOLUTION]:
        options[SCALAR_INDEX_SEARCH_MODE.key] = "full"  # a query for rows to change may skip none
    read = table.with_options(options)
    wanted = [*row_position_columns(table.store), *names]
    return new_scan(read, DerivedTable.ROWS, read.latest_snapshot(), wanted, where, None, read)


def _computed(table: Table, name: str, value: Any) -> Computed:
    known = {f.name: f for f in table.schema.fields}
    alike = [f for key, f in known.items() if key.lower() == name.lower()]
    field = known.get(name) or (alike[0] if len(alike) == 1 else None)
    if field is None:
        raise ColumnNotFoundError(f"Table {table.name} has no column {name!r} to assign; it has {', '.join(known)}.")
    if isinstance(value, str):
        return Computed.of(field.name, value, table.schema.fields, table.store.zone)
    try:
        return Computed(field.name, scalar=pa.scalar(value, arrow_type(field.type)))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as e:
        raise InvalidDataError(
            f"Column {field.name!r} of table {table.name} is of type {field.type.sql()} and cannot be {value!r}: {e}"
        ) from e


def _deleted(table: Table, rows: TableScan) -> Iterator[pa.RecordBatch]:
    for batch in _in_place(table, rows):
        yield _changes(table, batch, ROW_DELETE, {})


def _updated(
    table: Table, rows: TableScan, computed: Mapping[str, Computed], checks: RowChecks, *, keeps: bool
) -> Iterator[pa.RecordBatch]:
    assigned = AssignedRows(table.store, {})
    names = [f.name for f in table.schema.fields]
    for batch in _in_place(table, rows):
        values = pa.record_batch({name: c.values(batch) for name, c in computed.items()})
        (made,) = assigned.batches(pa.RecordBatchReader.from_batches(values.schema, [values]))
        new = {name: made.column(name) for name in computed}
        if checks.checks:
            known = {name: batch.column(name) for name in names if name in checks.columns}
            checks.check(pa.record_batch(known | new))
        kept = {name: batch.column(name) for name in names if keeps and name not in computed}
        yield _changes(table, batch, ROW_UPDATE_AFTER, kept | new)


def _in_place(table: Table, rows: TableScan) -> Iterator[pa.RecordBatch]:
    """The rows to change. With data evolution, changes of a row range must come in order."""
    if table.store.options[DATA_EVOLUTION]:
        yield from rows.to_arrow().sort_by([(FILE_PATH, "ascending"), (ROW_INDEX, "ascending")]).to_batches()
    else:
        yield from rows.to_batches()


def _changes(table: Table, batch: pa.RecordBatch, kind: int, values: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Changes as tasks write them: the kind, the place of the replaced row, and the new row."""
    kinds = fixed_array(np.full(batch.num_rows, kind, dtype=np.int8), pa.int8())
    places = {name: batch.column(name) for name in row_position_columns(table.store)}
    held = values if kind != ROW_DELETE else {n: batch.column(n) for n in batch.schema.names if n not in places}
    row = {f.name: held.get(f.name, pa.nulls(batch.num_rows, arrow_type(f.type))) for f in table.schema.fields}
    return pa.record_batch({VALUE_KIND: kinds, **places, **row})


def _change(table: Table, rules: ChangeRules, changes: Iterable[pa.RecordBatch]) -> None:
    info = table.commit_info(rules.operation)
    table.check_not_made(info)
    base, store = table.assignment_base(1), table.write_store(overwrites=False)
    planned = table.for_write()
    statement = RowLevelStatement(planned, rules, ThreadExecutor())
    start = planned.max_sequence_number() + 1
    statement.commit([write_changes(changes_store(store, rules), rules, changes, sequence_start=start, base=base)])
