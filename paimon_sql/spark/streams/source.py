"""A table as Spark's `MicroBatchStream`: the core decides what to read next, and batch scans read the files."""

from __future__ import annotations

import logging
from copy import copy
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.expressions.predicate import Predicate
from paimon_core.lazy import cached_property
from paimon_core.scan.derived_tables import DerivedTable
from paimon_core.scan.execution import Execution, ScanRequest, check_row_positions, choose_execution
from paimon_core.scan.partitions import in_partitions
from paimon_core.scan.plan import Plan
from paimon_core.scan.streams.options import ReadLimits, read_limits
from paimon_core.scan.streams.packing import keeps_order
from paimon_core.scan.streams.position import Position, parse_position
from paimon_core.scan.streams.stream import Progress, TableStream
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.streams import sources
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.read.scan import MergeScan, PushedRequest, RawScan
from paimon_sql.spark.session_bridge import SessionBridge

_log = logging.getLogger("paimon_sql.streams")


@dataclass(frozen=True)
class _Planned:
    """The input of one batch, from one position to another. It is cached because Spark requests it twice, and planning
    it builds a file index and sends a configuration to the executors.
    """

    start: Position
    end: Position
    batch: Any

    @cached_property
    def partitions(self) -> Any:
        return self.batch.planInputPartitions()

    @cached_property
    def factory(self) -> Any:
        return self.batch.createReaderFactory()


class PaimonMicroBatchStream(Proxy):
    """One stream of a table, or of its log. Its offsets are `Position`s as JSON."""

    CACHED = frozenset(("getDefaultReadLimit", "hashCode", "toString"))

    def __init__(self, jvm: Jvm, session: SessionBridge, request: PushedRequest) -> None:
        super().__init__(jvm)
        self.session, self.request, self.table = session, request, request.table
        self.limits = read_limits(self.table.store.options)
        by_snapshot = request.derived is DerivedTable.CHANGES
        zone = session.time_zone()
        self.stream = TableStream(self.table.store, zone, warn=_log.warning, by_snapshot=by_snapshot)
        self.pruning: Predicate | None = None  # rows that do not match it are not needed
        self._name = f"{self.describe()}@{id(self):x}"
        self.planned: _Planned | None = None

    # -- SparkDataStream ----------------------------------------------------------------------------------------------
    def initialOffset(self) -> Any:
        return self._offset(self.stream.initial())

    def deserializeOffset(self, json: str) -> Any:
        return self._offset(parse_position(json))

    def commit(self, end: Any) -> None:
        self.stream.committed(_position(end))

    def stop(self) -> None:
        self.planned = None

    # -- SupportsTriggerAvailableNow ----------------------------------------------------------------------------------
    def getDefaultReadLimit(self) -> Any:
        limits = self.limits
        return sources.read_limit(self.jvm, limits.files, limits.size, limits.rows)

    def prepareForTriggerAvailableNow(self) -> None:
        self.stream.end_at_latest()

    def latestOffset(self, start: Any = None, limit: Any = None) -> Any:
        """Return the latest offset. The arguments are (start, limit); Spark leaves them out only for sources without
        admission control.
        """
        position = self.stream.initial() if start is None else _position(start)
        # without a limit of the source, Spark gets its "all available"; Trigger.Once also sends that
        is_once = limit is None or (self.limits.has_bound and sources.is_all_available(self.jvm, limit))
        return self._offset(self.stream.latest(position, ReadLimits() if is_once else self.limits))

    def reportLatestOffset(self) -> Any:
        latest = self.table.latest_snapshot()
        return None if latest is None else self._offset(Position(latest.id))

    # -- MicroBatchStream ---------------------------------------------------------------------------------------------
    def planInputPartitions(self, start: Any, end: Any) -> Any:
        first, last = map(parse_position, sources.offset_texts(self.jvm, start, end))
        if self.planned is None or (self.planned.start, self.planned.end) != (first, last):
            self.planned = _Planned(first, last, self._scan_of(self.stream.plan(first, last)).toBatch())
        return self.planned.partitions

    def createReaderFactory(self) -> Any:
        if self.planned is None:
            empty = Plan(table=self.table.name, snapshot=None, splits=())
            return self._scan_of(empty).toBatch().createReaderFactory()
        return self.planned.factory

    def _scan_of(self, whole: Plan) -> RawScan | MergeScan:
        store, columns = self.table.store, tuple(self.request.required.fieldNames())
        plan = whole if self.pruning is None else in_partitions(store, whole, self.pruning)
        check_row_positions(store, plan, columns)
        execution = Execution.MERGE
        if plan.splits and keeps_order(store, plan.splits):
            asked = ScanRequest(columns, self.request.derived)
            execution = choose_execution(store, plan, asked, opens_unicode=self.jvm.opens_unicode_names)
        scan = RawScan if execution is Execution.RAW else MergeScan
        return scan(self.jvm, self.session, self.request, plan)

    # -- ReportsSourceMetrics -----------------------------------------------------------------------------------------
    def metrics(self, consumed: Any) -> Any:
        text = sources.consumed_text(self.jvm, consumed)
        progress = self.stream.progress(None if text is None else parse_position(text))
        return sources.metrics(self.jvm, _metrics(progress))

    def toString(self) -> str:
        return self._name

    def describe(self) -> str:
        """Return the name of the table, for EXPLAIN and the progress of queries."""
        derived = self.request.derived.value
        return f"PaimonStream[{self.table.name}{f'${derived}' if derived else ''}]"

    def _offset(self, position: Position) -> Any:
        return sources.offset(self.jvm, position.json())

    class Java:
        implements = [
            sources.MICRO_BATCH_STREAM,
            sources.SUPPORTS_TRIGGER_AVAILABLE_NOW,
            sources.REPORTS_SOURCE_METRICS,
        ]


def narrowed(
    stream: PaimonMicroBatchStream, request: PushedRequest, pruning: Predicate | None
) -> PaimonMicroBatchStream:
    """Return the same stream, narrowed to the columns and rows of one batch. Spark counts the rows of both streams as
    rows of one source.
    """
    narrow = copy(stream)
    narrow.request, narrow.pruning, narrow.planned = request, pruning, None
    return narrow


def _position(offset: Any) -> Position:
    return parse_position(sources.offset_text(offset))


def _metrics(progress: Progress) -> dict[str, object]:
    return {
        "rows": progress.rows,
        "files": progress.files,
        "bytes": progress.size,
        "snapshotsBehind": progress.snapshots_behind,
        "millisBehind": progress.millis_behind,
        "skippedOverwrites": progress.skipped_overwrites,
    }
