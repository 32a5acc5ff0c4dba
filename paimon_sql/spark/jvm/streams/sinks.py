"""Spark's objects for a sink of streams, and PySpark's streaming writers: their arguments and their start."""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from paimon_core.options.support import in_own_spelling
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.collections import known_texts
from paimon_sql.spark.jvm.frames import frame
from paimon_sql.spark.jvm.gateway import Jvm, accessible_field, jvm_of
from paimon_sql.spark.jvm.hooks import constructor, hook, java_type, method
from paimon_sql.spark.jvm.workers import python_source, task_command

StreamWriter = Any  # PySpark's DataStreamWriter
Query = Any  # PySpark's StreamingQuery


# -- tasks ------------------------------------------------------------------------------------------------------------
@hook(
    "`PythonStreamingWriterFactory`",
    "every write of a stream",
    constructor(classes.PYTHON_STREAMING_WRITER_FACTORY, 3, fits=True),
)
def stream_writer_factory(jvm: Jvm, function: Any, result: StructType, rows: JavaObject) -> JavaObject:
    """Return a factory as `writer_factory` does, for the tasks of an epoch."""
    given = python_source(jvm), task_command(function, result), rows
    make = jvm.java_class(classes.PYTHON_STREAMING_WRITER_FACTORY)
    return make(*jvm.fitted(classes.PYTHON_STREAMING_WRITER_FACTORY, "", *given))


# -- writers ----------------------------------------------------------------------------------------------------------
def stream_format(writer: StreamWriter) -> str:
    """Return the format that a writer was given."""
    return str(_field(writer, "source"))


def output_mode(writer: StreamWriter) -> str:
    """Return `Append`, `Complete` or `Update`."""
    return str(_field(writer, "outputMode").toString())


def stream_options(writer: StreamWriter) -> dict[str, str]:
    """Return the options that a writer was given, with names as Paimon or else the user spells them."""
    return in_own_spelling(known_texts(_jvm(writer), _field(writer, "extraOptions").originalMap()))


def without_stream_options(writer: StreamWriter, names: list[str]) -> None:
    """Remove options from a writer."""
    remaining = _field(writer, "extraOptions")
    for name in names:
        remaining = getattr(remaining, "$minus")(name)
    _private(writer, "extraOptions").set(writer._jwrite, remaining)


def replace_rows(writer: StreamWriter, rows: DataFrame) -> None:
    """Make a writer write the rows of another DataFrame."""
    _private(writer, "ds").set(writer._jwrite, rows._jdf)


def start_to_table(writer: StreamWriter, name: str) -> Query:
    """Start a query as PySpark's `toTable` does, with the writer's own arguments and a name."""
    return writer._sq(writer._jwrite.toTable(name))


def _field(writer: StreamWriter, name: str) -> Any:
    return _jvm(writer).private_value(writer._jwrite, name)


def _jvm(writer: StreamWriter) -> Jvm:
    return jvm_of(writer._spark.sparkContext)


@hook(
    "PySpark's `DataStreamWriter._jwrite`, private fields of Spark's `DataStreamWriter`",
    "streams that write to tables",
    java_type(classes.STREAM_WRITER),
)
def _private(writer: StreamWriter, name: str) -> JavaObject:
    return accessible_field(writer._jwrite, name)


# -- rows -------------------------------------------------------------------------------------------------------------
@hook(
    "`AppendData.byName`, `SessionState.executePlan`",
    "writes of streams",
    method(classes.APPEND_DATA, "byName", 3, fits=True),
    method(classes.SESSION_STATE, "executePlan", 2),
)
def rows_by_name(jvm: Jvm, session: JavaObject, table: JavaObject, rows: JavaObject) -> DataFrame:
    """Return a query with its rows cast and filled as an INSERT BY NAME into `table` would: Spark does this for
    batches, but not for streams.
    """
    arguments = jvm.fitted(classes.APPEND_DATA, "byName", table, rows, jvm.empty_map)
    command = jvm.java_class(classes.APPEND_DATA).byName(*arguments)
    state = session.sessionState()
    execution = state.executePlan(command, getattr(state, "executePlan$default$2")())
    return frame(jvm, session, execution.analyzed().query())
