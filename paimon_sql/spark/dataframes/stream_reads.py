"""`spark.readStream`: `format("paimon")` with `load`, and `read.changelog` of tables by name.

Spark looks for a class of that name. So these methods of PySpark ask here first, and what they mean is a table.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamReader

from paimon_core.errors import InvalidOptionError
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.dataframes.pyspark_methods import ask_first
from paimon_sql.spark.jvm.gateway import jvm_of
from paimon_sql.spark.jvm.hooks import hook, python
from paimon_sql.spark.jvm.sessions import java_session, name_parts
from paimon_sql.spark.jvm.streams.sources import (
    install_stream_columns,
    read_stream,
    stream_reader_options,
    stream_reader_source,
)
from paimon_sql.spark.statements.parser import registry_of
from paimon_sql.spark.streams.source_scan import IS_STREAM
from paimon_sql.spark.tables.catalog import PROVIDER
from paimon_sql.spark.tables.path_names import LOCATORS, table_name

_READ_CHANGELOG, _LOG = "read.changelog", "$audit_log"


@hook(
    "methods of PySpark's `DataStreamReader`",
    '`spark.readStream.format("paimon")` with `load`',
    python("pyspark.sql.streaming", "DataStreamReader.load"),
    python("pyspark.sql.streaming", "DataStreamReader.table"),
)
def install_stream_reads() -> None:
    """Let PySpark's streaming readers ask here first. Does nothing where they do."""
    ask_first(DataStreamReader, "load", _load)
    ask_first(DataStreamReader, "table", _table)


def _load(reader: Any, path: Any = None, format: str | None = None, schema: Any = None, **options: Any) -> Any:
    if str(format or stream_reader_source(reader)).lower() != PROVIDER:
        return NotImplemented
    reader.options(**options)
    if schema is not None:
        reader.schema(schema)
    given = stream_reader_options(reader)
    name = table_name(given, path, _LOG if _wants_changelog(given) else "")
    return _stream(reader, name, {k: v for k, v in given.items() if k.lower() not in LOCATORS})


def _table(reader: Any, name: Any, *more: Any, **named: Any) -> Any:
    if not isinstance(name, str):
        return NotImplemented
    if "$" in name and "`" not in name:  # t$audit_log, which Spark's parser wants in backquotes
        name = ".".join(map(quoted_name, name.split(".")))
    if not _is_in_catalog_of_ours(reader._spark, name):
        return NotImplemented
    given = stream_reader_options(reader)
    if not _wants_changelog(given):
        return _stream(reader, name, given)
    parts = name_parts(java_session(reader._spark), name)
    if "$" in parts[-1].replace("$branch_", ""):
        raise InvalidOptionError(f"Option '{_READ_CHANGELOG}' is for tables themselves, {name} is a system table.")
    log = ".".join(quoted_name(p) for p in (*parts[:-1], parts[-1] + _LOG))
    return _stream(reader, log, given)


def _stream(reader: Any, name: str, options: dict[str, str]) -> Any:
    session = reader._spark
    install_stream_columns(jvm_of(session.sparkContext), java_session(session))
    kept = {k: v for k, v in options.items() if k.lower() != _READ_CHANGELOG}
    return read_stream(reader, name, kept | {IS_STREAM: "true"})


def _wants_changelog(options: dict[str, str]) -> bool:
    found = next((v for k, v in options.items() if k.lower() == _READ_CHANGELOG), "false").strip().lower()
    if found not in ("true", "false"):
        raise InvalidOptionError(f"Option '{_READ_CHANGELOG}' cannot be {found!r}: it is true or false.")
    return found == "true"


def _is_in_catalog_of_ours(session: SparkSession, name: str) -> bool:
    registry = registry_of(session)
    return registry is not None and registry.find_name(name) is not None
