"""Structured streaming: what reads, and the message for writes, which this version does not have."""

from __future__ import annotations

from functools import partial
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamWriter

from paimon_core.errors import UnsupportedFeatureError
from paimon_sql.spark.dataframes.pyspark_methods import ask_first
from paimon_sql.spark.dataframes.stream_reads import install_stream_reads
from paimon_sql.spark.jvm.hooks import hook
from paimon_sql.spark.statements.parser import registry_of
from paimon_sql.spark.tables.catalog import PROVIDER

_WRITE = (
    "Structured streaming does not write Paimon tables by itself yet. Append each of its batches: "
    "writeStream.foreachBatch(lambda rows, _: rows.writeTo('db.t').append()).start()."
)


@hook("methods of PySpark's `DataStreamWriter`", "the message that refuses streams")
def install_streams() -> None:
    """Have PySpark's streaming readers and writers refuse tables of ours. Does nothing where they do."""
    install_stream_reads()
    ask_first(DataStreamWriter, "format", partial(_source, _WRITE))
    ask_first(DataStreamWriter, "start", partial(_path, _WRITE))
    ask_first(DataStreamWriter, "toTable", partial(_table, _WRITE))


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
