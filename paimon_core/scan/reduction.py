"""Partial aggregates: the tasks that read rows compute counts, sums, minima and maxima of their rows, and Spark
combines them.

A row of the result stands for some rows of a group, or for one row. If a batch has nearly as many groups as rows, or
sums that overflow, its rows are passed on one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.types import arrow_schema
from paimon_core.dataclass import dataclass
from paimon_core.scan.aggregates import COMPARED, SUMMED, Aggregate, aggregate_rows, result_fields
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataField, cheap_field
from paimon_core.store.table_store import TableStore

_FEW_GROUPS = 0.25  # of the rows of a batch: finding more groups takes longer than it saves


@dataclass(frozen=True, slots=True)
class Reduction:
    """The columns to group by, and the aggregates of each group."""

    groups: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]

    def is_possible(self, schema: TableSchema) -> bool:
        """Return whether this library groups, compares and adds these values as SQL does, and tasks return fewer rows
        than they read.
        """
        if schema.primary_keys and set(schema.primary_keys) <= set(self.groups):
            return False
        kinds = {f.name: f.type.kind for f in schema.fields}
        allowed = {"count": frozenset(kinds.values()), "sum": SUMMED, "min": COMPARED, "max": COMPARED}
        asked = [(a.column, allowed[a.function]) for a in self.aggregates if a.column is not None]
        return all(kinds.get(c) in known for c, known in [*((g, COMPARED) for g in self.groups), *asked])

    def columns(self, schema: TableSchema) -> tuple[str, ...]:
        """The columns to read, at least one."""
        asked = (a.column for a in self.aggregates if a.column is not None)
        first = cheap_field(schema.fields).name
        return tuple(dict.fromkeys((*self.groups, *asked))) or (first,)

    def fields(self, store: TableStore) -> list[DataField]:
        """The columns of the result: the groups, then the aggregates."""
        return result_fields(store, self.groups, self.aggregates)

    def describe(self) -> str:
        return ", ".join((*self.groups, *(a.describe() for a in self.aggregates)))

    def apply(self, store: TableStore, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Aggregate batches of `columns` into batches of `fields`.

        Without groups, the result has a row even if there are no rows."""
        target, is_first, reduces = arrow_schema(self.fields(store)), True, True
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            found = aggregate_rows(rows, self.groups, self.aggregates) if reduces else None
            reduces = reduces and (found is None or not self.groups or len(found) <= _FEW_GROUPS * len(rows))
            yield from (self._one_by_one(batch) if found is None else found).cast(target).to_batches()
            is_first = False
        if is_first and not self.groups:
            empty = arrow_schema(store.schema.select(self.columns(store.schema))).empty_table()
            found = aggregate_rows(empty, (), self.aggregates)
            yield from () if found is None else found.cast(target).to_batches()

    def _one_by_one(self, batch: pa.RecordBatch) -> pa.Table:
        values = [self._value(a, batch) for a in self.aggregates]
        names = [*self.groups, *(a.describe() for a in self.aggregates)]
        return pa.Table.from_arrays([*map(batch.column, self.groups), *values], names=names)

    def _value(self, one: Aggregate, batch: pa.RecordBatch) -> pa.Array:
        if one.column is None:
            return pa.repeat(pa.scalar(1, pa.int64()), len(batch))
        column = batch.column(one.column)
        return pc.is_valid(column).cast(pa.int64()) if one.function == "count" else column
