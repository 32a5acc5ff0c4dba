"""`spark.newSession()`, and `spark.catalog.listTables()` and `listFunctions()` without a database.

In Spark, each session has its own settings, and all sessions share the settings that a program starts with. Programs
usually configure catalogs at the start. So a new session gets all catalogs, even those that `connect` or a setting
added later.

PySpark's listings pass the name of the current database to Spark. Spark first looks for a database of that name in its
own session catalog, which has a database `default`. So the listings would show Spark's tables instead of the current
catalog's.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.catalog import Catalog

from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.dataframes.counted_statements import uncounted
from paimon_sql.spark.dataframes.pyspark_methods import ask_first, original_of
from paimon_sql.spark.jvm.hooks import hook, python
from paimon_sql.spark.jvm.sessions import current_catalog, new_session
from paimon_sql.spark.session_bridge import CATALOG_PREFIX, CONNECTED_CATALOG, DEFAULT_CATALOG
from paimon_sql.spark.statements.function_statements import HIDDEN_FUNCTIONS
from paimon_sql.spark.statements.parser import registry_of


@hook(
    "PySpark's `SparkSession.newSession`, `Catalog.listTables`, `Catalog.listFunctions`",
    "catalogs in sessions made from another, listings of the current catalog",
    python("pyspark.sql", "SparkSession.newSession"),
    python("pyspark.sql.catalog", "Catalog.listTables"),
    python("pyspark.sql.catalog", "Catalog.listFunctions"),
)
def install_session_methods() -> None:
    """Extend these methods of PySpark. Do nothing if they are extended already."""
    ask_first(SparkSession, "newSession", _new_session)
    ask_first(Catalog, "listTables", _list_tables)
    ask_first(Catalog, "listFunctions", _list_functions)


def _new_session(session: Any) -> Any:
    registry = registry_of(session)
    if registry is None:
        return NotImplemented
    made = new_session(session)
    settings = {f"{CATALOG_PREFIX}{name}": value for name, value in registry.bridge.settings(CATALOG_PREFIX).items()}
    for key in (DEFAULT_CATALOG, CONNECTED_CATALOG):
        name = registry.bridge.own_setting(key)
        if name is not None and f"{CATALOG_PREFIX}{name}" in settings:
            settings[key] = name
    for key, value in settings.items():
        made.conf.set(key, value)
    with uncounted():
        made.sql("SELECT 1")  # the parser hook makes the catalogs
    return made


def _list_tables(catalog: Any, dbName: str | None = None, pattern: str | None = None) -> Any:
    database = None if dbName is not None else _current_database(catalog)
    return NotImplemented if database is None else catalog.listTables(database, pattern)


def _list_functions(catalog: Any, dbName: str | None = None, pattern: str | None = None) -> Any:
    """Leave out temporary functions that this package makes for itself."""
    if registry_of(catalog._sparkSession) is None:
        return NotImplemented
    listed = original_of(Catalog, "listFunctions")
    found = listed(catalog, _current_database(catalog) if dbName is None else dbName, pattern)
    return [f for f in found if not (f.isTemporary and f.name.startswith(HIDDEN_FUNCTIONS))]


def _current_database(catalog: Any) -> str | None:
    """Return the full name of the current database; None if the current catalog is not a Paimon catalog."""
    registry = registry_of(catalog._sparkSession)
    if registry is None or (current := current_catalog(registry.session)) not in registry.catalogs:
        return None
    return ".".join(map(quoted_name, (current, registry.bridge.current_database())))
