"""Rows in the driver as Spark's `LocalScan`: no task runs to read them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from paimon_core.lazy import cached_property
from paimon_core.scan.aggregates import aggregate_rows
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.scans.statistics import scan_statistics
from paimon_sql.spark.proxy import Proxy, WithoutMetrics, WithStatistics
from paimon_sql.spark.read.pushdown import aggregates_of
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.types import from_arrow, read_struct


class LocalScan(WithoutMetrics, WithStatistics):
    """A scan of rows in the driver: of system tables, results of procedures, and counts. It is its own scan builder,
    and accepts no pushdown.
    """

    def __init__(self, jvm: Jvm, session: SessionBridge, content: pa.Table, schema: StructType, about: str) -> None:
        super().__init__(jvm)
        self.session, self.content, self.local_schema, self.about = session, content, schema, about

    def build(self) -> Any:
        return self

    def readSchema(self) -> Any:
        return self.jvm.struct_type(self.local_schema)

    def rows(self) -> Any:
        return self.session.local_rows(self.content, self.local_schema)

    @property
    def sizes(self) -> tuple[int, int]:
        """The rows, and their bytes, as far as they are known before the rows are read."""
        return self.content.num_rows, self.content.nbytes

    @cached_property
    def _statistics(self) -> Any:
        rows, size = self.sizes
        return scan_statistics(self.jvm, max(size, rows), rows, {}, self.local_schema)

    def description(self) -> str:
        return self.about

    def columnarSupportMode(self) -> Any:
        return connector.not_columnar(self.jvm)

    class Java:
        implements = [classes.LOCAL_SCAN, classes.SUPPORTS_REPORT_STATISTICS, classes.SCAN_BUILDER]


class LocalScanBuilder(Proxy):
    """Accepts the columns and the aggregates of a query over a system table: a small result needs no job."""

    def __init__(self, jvm: Jvm, session: SessionBridge, content: pa.Table, schema: StructType, about: str) -> None:
        super().__init__(jvm)
        self.session, self.content, self.local_schema, self.about = session, content, schema, about

    def pruneColumns(self, required: Any) -> None:
        columns = read_struct(required.json())
        if columns:  # Arrow rows without columns would lose their count
            self.content, self.local_schema = self.content.select(columns.names), columns

    def supportCompletePushDown(self, aggregation: Any) -> bool:
        return self._answer(aggregation) is not None

    def pushAggregation(self, aggregation: Any) -> bool:
        answer = self._answer(aggregation)
        if answer is not None:
            self.content, self.local_schema = answer, from_arrow(answer.schema)
            self.about = f"{self.about} {', '.join(answer.column_names)}"
        return answer is not None

    def _answer(self, aggregation: Any) -> pa.Table | None:
        found = aggregates_of(self.jvm, aggregation)
        return None if found is None else aggregate_rows(self.content, *found)

    def build(self) -> LocalScan:
        return LocalScan(self.jvm, self.session, self.content, self.local_schema, self.about)

    class Java:
        implements = [classes.SUPPORTS_PUSH_DOWN_REQUIRED_COLUMNS, classes.SUPPORTS_PUSH_DOWN_AGGREGATES]
