"""Writes of DataFrames: values cast as in INSERT, `mergeInto`, `write.merge-schema`.

Spark has no hook of the session for the commands of its writers. So this module extends the methods of PySpark's
writers. Commands on other tables, and commands that need no change, run as PySpark runs them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, DataFrameWriter, DataFrameWriterV2
from pyspark.sql import functions as F
from pyspark.sql.merge import MergeIntoWriter

from paimon_core.errors import InvalidOptionError
from paimon_core.format_table.kind import is_format_table
from paimon_core.options import MERGE_SCHEMA, MERGE_SCHEMA_TYPE_WIDENING, TableOptions
from paimon_core.spec.identifier import BRANCH_OPTION
from paimon_core.store.ddl.row_rules import RowRules
from paimon_core.table import Table
from paimon_sql.preprocess.quoting import PATHS
from paimon_sql.spark.dataframes.named_branches import named_branch
from paimon_sql.spark.dataframes.pyspark_methods import ask_first
from paimon_sql.spark.jvm import frame_io
from paimon_sql.spark.jvm.commands import create_namespace, evolving, with_query
from paimon_sql.spark.jvm.frames import analyzed, run
from paimon_sql.spark.jvm.hooks import hook, python
from paimon_sql.spark.jvm.plans import FrameWrite, read_head, read_statement
from paimon_sql.spark.jvm.session_tables import SESSION_CATALOG
from paimon_sql.spark.session_bridge import OPTION_PREFIX
from paimon_sql.spark.statements.catalog_registry import CatalogRegistry, Located
from paimon_sql.spark.statements.parser import registry_of
from paimon_sql.spark.statements.rewrites import StatementRewriter
from paimon_sql.spark.tables.definitions import PROVIDER
from paimon_sql.spark.write.insert_columns import filled_columns
from paimon_sql.spark.write.store_assignment import as_stored, whole_rows
from paimon_sql.spark.write.write_options import OF_FLINK, contradicts, merge_options, overwrites_partitions


@hook(
    "methods of PySpark's `DataFrameWriter`, `DataFrameWriterV2`, `MergeIntoWriter`",
    "writes of DataFrames that cast or bring columns",
    python("pyspark.sql", "DataFrameWriter.saveAsTable"),
    python("pyspark.sql", "DataFrameWriterV2.append"),
    python("pyspark.sql.merge", "MergeIntoWriter.merge"),
)
def install_writers() -> None:
    """Extend PySpark's writers. Do nothing if they are extended already."""
    _ask_first(MergeIntoWriter, "merge", _merge)
    _ask_first(DataFrameWriterV2, "append", lambda r, w: _written(r, w, lambda: frame_io.append_command(r.jvm, w)))
    _ask_first(DataFrameWriterV2, "overwrite", _overwrite)
    _ask_first(DataFrameWriterV2, "overwritePartitions", _overwrite_partitions)
    _ask_first(DataFrameWriter, "saveAsTable", _save_as_table)
    _ask_first(DataFrameWriter, "insertInto", _insert_into)


def _ask_first(owner: type, name: str, ours: Callable[..., bool]) -> None:
    """Run `ours` before a method, with the catalogs of the writer's session. `ours` does all of the work, or returns
    False to let the method run.
    """

    def first(writer: Any, *args: Any, **named: Any) -> Any:
        registry = registry_of(writer._spark)
        return None if registry is not None and ours(registry, writer, *args, **named) else NotImplemented

    ask_first(owner, name, first)


def _merge(registry: CatalogRegistry, writer: Any) -> bool:
    merge = frame_io.merge_command(registry.jvm, writer)
    command = None if merge is None else StatementRewriter(registry).command(merge)
    if command is not None:
        run(registry.jvm, registry.session, create_namespace(registry.jvm, command, command.plan.name))
    return command is not None


def _overwrite(registry: CatalogRegistry, writer: Any, condition: Any) -> bool:
    column = F.col(condition) if isinstance(condition, str) else condition
    return _written(registry, writer, lambda: frame_io.overwrite_command(registry.jvm, writer, column), dynamic=False)


def _overwrite_partitions(registry: CatalogRegistry, writer: Any) -> bool:
    made = lambda: frame_io.overwrite_partitions_command(registry.jvm, writer)  # noqa: E731
    return _written(registry, writer, made, dynamic=True)


def _save_as_table(
    registry: CatalogRegistry,
    writer: Any,
    name: str,
    format: str | None = None,
    mode: str | None = None,
    partitionBy: Any = None,
    **options: Any,
) -> bool:
    writer.mode(mode).options(**options)
    if partitionBy is not None:
        writer.partitionBy(partitionBy)
    if format is not None:
        writer.format(format)
    _drop_provider(registry, writer, name)
    if (branch := named_branch(registry, name, frame_io.writer_options(writer))) is not None:
        with frame_io.without_options(writer, [BRANCH_OPTION]):
            writer.saveAsTable(branch)
        return True
    found = registry.target(registry.find_name(name))
    table = registry.table_of(found)
    overwrites = frame_io.overwrites(writer)
    if found is not None and table is not None and overwrites and _keeps_definition(registry, writer, found, table):
        _overwrite_rows(writer, name, dynamic=_overwrites_partitions(registry, table, writer))
    elif table is None or not _written(registry, writer, lambda: frame_io.save_command(registry.jvm, writer, name)):
        frame_io.save_as_table(writer, name)
    return True


