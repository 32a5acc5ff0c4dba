"""The builder of a scan. Columns, filters, aggregates and limits arrive while Spark optimizes. Then the builder makes
the plan from manifests. The core chooses the execution: a class of `scan.py`, or rows from metadata alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from paimon_core.arrow.nearest import SEARCH_SCORE
from paimon_core.arrow.types import ROW_ID, TRACKING_FIELDS
from paimon_core.errors import PaimonError, UnsupportedFeatureError
from paimon_core.expressions.predicate import Predicate, columns, conjunction, describe
from paimon_core.indexes.file_index.options import indexed_values
from paimon_core.io.delegating import innermost
from paimon_core.io.hdfs import HdfsFileIO
from paimon_core.io.hdfs_settings import cluster_settings
from paimon_core.io.objects.hadoop_reader import HadoopReader, hadoop_reader
from paimon_core.lazy import cached_property
from paimon_core.options import DATA_EVOLUTION
from paimon_core.scan.aggregates import aggregate
from paimon_core.scan.changes.increment import Increment
from paimon_core.scan.derived_tables import DerivedTable, derived_fields
from paimon_core.scan.execution import (
    Execution,
    ScanRequest,
    check_full_scan,
    check_row_positions,
    choose_execution,
    divide,
    has_case_twins,
    is_answered_by_partitions,
)
from paimon_core.scan.first_rows import first_of_splits
from paimon_core.scan.limits import Order, first_rows, sample_of_files, top_rows
from paimon_core.scan.partitions import is_cut
from paimon_core.scan.plan import Plan
from paimon_core.scan.pruning.generated import derived_filter
from paimon_core.scan.reduction import Reduction
from paimon_core.scan.top_by_index import top_by_index
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.types import DataField, Kind
from paimon_core.table import Table
from paimon_core.tracing import are_recorded
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.scans.files import hadoop_settings, has_s3a
from paimon_sql.spark.jvm.scans.pushdown import is_explaining, no_extractions, read_extractions
from paimon_sql.spark.jvm.sessions import is_described
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.read.filters import spark_prunes_soundly, translate_all
from paimon_sql.spark.read.local_scan import LocalScan
from paimon_sql.spark.read.pushdown import aggregates_of, order_of
from paimon_sql.spark.read.query_spans import begin_query
from paimon_sql.spark.read.scan import (
    DividedScan,
    LookupScan,
    MergeScan,
    PaimonScan,
    PartitionedDividedScan,
    PartitionedMergeScan,
    PartitionedRawScan,
    PushedRequest,
    RawScan,
    ReducingScan,
)
from paimon_sql.spark.read.scan_metrics import Planning
from paimon_sql.spark.read.unreadable_table import UnreadableScan
from paimon_sql.spark.read.value_parts import VariantPaths, shown_paths, variant_paths
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.spans import below_caller
from paimon_sql.spark.types import read_struct, string_types, to_struct

IS_STREAM = "read.stream"  # our own stream readers set it, so that the table has the columns of its latest version


class PaimonScanBuilder(Proxy):
    """Collects what Spark pushes down; `build` plans once."""

    shows_rows = True  # whether EXPLAIN has the number of rows
    prunes_variants = True  # whether the scan reads only those parts of VARIANTs that Spark asks for

    def __init__(
        self,
        jvm: Jvm,
        session: SessionBridge,
        table: Table,
        version: Callable[[], Snapshot | Increment | None],
        derived: DerivedTable = DerivedTable.ROWS,
    ) -> None:
        super().__init__(jvm)
        self.session, self.table, self._find_version, self.derived = session, table, version, derived
        self.fields = derived_fields(table.store, derived)
        self.required = string_types(to_struct(self.fields))
        self.pruning: tuple[Predicate, ...] = ()
        self.of_rows: list[tuple[Any, Predicate]] = []  # predicates that Spark evaluates, too
        self.filters_rows = False  # whether Spark filters rows after the scan
        self.reduction: Reduction | None = None
        self._asked: tuple[Any, Reduction | None] = None, None
        self.limit, self.planned_in = 0, 0.0
        self.order: Order | None = None
        self._part: Plan | None = None  # the part of the plan that a limit needs
        self.sample: tuple[float, float, int] | None = None  # the bounds of the part, and the seed
        self.variant_paths: VariantPaths | None = None

    def pruneColumns(self, required: Any) -> None:
        # Arrow rows without columns would lose their count: count(*) over a scan reads the first column
        self.required = read_struct(required.json()) or string_types(to_struct(self.fields[:1]))
        if has_case_twins(self.table.schema):  # Spark would mix up the fields of such columns
            whole = {f.name: f for f in string_types(to_struct(self.fields))}
            self.required = StructType([whole.get(f.name, f) for f in self.required])

    def pushFilters(self, filters: Any) -> Any:
        """Prune files and row groups. Spark still evaluates the rows, except for filters on partitions alone."""
        pairs = translate_all(self.jvm, filters, self._filtered, self._filtered_values)
        remaining = [(e, p) for e, p in pairs if p is None or not self._is_answered(p)]
        self.pruning = tuple(p for _, p in pairs if p is not None)
        self.of_rows = [(e, p) for e, p in remaining if p is not None and ROW_ID not in columns(p)]
        self.filters_rows = bool(remaining)
        return filters if len(remaining) == len(pairs) else self.jvm.seq([e for e, _ in remaining])

    def pushedFilters(self) -> Any:
        return connector.no_predicates(self.jvm)

    @cached_property
    def version(self) -> Snapshot | Increment | None:
        """Return the snapshot or increment to read. It is looked up on first use, because a stream does not need it."""
        return self._find_version()

    @property
    def _filtered(self) -> Mapping[str, DataField]:
        """Return the columns that have the same values in the files and in the derived table. Only filters on these
        columns can skip files.
        """
        held = self.table.schema.field_by_name if self.derived is not DerivedTable.BINLOG else {}
        if self._is_version and self.table.store.options[DATA_EVOLUTION]:
            held = {**held, ROW_ID: TRACKING_FIELDS[0]}  # it is in metadata only
        keys = self.table.schema.partition_keys
        return {n: f for n, f in held.items() if f.type.kind is not Kind.BLOB and not (n in keys and is_cut(f.type))}

    @property
    def _filtered_values(self) -> Mapping[str, DataField]:
        """Return the values of MAP keys that have a file index, as columns by name."""
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
        return self._push_first(limit, None)

    def pushTopN(self, orders: Any, limit: int) -> bool:
        order = order_of(self.jvm, orders)
        return order is not None and self._push_first(limit, order)

    def _push_first(self, limit: int, order: Order | None) -> bool:
        """Take a limit if the scan then reads less: fewer files, or only the first rows of a merge."""
        if self.filters_rows or self.reduction is not None or not self._is_version:
            return False
        try:
            part = self._first_part(limit, order)
        except PaimonError:
            return False  # `build` raises it
        if part is None:
            return False
        self.limit, self.order, self._part = limit, order, part
        return True

    def _first_part(self, limit: int, order: Order | None) -> Plan | None:
        """Return the part of the plan that a limit needs; None if this part is the whole plan."""
        store, plan = self.table.store, self._plan
        part = first_rows(store, plan, limit) if order is None else top_rows(store, plan, order, limit)
        if order is not None:
            indexed = top_by_index(store, part, order, limit)
            has_fewer = indexed.files_kept < part.files_kept
            if has_fewer or self._execution(indexed) is not Execution.RAW:  # Spark would read the files as a whole
                part = indexed
        merged = [s for s in part.splits if s.needs_merge and s.row_count > limit]
        stops = merged and first_of_splits(store, merged, tuple(store.schema.field_by_name), order, limit)
        return part if stops or part.splits != plan.splits else None

    def pushTableSample(self, low: float, high: float, replacing: bool, seed: int, method: Any = None) -> bool:
        """Take a sample of files for TABLESAMPLE SYSTEM; Spark takes samples of rows itself. Versions of Spark without
        SYSTEM name no method.
        """
        if method is None or str(method) != "SYSTEM" or replacing or not self._is_version:
            return False
        self.sample = low, high, seed
        return True

    def pushVariantExtractions(self, extractions: Any) -> Any:
        """Read only the parts of VARIANTs that the query extracts, and leave the extraction to Spark.

        Spark first calls this for all operators above the scan together, and then again without the upper operators.
        """
        if self.variant_paths is None:
            fields = self.table.schema.field_by_name
            is_possible = self.prunes_variants and self.derived is DerivedTable.ROWS
            self.variant_paths = variant_paths(read_extractions(extractions), fields) if is_possible else {}
        return no_extractions(self.jvm, extractions)

    def supportsDeferCastError(self) -> bool:
        return False  # Spark extracts, and casts, itself

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
        if SEARCH_SCORE in self.required.names and SEARCH_SCORE not in self.table.schema.field_by_name:
            raise UnsupportedFeatureError(
                f"Column {SEARCH_SCORE} of table {self.table.name} has values in a search only: read it FROM "
                "vector_search(…), full_text_search(…) or hybrid_search(…)."
            )
        plan, store = self._plan, self.table.store
        if self.reduction is not None and self._answer(self.reduction) is not None:
            return self._local_scan(self.reduction)
        check_full_scan(store, plan)
        plan = self._part or plan
        check_row_positions(store, plan, self.required.fieldNames())
        if self.reduction is not None:
            return ReducingScan(self.jvm, self.session, self._request, plan, self.reduction)
        return self._scan_of(plan)

    def _scan_of(self, plan: Plan) -> Any:
        parts = divide(
            self.table.store,
            plan,
            self._asked_of_scan,
            opens_unicode=self.jvm.opens_unicode_names,
            opens_hdfs=self._opens_hdfs,
            hadoop=self._hadoop,
        )
        if Execution.LOOKUP in parts:
            return LookupScan(self.jvm, self.session, self._request, plan)
        by_partitions = self._is_version and any(k in self.required.names for k in self.table.schema.partition_keys)
        kinds: dict[Execution, type[PaimonScan]] = {
            Execution.RAW: PartitionedRawScan if by_partitions else RawScan,
            Execution.MERGE: PartitionedMergeScan if by_partitions else MergeScan,
        }
        request = self._request if Execution.RAW not in parts else replace(self._request, hadoop=self._hadoop)
        of_part = request if len(parts) == 1 else replace(request, by_bucket=False)
        of_others = replace(of_part, planning=replace(request.planning, repeated=True))
        scans = [
            kinds[kind](self.jvm, self.session, of_others if number else of_part, part)
            for number, (kind, part) in enumerate(parts.items())
        ]
        if len(scans) == 1:
            return scans[0]
        divided = PartitionedDividedScan if by_partitions else DividedScan
        return divided(self.jvm, self.session, request, plan, scans)

    def _describe(self, plan: Plan) -> str:
        filters = ", ".join(map(describe, self.pruning)) or "none"
        seen = f"{self.derived.value} of " if self.derived.value else ""
        changes = f", {self.version.describe()}" if isinstance(self.version, Increment) else ""
        limit = f", limit {self.limit}" if self.limit else ""
        limit = limit if self.order is None else f", top {self.limit} by {self.order.describe()}"
        follows = derived_filter(self.table.store, conjunction(self.pruning))
        more = "" if follows is None else f", filters of generated columns: {describe(follows)}"
        sample = "" if self.sample is None else ", files from {:g} to {:g} by seed {}".format(*self.sample)
        paths = shown_paths(self.variant_paths or {}, self.table.schema.fields)
        parts = f", parts of VARIANTs: {paths}" if paths else ""
        about = f"{seen}{plan.describe(rows=self.shows_rows)}{changes}, pushed filters: {filters}{more}{parts}"
        return f"{about}{sample}{limit}"

    @cached_property
    def _plan(self) -> Plan:
        """The plan, made on first use: all filters must be known by then."""
        is_read = (not self.pruning and not are_recorded()) or not is_explaining(self.jvm)
        version, began = self.version, time.monotonic()
        if is_read:
            begin_query(self.jvm)
        with below_caller(self.jvm):
            wanted = version, conjunction(self.pruning), self.derived
            found = self.table.plan_of_same(*wanted, is_read=is_read)
        self.planned_in = time.monotonic() - began
        return found if self.sample is None else sample_of_files(self.table.store, found, *self.sample)

    def _is_answered(self, predicate: Predicate) -> bool:
        return self._is_version and is_answered_by_partitions(predicate, self.table.schema)

    @property
    def _is_version(self) -> bool:
        """Return whether the scan reads the rows of a version, not changes."""
        return not self.derived.is_log and not isinstance(self.version, Increment)

    def _reduction_of(self, aggregation: Any) -> Reduction | None:
        """Return the reduction that computes the whole aggregation here; None if a part of it cannot be computed."""
        if self.filters_rows or not self._is_version:
            return None
        asked, found = self._asked
        # Spark pushes it twice, and reading it takes 50 calls of the JVM
        if asked is None or not asked.equals(aggregation):
            parts = aggregates_of(self.jvm, aggregation)
            found = None if parts is None else Reduction(*parts)
            self._asked = aggregation, found
        return found

    def _workers_reduce(self, reduction: Reduction) -> bool:
        """Return whether rows must pass through Python workers anyway, so that the workers can aggregate them."""
        plan = self._plan
        is_possible = reduction.is_possible(self.table.schema) and bool(plan.splits)
        return is_possible and self._execution(plan) is Execution.MERGE

    def _answer(self, reduction: Reduction) -> pa.Table | None:
        """Return the result from metadata alone; None if the files are needed. It is cached, because Spark requests it
        repeatedly.
        """
        if reduction not in self._answers:
            self._answers[reduction] = aggregate(self.table.store, self._plan, reduction.groups, reduction.aggregates)
        return self._answers[reduction]

    @cached_property
    def _answers(self) -> dict[Reduction, pa.Table | None]:
        return {}

    def _local_scan(self, reduction: Reduction) -> LocalScan:
        schema = string_types(to_struct(reduction.fields(self.table.store)))
        about = f"PaimonScan[metadata] {reduction.describe()} of {self._describe(self._plan)}"
        return LocalScan(self.jvm, self.session, self._answer(reduction), schema, about)

    @property
    def _request(self) -> PushedRequest:
        fields = self.table.schema.field_by_name
        known = ((e, p) for e, p in self.of_rows if columns(p) <= fields.keys())
        table = self.table
        if self.variant_paths and self._is_version:
            table = replace(table, store=replace(table.store, variant_paths=self.variant_paths))
        return PushedRequest(
            table=table,
            derived=self.derived,
            required=self.required,
            predicate=conjunction(p for _, p in self.of_rows),
            parquet_filters=tuple(e for e, p in known if spark_prunes_soundly(p, fields)),
            describe=self._describe,
            pushed=repr((self.pruning, self.sample)),
            planning=Planning(round(1000 * self.planned_in), self.shows_rows),
            limit=self.limit,
            first_by=self.order,
            selects_keys=self.prunes_variants and self._is_version and self.derived is DerivedTable.ROWS,
        )

    @cached_property
    def _hadoop(self) -> HadoopReader | None:
        """Return the settings for Hadoop's connector to read the table's objects; None if it cannot read them or is not
        on the class path.
        """
        store = self.table.store
        found = None if store.io.is_near else hadoop_reader(store.io, store.root)
        return found if found is not None and has_s3a(self.jvm) else None

    @cached_property
    def _opens_hdfs(self) -> bool:
        """Return whether Spark's reader reaches the table's HDFS by the same settings as our client.

        Settings of the catalog alone, such as a name service or a keytab, are unknown to Spark.
        """
        store = self.table.store
        io = innermost(store.io) if store.root.startswith("hdfs://") else None
        wanted = cluster_settings(io.root, io.options) if isinstance(io, HdfsFileIO) else {}
        return not wanted or hadoop_settings(self.session.session, wanted) == wanted

    @property
    def _asked_of_scan(self) -> ScanRequest:
        return ScanRequest(tuple(self.required.fieldNames()), self.derived, conjunction(self.pruning))

    def _execution(self, plan: Plan) -> Execution:
        answered = self.reduction is not None and self._answer(self.reduction) is not None
        return choose_execution(
            self.table.store,
            plan,
            self._asked_of_scan,
            is_answered=answered,
            opens_unicode=self.jvm.opens_unicode_names,
            opens_hdfs=self._opens_hdfs,
        )

    class Java:
        implements = [
            classes.SUPPORTS_PUSH_DOWN_REQUIRED_COLUMNS,
            classes.SUPPORTS_PUSH_DOWN_AGGREGATES,
            classes.SUPPORTS_PUSH_DOWN_LIMIT,
            classes.SUPPORTS_PUSH_DOWN_TABLE_SAMPLE,
            classes.SUPPORTS_PUSH_DOWN_TOP_N,
            classes.SUPPORTS_PUSH_DOWN_CATALYST_FILTERS,
            classes.SUPPORTS_PUSH_DOWN_VARIANT_EXTRACTIONS,
        ]
