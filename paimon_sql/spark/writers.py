"""DataFrames that write: `mergeInto`, and rows that bring columns with them (`write.merge-schema`).

Spark builds the commands of its writers without a hook of the session. So these methods of PySpark's writers ask here
first; commands on other tables, and all that need nothing of ours, run as PySpark runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from pyspark.sql import DataFrameWriter, DataFrameWriterV2, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.merge import MergeIntoWriter

from paimon_core.options import MERGE_SCHEMA, MERGE_SCHEMA_EXPLICIT_CAST, MERGE_SCHEMA_TYPE_WIDENING
from paimon_sql.spark.catalog_bridge import PROVIDER
from paimon_sql.spark.catalog_registry import CatalogRegistry
from paimon_sql.spark.jvm import Jvm, class_name, scala_map_of, with_elements
from paimon_sql.spark.schema_evolution import NESTED_COERCION
from paimon_sql.spark.session_bridge import OPTION_PREFIX

_WRITES = ("AppendData", "OverwriteByExpression", "OverwritePartitionsDynamic")
_OPTIONS = tuple(o.key for o in (MERGE_SCHEMA, MERGE_SCHEMA_EXPLICIT_CAST, MERGE_SCHEMA_TYPE_WIDENING))
_PATCHED = "_asks_paimon_sql_first"


def install_writers() -> None:
    """Let PySpark's writers ask here first. Does nothing where they do."""
    if hasattr(MergeIntoWriter.merge, _PATCHED):
        return
    _ask_first(MergeIntoWriter, "merge", _merge)
    _ask_first(DataFrameWriterV2, "append", lambda w: _evolve(w._spark, w._jwriter.appendCommand))
    _ask_first(DataFrameWriterV2, "overwrite", _overwrite)
    _ask_first(DataFrameWriterV2, "overwritePartitions", _overwrite_partitions)
    _ask_first(DataFrameWriter, "saveAsTable", _save_as_table)
    _ask_first(DataFrameWriter, "insertInto", _insert_into)


def _ask_first(owner: type, name: str, ours: Callable[..., bool]) -> None:
    """Put `ours` in front of a method: it says whether it did all there is to do."""
    original = getattr(owner, name)

    @wraps(original)
    def method(self: Any, *arguments: Any, **named: Any) -> Any:
        return self if ours(self, *arguments, **named) else original(self, *arguments, **named)

    setattr(method, _PATCHED, True)
    setattr(owner, name, method)


def _merge(writer: Any) -> bool:
    session = writer._spark
    registry = _registry(session)
    plan = writer._jwriter.mergeCommand()
    statement = registry.statement(plan, class_name(plan))
    if statement is None:
        return False
    registry.jvm.frame(session._jsparkSession, registry.jvm.create_namespace(statement, class_name(plan)))
    return True


def _overwrite(writer: Any, condition: Any) -> bool:
    column = F.col(condition) if isinstance(condition, str) else condition
    return _evolve(writer._spark, lambda: writer._jwriter.overwriteCommand(column._jc))


def _overwrite_partitions(writer: Any) -> bool:
    return _evolve(writer._spark, writer._jwriter.overwritePartitionsCommand)


def _save_as_table(
    writer: Any, name: str, format: str | None = None, mode: str | None = None, partitionBy: Any = None, **options: Any
) -> bool:
    writer.mode(mode).options(**options)
    if partitionBy is not None:
        writer.partitionBy(partitionBy)
    if format is not None:
        writer.format(format)
    _drop_provider(writer, name)
    if not _evolve(writer._spark, lambda: writer._jwrite.saveAsTableCommand(name)):
        writer._jwrite.saveAsTable(name)
    return True


def _insert_into(writer: Any, tableName: str, overwrite: bool | None = None) -> bool:
    _drop_provider(writer, tableName)
    return False


def _drop_provider(writer: Any, name: str) -> None:
    """`format("paimon")` of a table in a catalog of ours is what that makes anyway; Spark would look for a class."""
    if str(writer._jwrite.source()).lower() == PROVIDER and _registry(writer._spark).has_name(name):
        writer.format(writer._spark.conf.get("spark.sql.sources.default"))


def _evolve(session: SparkSession, make: Callable[[], Any]) -> bool:
    """Run a command with new columns, where it is asked to and writes to a table of ours by name."""
    command = make()
    if class_name(command) not in _WRITES or not command.isByName():
        return False
    registry = _registry(session)
    given = {k: v for k, v in scala_map_of(registry.jvm, command.writeOptions()).items() if k in _OPTIONS and v}
    asked = given.get(MERGE_SCHEMA.key) or session.conf.get(OPTION_PREFIX + MERGE_SCHEMA.key, "false")
    if asked is None or asked.lower() != "true" or not registry.has(command.table()):
        return False
    with _settings(session, {OPTION_PREFIX + k: v for k, v in given.items()} | {NESTED_COERCION: "true"}):
        plan = with_elements(registry.jvm, make(), withSchemaEvolution=True)
        registry.jvm.frame(session._jsparkSession, plan)
    return True


def _registry(session: SparkSession) -> CatalogRegistry:
    registry = CatalogRegistry(Jvm(session.sparkContext), session._jsparkSession)
    registry.register()
    return registry


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
