"""PySpark's readers and writers: what they were given, and the commands that they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql import Column, DataFrame

from paimon_sql.spark.jvm.collections import values_of
from paimon_sql.spark.jvm.hooks import hook
from paimon_sql.spark.jvm.sessions import java_session

Reader = Any  # PySpark's DataFrameReader
Writer = Any  # PySpark's DataFrameWriter
WriterV2 = Any  # PySpark's DataFrameWriterV2


# -- readers ----------------------------------------------------------------------------------------------------------
@hook("PySpark's `DataFrameReader._jreader`", '`spark.read.format("paimon").load(path)`')
def reader_source(reader: Reader) -> str:
    """The format that a reader was given."""
    return str(reader._jreader.source())


@hook("`DataFrameReader.extraOptions`", '`spark.read.format("paimon").load(path)` with options')
def reader_options(reader: Reader) -> dict[str, str]:
    return values_of(reader._jreader.extraOptions())


@hook("`DataFrameReader.assertNoSpecifiedSchema`", '`spark.read.schema(…).format("paimon").load(path)` is not refused')
def refuse_schema(reader: Reader) -> None:
    """Raises as Spark does where a reader was given columns."""
    reader._jreader.assertNoSpecifiedSchema("load")


def read_table(reader: Reader, name: str, options: Mapping[str, str]) -> DataFrame:
    """A table of a catalog, with options and without the rest of what the reader was given."""
    session = reader._spark
    return DataFrame(java_session(session).read().options(options).table(name), session)


# -- writers ----------------------------------------------------------------------------------------------------------
@hook("PySpark's `DataFrameWriter._jwrite`", '`df.write.format("paimon")`')
def writer_source(writer: Writer) -> str:
    """The format that a writer was given."""
    return str(writer._jwrite.source())


@hook("`DataFrameWriter.extraOptions`", '`df.write.format("paimon").save(path)` with options')
def writer_options(writer: Writer) -> dict[str, str]:
    return values_of(writer._jwrite.extraOptions())


@contextmanager
def without_options(writer: Writer, names: list[str]) -> Iterator[None]:
    """A writer without some of its options, which it gets back afterwards."""
    before = remaining = writer._jwrite.extraOptions()
    for name in names:
        remaining = getattr(remaining, "$minus")(name)
    set_options = getattr(writer._jwrite, "extraOptions_$eq")
    set_options(remaining)
    try:
        yield
    finally:
        set_options(before)


@hook("`DataFrameWriter.curmode`", "`df.write.mode('overwrite').saveAsTable` replaces the table's definition")
def overwrites(writer: Writer) -> bool:
    """Whether a writer's mode is to overwrite."""
    return str(writer._jwrite.curmode().name()) == "Overwrite"


def copy_options(writer: Writer, target: WriterV2) -> None:
    """Give a writer's options to one of the other kind."""
    target._jwriter.options(writer._jwrite.extraOptions())


@hook("`DataFrameWriter.saveAsTableCommand`", "`df.write.saveAsTable` casts as Spark does")
def save_command(writer: Writer, name: str) -> JavaObject:
    return writer._jwrite.saveAsTableCommand(name)


def save_as_table(writer: Writer, name: str) -> None:
    """As PySpark's `saveAsTable`."""
    writer._jwrite.saveAsTable(name)


@hook("`DataFrameWriter.insertIntoCommand`", "`df.write.insertInto` casts as Spark does")
def insert_command(writer: Writer, name: str) -> JavaObject:
    return writer._jwrite.insertIntoCommand(name)


@hook("`DataFrameWriterV2.appendCommand`", "`df.writeTo(t).append()` casts as Spark does")
def append_command(writer: WriterV2) -> JavaObject:
    return writer._jwriter.appendCommand()


@hook("`DataFrameWriterV2.overwriteCommand`", "`df.writeTo(t).overwrite(…)` casts as Spark does")
def overwrite_command(writer: WriterV2, condition: Column) -> JavaObject:
    return writer._jwriter.overwriteCommand(condition._jc)


@hook("`DataFrameWriterV2.overwritePartitionsCommand`", "`df.writeTo(t).overwritePartitions()` casts as Spark does")
def overwrite_partitions_command(writer: WriterV2) -> JavaObject:
    return writer._jwriter.overwritePartitionsCommand()


@hook("`MergeIntoWriter.mergeCommand`", "`df.mergeInto(…)` fails")
def merge_command(writer: Any) -> JavaObject:
    return writer._jwriter.mergeCommand()
