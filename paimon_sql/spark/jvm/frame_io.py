"""PySpark's readers and writers: their arguments, and the commands that they run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql import Column, DataFrame

from paimon_core.options.support import in_own_spelling
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.collections import values_of
from paimon_sql.spark.jvm.frames import frame
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import Variant, constructor, field, hook, method, python
from paimon_sql.spark.jvm.older import writer_commands
from paimon_sql.spark.jvm.older.state_options import named_relation, travels_in_name
from paimon_sql.spark.jvm.sessions import java_session

Reader = Any  # PySpark's DataFrameReader
Writer = Any  # PySpark's DataFrameWriter
WriterV2 = Any  # PySpark's DataFrameWriterV2


# -- readers ----------------------------------------------------------------------------------------------------------
@hook(
    "PySpark's `DataFrameReader._jreader`",
    '`spark.read.format("paimon").load(path)`',
    python("pyspark.sql", "DataFrameReader"),
    method(classes.READER, "source", 0),
)
def reader_source(reader: Reader) -> str:
    """The format that a reader was given."""
    return str(reader._jreader.source())


@hook(
    "`DataFrameReader.extraOptions`",
    '`spark.read.format("paimon").load(path)` with options',
    method(classes.READER, "extraOptions", 0),
)
def reader_options(reader: Reader) -> dict[str, str]:
    return in_own_spelling(values_of(reader._jreader.extraOptions()))


@hook(
    "`DataFrameReader.assertNoSpecifiedSchema`",
    '`spark.read.schema(…).format("paimon").load(path)` is not refused',
    method(classes.READER, "assertNoSpecifiedSchema", 1),
)
def refuse_schema(reader: Reader) -> None:
    """Raise Spark's error if a reader was given columns."""
    reader._jreader.assertNoSpecifiedSchema("load")


def read_table(jvm: Jvm, reader: Reader, name: str, options: Mapping[str, str], state: frozenset[str]) -> DataFrame:
    """Return a DataFrame of a catalog's table, read with the given options instead of the reader's own arguments.
    `state` has the names of the options that change the table's columns.
    """
    session = reader._spark
    if travels_in_name(jvm) and not state.isdisjoint(map(str.lower, options)):
        return frame(jvm, java_session(session), named_relation(jvm, java_session(session), name, options, state))
    return DataFrame(java_session(session).read().options(options).table(name), session)


# -- writers ----------------------------------------------------------------------------------------------------------
@hook(
    "PySpark's `DataFrameWriter._jwrite`",
    '`df.write.format("paimon")`',
    method(classes.WRITER, "source", 0),
)
def writer_source(writer: Writer) -> str:
    """The format that a writer was given."""
    return str(writer._jwrite.source())


@hook(
    "`DataFrameWriter.extraOptions`",
    '`df.write.format("paimon").save(path)` with options',
    method(classes.WRITER, "extraOptions", 0),
)
def writer_options(writer: Writer) -> dict[str, str]:
    return in_own_spelling(values_of(writer._jwrite.extraOptions()))


@contextmanager
def without_options(writer: Writer, names: list[str]) -> Iterator[None]:
    """Take options away from a writer, and give them back at the end of the block."""
    before = remaining = writer._jwrite.extraOptions()
    for name in names:
        remaining = getattr(remaining, "$minus")(name)
    set_options = getattr(writer._jwrite, "extraOptions_$eq")
    set_options(remaining)
    try:
        yield
    finally:
        set_options(before)


@hook(
    "`DataFrameWriter.curmode`",
    "`df.write.mode('overwrite').saveAsTable` replaces the table's definition",
    method(classes.WRITER, "curmode", 0),
)
def overwrites(writer: Writer) -> bool:
    """Whether a writer's mode is to overwrite."""
    return str(writer._jwrite.curmode().name()) == "Overwrite"


def copy_options(writer: Writer, target: WriterV2) -> None:
    """Set a writer's options on a `DataFrameWriterV2`."""
    target._jwriter.options(writer._jwrite.extraOptions())


def save_as_table(writer: Writer, name: str) -> None:
    """Write as PySpark's `saveAsTable`."""
    writer._jwrite.saveAsTable(name)


