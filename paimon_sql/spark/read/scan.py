"""Scans, a class per execution: Spark's own Parquet scan, Python workers that merge or aggregate, and a
lookup of keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import pyarrow as pa
from py4j.java_gateway import JavaObject
from pyspark.sql.types import StructType

from paimon_core.dataclass import dataclass
from paimon_core.expressions.predicate import Predicate, conjunction
from paimon_core.expressions.terms import predicate_of
from paimon_core.formats.parquet.settings import VERIFY_CHECKSUM
from paimon_core.io.load import same_storage
from paimon_core.io.objects.hadoop_reader import HadoopReader
from paimon_core.lazy import cached_property
from paimon_core.scan.derived_tables import DerivedTable
from paimon_core.scan.execution import check_sizes
from paimon_core.scan.first_rows import FirstRows, first_of_splits
from paimon_core.scan.limits import Order, key_order
from paimon_core.scan.partitions import in_partitions, is_cut
from paimon_core.scan.plan import Plan
from paimon_core.scan.pruning.files import keys_asked_for
from paimon_core.scan.reduction import Reduction
from paimon_core.scan.splits import spread, whole_buckets
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.split import DATA_SPLIT, DataSplit
from paimon_core.table import Table
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.arrow_schemas import arrow_schema
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.metrics import reported_metrics, supported_metrics
from paimon_sql.spark.jvm.scans.files import parquet_scan_builder
from paimon_sql.spark.jvm.scans.pushdown import read_term
from paimon_sql.spark.jvm.workers import file_batch
from paimon_sql.spark.proxy import WithStatistics
from paimon_sql.spark.read.bucket_partitions import bucket_key, partitioning
from paimon_sql.spark.read.local_scan import LocalScan
from paimon_sql.spark.read.scan_metrics import SCAN_METRICS, Planning, scan_values
from paimon_sql.spark.read.statistics import row_width, scan_statistics
from paimon_sql.spark.read.value_parts import map_keys, shown_keys
from paimon_sql.spark.read.worker_batch import WorkerBatch
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.types import string_types, to_struct
from paimon_sql.spark.workers.worker import BatchFunction, read_function, reduce_function, split_batches

_REPORTS = [
    classes.SUPPORTS_REPORT_STATISTICS,
    classes.SUPPORTS_REPORT_PARTITIONING,
    classes.SUPPORTS_REPORT_ORDERING,
]
_JOINS_BUCKETS = "spark.sql.sources.v2.bucketing.enabled"
# always read days in one calendar; Spark's settings for files of its old versions do not apply
_CALENDAR = {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}
# a file that is deleted after it was looked up, or damaged, is an error of the scan, whatever the session ignores
_STRICT = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}
_MOST_VALUES = 1000  # values of a filter made while a query runs; more cost more time than they save


@dataclass(frozen=True, eq=False, slots=True)
class PushedRequest:
    """A read of a table, as Spark has pushed it down.

    `required` are the columns, `predicate` is the condition that rows must still be checked for, and `parquet_filters`
    let Spark's Parquet scan skip row groups. `describe` returns the text of a plan for EXPLAIN. This text is shortened
    for people; `pushed` has all filters and the sample exactly. If `by_bucket`, Spark may join by bucket, with a
    partition for each bucket. With `hadoop`, Hadoop's connector reads the objects of a store. `planning` has the
    numbers of the planning for Spark's UI. With a `limit`, the query needs only that many rows: the first ones by
    `first_by`, or any rows without it. If `selects_keys`, nothing but Spark uses the MAPs that are read.
    """

    table: Table
    derived: DerivedTable
    required: StructType
    predicate: Predicate | None
    parquet_filters: tuple[JavaObject, ...]
    describe: Callable[[Plan], str]
    pushed: str = ""
    by_bucket: bool = True
    hadoop: HadoopReader | None = None
    planning: Planning = Planning()
    limit: int = 0
    first_by: Order | None = None
    selects_keys: bool = False

    def of_keys(self, used: str) -> PushedRequest | None:
        """Return a request that reads only these keys of MAPs, see `map_keys`; None if it reads as much as this one."""
        store = self.table.store
        found = map_keys(used, store.schema, store.options) if self.selects_keys else store.map_keys
        if found == store.map_keys:
            return None
        return replace(self, table=replace(self.table, store=replace(store, map_keys=found)))

    def about(self, plan: Plan) -> str:
        """Return the text of a plan for EXPLAIN, with the keys of MAPs that are read."""
        keys = shown_keys(self.table.store.map_keys, self.table.schema.fields)
        return self.describe(plan) + (f", keys of MAPs: {keys}" if keys else "")


class PaimonScan(WithStatistics):
    """The common base of scans. Two scans are equal if they read the same rows. Spark then reads these rows once for a
    query that needs them twice.
    """

    CACHED = frozenset(("description", "columnarSupportMode", "readSchema", "supportedCustomMetrics", "toString"))

    def __init__(self, jvm: Jvm, session: SessionBridge, request: PushedRequest, plan: Plan) -> None:
        super().__init__(jvm)
        self.session, self.request, self.plan, self.planned = session, request, plan, plan
        self.table, self.required, self.about = request.table, request.required, request.about(plan)

    @cached_property
    def bucket_key(self) -> tuple[str, int] | None:
        """Return the column by which Spark may join buckets, and the number of buckets; None if Spark cannot join by
        bucket.
        """
        if not self.request.by_bucket:
            return None
        found = bucket_key(self.table.store, self.planned, self.required.names)
        return found if found is not None and self.session.setting(_JOINS_BUCKETS) else None

    def outputPartitioning(self) -> Any:
        return partitioning(self.jvm, self.bucket_key, len(self.plan.splits))

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Return the columns by which the rows of each of Spark's partitions are sorted, ascending. An order helps only
        joins by bucket: other joins shuffle the rows.
        """
        if self.bucket_key is None:
            return ()
        parts = self._tasks()
        if len({s.bucket for s in parts}) < len(parts):  # Spark reads them one after another
            return ()
        return key_order(self.table.store, parts, self.required.names)

    def outputOrdering(self) -> Any:
        return connector.ascending(self.jvm, self.order)

    def _tasks(self) -> Sequence[DataSplit]:
        """Return the splits that tasks read, one each."""
        return self.plan.splits

    def toString(self) -> str:
        store = self.table.store
        place = f"{store.root} {same_storage(store.io)} schema {store.schema.id}"
        asked = self.request
        parts = f"{store.variant_paths} {store.map_keys}"
        pushed = f"{asked.pushed} {asked.limit} {asked.first_by!r} {parts} {store.options!r}"
        return f"{type(self).__name__} {self.about} {self.required.json()} {place} {pushed}"

    def _read(self, plan: Plan) -> None:
        """Replace the plan that the scan reads."""
        self.plan = plan

    def supportedCustomMetrics(self) -> Any:
        return supported_metrics(self.jvm, SCAN_METRICS)

    def reportDriverMetrics(self) -> Any:
        """Return the numbers of the scan. Spark requests them once it knows what it reads."""
        return reported_metrics(self.jvm, SCAN_METRICS, scan_values(self.request.planning, self.planned, self.plan))

    def readSchema(self) -> Any:
        return self.jvm.struct_type(self.required)

    @cached_property
    def _statistics(self) -> Any:
        return scan_statistics(self.jvm, self.table, self.plan, self.required)


