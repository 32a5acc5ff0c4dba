"""Reading: pruning and filters arrive while Spark optimizes, the plan is made here from manifests, then one of
four executions: Spark's own Parquet scan over the files that remain, Python workers that merge (and, for aggregates,
reduce), a lookup of a few keys in the driver, or rows that metadata already answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from paimon_core.arrow.types import ROW_ID, TRACKING_FIELDS
from paimon_core.errors import PaimonError
from paimon_core.expressions.predicate import Predicate, columns, conjunction, describe
from paimon_core.formats.parquet.settings import VERIFY_CHECKSUM
from paimon_core.indexes.file_index.options import indexed_values
from paimon_core.options import DATA_EVOLUTION
from paimon_core.scan.aggregates import aggregate
from paimon_core.scan.changes.increment import Increment
from paimon_core.scan.derived_tables import DerivedTable, derived_fields
from paimon_core.scan.execution import (
    Execution,
    ScanRequest,
    check_full_scan,
    check_row_positions,
    check_sizes,
    choose_execution,
    has_case_twins,
    is_answered_by_partitions,
)
from paimon_core.scan.partitions import in_partitions
from paimon_core.scan.plan import Plan
from paimon_core.scan.pruning.limits import Order, first_rows, top_rows
from paimon_core.scan.reduction import Reduction
from paimon_core.scan.splits import spread
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.split import DATA_SPLIT
from paimon_core.spec.types import DataField, Kind
from paimon_core.table import Table
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.files import parquet_scan_builder
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.pushdown import read_term
from paimon_sql.spark.jvm.sessions import is_described
from paimon_sql.spark.jvm.workers import partitions, reader_factory
from paimon_sql.spark.proxy import Proxy, WithoutMetrics
from paimon_sql.spark.read.bucket_partitions import BucketedBatch, bucket_key, partitioning
from paimon_sql.spark.read.filters import from_connector, spark_prunes_soundly, translate_all
from paimon_sql.spark.read.local_scan import LocalScan
from paimon_sql.spark.read.pushdown import aggregates_of, order_of
from paimon_sql.spark.read.statistics import scan_statistics
from paimon_sql.spark.read.unreadable_table import UnreadableScan
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.types import read_struct, string_types, to_struct
from paimon_sql.spark.workers.worker import BatchFunction, read_function, reduce_function, split_batches

_REPORTS = [classes.SUPPORTS_REPORT_STATISTICS, classes.SUPPORTS_REPORT_PARTITIONING]
_JOINS_BUCKETS = "spark.sql.sources.v2.bucketing.enabled"
_MOST_VALUES = 1000  # of a filter made while a query runs: to hand over more costs more than partitions save


class PaimonScanBuilder(Proxy):
    """Collects what Spark pushes down; `build` plans once."""

    def __init__(
        self,
        jvm: Jvm,
        session: SessionBridge,
        table: Table,
        version: Snapshot | Increment | None,
        derived: DerivedTable = DerivedTable.ROWS,
    ) -> None:
        super().__init__(jvm)
        self.session, self.table, self.version, self.derived = session, table, version, derived
        self.fields = derived_fields(table.store, derived)
        self.required = string_types(to_struct(self.fields))
        self.pruning: tuple[Predicate, ...] = ()
        self.of_rows: list[tuple[Any, Predicate]] = []  # those of them that Spark evaluates, too
        self.filters_rows = False  # whether Spark takes rows away after the scan
        self.reduction: Reduction | None = None
        self._asked: tuple[Any, Reduction | None] = None, None
        self.limit = 0
        self.order: Order | None = None

    def pruneColumns(self, required: Any) -> None:
        # rows without columns would lose their number on the way: count(*) over a scan reads the first column
        self.required = read_struct(required.json()) or string_types(to_struct(self.fields[:1]))
        if has_case_twins(self.table.schema):  # Spark gives such a column the parts of another
            whole = {f.name: f for f in string_types(to_struct(self.fields))}
            self.required = StructType([whole.get(f.name, f) for f in self.required])

    def pushFilters(self, filters: Any) -> Any:
        """Files and row groups are pruned; Spark evaluates the rows, but for what partitions answer."""
        pairs = translate_all(self.jvm, filters, self._filtered, self._filtered_values)
        remaining = [(e, p) for e, p in pairs if p is None or not self._is_answered(p)]
        self.pruning = tuple(p for _, p in pairs if p is not None)
        self.of_rows = [(e, p) for e, p in remaining if p is not None and ROW_ID not in columns(p)]
        self.filters_rows = bool(remaining)
        return filters if len(remaining) == len(pairs) else self.jvm.seq([e for e, _ in remaining])

    def pushedFilters(self) -> Any:
        return connector.no_predicates(self.jvm)

    @property
    def _filtered(self) -> Mapping[str, DataField]:
        """The columns whose values files hold as the derived table shows them."""
        held = self.table.schema.field_by_name if self.derived is not DerivedTable.BINLOG else {}
        if self._is_version and self.table.store.options[DATA_EVOLUTION]:
            held = {**held, ROW_ID: TRACKING_FIELDS[0]}  # which only metadata is asked for
        return {name: field for name, field in held.items() if field.type.kind is not Kind.BLOB}

    @property
    def _filtered_values(self) -> Mapping[str, DataField]:
        """The values of keys in MAPs that file indexes know."""
        values = indexed_values(self.table.store.options, self.table.schema) if self._filtered else {}
        return {name: replace(v.field, name=name, type=v.type) for name, v in values.items()}

    def supportCompletePushDown(self, aggregation: Any) -> bool:
        reduction = self._reduction_of(aggregation)
        return reduction is not None and self._answer(reduction) is not None

    def pushAggregation(self, aggregation: Any) -> bool:
        reduction = self._reduction_of(aggregation)
        if reduction is None:
            return False
        if self._answer(reduction) is None:
            if not self._workers_reduce(reduction):
                return False
            self.required = StructType([self.required[c] for c in reduction.columns(self.table.schema)])
        self.reduction = reduction
        return True

    def pushLimit(self, limit: int) -> bool:
        if self.filters_rows or self.reduction is not None or not self._is_version:
            return False
        self.limit = limit
        return True

    def pushTopN(self, orders: Any, limit: int) -> bool:
        order = order_of(orders)
        if order is None or not self.pushLimit(limit):
            return False
        self.order = order
        return True

    def isPartiallyPushed(self) -> bool:
        return True

    def build(self) -> Any:
        try:
            return self._scan()
        except PaimonError as e:
            if not is_described(self.jvm):
                raise
            return UnreadableScan(self.jvm, self.required, e)

    def _scan(self) -> Any:
        plan, store = self._plan, self.table.store
        execution = self._execution(plan)
        if self.reduction is not None and execution is Execution.METADATA:
            return self._local_scan(self.reduction)
        check_full_scan(store, plan)
        if self.limit:
            plan = first_rows(plan, self.limit) if self.order is None else top_rows(store, plan, self.order, self.limit)
            execution = self._execution(plan)
        check_row_positions(store, plan, self.required.fieldNames())
        if self.reduction is not None:
            return ReducingScan(self.jvm, self.session, self.table, plan, self, self.reduction)
        if execution is Execution.LOOKUP:
            return LookupScan(self, plan)
        by_partitions = self._is_version and any(k in self.required.names for k in self.table.schema.partition_keys)
        if execution is Execution.RAW:
            scan: type[_Scan] = PartitionedRawScan if by_partitions else RawScan
        else:
            scan = PartitionedMergeScan if by_partitions else MergeScan
        return scan(self.jvm, self.session, self.table, plan, self)

    def describe(self, plan: Plan) -> str:
        filters = ", ".join(map(describe, self.pruning)) or "none"
        seen = f"{self.derived.value} of " if self.derived.value else ""
        changes = f", {self.version.describe()}" if isinstance(self.version, Increment) else ""
        limit = f", limit {self.limit}" if self.limit else ""
        limit = limit if self.order is None else f", top {self.limit} by {self.order.describe()}"
        return f"{seen}{plan.describe()}{changes}, pushed filters: {filters}{limit}"

    @cached_property
    def _plan(self) -> Plan:
        """Asked for once all filters are known."""
        return self.table.plan(self.version, conjunction(self.pruning), self.derived)

    def _is_answered(self, predicate: Predicate) -> bool:
        return self._is_version and is_answered_by_partitions(predicate, self.table.schema)

    @property
    def _is_version(self) -> bool:
        """Whether rows of a version are read, not changes."""
        return not self.derived.is_log and not isinstance(self.version, Increment)

    def _reduction_of(self, aggregation: Any) -> Reduction | None:
        """What of an aggregation can be done here, all of it or none."""
        if self.filters_rows or not self._is_version:
            return None
        asked, found = self._asked
        if asked is None or not asked.equals(aggregation):  # it comes twice, and reading it takes 50 crossings
            parts = aggregates_of(aggregation)
            found = None if parts is None else Reduction(*parts)
            self._asked = aggregation, found
        return found

    def _workers_reduce(self, reduction: Reduction) -> bool:
        """Whether rows have to pass Python workers, which may as well aggregate them."""
        plan = self._plan
        is_possible = reduction.is_possible(self.table.schema) and bool(plan.splits)
        return is_possible and self._execution(plan) is Execution.MERGE

    def _answer(self, reduction: Reduction) -> pa.Table | None:
        """What metadata says, kept: Spark asks whether there is an answer, and asks again, before it takes it."""
        if reduction not in self._answers:
            self._answers[reduction] = aggregate(self.table.store, self._plan, reduction.groups, reduction.aggregates)
        return self._answers[reduction]

    @cached_property
    def _answers(self) -> dict[Reduction, pa.Table | None]:
        return {}

    def _local_scan(self, reduction: Reduction) -> LocalScan:
        schema = string_types(to_struct(reduction.fields(self.table.store)))
        about = f"PaimonScan[metadata] {reduction.describe()} of {self.describe(self._plan)}"
        return LocalScan(self.jvm, self.session, self._answer(reduction), schema, about)

    @property
    def predicate(self) -> Predicate | None:
        """What rows are still to be judged by."""
        return conjunction(p for _, p in self.of_rows)

    @property
    def parquet_filters(self) -> Any:
        """What Spark's Parquet scan may skip row groups by."""
        fields = self.table.schema.field_by_name
        known = [(e, p) for e, p in self.of_rows if columns(p) <= fields.keys()]
        return self.jvm.seq([e for e, p in known if spark_prunes_soundly(p, fields)])

    def _execution(self, plan: Plan) -> Execution:
        request = ScanRequest(tuple(self.required.fieldNames()), self.derived, conjunction(self.pruning))
        answered = self.reduction is not None and self._answer(self.reduction) is not None
        return choose_execution(
            self.table.store, plan, request, is_answered=answered, opens_unicode=self.jvm.opens_unicode_names
        )

    class Java:
        implements = [
            classes.SUPPORTS_PUSH_DOWN_REQUIRED_COLUMNS,
            classes.SUPPORTS_PUSH_DOWN_AGGREGATES,
            classes.SUPPORTS_PUSH_DOWN_LIMIT,
            classes.SUPPORTS_PUSH_DOWN_TOP_N,
            classes.SUPPORTS_PUSH_DOWN_CATALYST_FILTERS,
        ]


