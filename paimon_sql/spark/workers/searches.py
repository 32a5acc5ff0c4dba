"""Searches as jobs: a task per file of an index, and a task per split of the other rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.types import LongType, StructField, StructType

from paimon_core.arrow.nearest import Floats, VectorQuery, merged, nearest
from paimon_core.arrow.types import ROW_ID, arrow_schema
from paimon_core.dataclass import dataclass
from paimon_core.expressions.arrow import to_arrow
from paimon_core.expressions.predicate import Predicate, columns, only_on
from paimon_core.indexes.file_index.arrow_keys import map_values
from paimon_core.indexes.file_index.options import indexed_values
from paimon_core.indexes.full_text import TextQuery
from paimon_core.indexes.vector_index.layout import IVF_FLAT
from paimon_core.jobs import Job
from paimon_core.scan.derived_tables import DerivedTable, read_derived
from paimon_core.scan.index_search import (
    FOUND_IDS,
    INDEX_PROBE,
    FoundIds,
    IndexedSearch,
    IndexProbe,
    splits_with,
    with_scores,
)
from paimon_core.scan.plan import Plan
from paimon_core.scan.text_search import HybridQuery, Query, Ranked, probe_ids, ranked, rest_ids, route_search
from paimon_core.scan.vector_search import indexed_search, search_file
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
    """A search in the rows of `store` that satisfy `predicate`. `required` are the columns of the result."""

    store: TableStore
    required: StructType
    predicate: Predicate | None

    def job(
        self, about: str, function: Callable[[DataSplit], FoundRows], splits: Sequence[DataSplit]
    ) -> Job[DataSplit, FoundRows]:
        """Return a job over splits."""
        return Job(about, function, DATA_SPLIT, FOUND_ROWS, tuple(splits), size=sum(s.size for s in splits))

    def index_job(
        self, about: str, function: Callable[[IndexProbe], FoundIds], probes: Sequence[IndexProbe]
    ) -> Job[IndexProbe, FoundIds]:
        """Return the job that searches files of indexes. Native code reads them in workers only."""
        native = any(p.file.index_type != IVF_FLAT for p in probes)
        size = None if native else sum(p.file.file_size for p in probes)
        return Job(about, function, INDEX_PROBE, FOUND_IDS, tuple(probes), size=size)

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
        # Files cannot be filtered by row ids, because only metadata has the ids.
        stored = only_on(predicate, {*store.schema.field_by_name, *indexed})
        fields = [*readable_fields(store, read), *(replace(v.field, name=v.name, type=v.type) for v in values)]
        condition = to_arrow(predicate, arrow_schema(fields))
        for batch in read_derived(store, DerivedTable.ROWS, split, read, stored):
            made = [map_values(batch.column(v.field.name), str(v.key)) for v in values]
            rows = pa.RecordBatch.from_arrays([*batch.columns, *made], [*read, *(v.name for v in values)])
            yield (rows if condition is None else condition.filter(rows)).select(list(names))


@dataclass(frozen=True)
class NearestSearch(Search):
    """A search for vectors. One of the columns of the result has the vectors."""

    found: IndexedSearch[VectorQuery]

    @staticmethod
    def of(
        store: TableStore, required: StructType, predicate: Predicate | None, plan: Plan, query: VectorQuery
    ) -> NearestSearch:
        return NearestSearch(store, required, predicate, indexed_search(store, plan, query))

    def describe(self) -> str:
        """Return a text for EXPLAIN."""
        query = self.found.query
        return f"vector search] {query.limit} nearest by {query.metric} of {query.column}, {self.found.describe()}"

    def run(self, executor: SparkExecutor) -> pa.Table:
        """Return the nearest rows with their scores. Raises the errors of reading the rows."""
        found, query, rows = self.found, self.found.query, Search(self.store, self.required, self.predicate)
        about = f"Search {self.store.name} for vectors near to a vector in {query.column}"
        compared = executor.run(self.job(about, partial(_search_split, rows, query), found.rest))
        search = partial(search_file, self.store, query, rows.rows, self.predicate is not None)
        ids, scores = found.chosen(executor.run(self.index_job(about, search, found.probes)))
        indexed = executor.run(self.job(about, partial(_read_split, rows), found.splits_of(ids)))
        empty = nearest((), query, spark_arrow_schema(self.required))
        parts = [_table(rows).cast(empty.schema) for rows in compared]
        parts += [with_scores(_table(r), ids, scores).select(empty.schema.names).cast(empty.schema) for r in indexed]
        return merged([empty, *parts], query.limit)


@dataclass(frozen=True)
class IdSearch(Search):
    """A search for texts, or several searches with scores that are put together: rows are found by their ids."""

    query: TextQuery | HybridQuery
    splits: tuple[DataSplit, ...]
    routes: tuple[IndexedSearch[Query], ...]

    @staticmethod
    def of(
        store: TableStore, required: StructType, predicate: Predicate | None, plan: Plan, query: TextQuery | HybridQuery
    ) -> IdSearch:
        asked = [query] if isinstance(query, TextQuery) else [route for route, _ in query.routes]
        routes = tuple(route_search(store, plan, route) for route in asked)
        return IdSearch(store, required, predicate, query, plan.splits, routes)

    def describe(self) -> str:
        """Return a text for EXPLAIN."""
        kind = "text search" if isinstance(self.query, TextQuery) else f"hybrid search, {self.query.ranker}"
        parts = [f"{r.query.limit} best of {r.query.column}, {r.describe()}" for r in self.routes]
        return f"{kind}] {self.query.limit} rows: {'; '.join(parts)}"

    def run(self, executor: SparkExecutor) -> pa.Table:
        """Return the best rows with their scores. Raises the errors of reading the rows."""
        rows = Search(self.store, self.required, self.predicate)
        answers = [self._found(executor, rows, route) for route in self.routes]
        if isinstance(self.query, TextQuery):
            ids, scores = answers[0]
        else:
            weights = [weight for _, weight in self.query.routes]
            found = [Ranked(*answer, weight) for answer, weight in zip(answers, weights, strict=True)]
            ids, scores = ranked(self.query.ranker, found, self.query.limit)
        about = f"Read the rows that a search in {self.store.name} found"
        parts = executor.run(self.job(about, partial(_read_split, rows), splits_with(self.splits, ids)))
        names = [*(f for f in self.required.names if f != ROW_ID), ROW_ID]
        empty = pa.Table.from_batches([], spark_arrow_schema(_with_ids(self.required))).select(names)
        whole = pa.concat_tables([empty, *(_table(part).select(names).cast(empty.schema) for part in parts)])
        return merged([with_scores(whole, ids, scores)], self.query.limit)

    def _found(
        self, executor: SparkExecutor, rows: Search, route: IndexedSearch[Query]
    ) -> tuple[NDArray[np.int64], Floats]:
        """Return the ids and scores of the best rows of one search."""
        about = f"Search {self.store.name} in {route.query.column}"
        search = partial(probe_ids, self.store, route.query, rows.rows, self.predicate is not None)
        found = executor.run(self.index_job(about, search, route.probes))
        # native code searches texts, in workers only
        size = sum(s.size for s in route.rest) if isinstance(route.query, VectorQuery) else None
        rest = Job(about, partial(rest_ids, route.query, rows.rows), DATA_SPLIT, FOUND_IDS, route.rest, size=size)
        return route.chosen([*found, *executor.run(rest)])


def _search_split(search: Search, query: VectorQuery, split: DataSplit) -> FoundRows:
    return _found(nearest(search.batches(split), query, spark_arrow_schema(search.required)))


def _read_split(search: Search, split: DataSplit) -> FoundRows:
    """Read the rows of a split with their ids."""
    required = _with_ids(search.required)
    batches = for_spark(search.rows(split, required.fieldNames()), required)
    return _found(pa.Table.from_batches(batches, spark_arrow_schema(required)))


def _with_ids(required: StructType) -> StructType:
    return StructType([*(f for f in required if f.name != ROW_ID), StructField(ROW_ID, LongType())])


def _found(rows: pa.Table) -> FoundRows:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as out:
        out.write_table(rows)
    return FoundRows(sink.getvalue().to_pybytes())


def _table(found: FoundRows) -> pa.Table:
    return pa.ipc.open_stream(found.rows).read_all()
