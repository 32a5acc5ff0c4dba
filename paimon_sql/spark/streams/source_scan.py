"""The scan builder of tables that are read in batches and as streams.

Spark asks for both in the same way, but pushes nothing of a stream's query down. So where all columns are wanted and
nothing else is said, it matters who asks: a stream reads no version, and nothing is planned for it here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pyspark.sql.types import StructType

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.scan.changes.increment import Increment
from paimon_core.scan.derived_tables import DerivedTable
from paimon_core.scan.streams.options import check_batch_options
from paimon_core.spec.snapshot import Snapshot
from paimon_core.table import Table
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.statistics import scan_statistics
from paimon_sql.spark.jvm.streams.sources import is_streamed
from paimon_sql.spark.proxy import WithoutMetrics
from paimon_sql.spark.read.scan_builder import PaimonScanBuilder
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.streams.source import PaimonMicroBatchStream

IS_STREAM = "read.stream"  # set by our own readers, so that the columns are those of the latest version
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
            return StreamScan(self.jvm, self.session, self._streamed(), self.derived, self.required)
        check_batch_options(self.table.name, self.given)
        return super().build()

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


class StreamScan(WithoutMetrics):
    """All columns of a table, as a stream."""

    CACHED = frozenset(("columnarSupportMode", "readSchema", "supportedCustomMetrics"))

    def __init__(
        self, jvm: Jvm, session: SessionBridge, table: Table, derived: DerivedTable, required: StructType
    ) -> None:
        super().__init__(jvm)
        if derived not in _WITH_STREAMS:
            raise UnsupportedFeatureError(
                f"{table.name}${derived.value} is not read as a stream: read the table itself, or its changes by "
                f"{table.name}$audit_log or {table.name}$binlog."
            )
        self.required = required
        self.source = PaimonMicroBatchStream(jvm, session, table, derived, required)

    def readSchema(self) -> Any:
        return self.jvm.struct_type(self.required)

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
        return scan_statistics(self.jvm, max(rows, size), rows, {}, self.required)

    class Java:
        implements = [classes.SUPPORTS_REPORT_STATISTICS]