class _Scan(WithoutMetrics):
    """What scans answer alike. Equal when they read the same rows: Spark then reads once where a query asks twice."""

    CACHED = frozenset(("description", "columnarSupportMode", "readSchema", "supportedCustomMetrics", "toString"))

    def __init__(self, jvm: Jvm, session: SessionBridge, table: Table, plan: Plan, builder: PaimonScanBuilder) -> None:
        super().__init__(jvm)
        self.session, self.table, self.plan, self.planned = session, table, plan, plan
        self.required, self.predicate, self.about = builder.required, builder.predicate, builder.describe(plan)
        self.derived, self.builder = builder.derived, builder

    @cached_property
    def bucket_key(self) -> tuple[str, int] | None:
        """What Spark may join by, see `bucket_key`."""
        found = bucket_key(self.table.store, self.planned, self.builder.required.names)
        return found if found is not None and self.session.conf(_JOINS_BUCKETS, "true").lower() == "true" else None

    def outputPartitioning(self) -> Any:
        return partitioning(self.jvm, self.bucket_key, len(self.plan.splits))

    def toString(self) -> str:
        store = self.table.store
        return f"{type(self).__name__} {self.about} {self.required.json()} {store.root} schema {store.schema.id}"

    def _read(self, plan: Plan) -> None:
        """Read that plan from now on."""
        self.plan = plan

    def readSchema(self) -> Any:
        return self.jvm.struct_type(self.required)

    def estimateStatistics(self) -> Any:
        return self._statistics

    def estimateSizeInBytes(self) -> Any:
        return self._statistics.sizeInBytes()

    @cached_property
    def _statistics(self) -> Any:
        return scan_statistics(self.jvm, self.table, self.plan, self.required)

    def reflectsFullyPushedDownFilters(self) -> bool:
        return True


