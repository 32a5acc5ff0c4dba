"""`df.writeStream.toTable("t")` and `df.writeStream.format("paimon").start(path)`.

Spark would look for a class of that name, and would pass the columns of a stream to a table by position, unchanged. So
this module extends these methods of PySpark. They find the table, refuse unsupported writes before the query starts,
and assign the rows to the table's columns by name, as INSERT BY NAME does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame
from pyspark.sql.streaming import DataStreamWriter

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.format_table.kind import is_format_table
from paimon_core.options import COMMIT_IDENTIFIER, MERGE_SCHEMA, UPSERT_KEY
from paimon_core.options.scan_modes import SCAN_OPTIONS
from paimon_core.options.support import in_own_spelling
from paimon_core.scan.changes.increment import is_incremental
from paimon_core.scan.time_travel import without_version
from paimon_core.spec.identifier import BRANCH_OPTION, MAIN_BRANCH
from paimon_core.store.ddl.row_rules import RowRules
from paimon_core.table import Table
from paimon_sql.spark.dataframes.pyspark_methods import ask_first
from paimon_sql.spark.jvm.commands import with_sink
from paimon_sql.spark.jvm.frames import analyzed, frame
from paimon_sql.spark.jvm.hooks import hook, python
from paimon_sql.spark.jvm.plans import NamedSink
from paimon_sql.spark.jvm.streams import sinks
from paimon_sql.spark.statements.catalog_registry import CatalogRegistry, Located
from paimon_sql.spark.statements.parser import registry_of
from paimon_sql.spark.tables.definitions import PROVIDER
from paimon_sql.spark.tables.evolved_table import checked_sink, latest_table, relation
from paimon_sql.spark.tables.path_names import table_name
from paimon_sql.spark.tables.schema_evolution import schema_changes
from paimon_sql.spark.tables.session_catalogs import LOCATORS
from paimon_sql.spark.write.store_assignment import as_stored, whole_rows, with_null_fields
from paimon_sql.spark.write.write_options import CHECKED

_STREAMING_ONLY = ("read.stream.", "read.changelog", "consumer-id", "scan.")  # prefixes of options that only reads have


@hook(
    "methods of PySpark's `DataStreamWriter`",
    "streams that write to tables",
    python("pyspark.sql.streaming", "DataStreamWriter.start"),
    python("pyspark.sql.streaming", "DataStreamWriter.toTable"),
)
def install_stream_writers() -> None:
    """Extend PySpark's `start` and `toTable`. Do nothing if they are extended already."""
    ask_first(DataStreamWriter, "start", _start)
    ask_first(DataStreamWriter, "toTable", _to_table)


def _start(writer: Any, path: Any = None, format: str | None = None, *given: Any, **named: Any) -> Any:
    source = format or sinks.stream_format(writer)
    if source.lower() != PROVIDER:
        return NotImplemented
    _take(writer, *given, **named)
    options = sinks.stream_options(writer)
    return _to_table(writer, table_name(options, path), PROVIDER)


def _to_table(writer: Any, tableName: str, format: str | None = None, *given: Any, **named: Any) -> Any:
    registry, source = registry_of(writer._spark), format or sinks.stream_format(writer)
    found = None if registry is None else registry.target(registry.find_name(tableName))
    if registry is None or found is None:
        if source.lower() == PROVIDER:
            raise UnsupportedFeatureError(
                f"{tableName} is not in a Paimon catalog, and Spark's own catalog cannot have Paimon tables: set "
                "spark.sql.catalog.NAME to paimon_sql.SparkCatalog, and name the table NAME.database.table."
            )
        return NotImplemented
    _take(writer, *given, **named)
    locators = [k for k in sinks.stream_options(writer) if k.lower() in LOCATORS]
    sinks.without_stream_options(writer, locators)
    if source.lower() not in (PROVIDER, registry.bridge.default_source()):
        raise UnsupportedFeatureError(
            f"Table {tableName} is, or would be, a Paimon table: leave format({source!r}) out."
        )
    writer.format(PROVIDER)  # Spark creates this table
    options = sinks.stream_options(writer)
    _check_options(tableName, options)
    table = _table(registry, found, tableName, options)
    if table is not None:
        _check_table(table, options, sinks.output_mode(writer))
        sinks.replace_rows(writer, _rows(registry, found, table, writer._df, options))
        if (rules := RowRules.of(table.schema)).checks:
            writer.option(CHECKED, rules.digest)
    return sinks.start_to_table(writer, tableName)


