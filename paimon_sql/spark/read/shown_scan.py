"""Scans of a table that the user may see only in part: the catalog hides some of the rows, and masks columns.

Workers read the stored rows and return the visible ones. Spark gets only the visible rows, so nothing is aggregated,
sorted or limited before. Filters of a query skip files only by unmasked columns. Spark gets no sizes and bounds,
because these would describe all rows, including hidden ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from hashlib import sha256
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.expressions.predicate import columns
from paimon_core.expressions.shown import Shown
from paimon_core.rights import AskedRights
from paimon_core.scan.changes.increment import Increment
from paimon_core.scan.execution import check_full_scan
from paimon_core.scan.plan import Plan
from paimon_core.scan.streams.options import check_batch_options
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.types import DataField
from paimon_core.table import Table
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.streams.sources import is_streamed
from paimon_sql.spark.read.scan import MergeScan, PushedRequest
from paimon_sql.spark.read.scan_builder import IS_STREAM, PaimonScanBuilder
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.workers.worker import shown_function


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a table that a catalog shows, and the table's columns."""

    shown: Shown
    fields: tuple[DataField, ...]


class ShownScanBuilder(PaimonScanBuilder):
    """A scan builder that shows a part of the table; `given` are the reader's own options."""

    shows_rows = False  # it counts hidden rows, too
    prunes_variants = False  # conditions of the catalog may need other parts

    def __init__(
        self,
        jvm: Jvm,
        session: SessionBridge,
        table: Table,
        version: Callable[[], Snapshot | Increment | None],
        part: Part,
        given: Iterable[str],
    ) -> None:
        asked = replace(table, store=replace(table.store, rights=AskedRights()))
        super().__init__(jvm, session, asked, version)
        self.part, self.given, self.is_filtered = part, tuple(given), False
        self.filters_rows = True  # so that Spark pushes down only filters

    def pushFilters(self, filters: Any) -> Any:
        """Skip files by columns that are not masked; Spark evaluates all filters on the visible rows."""
        remaining = super().pushFilters(filters)
        self.is_filtered = self.is_filtered or bool(self.pruning) or remaining is not filters
        bare = self.table.schema.field_by_name.keys() - self.part.shown.masked
        self.pruning = tuple(p for p in self.pruning if columns(p) <= bare)
        self.of_rows, self.filters_rows = [], True
        return filters

    def _scan(self) -> Any:
        table, name = self.table, self.table.name
        own = table.schema.field_by_name.keys()
        wants_all = set(self.required.fieldNames()) >= own and not self.is_filtered
        if IS_STREAM in self.given or (wants_all and is_streamed(self.jvm)):
            raise _refused(name, "as a stream")
        check_batch_options(name, self.given)
        if not self._is_version:
            raise _refused(name, "by its changes")
        if hidden := sorted(set(self.required.fieldNames()) - own):
            raise _refused(name, f"with the metadata column {hidden[0]}")
        self.part.shown.check_version(name, self.part.fields, table.schema.fields)
        check_full_scan(table.store, self._plan)
        return ShownScan(self.jvm, self.session, self._request, self._plan, self.part.shown)


class ShownScan(MergeScan):
    """A `MergeScan` that lets workers return only the visible part of the rows they read."""

    def __init__(self, jvm: Jvm, session: SessionBridge, request: PushedRequest, plan: Plan, shown: Shown) -> None:
        super().__init__(jvm, session, replace(request, by_bucket=False), plan)  # buckets are of unmasked values
        self.shown = shown
        self.about = f"{self.about}, shown in part ({sha256(repr(shown).encode()).hexdigest()[:16]})"

    def toBatch(self) -> Any:
        return self._batch(shown_function(self.table.store, self.required, self.shown), self.required)

    class Java:
        implements = [classes.SCAN]


def _refused(table: str, how: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"Table {table} cannot be read {how}: the catalog shows its user only a part of it, and "
        "only queries of a version's own columns apply that. Read it by SELECT, or as a user who may see all of it."
    )
