"""`SELECT … CHANGES FROM VERSION a TO VERSION b`, `spark.read.changes`, `spark.readStream.changes` (Spark 4.2).

Spark adds three columns: the type of the change, and the snapshot and the time of its commit. Our changelogs have the
row before and after each update, so Spark need not compute these rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from paimon_core.expressions.predicate import conjunction
from paimon_core.lazy import cached_property
from paimon_core.options import SCAN_MODE, SCAN_SNAPSHOT_ID
from paimon_core.scan.derived_tables import DerivedTable, derived_fields
from paimon_core.scan.partitions import in_partitions
from paimon_core.scan.plan import Plan
from paimon_core.scan.streams.changes import ChangeRange, changes_store, first_snapshot, plan_changes
from paimon_core.store.features import check_selectable
from paimon_core.table import Table
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.collections import option_map
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.read.table_scan import TableScanBuilder
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.streams.stream_scan import StreamScan
from paimon_sql.spark.types import to_struct


class PaimonChangelog(Proxy):
    """The changes of a table in a range of its snapshots."""

    def __init__(self, jvm: Jvm, session: SessionBridge, name: str, table: Table, wanted: ChangeRange) -> None:
        super().__init__(jvm)
        self.session, self.changelog, self.wanted = session, name, wanted
        self.table = replace(table, store=changes_store(table.store))

    def name(self) -> str:
        return self.changelog

    def columns(self) -> Any:
        return self.jvm.columns(to_struct(derived_fields(self.table.store, DerivedTable.CHANGES)))

    def containsCarryoverRows(self) -> bool:
        return False

    def containsIntermediateChanges(self) -> bool:
        return bool(self.table.schema.primary_keys)  # rows without a primary key cannot be identified

    def representsUpdateAsDeleteAndInsert(self) -> bool:
        return False

    def rowId(self) -> Any:
        return connector.references(self.jvm, self.table.schema.primary_keys)

    def rowVersion(self) -> Any:
        return connector.reference(self.jvm, "_commit_version")

    def newScanBuilder(self, options: Any) -> Any:
        given = option_map(self.jvm, options)
        check_selectable(self.table.store)
        return _ChangesScanBuilder(self.jvm, self.session, self.table.with_options(given), self.wanted, tuple(given))

    class Java:
        implements = [classes.CHANGELOG]


class _ChangesScanBuilder(TableScanBuilder):
    """A scan builder that plans the changes of a range."""

    def __init__(
        self, jvm: Jvm, session: SessionBridge, table: Table, wanted: ChangeRange, given: tuple[str, ...]
    ) -> None:
        super().__init__(jvm, session, table, lambda: None, StreamScan, derived=DerivedTable.CHANGES, given=given)
        self.wanted = wanted

    @cached_property
    def _plan(self) -> Plan:
        plan, pruning = plan_changes(self.table.store, self.wanted), conjunction(self.pruning)
        return plan if pruning is None else in_partitions(self.table.store, plan, pruning)

    def _streamed(self) -> Table:
        if self.wanted.start is None:
            return self.table
        first = first_snapshot(self.table.store, self.wanted)
        return self.table.with_options({SCAN_MODE.key: "from-snapshot", SCAN_SNAPSHOT_ID.key: str(first)})