# -- the commands of writers: from Spark, or made from the private fields of a writer ----------------------------------
_TELLS_SAVE = Variant.of("Spark returns it", method(classes.WRITER, "saveAsTableCommand", 1))
_TELLS_INSERT = Variant.of("Spark returns it", method(classes.WRITER, "insertIntoCommand", 1))
_TELLS_APPEND = Variant.of("Spark returns it", method(classes.WRITER_V2, "appendCommand", 0))
_TELLS_OVERWRITE = Variant.of("Spark returns it", method(classes.WRITER_V2, "overwriteCommand", 1))
_TELLS_PARTITIONS = Variant.of("Spark returns it", method(classes.WRITER_V2, "overwritePartitionsCommand", 0))
_TELLS_MERGE = Variant.of("Spark returns it", method(classes.WRITER_OF_MERGES, "mergeCommand", 0))
_KEPT = tuple(field(classes.WRITER_V2, name) for name in ("tableName", "logicalPlan", "options"))
_MADE_OF_FRAME = Variant.of("made here", method(classes.UNRESOLVED_RELATION, "requireWritePrivileges", 1))
_MADE = Variant.of("made here", *_KEPT, *_MADE_OF_FRAME.needs)
_MADE_MERGE = Variant.of(
    "made here",
    *(field(classes.WRITER_OF_MERGES, name) for name in ("tableName", "logicalPlan", "on")),
    constructor(classes.MERGE_INTO_TABLE, 7),
)


@hook("`DataFrameWriter.saveAsTableCommand`", "`df.write.saveAsTable` casts as Spark does", _TELLS_SAVE, _MADE_OF_FRAME)
def save_command(jvm: Jvm, writer: Writer, name: str) -> JavaObject | None:
    """Return the command; None if Spark should save the table itself."""
    if jvm.variant(save_command) is _TELLS_SAVE:
        return writer._jwrite.saveAsTableCommand(name)
    return writer_commands.save_command(jvm, writer, name)


@hook("`DataFrameWriter.insertIntoCommand`", "`df.write.insertInto` casts as Spark does", _TELLS_INSERT, _MADE_OF_FRAME)
def insert_command(jvm: Jvm, writer: Writer, name: str, *, dynamic: bool) -> JavaObject:
    """Return the command that inserts by position. If `dynamic`, it may overwrite only the partitions of its rows."""
    if jvm.variant(insert_command) is _TELLS_INSERT:
        return writer._jwrite.insertIntoCommand(name)
    return writer_commands.insert_command(jvm, writer, name, dynamic=dynamic)


@hook("`DataFrameWriterV2.appendCommand`", "`df.writeTo(t).append()` casts as Spark does", _TELLS_APPEND, _MADE)
def append_command(jvm: Jvm, writer: WriterV2) -> JavaObject:
    if jvm.variant(append_command) is _TELLS_APPEND:
        return writer._jwriter.appendCommand()
    return writer_commands.append_command(jvm, writer)


@hook(
    "`DataFrameWriterV2.overwriteCommand`", "`df.writeTo(t).overwrite(…)` casts as Spark does", _TELLS_OVERWRITE, _MADE
)
def overwrite_command(jvm: Jvm, writer: WriterV2, condition: Column) -> JavaObject:
    if jvm.variant(overwrite_command) is _TELLS_OVERWRITE:
        return writer._jwriter.overwriteCommand(condition._jc)
    return writer_commands.overwrite_command(jvm, writer, condition._jc)


@hook(
    "`DataFrameWriterV2.overwritePartitionsCommand`",
    "`df.writeTo(t).overwritePartitions()` casts as Spark does",
    _TELLS_PARTITIONS,
    _MADE,
)
def overwrite_partitions_command(jvm: Jvm, writer: WriterV2) -> JavaObject:
    if jvm.variant(overwrite_partitions_command) is _TELLS_PARTITIONS:
        return writer._jwriter.overwritePartitionsCommand()
    return writer_commands.overwrite_partitions_command(jvm, writer)


@hook("`MergeIntoWriter.mergeCommand`", "`df.mergeInto(…)` fails", _TELLS_MERGE, _MADE_MERGE)
def merge_command(jvm: Jvm, writer: Any) -> JavaObject | None:
    """Return the writer's merge as a command; None if running the writer would raise an error."""
    if jvm.variant(merge_command) is _TELLS_MERGE:
        return writer._jwriter.mergeCommand()
    return writer_commands.merge_command(jvm, writer)
