"""The scan builder of tables, for batches and for streams.

Spark calls the builder in the same way for both, but pushes down nothing of a stream's query. If Spark requires all
columns and pushes nothing down, the query may be a batch or a stream: the caller's class shows which one it is. A
stream does not read a version, so its builder makes no plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeAlias

from pyspark.sql.types import StructType

from paimon_core.scan.changes.increment import Increment
from paimon_core.scan.derived_tables import DerivedTable
from paimon_core.scan.plan import Plan
from paimon_core.scan.streams.options import check_batch_options
from paimon_core.spec.snapshot import Snapshot
from paimon_core.table import Table
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.streams.sources import is_streamed
from paimon_sql.spark.read.scan import PushedRequest
from paimon_sql.spark.read.scan_builder import IS_STREAM, PaimonScanBuilder
from paimon_sql.spark.session_bridge import SessionBridge

MakeStream: TypeAlias = "Callable[[TableScanBuilder, Table], Any]"


class TableScanBuilder(PaimonScanBuilder):
    """Builds a batch scan, or by `stream` the scan of a stream. `given` are the reader's own options."""

    def __init__(
        self,
        jvm: Jvm,
        session: SessionBridge,
        table: Table,
        version: Callable[[], Snapshot | Increment | None],
        stream: MakeStream,
        *,
        derived: DerivedTable = DerivedTable.ROWS,
        given: Iterable[str] = (),
    ) -> None:
        super().__init__(jvm, session, table, version, derived)
        self.stream, self.given = stream, tuple(given)

    def build(self) -> Any:
        if self._is_stream():
            return self.stream(self, self._streamed())
        check_batch_options(self.table.name, self.given)
        return super().build()

    def pushed(self, table: Table) -> PushedRequest:
        """Return the request of a stream that reads a table. Spark cannot join a stream by bucket, because a batch may
        have no rows of some buckets.
        """
        return replace(self._request, table=table, describe=Plan.describe, by_bucket=False)

    def _streamed(self) -> Table:
        """Return the table in the form that a stream reads."""
        return self.table

    def _is_stream(self) -> bool:
        if IS_STREAM in self.given:
            return True
        wants_all = set(self.required.fieldNames()) >= {f.name for f in self.fields}
        return (
            wants_all
            and not (self.pruning or self.filters_rows or self.reduction or self.limit or self.sample)
            and is_streamed(self.jvm)
        )


def narrowed(builder: TableScanBuilder, table: Table, names: frozenset[str], filters: Any) -> TableScanBuilder:
    """Return a builder for some of the required columns of `builder`, and for the rows that match `filters`."""
    narrow = TableScanBuilder(
        builder.jvm, builder.session, table, lambda: None, builder.stream, derived=builder.derived
    )
    narrow.pushFilters(filters)
    narrow.required = StructType([f for f in builder.required if f.name in names])
    return narrow
