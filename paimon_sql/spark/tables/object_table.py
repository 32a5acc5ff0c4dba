"""An object table as Spark's `Table`: the driver lists its files when a query over them is planned."""

from __future__ import annotations

from typing import Any

from paimon_core.object_table import OBJECT_FIELDS, ObjectTable
from paimon_core.table import Table
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.proxy import TableProxy
from paimon_sql.spark.read.local_scan import LocalScanBuilder
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.types import to_struct


class ObjectSparkTable(TableProxy):
    """An object table: `name` is its name in the session, `catalog_options` give access to the storage of its files."""

    def __init__(self, jvm: Jvm, session: SessionBridge, name: str, table: Table, catalog_options: Any) -> None:
        super().__init__(jvm)
        self.session, self.full_name, self.table, self.catalog_options = session, name, table, catalog_options

    def toString(self) -> str:
        return f"{self.full_name} at {self.table.store.root}"

    def name(self) -> str:
        return self.full_name

    def schema(self) -> Any:
        return self.jvm.struct_type(to_struct(OBJECT_FIELDS))

    def columns(self) -> Any:
        return self.jvm.columns(to_struct(OBJECT_FIELDS))

    def partitioning(self) -> Any:
        return connector.partitioning(self.jvm)

    def properties(self) -> Any:
        schema = self.table.schema
        comment = {} if schema.comment is None else {"comment": schema.comment}
        return self.jvm.map(dict(schema.options) | comment | {"provider": "paimon"})

    def capabilities(self) -> Any:
        return connector.capabilities(self.jvm, "BATCH_READ")

    def newScanBuilder(self, options: Any) -> Any:
        objects = ObjectTable.of(self.table.store, self.catalog_options)
        about = f"PaimonObjectTable {self.full_name}"
        return LocalScanBuilder(self.jvm, self.session, objects.read(), to_struct(OBJECT_FIELDS), about)

    class Java:
        implements = [classes.SUPPORTS_READ]
