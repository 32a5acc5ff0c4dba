"""`SparkGenericCatalog`: the Paimon tables of Spark's own catalog, `spark_catalog`.

`GenericCatalogs.java` passes calls about Paimon tables to this catalog, and all other calls to Spark's own catalog:
about other tables, views, functions and databases.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from paimon_core.errors import DatabaseNotFoundError, InvalidNameError, PaimonError
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import (
    SYSTEM_DATABASE,
    SupportsDatabases,
    SupportsFunctions,
    SupportsViews,
    check_is_empty,
)
from paimon_sql.catalog.privileges.catalog import PrivilegedCatalog
from paimon_sql.catalog.system_database import CATALOG_SYSTEM_TABLES
from paimon_sql.spark.jvm import connector
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.session_tables import SESSION_CATALOG
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.tables.catalog import SparkCatalog
from paimon_sql.spark.tables.named_catalog import single

_LOG = logging.getLogger(__name__)


class SparkGenericCatalog(SparkCatalog):
    """The Paimon tables of one session's own catalog. `others` is Spark's catalog of the other tables."""

    def __init__(self, jvm: Jvm, session: SessionBridge, load: Any, others: Any) -> None:
        super().__init__(jvm, session, SESSION_CATALOG, load)
        self.others = others

    def serves(self, identifier: Identifier) -> bool:
        """Return whether a name is a Paimon table, or one of its system tables or branches."""
        if identifier.database == SYSTEM_DATABASE:
            return identifier.table in CATALOG_SYSTEM_TABLES
        try:
            return self.catalog.table_exists(identifier.base)
        except (DatabaseNotFoundError, InvalidNameError):
            return False

    def has_other(self, identifier: Identifier) -> bool:
        """Return whether Spark's catalog has a table or a view of this name."""
        return bool(self.others.tableExists(connector.identifier(self.jvm, [identifier.database], identifier.table)))

    def show_databases(self) -> None:
        """Create the databases of Paimon's tables in Spark's catalog. Call it if Spark's catalog is in memory, and so
        empty when a program starts: `USE` looks for a database only there.
        """
        try:
            names = self._databases.list_databases()
        except PaimonError as error:  # the statement that needs the catalog reports it
            _LOG.debug("Could not list the databases of %s", self.catalog_name, exc_info=error)
            return
        for name in names:
            namespace = self.jvm.strings([name])
            if not self.others.namespaceExists(namespace):
                with suppress(Py4JJavaError, CapturedException):  # another session has created it meanwhile
                    self.others.createNamespace(namespace, self.jvm.map({}))

    def dropNamespace(self, namespace: Any, cascade: bool) -> bool:
        """Drop a database with its Paimon tables. They stay if Spark's catalog does not drop the database."""
        name, databases = single(namespace), self._databases
        with self._changing_databases():
            is_there = databases.database_exists(name)
            if is_there and not cascade:
                _check_is_empty(databases, name)
            if is_there and isinstance(databases, PrivilegedCatalog):
                databases.check_can_drop(name)
            done = bool(self.others.dropNamespace(namespace, cascade))
            # Spark's catalog may have the same folder or metastore
            if is_there and databases.database_exists(name):
                databases.drop_database(name, cascade=cascade)
            elif is_there and isinstance(databases, PrivilegedCatalog):
                databases.forget_database(name)
        return done

    def createTable(self, identifier: Any, *definition: Any) -> Any:
        self._keep_database(identifier)
        return super().createTable(identifier, *definition)

    def createTableLike(self, identifier: Any, info: Any, source: Any) -> Any:
        self._keep_database(identifier)
        return super().createTableLike(identifier, info, source)

    def stageCreate(self, identifier: Any, *definition: Any) -> Any:
        self._keep_database(identifier)
        return super().stageCreate(identifier, *definition)

    def stageCreateOrReplace(self, identifier: Any, *definition: Any) -> Any:
        self._keep_database(identifier)
        return super().stageCreateOrReplace(identifier, *definition)

    def viewExists(self, identifier: Any) -> bool:
        """Return False: views are in Spark's catalog, even those that a Hive metastore also shows to this one."""
        return False

    def _find_view(self, identifier: Any) -> Any | None:
        return None

    def _keep_database(self, identifier: Any) -> None:
        """Create the database of a new table if only Spark's catalog has it."""
        namespace = identifier.namespace()
        name = single(namespace)
        if not self._has_database(name) and self.others.namespaceExists(namespace):
            with self._changing_databases():
                self._databases.create_database(name, ignore_if_exists=True)


def _check_is_empty(databases: SupportsDatabases, name: str) -> None:
    """Raise `DatabaseNotEmptyError` if a database has objects of Paimon, which Spark's catalog would not notice."""
    views = databases.list_views(name) if isinstance(databases, SupportsViews) else []
    functions = databases.list_functions(name) if isinstance(databases, SupportsFunctions) else []
    check_is_empty(name, databases.list_tables(name), views, functions)