class RawScan(PaimonScan):
    """A scan of files that need no merge: Spark's vectorized Parquet scan reads them."""

    def __init__(self, jvm: Jvm, session: SessionBridge, request: PushedRequest, plan: Plan) -> None:
        super().__init__(jvm, session, request, plan)
        self.inner, self.batch = self._parquet_scan(), None

    def _parquet_scan(self) -> Any:
        """Return Spark's scan of the files of the plan."""
        store, splits, hadoop = self.table.store, self.plan.splits, self.request.hadoop
        files = [(data_file_path(s.bucket_dir, f), f.file_size) for s in splits for f in s.files]
        is_known = hadoop is not None or store.io.is_near
        if store.io.is_near:  # Spark would list more than 32 files by a job, in each query
            check_sizes(store, splits)
        settings = {VERIFY_CHECKSUM.key: str(store.options[VERIFY_CHECKSUM]).lower(), **_CALENDAR, **_STRICT}
        inner = parquet_scan_builder(
            self.jvm,
            self.session.session,
            [_local_path(path) if hadoop is None else hadoop.path(path) for path, _ in files],
            to_struct(self.table.schema.fields),
            settings if hadoop is None else {**settings, **hadoop.settings},
            [size for _, size in files] if is_known else None,
        )
        if self.request.parquet_filters:
            inner.pushFilters(self.jvm.seq(self.request.parquet_filters))
        inner.pruneColumns(self.jvm.struct_type(self.required))
        if not is_known and inner.fileIndex().sizeInBytes() != sum(s.size for s in splits):
            check_sizes(store, splits)  # Spark would skip a missing file, and would read an empty file as no rows
        return inner.build()

    def _tasks(self) -> Sequence[DataSplit]:
        """Return the splits that tasks read if the rows have an order; otherwise Spark divides the files."""
        return whole_buckets(self.plan.splits, self.jvm.context.defaultParallelism)

    def description(self) -> str:
        return f"PaimonScan[raw] {self.about}" + (", read by S3A" if self.request.hadoop else "")

    def toBatch(self) -> Any:
        if self.batch is None:
            splits = self._tasks() if self.order else self.plan.splits
            buckets = {f.file_name: s.bucket for s in splits for f in s.files}  # in the order of their keys
            self.batch = file_batch(
                self.jvm,
                self.inner.toBatch(),
                None if self.bucket_key is None else buckets,
                list(buckets) if self.order else None,
            )
        return self.batch

    def columnarSupportMode(self) -> Any:
        return connector.columnar_by_partition(self.jvm)

    class Java:
        implements = _REPORTS