def _keeps_definition(registry: CatalogRegistry, writer: Any, found: Located, table: Table) -> bool:
    """Return whether an overwrite by `saveAsTable` replaces only the rows, and keeps the table's definition. It does if
    a path names the table, if options select the partitions to replace, if rows may bring columns, or if the columns
    are the same. Without such options, Spark replaces a format table as a whole.
    """
    given, bridge = frame_io.writer_options(writer), registry.bridge
    if found[0].catalog_name == PATHS or overwrites_partitions(given) is not None:
        return True
    if is_format_table(table.schema.options):
        return False
    settings = merge_options(bridge.table_options(found[0].catalog_name, found[1]))
    if TableOptions(merge_options(table.schema.options) | settings | merge_options(given))[MERGE_SCHEMA]:
        return True
    known_as = bridge.known_as  # this calls the JVM
    made = set(map(known_as, RowRules.of(table.schema).made))
    return {*map(known_as, writer._df.columns), *made} == {known_as(f.name) for f in table.schema.fields}


def _overwrite_rows(writer: Any, name: str, *, dynamic: bool) -> None:
    """Overwrite the rows by name and keep the table's definition. Spark's `saveAsTable` would replace the table. Paimon
    keeps the table if the columns are the same.
    """
    rows = writer._df.writeTo(name)
    frame_io.copy_options(writer, rows)
    if dynamic:
        rows.overwritePartitions()
    else:
        rows.overwrite(F.lit(True))


def _insert_into(registry: CatalogRegistry, writer: Any, tableName: str, overwrite: bool | None = None) -> bool:
    if overwrite is not None:
        writer.mode("overwrite" if overwrite else "append")
    _drop_provider(registry, writer, tableName)
    if (branch := named_branch(registry, tableName, frame_io.writer_options(writer))) is not None:
        with frame_io.without_options(writer, [BRANCH_OPTION]):
            writer.insertInto(branch)
        return True
    table = registry.table_of(registry.target(registry.find_name(tableName)))
    if table is None:
        return False
    dynamic = _overwrites_partitions(registry, table, writer)
    if frame_io.overwrites(writer) and dynamic != registry.bridge.overwrites_partitions():
        writer.option(OF_FLINK, str(dynamic).lower())  # Spark reads only its own setting
    return _written(registry, writer, lambda: frame_io.insert_command(registry.jvm, writer, tableName, dynamic=dynamic))


def _overwrites_partitions(registry: CatalogRegistry, table: Table, writer: Any) -> bool:
    """Return whether an overwrite keeps the partitions without new rows."""
    asked = overwrites_partitions(frame_io.writer_options(writer))
    if asked is None and (setting := registry.bridge.own_setting(OPTION_PREFIX + OF_FLINK)) is not None:
        asked = overwrites_partitions({OF_FLINK: setting})
    return bool(table.schema.partition_keys) and (registry.bridge.overwrites_partitions() if asked is None else asked)


def _drop_provider(registry: CatalogRegistry, writer: Any, name: str) -> None:
    """Drop `format("paimon")` for a table in a Paimon catalog: it is the default there, and Spark would look for a
    class of that name. For a table in Spark's own catalog, set it, because without it Spark would write a table in
    another format.
    """
    found = registry.find_name(name)
    if found is not None and found[0].catalog_name == SESSION_CATALOG:
        writer.format(PROVIDER)
    elif found is not None and frame_io.writer_source(writer).lower() == PROVIDER:
        writer.format(registry.bridge.default_source())


def _written(
    registry: CatalogRegistry, writer: Any, make: Callable[[], JavaObject | None], *, dynamic: bool | None = None
) -> bool:
    """Run a command that writes to a Paimon table, if its values need casts or it may bring columns.

    Returns False if nothing was run: PySpark then runs the command as usual. `dynamic` is whether the called method
    overwrites only the partitions of its rows. Raises `InvalidOptionError` for options that contradict it.
    """
    made = make()
    command = None if made is None else written_command(registry, made, writer._df, dynamic=dynamic)
    if command is not None:
        run(registry.jvm, registry.session, command)
    return command is not None


def written_command(
    registry: CatalogRegistry, made: JavaObject, rows: DataFrame, *, dynamic: bool | None = None
) -> JavaObject | None:
    """Return the command that writes `rows` as `made` does, if its table is a Paimon table and its values need casts,
    or it may bring columns. Return None for other commands. `dynamic` and the errors are as for `_written`.
    """
    head = read_head(made)
    found = registry.target(registry.find(head.table)) if head is not None and head.kind is FrameWrite else None
    table = registry.table_of(found)
    if head is None or found is None or table is None:
        return None
    command = read_statement(registry.jvm, head)
    if not isinstance(command, FrameWrite):
        return None
    if dynamic is not None and (others := contradicts(command.options, dynamic=dynamic)):
        method = "overwritePartitions()" if dynamic else "overwrite(condition)"
        raise InvalidOptionError(
            f"{method} of table {table.name} conflicts with the option {', '.join(others)}, which replaces other rows: "
            "leave the option out."
        )
    given = merge_options(command.options)
    settings = merge_options(registry.bridge.table_options(found[0].catalog_name, found[1]))
    asked = TableOptions(merge_options(table.schema.options) | settings | given)
    evolves = command.by_name and asked[MERGE_SCHEMA]
    given_rows = rows
    if not (evolves and asked[MERGE_SCHEMA_TYPE_WIDENING]):
        columns = rows.columns if command.by_name else filled_columns(table.schema, len(rows.columns))
        rows = as_stored(registry.jvm, registry.bridge, table, rows, columns, by_name=command.by_name)
        if not command.by_name:
            rows = whole_rows(registry.bridge, table, rows, columns) or rows
    if command.by_name and not evolves:
        rows = whole_rows(registry.bridge, table, rows, rows.columns) or rows
    if rows is given_rows and not evolves:
        return None
    command = with_query(registry.jvm, command, analyzed(rows))
    if evolves:
        command = evolving(registry.jvm, command)
        command = StatementRewriter(registry).evolved(found, table.with_options(asked.values), command, given)
    return command.node
