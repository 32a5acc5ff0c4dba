"""DataFrames that write: values that are cast as INSERT casts them, `mergeInto`, `write.merge-schema`.

Spark builds the commands of its writers without a hook of the session. So these methods of PySpark's writers ask here
first; commands on other tables, and all that need nothing of ours, run as PySpark runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrameWriter, DataFrameWriterV2, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.merge import MergeIntoWriter

from paimon_core.format_table.options import is_format_table
from paimon_core.options import MERGE_SCHEMA, MERGE_SCHEMA_EXPLICIT_CAST, MERGE_SCHEMA_TYPE_WIDENING, TableOptions
from paimon_sql.spark.dataframes.pyspark_methods import ask_first
from paimon_sql.spark.jvm.gateway import class_name, scala_map_of, with_elements
from paimon_sql.spark.session_bridge import OPTION_PREFIX
from paimon_sql.spark.statements.catalog_registry import CatalogRegistry, session_registry
from paimon_sql.spark.tables.catalog import PROVIDER
from paimon_sql.spark.tables.schema_evolution import NESTED_COERCION
from paimon_sql.spark.write.store_assignment import as_stored

_WRITES = ("AppendData", "OverwriteByExpression", "OverwritePartitionsDynamic")
_OPTIONS = tuple(o.key for o in (MERGE_SCHEMA, MERGE_SCHEMA_EXPLICIT_CAST, MERGE_SCHEMA_TYPE_WIDENING))


def install_writers() -> None:
    """Let PySpark's writers ask here first. Does nothing where they do."""
    _ask_first(MergeIntoWriter, "merge", _merge)
    _ask_first(DataFrameWriterV2, "append", lambda w: _ran(w, w._jwriter.appendCommand))
    _ask_first(DataFrameWriterV2, "overwrite", _overwrite)
    _ask_first(DataFrameWriterV2, "overwritePartitions", _overwrite_partitions)
    _ask_first(DataFrameWriter, "saveAsTable", _save_as_table)
    _ask_first(DataFrameWriter, "insertInto", _insert_into)


def _ask_first(owner: type, name: str, ours: Callable[..., bool]) -> None:
    """Put `ours` in front of a method: it says whether it did all there is to do."""
    ask_first(owner, name, lambda *args, **named: None if ours(*args, **named) else NotImplemented)


def _merge(writer: Any) -> bool:
    session = writer._spark
    registry = session_registry(session)
    plan = writer._jwriter.mergeCommand()
    statement = registry.statement(plan, class_name(plan))
    if statement is None:
        return False
    registry.jvm.frame(session._jsparkSession, registry.jvm.create_namespace(statement, class_name(plan)))
    return True


def _overwrite(writer: Any, condition: Any) -> bool:
    column = F.col(condition) if isinstance(condition, str) else condition
    return _ran(writer, lambda: writer._jwriter.overwriteCommand(column._jc))


def _overwrite_partitions(writer: Any) -> bool:
    return _ran(writer, writer._jwriter.overwritePartitionsCommand)


def _save_as_table(
    writer: Any, name: str, format: str | None = None, mode: str | None = None, partitionBy: Any = None, **options: Any
) -> bool:
    writer.mode(mode).options(**options)
    if partitionBy is not None:
        writer.partitionBy(partitionBy)
    if format is not None:
        writer.format(format)
    registry = _drop_provider(writer, name)
    table = registry.table_of(registry.find_name(name)) if writer._jwrite.curmode().name() == "Overwrite" else None
    if table is not None and not is_format_table(table.schema.options):
        dynamic = bool(table.schema.partition_keys) and registry.bridge.overwrites_partitions()
        _overwrite_rows(writer, name, dynamic=dynamic)
    elif not _ran(writer, lambda: writer._jwrite.saveAsTableCommand(name)):
        writer._jwrite.saveAsTable(name)
    return True


def _overwrite_rows(writer: Any, name: str, *, dynamic: bool) -> None:
    """What `saveAsTable` replaces in Spark's eyes, it overwrites in Paimon's: rows by name, the definition stays."""
    rows = writer._df.writeTo(name)
    rows._jwriter.options(writer._jwrite.extraOptions())
    if dynamic:
        rows.overwritePartitions()
    else:
        rows.overwrite(F.lit(True))


def _insert_into(writer: Any, tableName: str, overwrite: bool | None = None) -> bool:
    if overwrite is not None:
        writer.mode("overwrite" if overwrite else "append")
    _drop_provider(writer, tableName)
    return _ran(writer, lambda: writer._jwrite.insertIntoCommand(tableName))


def _drop_provider(writer: Any, name: str) -> CatalogRegistry:
    """`format("paimon")` of a table in a catalog of ours is what that makes anyway; Spark would look for a class."""
    registry = session_registry(writer._spark)
    if str(writer._jwrite.source()).lower() == PROVIDER and registry.find_name(name) is not None:
        writer.format(writer._spark.conf.get("spark.sql.sources.default"))
    return registry


def _ran(writer: Any, make: Callable[[], Any]) -> bool:
    """Run a command that writes to a table of ours, where its values have to be cast or it may bring columns."""
    command, session = make(), writer._spark
    if class_name(command) not in _WRITES:
        return False
    registry = session_registry(session)
    table = registry.table_of(registry.find(command.table()))
    if table is None:
        return False
    given = {k: v for k, v in scala_map_of(registry.jvm, command.writeOptions()).items() if k in _OPTIONS and v}
    asked = TableOptions({k: v for k in _OPTIONS if (v := given.get(k) or session.conf.get(OPTION_PREFIX + k, None))})
    rows, by_name = writer._df, bool(command.isByName())
    evolves = by_name and asked[MERGE_SCHEMA]
    if not (evolves and asked[MERGE_SCHEMA_TYPE_WIDENING]):
        columns = rows.columns if by_name else [f.name for f in table.schema.fields]
        rows = as_stored(registry.jvm, registry.bridge, table, rows, columns, by_name=by_name)
    if rows is writer._df and not evolves:
        return False
    settings = {OPTION_PREFIX + k: v for k, v in given.items()} | {NESTED_COERCION: "true"}
    with _settings(session, settings if evolves else {}):
        query = rows._jdf.queryExecution().analyzed()
        plan = with_elements(registry.jvm, make(), query=query, **({"withSchemaEvolution": True} if evolves else {}))
        if evolves and (found := registry.find(plan.table())) is not None:
            plan = registry.bringing_columns(*found, table.with_options(asked.values), plan)
        registry.jvm.frame(session._jsparkSession, plan)
    return True


@contextmanager
def _settings(session: SparkSession, values: dict[str, str]) -> Iterator[None]:
    """The session with settings that it gets back afterwards as they were: tables read their options there."""
    before = {k: session.conf.get(k, None) for k in values}
    try:
        for key, value in values.items():
            session.conf.set(key, value)
        yield
    finally:
        for key, old in before.items():
            if old is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, old)
