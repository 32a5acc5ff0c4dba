"""A parsed DELETE, UPDATE or MERGE INTO as a command of Spark that calls us once.

Of the interfaces that commands call, that of CREATE NAMESPACE is one that lets an analysis exception out; that of a
procedure does not. So a statement is a catalog in which Spark is told to create a namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pyspark.errors.exceptions.captured import CapturedException

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.options import SCAN_FALLBACK_BRANCH
from paimon_core.table import Table
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.spark.catalog_bridge import SparkCatalog
from paimon_sql.spark.errors import NAMESPACE_EXISTS, declared
from paimon_sql.spark.jvm import CATALOG, Jvm, class_name
from paimon_sql.spark.merge_into import merge_rows
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.row_level import delete_rows, open_target, update_rows
from paimon_sql.spark.session_bridge import SessionBridge

# Spark's parsed statements, and where each holds its table
STATEMENTS: Mapping[str, Callable[[Any], Any]] = {
    "DeleteFromTable": lambda plan: plan.table(),
    "UpdateTable": lambda plan: plan.table(),
    "MergeIntoTable": lambda plan: plan.targetTable(),
}


class RowLevelStatement(Proxy):
    """Runs one statement on one table of a catalog."""

    CARRIERS: ClassVar = {"createNamespace": NAMESPACE_EXISTS}

    def __init__(self, jvm: Jvm, session: SessionBridge, catalog: SparkCatalog, name: Identifier, plan: Any) -> None:
        super().__init__(jvm)
        self.session, self.catalog, self.identifier, self.plan = session, catalog, name, plan

    def name(self) -> str:
        return self.catalog.catalog_name

    def toString(self) -> str:
        return f"{self.plan.nodeName()} {self.name()}.{self.identifier}"

    def namespaceExists(self, namespace: Any) -> bool:
        return False

    def initialize(self, name: str, options: Any) -> None:
        """Nothing to configure."""

    def defaultNamespace(self) -> Any:
        return self.jvm.strings([])

    def listNamespaces(self, namespace: Any = None) -> Any:
        return self.jvm.array("[Ljava.lang.String;", [])

    def loadNamespaceMetadata(self, namespace: Any) -> Any:
        return self.jvm.map({})

    def alterNamespace(self, namespace: Any, changes: Any) -> None:
        """There are none."""

    def dropNamespace(self, namespace: Any, cascade: bool) -> bool:
        return False

    def createNamespace(self, namespace: Any, metadata: Any) -> None:
        """Run the statement."""
        try:
            self._run(class_name(self.plan), self.plan)
        except CapturedException as e:
            raise declared(self.jvm, e, NAMESPACE_EXISTS) from e

    def _run(self, kind: str, plan: Any) -> None:
        table = self._load()
        table.check_writable()
        if table.store.options[SCAN_FALLBACK_BRANCH]:
            raise UnsupportedFeatureError(
                f"Rows of table {table.name} cannot be changed while it reads partitions from a branch: unset "
                f"'{SCAN_FALLBACK_BRANCH.key}' first, or change the branch's rows."
            )
        catalog = self.catalog.catalog_name
        target = open_target(self.jvm, self.session, catalog, table, self.identifier, STATEMENTS[kind](plan))
        if kind == "DeleteFromTable":
            delete_rows(target, plan.condition())
        elif kind == "UpdateTable":
            condition = plan.condition()
            update_rows(target, self.jvm.items(plan.assignments()), condition.get() if condition.isDefined() else None)
        else:
            merge_rows(target, plan)

    def _load(self) -> Table:
        options = self.session.table_options(self.catalog.catalog_name, self.identifier)
        table = self.catalog.catalog.load_table(self.identifier)
        return table.with_options(options) if options else table

    class Java:
        implements = [f"{CATALOG}.SupportsNamespaces"]