class RawScan(_Scan):
    """Nothing to merge: Spark's vectorized Parquet scan over the files of the plan."""

    def __init__(self, jvm: Jvm, session: SessionBridge, table: Table, plan: Plan, builder: PaimonScanBuilder) -> None:
        super().__init__(jvm, session, table, plan, builder)
        inner = parquet_scan_builder(
            jvm,
            session.session,
            [data_file_path(s.bucket_dir, f) for s in plan.splits for f in s.files],
            to_struct(table.schema.fields),
            {VERIFY_CHECKSUM.key: str(table.store.options[VERIFY_CHECKSUM]).lower()},
        )
        if builder.of_rows:
            inner.pushFilters(builder.parquet_filters)
        inner.pruneColumns(jvm.struct_type(builder.required))
        self.inner = inner.build()
        if inner.fileIndex().sizeInBytes() != sum(s.size for s in plan.splits):
            check_sizes(table.store, plan.splits)  # Spark passes missing files over and reads an empty one as no rows

    def description(self) -> str:
        return f"PaimonScan[raw] {self.about}"

    def toBatch(self) -> Any:
        if self.bucket_key is None:
            return self.inner.toBatch()
        buckets = {f.file_name: s.bucket for s in self.plan.splits for f in s.files}
        return BucketedBatch(self.jvm, self.inner.toBatch(), buckets)

    def columnarSupportMode(self) -> Any:
        return connector.columnar_by_partition(self.jvm)

    class Java:
        implements = _REPORTS