def _local_path(path: str) -> str:
    """Return the path of a file with a scheme, as Spark shows it in `input_file_name()`."""
    return path if "://" in path else f"file://{path}"


class MergeScan(PaimonScan):
    """A scan of files that share keys: Python workers merge the rows, batch by batch."""

    def description(self) -> str:
        return f"PaimonScan[merge] {self.about}{self._stops}"

    def apply(self, used: str) -> MergeScan | None:
        """Return the scan of the same rows that reads only these keys of MAPs; None if it would read as much."""
        request = self.request.of_keys(used)
        return None if request is None else type(self)(self.jvm, self.session, request, self.plan)

    @property
    def _stops(self) -> str:
        return "" if self.first is None else f", tasks stop after {self.first.count} rows"

    def columnarSupportMode(self) -> Any:
        return connector.columnar_by_partition(self.jvm)

    def toBatch(self) -> Any:
        asked = self.request
        function = read_function(self.table.store, self.required, asked.predicate, asked.derived, self.first)
        return self._batch(function, self.required)

    @cached_property
    def first(self) -> FirstRows | None:
        """Return the rows that each task reads; None for all rows."""
        asked = self.request
        if not asked.limit:
            return None
        return first_of_splits(self.table.store, self._tasks(), self.required.names, asked.first_by, asked.limit)

    def _tasks(self) -> Sequence[DataSplit]:
        return list(spread(self.plan.splits, self.jvm.context.defaultParallelism))

    def _batch(self, function: BatchFunction, result: StructType) -> WorkerBatch:
        splits = self._tasks()
        texts = [DATA_SPLIT.encode(s) for s in splits]
        buckets = None if self.bucket_key is None else [s.bucket for s in splits]
        return WorkerBatch(self.jvm, self.toString(), texts, function, result, buckets)

    class Java:
        implements = [*_REPORTS, classes.UNARY_OPERATOR]


class DividedScan(MergeScan):
    """A scan with some splits that need a merge: Spark reads the other splits itself.

    The strategy of `jvm/java/DividedScans.java` plans a union of the scans that `get` returns. Workers read all splits
    if Spark joins by bucket, or if a session does not have the strategy.
    """

    def __init__(
        self, jvm: Jvm, session: SessionBridge, request: PushedRequest, plan: Plan, parts: Sequence[PaimonScan]
    ) -> None:
        super().__init__(jvm, session, request, plan)
        self.parts = tuple(parts)
        self.order = ()  # Spark may read it by two scans

    def description(self) -> str:
        return f"PaimonScan[divided] {self.about}{self._stops}"

    def get(self) -> Any:
        """Return the scans that together make the rows."""
        return self.jvm.array(classes.SCAN, [self.jvm.fronted(part) for part in self.parts])

    class Java:
        implements = [*_REPORTS, classes.SUPPLIER]


