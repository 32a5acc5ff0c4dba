"""CHECK constraints on the rows that Python writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import tzinfo
from reprlib import repr as shortened

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.default_values import fill_default
from paimon_core.arrow.types import arrow_type
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError, PaimonError, UnsupportedFeatureError
from paimon_core.spec.types import DataField
from paimon_core.store.ddl.constraints import Constraint
from paimon_core.store.ddl.generated_columns import GeneratedColumn
from paimon_core.store.ddl.row_rules import RowRules
from paimon_core.table import Table
from paimon_sql.python.where.condition import Computed, Condition


@dataclass(frozen=True, slots=True)
class _Check:
    """A constraint with its condition on Arrow columns."""

    constraint: Constraint
    condition: Condition


@dataclass(frozen=True, slots=True)
class RowChecks:
    """The CHECK constraints and the generated columns of a table."""

    table: Table
    checks: tuple[_Check, ...]
    defaults: tuple[DataField, ...] = ()  # columns of the conditions in which a NULL becomes the default
    zone: tzinfo | None = None
    made: tuple[Computed, ...] = ()  # generated columns

    @staticmethod
    def of(table: Table) -> RowChecks:
        """Return the constraints that rows of a table must satisfy.

        Raises `UnsupportedFeatureError` for a condition that cannot be evaluated without Spark.
        """
        rules = RowRules.of(table.schema).in_zone(table.store.zone, table.name)
        made = tuple(_computed(table, g) for g in rules.generated)
        checks = tuple(_check(table, c) for c in rules.checks)
        return RowChecks(table, checks, rules.defaults, table.store.zone, made)

    @property
    def columns(self) -> frozenset[str]:
        """The names of the columns that the conditions use."""
        return frozenset(name for check in self.checks for name in check.condition.columns)

    def passed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches of rows with the values of generated columns in place of NULL. Raises `InvalidDataError` for a
        row that violates a constraint.
        """
        for batch in batches:
            made = self.with_generated(batch)
            self.check(made)
            yield made

    def with_generated(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows with the values of generated columns in place of NULL. Rows may lack a generated column."""
        if not self.made:
            return batch
        known = self._with_defaults(batch)
        for column in self.made:
            place = batch.schema.get_field_index(column.column)
            if place >= 0 and batch.column(place).null_count:
                field = self.table.schema.field_by_name[column.column]
                values = pc.coalesce(batch.column(place), column.values(known).cast(arrow_type(field.type)))
                batch = batch.set_column(place, column.column, values)
        return batch

    def check(self, batch: pa.RecordBatch) -> None:
        """Raise `InvalidDataError` if a row, as it is stored, violates a constraint. A condition that is NULL is
        satisfied.
        """
        batch = self._with_defaults(batch)
        for check in self.checks:
            holds = pc.fill_null(check.condition.evaluated(batch), True)
            if not pc.all(holds, min_count=0).as_py():
                raise self._violation(check, batch.slice(pc.index(holds, False).as_py(), 1))

    def _with_defaults(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for field in self.defaults:
            if (place := batch.schema.get_field_index(field.name)) >= 0:
                batch = batch.set_column(place, field.name, fill_default(batch.column(place), field, self.zone))
        return batch

    def _violation(self, check: _Check, row: pa.RecordBatch) -> InvalidDataError:
        named = (n for n in row.schema.names if n in check.condition.columns)
        values = ", ".join(f"{name} = {shortened(row.column(name)[0].as_py())}" for name in named)
        return InvalidDataError(
            f"Table {self.table.name}: a row violates the constraint {check.constraint.name!r}, {check.constraint.sql}"
            f": {values}. Nothing was written: correct the row, or drop the constraint."
        )


def _check(table: Table, constraint: Constraint) -> _Check:
    try:
        return _Check(constraint, Condition.of(constraint.condition, table.schema.fields, table.store.zone))
    except PaimonError as e:
        raise UnsupportedFeatureError(
            f"Table {table.name} cannot be written without Spark: its constraint {constraint.name!r}, "
            f"{constraint.sql}, cannot be checked ({e}) Write the rows in Spark."
        ) from e


def _computed(table: Table, column: GeneratedColumn) -> Computed:
    try:
        return Computed.of(column.name, column.expression, table.schema.fields, table.store.zone)
    except PaimonError as e:
        raise UnsupportedFeatureError(
            f"Table {table.name} cannot be written without Spark: its column {column.name!r}, {column.sql}, cannot be "
            f"computed ({e}) Write the rows in Spark."
        ) from e
