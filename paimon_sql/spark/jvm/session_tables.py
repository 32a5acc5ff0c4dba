"""Tables of Spark's session catalog, read into frozen values."""

from __future__ import annotations

import json
from collections.abc import Mapping

from py4j.java_gateway import JavaObject
from pyspark.sql.types import StructType

from paimon_core.dataclass import dataclass
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.collections import items, texts, value_of, values_of
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import hook, method
from paimon_sql.spark.jvm.sessions import session_catalog

SESSION_CATALOG = "spark_catalog"  # Spark's name for its own catalog


@dataclass(frozen=True, slots=True)
class SessionTable:
    """A table of Spark's session catalog. `kind` is MANAGED, EXTERNAL or VIEW, `serde` is the Hive class that reads its
    rows.
    """

    kind: str
    provider: str | None
    serde: str
    location: str
    schema: StructType
    partition_columns: tuple[str, ...]
    options: Mapping[str, str]


@hook(
    "`SessionCatalog.getTableMetadata`, `CatalogTable`",
    "procedures that migrate tables",
    method(classes.SESSION_CATALOG, "getTableMetadata", 1),
    *(method(classes.CATALOG_TABLE, m, 0) for m in ("provider", "tableType", "storage", "location", "schema")),
)
def session_table(jvm: Jvm, session: JavaObject, database: str, name: str) -> SessionTable | None:
    """Return a table of Spark's session catalog, None for a missing table."""
    catalog = session_catalog(session)
    identifier = jvm.java_class(classes.TABLE_IDENTIFIER)(name, jvm.some(database), jvm.some(SESSION_CATALOG))
    if not catalog.tableExists(identifier):
        return None
    found = catalog.getTableMetadata(identifier)
    provider, kind = value_of(found.provider()), str(found.tableType().name())
    return SessionTable(
        kind=kind,
        provider=None if provider is None else str(provider),
        serde=str(value_of(found.storage().serde()) or ""),
        location=str(found.location().toString()) if found.storage().locationUri().isDefined() else "",
        schema=StructType.fromJson(json.loads(found.schema().json())),
        partition_columns=texts(found.partitionColumnNames()),
        options=values_of(found.storage().properties()),
    )


@hook(
    "`SessionCatalog.listTables`", "procedures that migrate databases", method(classes.SESSION_CATALOG, "listTables", 1)
)
def session_tables(session: JavaObject, database: str) -> list[str] | None:
    """Return the names of the tables in a database of Spark's session catalog; None for a missing database."""
    catalog = session_catalog(session)
    if not catalog.databaseExists(database):
        return None
    return sorted(str(t.table()) for t in items(catalog.listTables(database)))
