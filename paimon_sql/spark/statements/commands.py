"""A parsed statement as a command that makes Spark call this package once.

The command is CREATE NAMESPACE, because it needs only a catalog in which Spark creates a namespace. So a statement is
wrapped as such a catalog.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.errors.exceptions.captured import CapturedException

from paimon_core.scan.time_travel import without_version
from paimon_core.spec.identifier import Identifier
from paimon_core.table import Table
from paimon_sql.spark.errors.java import of_statement
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.plans import ParsedStatement
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.spans import statement_span
from paimon_sql.spark.tables.catalog import SparkCatalog


class Command(Proxy):
    """A command that Spark calls once; subclasses run the statement in `_execute`."""

    ANALYZING = frozenset(("createNamespace",))

    def _execute(self) -> None:
        """Run the statement."""

    def name(self) -> str:
        return type(self).__name__

    def namespaceExists(self, namespace: Any) -> bool:
        return False

    def initialize(self, name: str, options: Any) -> None:
        """Do nothing: a command has no configuration."""

    def defaultNamespace(self) -> Any:
        return self.jvm.strings([])

    def listNamespaces(self, namespace: Any = None) -> Any:
        return connector.namespaces(self.jvm, [])

    def loadNamespaceMetadata(self, namespace: Any) -> Any:
        return self.jvm.map({})

    def alterNamespace(self, namespace: Any, changes: Any) -> None:
        """Do nothing: Spark never calls it for a command."""

    def dropNamespace(self, namespace: Any, cascade: bool) -> bool:
        return False

    def createNamespace(self, namespace: Any, metadata: Any) -> None:
        """Run the statement."""
        try:
            self._execute()
        except CapturedException as e:
            raise of_statement(self.jvm, e) from e

    class Java:
        implements = [classes.SUPPORTS_NAMESPACES]


class TableCommand(Command):
    """One statement on one table of a catalog; subclasses run it in `_run`."""

    def __init__(
        self, jvm: Jvm, session: SessionBridge, catalog: SparkCatalog, name: Identifier, plan: ParsedStatement
    ) -> None:
        super().__init__(jvm)
        self.session, self.catalog, self.identifier, self.plan = session, catalog, name, plan

    def _run(self, table: Table) -> None:
        """Run the parsed statement on its table."""

    def applies(self) -> bool:
        """Return whether this command runs the statement; if not, Spark runs it."""
        return True

    def name(self) -> str:
        return self.catalog.catalog_name

    def toString(self) -> str:
        return f"{self.plan.name} {self.name()}.{self.identifier}"

    def _execute(self) -> None:
        with statement_span(self.jvm, self.plan.name, str(self.identifier)):
            self._run(self._load())
        self.session.refresh_changed(self.catalog.catalog_name, self.identifier)

    def _load(self) -> Table:
        """Return the latest version of the table: a version in the session's settings is for queries only."""
        options = without_version(self.session.table_options(self.catalog.catalog_name, self.identifier))
        table = self.session.in_zone(self.catalog.targets.load(self.identifier))
        return table.with_options(options) if options else table


class FunctionCommand(Command):
    """A command that calls a function when it runs."""

    def __init__(self, jvm: Jvm, text: str, function: Callable[[], None]) -> None:
        super().__init__(jvm)
        self.text, self.function = text, function

    def toString(self) -> str:
        return self.text

    def _execute(self) -> None:
        self.function()
