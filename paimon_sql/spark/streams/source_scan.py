"""The scan builder of tables that are read in batches and as streams.

Spark asks for both in the same way, but pushes nothing of a stream's query down. So where all columns are wanted and
nothing else is said, it matters who asks: a stream reads no version, and nothing is planned for it here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from pyspark.sql.types import StructType

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.expressions.predicate import conjunction
from paimon_core.scan.changes.increment import Increment
from paimon_core.scan.derived_tables import DerivedTable
from paimon_core.scan.plan import Plan
from paimon_core.scan.streams.options import check_batch_options
from paimon_core.spec.snapshot import Snapshot
from paimon_core.table import Table
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.collections import text_list
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.scans.statistics import scan_statistics
from paimon_sql.spark.jvm.streams.sources import is_streamed
from paimon_sql.spark.proxy import WithoutMetrics
from paimon_sql.spark.read.scan import PushedRequest
from paimon_sql.spark.read.scan_builder import IS_STREAM, PaimonScanBuilder
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.streams.source import PaimonMicroBatchStream, narrowed

_WITH_STREAMS = frozenset((DerivedTable.ROWS, DerivedTable.AUDIT_LOG, DerivedTable.BINLOG, DerivedTable.CHANGES))


class SourceScanBuilder(PaimonScanBuilder):
    """See the module. `given` are the reader's own options."""

    def __init__(
        self,
        jvm: Jvm,
        session: SessionBridge,
        table: Table,
        version: Callable[[], Snapshot | Increment | None],
        derived: DerivedTable = DerivedTable.ROWS,
        given: Iterable[str] = (),
    ) -> None:
        super().__init__(jvm, session, table, version, derived)
        self.given = tuple(given)

    def build(self) -> Any:
        if self._is_stream():
            return StreamScan(self.jvm, self, self._streamed())
        check_batch_options(self.table.name, self.given)
        return super().build()

    def pushed(self, table: Table) -> PushedRequest:
        """What is read of a table as a stream."""
        return replace(self._request, table=table, describe=Plan.describe)

    def _streamed(self) -> Table:
        """The table as a stream reads it."""
        return self.table

    def _is_stream(self) -> bool:
        if IS_STREAM in self.given:
            return True
        wants_all = set(self.required.fieldNames()) >= {f.name for f in self.fields}
        return (
            wants_all
            and not (self.pruning or self.filters_rows or self.reduction or self.limit)
            and is_streamed(self.jvm)
        )


class _StreamScan(WithoutMetrics):
    """A table as a stream."""

    CACHED = frozenset(
        ("columnarSupportMode", "description", "hashCode", "readSchema", "supportedCustomMetrics", "toString")
    )

    def __init__(self, jvm: Jvm, source: PaimonMicroBatchStream) -> None:
        super().__init__(jvm)
        self.source = source

    def readSchema(self) -> Any:
        return self.jvm.struct_type(self.source.request.required)

    def description(self) -> str:
        return self.source.describe()

    def columnarSupportMode(self) -> Any:
        return connector.columnar_by_partition(self.jvm)

    def toMicroBatchStream(self, _: str) -> Any:
        return self.source

    def estimateSizeInBytes(self) -> Any:
        return self.estimateStatistics().sizeInBytes()

    def reflectsFullyPushedDownFilters(self) -> bool:
        return True

    def estimateStatistics(self) -> Any:
        rows, size = self.source.stream.admitted
        return scan_statistics(self.jvm, max(rows, size), rows, {}, self.source.request.required)


class StreamScan(_StreamScan):
    """All columns of a table, as a stream; a function of what a batch needs of them (`jvm/java/StreamColumns.java`)."""

    def __init__(self, jvm: Jvm, builder: SourceScanBuilder, table: Table) -> None:
        if builder.derived not in _WITH_STREAMS:
            raise UnsupportedFeatureError(
                f"{table.name}${builder.derived.value} is not read as a stream: read the table itself, or its changes "
                f"by {table.name}$audit_log or {table.name}$binlog."
            )
        super().__init__(jvm, PaimonMicroBatchStream(jvm, builder.session, builder.pushed(table)))
        self.builder, self.table = builder, table
        self._narrow: tuple[object, NarrowStreamScan] | None = None  # what was asked for last, and its answer

    def apply(self, names: Any, filters: Any) -> Any:
        """A scan of some columns, by their names, and for some of the rows only. What is asked for again has the same
        answer, whose batch is planned: Spark 4.0 optimizes each batch twice."""
        wanted = frozenset(text_list(self.jvm, names))
        asked = wanted, str(filters.toString())
        if self._narrow is None or self._narrow[0] != asked:
            self._narrow = asked, self._narrowed(wanted, filters)
        return self._narrow[1]

    def _narrowed(self, wanted: frozenset[str], filters: Any) -> NarrowStreamScan:
        builder = self.builder
        narrow = SourceScanBuilder(self.jvm, builder.session, self.table, lambda: None, builder.derived)
        narrow.pushFilters(filters)
        narrow.required = StructType([f for f in builder.required if f.name in wanted])
        return NarrowStreamScan(self.jvm, narrowed(self.source, narrow.pushed(self.table), conjunction(narrow.pruning)))

    class Java:
        implements = [classes.SUPPORTS_REPORT_STATISTICS, classes.FUNCTION_2]


class NarrowStreamScan(_StreamScan):
    """What one batch needs of a stream."""

    class Java:
        implements = [classes.SUPPORTS_REPORT_STATISTICS]
