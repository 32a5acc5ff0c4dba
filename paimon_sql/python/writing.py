"""Writes in Python: rows become files, and one commit makes them visible. The steps are the same as for INSERT, DELETE
and UPDATE in Spark, with one task in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paimon_core.arrow.table_fields import table_fields
from paimon_core.arrow.types import arrow_type
from paimon_core.commit.changes import Overwrite
from paimon_core.dataclass import dataclass
from paimon_core.errors import ColumnNotFoundError, InvalidDataError, UnsupportedFeatureError
from paimon_core.expressions.predicate import columns, conjunction, equals
from paimon_core.expressions.terms import core_value
from paimon_core.insert import insert_rows
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import (
    MERGE_SCHEMA,
    UPSERT_KEY,
)
from paimon_core.table import Table
from paimon_sql.catalog.base import StagedTable
from paimon_sql.python.assignment import rows_of
from paimon_sql.python.executor import ThreadExecutor
from paimon_sql.python.planned_write import PlannedWrite
from paimon_sql.python.where.condition import Condition, Where

if TYPE_CHECKING:
    from paimon_core.store.ddl.merged_schema import merging_changes
    from paimon_core.store.ddl.schema_changes import SchemaChange
else:
    merging_changes = ImportedOnCall("paimon_core.store.ddl.merged_schema", "merging_changes")


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """A table, with the options of one write. `stage` prepares the table with another schema."""

    table: Table
    options: Mapping[str, str]
    stage: Callable[[list[SchemaChange]], StagedTable]

    def of_rows(self, rows: pa.RecordBatchReader) -> tuple[Table, Callable[[], None] | None]:
        """Return the table with the columns that the rows add, and the function that makes these columns visible.

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
    """Append rows to a table without a key, or upsert rows into a table with one. Raises the errors of
    `PaimonTable.append`.
    """
    table = target.table
    _check_mergeable(table)
    if upserts is not table.store.has_primary_key:
        wanted = "append" if upserts else "upsert"
        raise UnsupportedFeatureError(
            f"Table {table.name} has {'no' if upserts else 'a'} primary key: call {wanted} instead."
        )
    _write(target, data, None, {})


def overwrite_rows(
    target: WrittenTable, data: Any, partition: Mapping[str, Any] | None, where: Where | None, *, dynamic: bool
) -> None:
    """Replace rows of a table by others. Raises the errors of `PaimonTable.overwrite`."""
    _write(target, data, *_replaced(target.table, partition, where, dynamic=dynamic))


def planned_write(
    table: Table, overwrites: bool, partition: Mapping[str, Any] | None, where: Where | None, *, dynamic: bool
) -> PlannedWrite:
    """Return a write for several processes. Raises the errors of `PaimonTable.plan_write`."""
    if not overwrites and (partition is not None or where is not None or dynamic):
        raise InvalidDataError("Only an overwrite replaces rows: pass overwrite=True with partition, where or dynamic.")
    overwrite, fixed = _replaced(table, partition, where, dynamic=dynamic) if overwrites else (None, {})
    if overwrite is None:
        _check_mergeable(table)
    return PlannedWrite.begin(table, overwrite, fixed).in_parts()


def _replaced(
    table: Table, partition: Mapping[str, Any] | None, where: Where | None, *, dynamic: bool
) -> tuple[Overwrite, dict[str, pa.Scalar]]:
    """Return the rows that an overwrite replaces, and the values of partition columns in all new rows."""
    if sum((partition is not None, where is not None, dynamic)) > 1:
        raise InvalidDataError(
            "An overwrite replaces either one partition, or the rows of a condition, or the partitions of the new "
            "rows: give only one of these arguments."
        )
    if partition is not None:
        fixed = _partition_values(table, partition)
        known = {name: _internal(value) for name, value in fixed.items()}
        fields = table.schema.field_by_name
        return Overwrite(predicate=equals(known, [core_value(v, fields[n]) for n, v in known.items()])), fixed
    if where is not None:
        return Overwrite(predicate=_of_partitions(table, where)), {}
    return Overwrite(dynamic=dynamic), {}


def _check_mergeable(table: Table) -> None:
    if table.store.options[UPSERT_KEY]:
        raise UnsupportedFeatureError(
            f"Table {table.name} has '{UPSERT_KEY.key}': an INSERT into it runs as MERGE INTO, which needs "
            "Spark. Write the rows in Spark."
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
            raise InvalidDataError(
                f"Partition column {name!r} needs a value. For NULL, pass where='{name} IS NULL' instead."
            )
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


def _of_partitions(table: Table, where: Where) -> Any:
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
