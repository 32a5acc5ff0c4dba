"""Exact search for vectors as a job: a task per split, and the nearest rows of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from pyspark.sql.types import StructType

from paimon_core.arrow.nearest import VectorQuery, merged, nearest
from paimon_core.arrow.types import arrow_schema
from paimon_core.expressions.arrow import to_arrow
from paimon_core.expressions.predicate import Predicate, columns
from paimon_core.jobs import Job
from paimon_core.scan.derived_tables import DerivedTable, read_derived
from paimon_core.scan.plan import Plan
from paimon_core.spec.records import Column, Record
from paimon_core.spec.split import DATA_SPLIT, DataSplit
from paimon_core.store.data.row_tracking import readable_fields
from paimon_core.store.data.time_units import in_microseconds
from paimon_core.store.table_store import TableStore
from paimon_sql.spark.jvm.arrow_schemas import arrow_schema as spark_arrow_schema
from paimon_sql.spark.workers.executor import SparkExecutor
from paimon_sql.spark.workers.worker import for_spark


@dataclass(frozen=True)
class FoundRows:
    """The nearest rows of a split, as a stream of Arrow batches."""

    rows: bytes


FOUND_ROWS = Record("found rows", FoundRows, (Column("rows", "rows", "bytes"),))


@dataclass(frozen=True)
class Search:
    """A search in the rows of `store` that satisfy `predicate`. `required` are the columns of the result; one of them
    is the column with the vectors."""

    store: TableStore
    required: StructType
    predicate: Predicate | None
    query: VectorQuery

    def run(self, executor: SparkExecutor, plan: Plan) -> pa.Table:
        """Return the nearest rows of a plan with their scores. Raises the errors of reading the rows."""
        job = Job(
            f"Search {self.store.name} for vectors near to a vector in {self.query.column}",
            partial(_search_split, self),
            DATA_SPLIT,
            FOUND_ROWS,
            tuple(plan.splits),
            size=sum(s.size for s in plan.splits),
        )
        empty = nearest((), self.query, spark_arrow_schema(self.required))
        parts = [pa.ipc.open_stream(found.rows).read_all().cast(empty.schema) for found in executor.run(job)]
        return merged([empty, *parts], self.query.limit)

    def batches(self, split: DataSplit) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a split that satisfy the predicate as far as it can be evaluated here."""
        names = self.required.fieldNames()
        used = [] if self.predicate is None else sorted(columns(self.predicate) - set(names))
        store = in_microseconds(self.store)
        rows = read_derived(store, DerivedTable.ROWS, split, [*names, *used], self.predicate)
        if self.predicate is not None:
            condition = to_arrow(self.predicate, arrow_schema(readable_fields(store, [*names, *used])))
            rows = rows if condition is None else map(condition.filter, rows)
        yield from for_spark((batch.select(names) for batch in rows), self.required)


def _search_split(search: Search, split: DataSplit) -> FoundRows:
    rows = nearest(search.batches(split), search.query, spark_arrow_schema(search.required))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as out:
        out.write_table(rows)
    return FoundRows(sink.getvalue().to_pybytes())
