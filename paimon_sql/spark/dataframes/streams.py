"""Streams that read tables, which there are none of yet: Spark would look for a class, or say what a table is not."""

from __future__ import annotations

from functools import partial
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamReader

from paimon_core.errors import UnsupportedFeatureError
from paimon_sql.spark.dataframes.pyspark_methods import ask_first
from paimon_sql.spark.jvm.hooks import hook, python
from paimon_sql.spark.statements.parser import registry_of
from paimon_sql.spark.tables.catalog import PROVIDER

_READ = (
    "Structured streaming does not read Paimon tables yet. Read what is new since a snapshot by SELECT * FROM "
    "paimon_incremental_query('db.t', first, last), or the changes in db.t$audit_log."
)


@hook(
    "methods of PySpark's `DataStreamReader`",
    "the message that refuses streams",
    python("pyspark.sql.streaming", "DataStreamReader.load"),
)
def install_streams() -> None:
    """Have PySpark's streaming readers refuse tables of ours. Does nothing where they do."""
    ask_first(DataStreamReader, "format", partial(_source, _READ))
    ask_first(DataStreamReader, "load", partial(_path, _READ))
    ask_first(DataStreamReader, "table", partial(_table, _READ))


def _source(message: str, _: Any, source: Any) -> Any:
    return _refused(message, str(source).lower() == PROVIDER)


def _path(message: str, _: Any, path: Any = None, format: Any = None, *more: Any, **named: Any) -> Any:
    return _refused(message, str(format).lower() == PROVIDER)


def _table(message: str, stream: Any, tableName: str, format: Any = None, *more: Any, **named: Any) -> Any:
    is_ours = str(format).lower() == PROVIDER or _is_in_catalog_of_ours(stream._spark, tableName)
    return _refused(message, is_ours)


def _is_in_catalog_of_ours(session: SparkSession, name: str) -> bool:
    registry = registry_of(session)
    return registry is not None and registry.find_name(name) is not None


def _refused(message: str, is_ours: bool) -> Any:
    if is_ours:
        raise UnsupportedFeatureError(message)
    return NotImplemented
