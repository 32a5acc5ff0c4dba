"""`vector_search('t', 'v', array(…), k)`: the rows with the nearest vectors, read when Spark requests them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql.types import StructType

from paimon_core.arrow.nearest import SEARCH_SCORE, VectorQuery
from paimon_core.dataclass import dataclass
from paimon_core.errors import ColumnNotFoundError, InvalidOptionError, UnsupportedFeatureError
from paimon_core.expressions.predicate import conjunction
from paimon_core.scan.changes.increment import Increment
from paimon_core.scan.execution import check_full_scan
from paimon_core.scan.plan import Plan
from paimon_core.scan.vector_search import indexed_search
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.types import FLOAT, DataField, Kind, VectorType
from paimon_core.table import Table
from paimon_sql.preprocess import VECTOR_SEARCH_OPTION
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.read.local_scan import LocalScan
from paimon_sql.spark.read.scan_builder import PaimonScanBuilder
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.types import string_types, to_struct
from paimon_sql.spark.workers.executor import SMALL_WORK, SparkExecutor
from paimon_sql.spark.workers.searches import Search

SCORE_FIELDS = (DataField(id=-1, name=SEARCH_SCORE, type=FLOAT),)


@dataclass(frozen=True)
class _Asked:
    """The arguments of the function after the table."""

    column: str
    vector: list[float]
    k: int
    options: Mapping[str, str]

    def is_typed(self) -> bool:
        """Return whether the arguments have the types that vector_search writes."""
        found = (self.column, self.vector, self.k, self.options)
        if not all(map(isinstance, found, (str, list, int, dict))) or isinstance(self.k, bool):
            return False
        return {type(n) for n in self.vector} <= {float} and {type(o) for o in self.options.values()} <= {str}


def has_vectors(field: DataField) -> bool:
    """Return whether a table with this column has the metadata column of scores."""
    found = field.type
    return isinstance(found, VectorType) or getattr(getattr(found, "element", None), "kind", None) is Kind.FLOAT


def query_of(table: Table, given: Mapping[str, str]) -> VectorQuery | None:
    """Return the search that the options of a read ask for, or None.

    Raises `ColumnNotFoundError`, `InvalidOptionError` for arguments that do not fit."""
    text = given.get(VECTOR_SEARCH_OPTION)
    if text is None:
        return None
    try:
        asked = _Asked(**json.loads(text))
        if not asked.is_typed():
            raise TypeError(text)
    except (ValueError, TypeError, RecursionError) as e:
        raise InvalidOptionError(
            f"Option '{VECTOR_SEARCH_OPTION}' cannot be {text[:200]!r}: call vector_search in FROM, which sets it."
        ) from e
    field = table.schema.field_by_name.get(asked.column)
    if field is None:
        known = ", ".join(table.schema.field_by_name)
        raise ColumnNotFoundError(f"Table {table.name} has no column {asked.column!r} to search in; it has {known}.")
    return VectorQuery.of(field, asked.vector, asked.k, asked.options, table.store.options.values)


class SearchScanBuilder(PaimonScanBuilder):
    """Collects the columns and filters of a query on a search. Filters choose the rows that are searched, and Spark
    evaluates them again; aggregates, limits and samples are Spark's."""

    def __init__(
        self,
        jvm: Jvm,
        session: SessionBridge,
        table: Table,
        version: Callable[[], Snapshot | Increment | None],
        query: VectorQuery,
    ) -> None:
        super().__init__(jvm, session, table, version)
        self.query = query

    def supportCompletePushDown(self, aggregation: Any) -> bool:
        return False

    def pushAggregation(self, aggregation: Any) -> bool:
        return False

    def pushLimit(self, limit: int) -> bool:
        return False

    def pushTableSample(self, low: float, high: float, replacing: bool, seed: int, method: Any = None) -> bool:
        return False

    def _scan(self) -> Any:
        if isinstance(self.version, Increment):
            raise UnsupportedFeatureError("vector_search finds rows of a version, not of the changes between versions.")
        plan = self._plan
        check_full_scan(self.table.store, plan)
        whole = string_types(to_struct(self.fields))
        names = [f for f in self.required.names if f != SEARCH_SCORE]
        searched = [*names, *(n for n in [self.query.column] if n not in names)]
        known = {f.name: f for f in [*whole, *self.required]}
        required = StructType([known[n] for n in searched])
        of_rows = conjunction(p for p in self.pruning if not self._is_answered(p))
        search = Search(self.table.store, required, of_rows, self.query)
        return SearchScan(self, plan, search)

    class Java:
        implements = PaimonScanBuilder.Java.implements


class SearchScan(LocalScan):
    """The nearest rows. Executors search the splits when Spark requests the rows, or the driver, if they are small."""

    def __init__(self, builder: SearchScanBuilder, plan: Plan, search: Search) -> None:
        self.search, self.found = search, indexed_search(search.store, plan, search.query)
        query = self.found.query
        about = f"PaimonScan[vector search] {query.limit} nearest by {query.metric} of {query.column}, "
        about += f"{self.found.describe()}, in {builder._describe(plan)}"
        super().__init__(builder.jvm, builder.session, None, builder.required, about)

    def rows(self) -> Any:
        found = self.search.run(SparkExecutor(self.session, small=SMALL_WORK), self.found)
        return self.session.local_rows(found.select(self.local_schema.names), self.local_schema)

    class Java:
        implements = LocalScan.Java.implements
