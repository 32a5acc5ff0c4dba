"""`spark.read.format("paimon").load(path)` and `df.write.format("paimon").save(path)`.

Spark would look for a class of that name. So these methods of PySpark ask here first. They mean a table of the catalog
of paths, or, with the options `catalog`, `database` and `table`, a table of another catalog.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrameReader, DataFrameWriter

from paimon_sql.spark.dataframes.changelog_option import (
    is_in_catalog_of_ours,
    located_table,
    log_of,
    without_changelog,
)
from paimon_sql.spark.dataframes.pyspark_methods import ask_first
from paimon_sql.spark.jvm.frame_io import (
    read_table,
    reader_options,
    reader_source,
    refuse_schema,
    without_options,
    writer_options,
    writer_source,
)
from paimon_sql.spark.jvm.gateway import jvm_of
from paimon_sql.spark.jvm.hooks import hook, python
from paimon_sql.spark.jvm.older.state_options import travels_in_name
from paimon_sql.spark.tables.catalog import STATE_OPTIONS
from paimon_sql.spark.tables.definitions import PROVIDER
from paimon_sql.spark.tables.path_names import table_name
from paimon_sql.spark.tables.session_catalogs import LOCATORS


@hook(
    "methods of PySpark's `DataFrameReader`, `DataFrameWriter`",
    '`format("paimon")` with `load` and `save`',
    python("pyspark.sql", "DataFrameReader.load"),
    python("pyspark.sql", "DataFrameWriter.save"),
)
def install_path_tables() -> None:
    """Let PySpark's `load` and `save` ask here first. Does nothing if they already do."""
    ask_first(DataFrameReader, "load", _load)
    ask_first(DataFrameReader, "table", _table)
    ask_first(DataFrameWriter, "save", _save)


def _load(reader: Any, path: Any = None, format: str | None = None, schema: Any = None, **options: Any) -> Any:
    if not _is_ours(format or reader_source(reader)):
        return NotImplemented
    reader.options(**options)
    if schema is not None:
        reader.schema(schema)
    given, changelog = without_changelog(reader_options(reader))
    refuse_schema(reader)
    rest = {k: v for k, v in given.items() if k.lower() not in LOCATORS}
    jvm, name = jvm_of(reader._spark.sparkContext), located_table(given, path, changelog=changelog)
    return read_table(jvm, reader, name, rest, STATE_OPTIONS)


def _table(reader: Any, tableName: str) -> Any:
    """Read a table's log of changes, or a table with options that decide its columns: an older Spark does not hand
    these options to the catalog."""
    given, jvm = reader_options(reader), jvm_of(reader._spark.sparkContext)
    if given and is_in_catalog_of_ours(reader._spark, tableName):
        rest, changelog = without_changelog(given)
        if rest != given:
            name = log_of(reader._spark, tableName) if changelog else tableName
            return read_table(jvm, reader, name, rest, STATE_OPTIONS)
    if STATE_OPTIONS.isdisjoint(given) or not travels_in_name(jvm):
        return NotImplemented
    return read_table(jvm, reader, tableName, given, STATE_OPTIONS)


def _save(
    writer: Any, path: Any = None, format: str | None = None, mode: Any = None, partitionBy: Any = None, **options: Any
) -> Any:
    if not _is_ours(format or writer_source(writer)):
        return NotImplemented
    writer.mode(mode).options(**options)
    if partitionBy is not None:
        writer.partitionBy(partitionBy)
    writer.format(PROVIDER)
    given = writer_options(writer)
    with without_options(writer, [k for k in given if k.lower() in LOCATORS]):
        return writer.saveAsTable(table_name(given, path))


def _is_ours(source: str) -> bool:
    return source.lower() == PROVIDER
