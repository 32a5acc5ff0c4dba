"""Search for vectors as jobs: a task per file of an index, and a task per split of the other rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa
from pyspark.sql.types import LongType, StructField, StructType

from paimon_core.arrow.nearest import VectorQuery, merged, nearest
from paimon_core.arrow.types import ROW_ID, arrow_schema
from paimon_core.dataclass import dataclass
from paimon_core.expressions.arrow import to_arrow
from paimon_core.expressions.predicate import Predicate, columns, only_on
from paimon_core.indexes.file_index.arrow_keys import map_values
from paimon_core.indexes.file_index.options import indexed_values
from paimon_core.indexes.vector_index.layout import IVF_FLAT
from paimon_core.jobs import Job
from paimon_core.scan.derived_tables import DerivedTable, read_derived
from paimon_core.scan.vector_search import (
    FOUND_IDS,
    INDEX_PROBE,
    FoundIds,
    IndexedSearch,
    IndexProbe,
    search_file,
    with_scores,
)
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

    def run(self, executor: SparkExecutor, found: IndexedSearch) -> pa.Table:
        """Return the nearest rows with their scores. Raises the errors of reading the rows."""
        search = replace(self, query=found.query)
        compared = executor.run(search._job(partial(_search_split, search), found.rest))
        ids, scores = found.chosen(executor.run(search._index_job(found.probes)))
        indexed = executor.run(search._job(partial(_read_split, search), found.splits_of(ids)))
        empty = nearest((), search.query, spark_arrow_schema(self.required))
        parts = [_table(rows).cast(empty.schema) for rows in compared]
        parts += [with_scores(_table(r), ids, scores).select(empty.schema.names).cast(empty.schema) for r in indexed]
        return merged([empty, *parts], self.query.limit)

    def _job(
        self, function: Callable[[DataSplit], FoundRows], splits: Sequence[DataSplit]
    ) -> Job[DataSplit, FoundRows]:
        size = sum(s.size for s in splits)
        return Job(self._description, function, DATA_SPLIT, FOUND_ROWS, tuple(splits), size=size)

    def _index_job(self, probes: Sequence[IndexProbe]) -> Job[IndexProbe, FoundIds]:
        """Return the job that searches files of indexes. Native code reads them in workers only."""
        native = any(p.file.index_type != IVF_FLAT for p in probes)
        size = None if native else sum(p.file.file_size for p in probes)
        function = partial(search_file, self.store, self.query, self.rows, self.predicate is not None)
        return Job(self._description, function, INDEX_PROBE, FOUND_IDS, tuple(probes), size=size)

    @property
    def _description(self) -> str:
        return f"Search {self.store.name} for vectors near to a vector in {self.query.column}"

    def batches(self, split: DataSplit) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a split that satisfy the predicate as far as it can be evaluated here."""
        yield from for_spark(self.rows(split, self.required.fieldNames()), self.required)

    def rows(self, split: DataSplit, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield columns of these rows as they are stored."""
        store, predicate = in_microseconds(self.store), self.predicate
        if predicate is None:
            yield from read_derived(store, DerivedTable.ROWS, split, names)
            return
        needed, indexed = columns(predicate), indexed_values(store.options, store.schema)
        values = [v for name, v in indexed.items() if name in needed]
        read = [*names, *sorted((needed - indexed.keys() | {v.field.name for v in values}) - set(names))]
        # Only metadata has the ids of rows, so that files cannot be read by them.
        stored = only_on(predicate, {*store.schema.field_by_name, *indexed})
        fields = [*readable_fields(store, read), *(replace(v.field, name=v.name, type=v.type) for v in values)]
        condition = to_arrow(predicate, arrow_schema(fields))
        for batch in read_derived(store, DerivedTable.ROWS, split, read, stored):
            made = [map_values(batch.column(v.field.name), str(v.key)) for v in values]
            rows = pa.RecordBatch.from_arrays([*batch.columns, *made], [*read, *(v.name for v in values)])
            yield (rows if condition is None else condition.filter(rows)).select(list(names))


def _search_split(search: Search, split: DataSplit) -> FoundRows:
    return _found(nearest(search.batches(split), search.query, spark_arrow_schema(search.required)))


def _read_split(search: Search, split: DataSplit) -> FoundRows:
    """Read the rows of a split with their ids."""
    others = [f for f in search.required if f.name != ROW_ID]
    required = StructType([*others, StructField(ROW_ID, LongType())])
    batches = for_spark(search.rows(split, required.fieldNames()), required)
    return _found(pa.Table.from_batches(batches, spark_arrow_schema(required)))


def _found(rows: pa.Table) -> FoundRows:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as out:
        out.write_table(rows)
    return FoundRows(sink.getvalue().to_pybytes())


def _table(found: FoundRows) -> pa.Table:
    return pa.ipc.open_stream(found.rows).read_all()
