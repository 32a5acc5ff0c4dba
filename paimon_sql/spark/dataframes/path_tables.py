"""`spark.read.format("paimon").load(path)` and `df.write.format("paimon").save(path)`.

Spark would look for a class of that name, so this module extends these methods of PySpark. A path means a table of the
catalog of paths. With the options `catalog`, `database` and `table`, the methods use a table of another catalog.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pyspark.sql import DataFrameReader, DataFrameWriter, SparkSession

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.io.load import normalize
from paimon_sql.preprocess.counterparts import OTHER_FORMATS
from paimon_sql.preprocess.quoting import IS_PATH, PATHS, quoted_name, quoted_text
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
from paimon_sql.spark.jvm.sessions import java_session
from paimon_sql.spark.statements.chosen_rows import CHOOSING
from paimon_sql.spark.statements.parser import check_relations, registry_of
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
    """Extend PySpark's `load` and `save`. Do nothing if they are extended already."""
    ask_first(DataFrameReader, "load", _load)
    ask_first(DataFrameReader, "table", _table)
    ask_first(DataFrameWriter, "save", _save)


def install_delta_tables() -> None:
    """Refuse Paimon tables in `DeltaTable.forName` and `forPath` of Delta's package, if the package is installed."""
    if find_spec("delta") is None:
        return
    with suppress(ImportError):  # another package of that name, or one for another PySpark
        found = getattr(import_module("delta.tables"), "DeltaTable", None)
        if found is not None:
            ask_first(found, "forName", _delta_table)
            ask_first(found, "forPath", _delta_table)


def _delta_table(_: type, *arguments: Any, **named: Any) -> Any:
    given = (*arguments, *named.values())
    session = next((value for value in given if isinstance(value, SparkSession)), None)
    name = next((value for value in given if isinstance(value, str)), None)
    if session is not None:
        write = "SELECT, DELETE, UPDATE and MERGE INTO in SQL, DataFrame.mergeInto, or "
        _refuse_other_format(session, "delta", name, write)
    return NotImplemented


def _load(reader: Any, path: Any = None, format: str | None = None, schema: Any = None, **options: Any) -> Any:
    source = format or reader_source(reader)
    if not _is_ours(source):
        _refuse_other_format(reader._spark, source, path)
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
    """Read the changes of a table, or a table with options that change its columns, because an older Spark does not
    pass these options to the catalog.
    """
    given, jvm = reader_options(reader), jvm_of(reader._spark.sparkContext)
    if any(key.lower() in CHOOSING for key in given):
        check_relations(jvm, java_session(reader._spark))
    if given and is_in_catalog_of_ours(reader._spark, tableName):
        rest, changelog = without_changelog(given)
        if rest != given:
            name = log_of(reader._spark, tableName) if changelog else tableName
            return read_table(jvm, reader, name, rest, STATE_OPTIONS)
    if STATE_OPTIONS.isdisjoint(map(str.lower, given)) or not travels_in_name(jvm):
        return NotImplemented
    if "/" not in tableName and not is_in_catalog_of_ours(reader._spark, tableName):
        return NotImplemented  # another catalog may have an option of the same name
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


def _refuse_other_format(session: Any, source: str, path: Any, others: str = "") -> None:
    """Raise `UnsupportedFeatureError` if a reader of Delta Lake or Iceberg gets the path or name of a Paimon table.
    `others` are further calls for the advice in the error, besides a read.
    """
    registry = registry_of(session)
    if source.lower() not in OTHER_FORMATS or registry is None or not isinstance(path, str):
        return
    is_path = IS_PATH.match(path) is not None
    if is_path:
        registry.register(PATHS)
    found = registry.find_name(f"{PATHS}.{quoted_name(normalize(path))}" if is_path else path)
    if registry.table_of(found) is None:
        return
    read = "spark.read.format('paimon').load" if is_path else "spark.table"
    raise UnsupportedFeatureError(
        f"{path} is a Paimon table, and cannot be read as {OTHER_FORMATS[source.lower()]}: write {others}"
        f"{read}({quoted_text(path)})."
    )


def _is_ours(source: str) -> bool:
    return source.lower() == PROVIDER
