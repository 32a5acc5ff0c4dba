"""The answers of stream sources as Spark's objects, and PySpark's streaming readers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame

from paimon_core.options.support import in_own_spelling
from paimon_core.scan.streams.changes import ChangeRange
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.collections import known_texts
from paimon_sql.spark.jvm.gateway import Jvm, simple_name, stack_names
from paimon_sql.spark.jvm.hooks import Variant, hook, java_type, method
from paimon_sql.spark.jvm.sessions import java_session

Reader = Any  # PySpark's DataStreamReader

_STREAMING = "org.apache.spark.sql.connector.read.streaming"

MICRO_BATCH_STREAM = f"{_STREAMING}.MicroBatchStream"
REPORTS_SOURCE_METRICS = f"{_STREAMING}.ReportsSourceMetrics"
SUPPORTS_TRIGGER_AVAILABLE_NOW = f"{_STREAMING}.SupportsTriggerAvailableNow"

_READ_ALL_AVAILABLE = f"{_STREAMING}.ReadAllAvailable"
_READ_LIMIT = f"{_STREAMING}.ReadLimit"


def offset(jvm: Jvm, text: str) -> JavaObject:
    """Return an offset of a stream. It consists of a text, which checkpoints store."""
    return jvm.compiled("StreamOffsets").of(text)


def offset_text(value: JavaObject) -> str:
    """Return the text of an offset, made by this package or read by Spark from a checkpoint."""
    return str(value.json())


def offset_texts(jvm: Jvm, start: JavaObject, end: JavaObject) -> tuple[str, str]:
    """The texts of two offsets."""
    first, last = jvm.compiled("StreamOffsets").both(start, end).split("\0")
    return first, last


def consumed_text(jvm: Jvm, consumed: Any) -> str | None:
    """Return the text of an `Optional` of an offset; None if it is empty."""
    found: str | None = jvm.compiled("StreamOffsets").text(consumed)
    return found


def read_limit(jvm: Jvm, files: int | None, size: int | None, rows: int | None) -> JavaObject:
    """Return Spark's limit of a batch: the most files, bytes and rows. Without bounds, a batch reads everything that is
    available.
    """
    make = jvm.java_class(_READ_LIMIT)
    found = [
        *([] if files is None else [make.maxFiles(files)]),
        *([] if size is None else [make.maxBytes(size)]),
        *([] if rows is None else [make.maxRows(rows)]),
    ]
    if not found:
        return jvm.constant(_READ_LIMIT, "allAvailable")()
    return found[0] if len(found) == 1 else make.compositeLimit(jvm.array(_READ_LIMIT, found))


def is_all_available(jvm: Jvm, limit: JavaObject) -> bool:
    """Return whether Spark requests everything that is available in one batch, despite other limits, as Trigger.Once
    does.
    """
    return jvm.is_instance(limit, _READ_ALL_AVAILABLE)


@hook(
    "`StreamingDataSourceV2ScanRelation`, rules of the optimizer",
    "streams read all columns and partitions",
    method(classes.STREAM_SCAN_RELATION, "copy", 6),
    method(classes.EXPERIMENTAL, "extraOptimizations", 0),
)
def install_stream_columns(jvm: Jvm, session: JavaObject) -> None:
    """Make a running session pass the columns that a batch needs to Paimon's streams."""
    jvm.compiled("StreamColumns").addTo(session.experimental())


def metrics(jvm: Jvm, values: Mapping[str, object]) -> JavaObject:
    """Return the metrics of a source in `query.lastProgress`."""
    return jvm.map({name: str(value) for name, value in values.items()})


@hook(
    "names of methods on the stack",
    "streams of a session's own SQL: SELECT … FROM STREAM t",
    *(Variant.of(name.rpartition(".")[0], java_type(name)) for name in classes.STREAM_EXECUTIONS),
)
def is_streamed(jvm: Jvm) -> bool:
    """Return whether a streaming query loads its sources. Tables that it joins are loaded later, in each batch."""
    return "MicroBatchExecution.logicalPlan" in stack_names(jvm)


# -- changes ----------------------------------------------------------------------------------------------------------
def change_range(context: JavaObject) -> ChangeRange:
    """The range of a `ChangelogContext`; moments are epoch milliseconds."""
    asked = context.range()
    name = simple_name(asked)
    if name == "UnboundedRange":
        return ChangeRange()
    is_version = name == "VersionRange"
    start, end = (
        (asked.startingVersion(), asked.endingVersion())
        if is_version
        else (asked.startingTimestamp(), asked.endingTimestamp())
    )
    last = end.get() if end.isPresent() else None
    kind = str if is_version else _millis
    bounds = (bool(asked.startingBoundInclusive()), bool(asked.endingBoundInclusive()))
    return ChangeRange(kind(start), None if last is None else kind(last), *bounds)


def _millis(micros: int) -> int:
    return int(micros) // 1000


# -- readers ----------------------------------------------------------------------------------------------------------
@hook(
    "PySpark's `DataStreamReader._jreader`, the private member `source`",
    '`spark.readStream.format("paimon")`',
    java_type(classes.STREAM_READER),
)
def stream_reader_source(jvm: Jvm, reader: Reader) -> str:
    """Return the format that a streaming reader was given."""
    return str(jvm.private_value(reader._jreader, "source"))


@hook(
    "the private member `DataStreamReader.extraOptions`",
    '`spark.readStream.format("paimon")` with options',
    java_type(classes.STREAM_READER),
)
def stream_reader_options(jvm: Jvm, reader: Reader) -> dict[str, str]:
    return in_own_spelling(known_texts(jvm, jvm.private_value(reader._jreader, "extraOptions")))


@hook(
    "`DataStreamReader.assertNoSpecifiedSchema`",
    '`spark.readStream.schema(…).format("paimon")` is not refused',
    method(classes.STREAM_READER, "assertNoSpecifiedSchema", 1),
)
def read_stream(jvm: Jvm, reader: Reader, name: str, options: Mapping[str, str]) -> DataFrame:
    """Return a stream of a table with options, without the other arguments of the reader.

    Raises Spark's error if the reader was given columns.
    """
    reader._jreader.assertNoSpecifiedSchema("load")
    session = reader._spark
    return DataFrame(java_session(session).readStream().options(jvm.map(options)).table(name), session)