class ReducingScan(MergeScan):
    """A `MergeScan` that lets workers aggregate the rows they merged; Spark combines the workers' results."""

    def __init__(
        self, jvm: Jvm, session: SessionBridge, request: PushedRequest, plan: Plan, reduction: Reduction
    ) -> None:
        super().__init__(jvm, session, request, plan)
        self.reduction = reduction
        self.result = string_types(to_struct(reduction.fields(self.table.store)))
        self.about = f"{reduction.describe()} of {self.about}"
        self.bucket_key = None  # its rows are partial aggregates

    def toString(self) -> str:
        return f"{super().toString()} {self.reduction!r}"

    def readSchema(self) -> Any:
        return self.jvm.struct_type(self.result)

    def apply(self, used: str) -> None:
        return None  # Spark gets aggregates, not MAPs

    def toBatch(self) -> Any:
        function = reduce_function(
            self.table.store, self.result, self.request.predicate, self.request.derived, self.reduction
        )
        return self._batch(function, self.result)


class _RuntimeFiltered(PaimonScan):
    """A scan that leaves out partitions while the query runs, by the values on the other side of a join."""

    @cached_property
    def order(self) -> tuple[str, ...]:
        return ()  # with fewer splits, tasks may divide them in another way

    def filterAttributes(self) -> Any:
        fields = self.table.schema.partition_fields
        keys = [f.name for f in fields if f.name in self.required.names and not is_cut(f.type)]
        return connector.references(self.jvm, keys)

    def filter(self, predicates: Any) -> None:
        fields = {f.name: f for f in self.table.schema.partition_fields}
        found = [predicate_of(read_term(self.jvm, p), fields) for p in predicates if len(p.children()) <= _MOST_VALUES]
        known = conjunction(p for p in found if p is not None)
        if known is not None:
            # filter the whole plan again: if a query has the scan twice, Spark filters it twice
            self._read(in_partitions(self.table.store, self.planned, known))

    def pushedPredicates(self) -> Any:
        return connector.no_predicates(self.jvm)

    def supportsIterativePushdown(self) -> bool:
        return False


class PartitionedRawScan(_RuntimeFiltered, RawScan):
    """A `RawScan` of a table with partitions."""

    def _read(self, plan: Plan) -> None:
        self.plan = plan
        self.inner, self.batch = self._parquet_scan(), None

    class Java:
        implements = [*_REPORTS, classes.SUPPORTS_RUNTIME_FILTERING]


class PartitionedMergeScan(_RuntimeFiltered, MergeScan):
    """A `MergeScan` of a table with partitions."""

    class Java:
        implements = [*_REPORTS, classes.SUPPORTS_RUNTIME_FILTERING, classes.UNARY_OPERATOR]


class PartitionedDividedScan(_RuntimeFiltered, DividedScan):
    """A `DividedScan` of a table with partitions. Spark filters its parts."""

    class Java:
        implements = [*_REPORTS, classes.SUPPORTS_RUNTIME_FILTERING, classes.SUPPLIER]


class LookupScan(LocalScan):
    """The merged rows of a few keys. The driver reads them itself, when Spark requests the rows."""

    def __init__(self, jvm: Jvm, session: SessionBridge, request: PushedRequest, plan: Plan) -> None:
        empty = arrow_schema(request.required).empty_table()
        super().__init__(jvm, session, empty, request.required, f"PaimonScan[lookup] {request.about(plan)}")
        self.request, self.plan = request, plan

    @property
    def sizes(self) -> tuple[int, int]:
        found = sum(s.row_count for s in self.plan.splits)
        rows = min(found, keys_asked_for(self.request.table.schema, self.request.predicate) or found)
        return rows, rows * row_width(self.local_schema, {})

    def apply(self, used: str) -> LookupScan | None:
        """Return the scan of the same rows that reads only these keys of MAPs; None if it would read as much."""
        request = self.request.of_keys(used)
        return None if request is None else LookupScan(self.jvm, self.session, request, self.plan)

    def rows(self) -> Any:
        parts = (
            split_batches(self.request.table.store, self.local_schema, self.request.predicate, DerivedTable.ROWS, split)
            for split in self.plan.splits
        )
        found = pa.Table.from_batches(chain.from_iterable(parts), self.content.schema)
        return self.session.local_rows(found, self.local_schema)

    class Java:
        implements = [classes.LOCAL_SCAN, classes.SUPPORTS_REPORT_STATISTICS, classes.UNARY_OPERATOR]
