"""`spark.newSession()`: a session with the catalogs of the session it is made from.

In Spark, each session has its own settings, and the settings that a program starts with hold for all sessions. Catalogs
are usually configured at the start. So a new session gets all catalogs, even if `connect` or a setting added them late.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from paimon_sql.spark.dataframes.pyspark_methods import ask_first
from paimon_sql.spark.jvm.hooks import hook, python
from paimon_sql.spark.jvm.sessions import new_session
from paimon_sql.spark.session_bridge import CATALOG_PREFIX, CONNECTED_CATALOG, DEFAULT_CATALOG
from paimon_sql.spark.statements.parser import registry_of


@hook(
    "PySpark's `SparkSession.newSession`",
    "catalogs in sessions made from another",
    python("pyspark.sql", "SparkSession.newSession"),
)
def install_new_sessions() -> None:
    """Let PySpark's `newSession` ask here first. Does nothing if it already does."""
    ask_first(SparkSession, "newSession", _new_session)


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
    made.sql("SELECT 1")  # the hook makes the catalogs: Spark's catalog API would not find them before a statement
    return made