class MergeScan(_Scan):
    """Rows of one key stand in several files: Python workers merge them, batch by batch."""

    def description(self) -> str:
        return f"PaimonScan[merge] {self.about}"

    def columnarSupportMode(self) -> Any:
        return connector.columnar_by_partition(self.jvm)

    def toBatch(self) -> Any:
        function = read_function(self.table.store, self.required, self.predicate, self.derived)
        return self._batch(function, self.required)

    def _batch(self, function: BatchFunction, result: StructType) -> WorkerBatch:
        splits = list(spread(self.plan.splits, self.jvm.context.defaultParallelism))
        texts = [DATA_SPLIT.encode(s) for s in splits]
        buckets = None if self.bucket_key is None else [s.bucket for s in splits]
        return WorkerBatch(self.jvm, self.session, self.toString(), texts, function, result, buckets)

    class Java:
        implements = _REPORTS


class ReducingScan(MergeScan):
    """A `MergeScan` whose workers aggregate what they merged; Spark puts their parts together."""

    def __init__(
        self,
        jvm: Jvm,
        session: SessionBridge,
        table: Table,
        plan: Plan,
        builder: PaimonScanBuilder,
        reduction: Reduction,
    ) -> None:
        super().__init__(jvm, session, table, plan, builder)
        self.reduction = reduction
        self.result = string_types(to_struct(reduction.fields(table.store)))
        self.about = f"{reduction.describe()} of {self.about}"
        self.bucket_key = None  # its rows are parts of groups

    def readSchema(self) -> Any:
        return self.jvm.struct_type(self.result)

    def toBatch(self) -> Any:
        function = reduce_function(self.table.store, self.result, self.predicate, self.derived, self.reduction)
        return self._batch(function, self.result)


