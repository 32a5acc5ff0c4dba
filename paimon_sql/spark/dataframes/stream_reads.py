"""`spark.readStream`: `format("paimon")` with `load`, and `read.changelog` of tables by name.

Spark would look for a class of that name. So this module extends these methods of PySpark to read a table instead.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql.streaming import DataStreamReader

from paimon_core.spec.identifier import BRANCH_OPTION
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.dataframes.changelog_option import located_table, log_of, without_changelog
from paimon_sql.spark.dataframes.named_branches import named_branch
from paimon_sql.spark.dataframes.pyspark_methods import ask_first
from paimon_sql.spark.jvm.gateway import jvm_of
from paimon_sql.spark.jvm.hooks import hook, python
from paimon_sql.spark.jvm.sessions import java_session
from paimon_sql.spark.jvm.streams.sources import (
    install_stream_columns,
    read_stream,
    stream_reader_options,
    stream_reader_source,
)
from paimon_sql.spark.read.scan_builder import IS_STREAM
from paimon_sql.spark.statements.catalog_registry import CatalogRegistry
from paimon_sql.spark.statements.parser import registry_of
from paimon_sql.spark.tables.definitions import PROVIDER
from paimon_sql.spark.tables.session_catalogs import LOCATORS


@hook(
    "methods of PySpark's `DataStreamReader`",
    '`spark.readStream.format("paimon")` with `load`',
    python("pyspark.sql.streaming", "DataStreamReader.load"),
    python("pyspark.sql.streaming", "DataStreamReader.table"),
)
def install_stream_reads() -> None:
    """Extend PySpark's streaming readers. Do nothing if they are extended already."""
    ask_first(DataStreamReader, "load", _load)
    ask_first(DataStreamReader, "table", _table)


def _load(reader: Any, path: Any = None, format: str | None = None, schema: Any = None, **options: Any) -> Any:
    jvm = jvm_of(reader._spark.sparkContext)
    if str(format or stream_reader_source(jvm, reader)).lower() != PROVIDER:
        return NotImplemented
    reader.options(**options)
    if schema is not None:
        reader.schema(schema)
    given, changelog = without_changelog(stream_reader_options(jvm, reader))
    name = located_table(given, path, changelog=changelog)
    options = {k: v for k, v in given.items() if k.lower() not in LOCATORS}
    return _stream(reader, registry_of(reader._spark), name, options)


def _table(reader: Any, name: Any, *more: Any, **named: Any) -> Any:
    if not isinstance(name, str):
        return NotImplemented
    if "$" in name and "`" not in name:  # t$audit_log, which Spark's parser accepts only in backquotes
        name = ".".join(map(quoted_name, name.split(".")))
    registry = registry_of(reader._spark)
    if registry is None or registry.find_name(name) is None:
        return NotImplemented
    given, changelog = without_changelog(stream_reader_options(registry.jvm, reader))
    return _stream(reader, registry, log_of(reader._spark, name) if changelog else name, given)


def _stream(reader: Any, registry: CatalogRegistry | None, name: str, options: dict[str, str]) -> Any:
    session = reader._spark
    jvm = jvm_of(session.sparkContext)
    install_stream_columns(jvm, java_session(session))
    branch = None if registry is None else named_branch(registry, name, options)
    if branch is not None:
        name, options = branch, {k: v for k, v in options.items() if k.lower() != BRANCH_OPTION}
    return read_stream(jvm, reader, name, options | {IS_STREAM: "true"})
