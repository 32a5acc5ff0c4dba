"""`vector_search('t', 'v', array(…), k)` and its like: the best rows of a search, read when Spark requests them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql.types import StructType

from paimon_core.arrow.nearest import SEARCH_SCORE, VectorQuery
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.expressions.predicate import conjunction
from paimon_core.scan.changes.increment import Increment
from paimon_core.scan.execution import check_full_scan
from paimon_core.scan.limits import Order
from paimon_core.scan.plan import Plan
from paimon_core.scan.text_search import HybridQuery, Query
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.types import FLOAT, DataField
from paimon_core.table import Table
from paimon_sql.spark.jvm.arrow_schemas import arrow_schema
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.scans.pushdown import is_statement_explain
from paimon_sql.spark.read.local_scan import LocalScan
from paimon_sql.spark.read.scan_builder import PaimonScanBuilder
from paimon_sql.spark.read.statistics import row_width
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.types import string_types, to_struct
from paimon_sql.spark.workers.executor import SMALL_WORK, SparkExecutor
from paimon_sql.spark.workers.searches import IdSearch, NearestSearch

SCORE_FIELDS = (DataField(id=-1, name=SEARCH_SCORE, type=FLOAT),)


class SearchScanBuilder(PaimonScanBuilder):
    """Collects the columns and filters of a query on a search. Filters choose the rows that are searched, and Spark
    evaluates them again; aggregates, limits and samples are Spark's."""

    def __init__(
        self,
        jvm: Jvm,
        session: SessionBridge,
        table: Table,
        version: Callable[[], Snapshot | Increment | None],
        query: Query | HybridQuery,
    ) -> None:
        super().__init__(jvm, session, table, version)
        self.query = query

    def supportCompletePushDown(self, aggregation: Any) -> bool:
        return False

    def pushAggregation(self, aggregation: Any) -> bool:
        return False

    def _push_first(self, limit: int, order: Order | None) -> bool:
        return False

    def pushTableSample(self, low: float, high: float, replacing: bool, seed: int, method: Any = None) -> bool:
        return False

    def _scan(self) -> Any:
        if isinstance(self.version, Increment):
            raise UnsupportedFeatureError(
                "A search finds rows of a version, not of the changes between versions. Search the table itself."
            )
        plan = self._plan
        check_full_scan(self.table.store, plan)
        whole = string_types(to_struct(self.fields))
        names = [f for f in self.required.names if f != SEARCH_SCORE]
        query = self.query
        if isinstance(query, VectorQuery) and query.column not in names:
            names.append(query.column)
        known = {f.name: f for f in [*whole, *self.required]}
        required = StructType([known[n] for n in names])
        of_rows = conjunction(p for p in self.pruning if not self._is_answered(p))
        if isinstance(query, VectorQuery):
            search: NearestSearch | IdSearch = NearestSearch.of(self.table.store, required, of_rows, plan, query)
        else:
            search = IdSearch.of(self.table.store, required, of_rows, plan, query)
        return SearchScan(self, plan, search)

    class Java:
        implements = PaimonScanBuilder.Java.implements


class SearchScan(LocalScan):
    """The best rows. Executors search the splits when Spark requests the rows, or the driver, if they are small."""

    def __init__(self, builder: SearchScanBuilder, plan: Plan, search: NearestSearch | IdSearch) -> None:
        self.search, self.limit = search, builder.query.limit
        about = f"PaimonScan[{search.describe()}, in {builder._describe(plan)}"
        super().__init__(builder.jvm, builder.session, None, builder.required, about)

    def toMicroBatchStream(self, _checkpoint: str) -> Any:
        raise UnsupportedFeatureError(
            f"A search in table {self.search.store.name} cannot be a stream: it finds the best rows of a version. "
            "Search in a batch query, or in foreachBatch."
        )

    @property
    def sizes(self) -> tuple[int, int]:
        return self.limit, self.limit * row_width(self.local_schema, {})

    def rows(self) -> Any:
        if is_statement_explain(self.jvm):
            return self.session.local_rows(arrow_schema(self.local_schema).empty_table(), self.local_schema)
        found = self.search.run(SparkExecutor(self.session, small=SMALL_WORK))
        return self.session.local_rows(found.select(self.local_schema.names), self.local_schema)

    class Java:
        implements = LocalScan.Java.implements