def stored_stream(registry: CatalogRegistry, plan: JavaObject, sink: NamedSink) -> JavaObject:
    """Return the statement of a stream that another client than PySpark starts, with its rows as `toTable` writes them.
    Return the statement itself if its table is not a Paimon table.

    Raises the errors of `_check_table`. The options of the client's writer are not known here.
    """
    found = registry.target(registry.find(sink.table))
    table = None if found is None else _table(registry, found, ".".join(sink.table.parts), {})
    if found is None or table is None:
        return plan
    _check_table(table, {}, sink.output_mode)
    rows = _rows(registry, found, table, frame(registry.jvm, registry.session, sink.rows), {})
    return with_sink(registry.jvm, plan, checked_sink(*found, table), analyzed(rows))


def _take(
    writer: Any, outputMode: str | None = None, partitionBy: Any = None, queryName: str | None = None, **options: Any
) -> None:
    """Set the arguments of `start` or `toTable` on a writer."""
    writer.options(**options)
    if outputMode is not None:
        writer.outputMode(outputMode)
    if partitionBy is not None:
        writer.partitionBy(partitionBy)
    if queryName is not None:
        writer.queryName(queryName)


def _check_options(name: str, options: Mapping[str, str]) -> None:
    """Raise `InvalidOptionError` for options that exist only for reads, or that streams do not support."""
    reads = sorted(k for k in options if k in SCAN_OPTIONS or k.startswith(_STREAMING_ONLY) or is_incremental({k: "1"}))
    if reads:
        raise InvalidOptionError(f"{', '.join(reads)} cannot be set on a stream into {name}: it is for reads.")
    if COMMIT_IDENTIFIER.key in options:
        raise InvalidOptionError(
            f"'{COMMIT_IDENTIFIER.key}' is for foreachBatch: each epoch of a stream into {name} has its own."
        )
    if in_own_spelling(options).get(BRANCH_OPTION, MAIN_BRANCH) != MAIN_BRANCH:
        raise UnsupportedFeatureError(
            f"Table {name}: rows are written to a branch by its name, `t$branch_NAME`, not by an option."
        )


def _table(registry: CatalogRegistry, found: Located, name: str, options: Mapping[str, str]) -> Table | None:
    """Return the table to write to, with the options of the session and the stream; None if Spark must create it."""
    catalog, identifier = found
    if identifier.system_table is not None:
        raise UnsupportedFeatureError(f"{name} is a system table: a stream cannot write to it.")
    if not catalog.catalog.table_exists(identifier):
        return None
    settings = without_version(catalog.session.table_options(catalog.catalog_name, identifier))
    settings.pop(BRANCH_OPTION, None)
    return catalog.session.in_zone(catalog.catalog.load_table(identifier)).with_options(settings | dict(options))


def _check_table(table: Table, options: Mapping[str, str], mode: str) -> None:
    """Raise `UnsupportedFeatureError` for a table that a stream cannot write to."""
    if is_format_table(table.schema.options):
        raise UnsupportedFeatureError(
            f"Table {table.name} is a format table, a folder of files without snapshots: a repeated epoch would look "
            "like a new one. Write the stream to a Paimon table, or its batches by foreachBatch."
        )
    table.check_writable()
    if table.store.options[UPSERT_KEY]:
        raise UnsupportedFeatureError(
            f"Table {table.name}: a stream cannot write to a table with '{UPSERT_KEY.key}'. Write its batches by MERGE "
            "INTO in foreachBatch, or give the table a primary key."
        )
    if mode == "Update" and not table.schema.primary_keys:
        raise UnsupportedFeatureError(
            f"Table {table.name}: the output mode 'update' needs a primary key, by which a new row replaces the old "
            "one. Use a table with a primary key, the output mode 'complete', or MERGE INTO in foreachBatch."
        )


def _rows(
    registry: CatalogRegistry, found: Located, table: Table, rows: DataFrame, options: Mapping[str, str]
) -> DataFrame:
    """Return the rows of a stream in the columns of a table. With `write.merge-schema`, the table gets new columns
    first.
    """
    catalog, identifier = found
    bridge = registry.bridge
    if table.store.options[MERGE_SCHEMA]:
        changes = schema_changes(table.store, rows.schema.toNullable(), bridge.known_as)
        if changes:
            catalog.catalog.alter_table(identifier, changes)
            table = bridge.in_zone(catalog.catalog.load_table(identifier))
        rows = with_null_fields(bridge, table, rows)
    rows = as_stored(registry.jvm, bridge, table, rows, rows.columns, by_name=True)
    rows = whole_rows(bridge, table, rows, rows.columns) or rows
    target = relation(catalog, identifier, latest_table(catalog, identifier, table), {})
    return sinks.rows_by_name(registry.jvm, registry.session, target, analyzed(rows))
