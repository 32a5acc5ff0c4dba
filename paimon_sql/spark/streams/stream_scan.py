"""The scans of streams: a scan of all columns of a table, and a scan of the columns and rows that one batch needs."""

from __future__ import annotations

from typing import Any

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.expressions.predicate import conjunction
from paimon_core.scan.derived_tables import DerivedTable
from paimon_core.table import Table
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.collections import text_list
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.scans.statistics import scan_statistics
from paimon_sql.spark.proxy import WithoutMetrics
from paimon_sql.spark.read.table_scan import TableScanBuilder
from paimon_sql.spark.read.table_scan import narrowed as narrowed_builder
from paimon_sql.spark.streams.source import PaimonMicroBatchStream, narrowed

_WITH_STREAMS = frozenset((DerivedTable.ROWS, DerivedTable.AUDIT_LOG, DerivedTable.BINLOG, DerivedTable.CHANGES))


class _StreamScan(WithoutMetrics):
    """A table that is read as a stream."""

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
    """A stream of all columns of a table. It is also the function that narrows the scan to the columns and rows that a
    batch needs (`jvm/java/StreamColumns.java`).
    """

    def __init__(self, builder: TableScanBuilder, table: Table) -> None:
        if builder.derived not in _WITH_STREAMS:
            raise UnsupportedFeatureError(
                f"{table.name}${builder.derived.value} is not read as a stream: read the table itself, or its changes "
                f"by {table.name}$audit_log or {table.name}$binlog."
            )
        super().__init__(builder.jvm, PaimonMicroBatchStream(builder.jvm, builder.session, builder.pushed(table)))
        self.builder, self.table = builder, table
        self._narrow: tuple[object, NarrowStreamScan] | None = None  # the last request and its scan

    def apply(self, names: Any, filters: Any) -> Any:
        """Return a scan of the columns `names`, for the rows that match `filters`.

        An equal request gets the same scan, with its batch already planned: Spark 4.0 optimizes each batch twice.
        """
        wanted = frozenset(text_list(self.jvm, names))
        asked = wanted, str(filters.toString())
        if self._narrow is None or self._narrow[0] != asked:
            self._narrow = asked, self._narrowed(wanted, filters)
        return self._narrow[1]

    def _narrowed(self, wanted: frozenset[str], filters: Any) -> NarrowStreamScan:
        narrow = narrowed_builder(self.builder, self.table, wanted, filters)
        source = narrowed(self.source, narrow.pushed(self.table), conjunction(narrow.pruning))
        return NarrowStreamScan(self.jvm, source)

    class Java:
        implements = [classes.SUPPORTS_REPORT_STATISTICS, classes.FUNCTION_2]


class NarrowStreamScan(_StreamScan):
    """The columns and rows of a stream that one batch needs."""

    class Java:
        implements = [classes.SUPPORTS_REPORT_STATISTICS]