class _RuntimeFiltered(_Scan):
    """Partitions are left out while the query runs, by what the other side of a join turned out to have."""

    def filterAttributes(self) -> Any:
        keys = [k for k in self.table.schema.partition_keys if k in self.required.names]
        return connector.references(self.jvm, keys)

    def filter(self, predicates: Any) -> None:
        fields = {f.name: f for f in self.table.schema.partition_fields}
        found = [from_connector(read_term(p), fields) for p in predicates if len(p.children()) <= _MOST_VALUES]
        known = conjunction(p for p in found if p is not None)
        if known is not None:
            # of all that was planned: a scan that stands twice in a query is filtered twice
            self._read(in_partitions(self.table.store, self.planned, known))

    def pushedPredicates(self) -> Any:
        return connector.no_predicates(self.jvm)

    def supportsIterativePushdown(self) -> bool:
        return False


class PartitionedRawScan(_RuntimeFiltered, RawScan):
    """A `RawScan` of a table with partitions."""

    def _read(self, plan: Plan) -> None:
        self.plan, self.inner = plan, RawScan(self.jvm, self.session, self.table, plan, self.builder).inner

    class Java:
        implements = [*_REPORTS, classes.SUPPORTS_RUNTIME_FILTERING]


class PartitionedMergeScan(_RuntimeFiltered, MergeScan):
    """A `MergeScan` of a table with partitions."""

    class Java:
        implements = [*_REPORTS, classes.SUPPORTS_RUNTIME_FILTERING]


class WorkerBatch(Proxy):
    """Tasks of Python workers: one per split, its JSON in a partition of Spark's own class."""

    def __init__(
        self,
        jvm: Jvm,
        session: SessionBridge,
        about: str,
        splits: Sequence[str],
        function: BatchFunction,
        required: StructType,
        buckets: Sequence[int] | None = None,
    ) -> None:
        super().__init__(jvm)
        self.session, self.about, self.splits, self.buckets = session, about, splits, buckets
        self.function, self.required = function, required

    def toString(self) -> str:
        return f"WorkerBatch of {self.about}"

    def planInputPartitions(self) -> Any:
        return partitions(self.jvm, [s.encode() for s in self.splits], self.buckets)

    def createReaderFactory(self) -> Any:
        return reader_factory(self.jvm, self.function, self.required)

    class Java:
        implements = [classes.BATCH]


class LookupScan(LocalScan):
    """A few keys whose rows are merged: the driver reads them itself, when Spark asks for the rows."""

    def __init__(self, builder: PaimonScanBuilder, plan: Plan) -> None:
        empty = to_arrow_schema(builder.required, timezone="UTC").empty_table()
        about = f"PaimonScan[lookup] {builder.describe(plan)}"
        super().__init__(builder.jvm, builder.session, empty, builder.required, about)
        self.table, self.plan, self.predicate = builder.table, plan, builder.predicate

    def rows(self) -> Any:
        parts = (
            split_batches(self.table.store, self.local_schema, self.predicate, DerivedTable.ROWS, split)
            for split in self.plan.splits
        )
        found = pa.Table.from_batches(chain.from_iterable(parts), self.content.schema)
        return self.session.local_rows(found, self.local_schema)

    class Java:
        implements = [classes.LOCAL_SCAN]
