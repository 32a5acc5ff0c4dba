"""Functions that run in Python workers on executors. They get values (a table store, JSON), never proxies of the
driver.

A function takes the batches of a task's rows, and returns batches.
"""

from __future__ import annotations

import gc
import os
import socket
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, partial
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import Accumulator, AccumulatorParam, TaskContext
from pyspark.sql.types import StructType

from paimon_core.arrow.columns import with_offsets
from paimon_core.arrow.required_parts import check_required_parts, with_required_parts
from paimon_core.arrow.types import TRACKING_FIELDS, arrow_schema
from paimon_core.errors import InternalError, PaimonError
from paimon_core.expressions.predicate import Predicate
from paimon_core.expressions.shown import Shown
from paimon_core.format_table.scan import FORMAT_SPLIT, read_format_split
from paimon_core.format_table.write import STAGED_FILES, FormatTableWriter, StagedFiles
from paimon_core.maintenance.orphans.job import FOLDER, SOURCE, OrphanSearch
from paimon_core.row_level.rules import ChangeRules
from paimon_core.row_level.writer import CHANGES_RESULT, write_changes
from paimon_core.scan.derived_tables import DerivedTable, read_derived
from paimon_core.scan.first_rows import FirstRows
from paimon_core.scan.reduction import Reduction
from paimon_core.spec.message import WRITE_RESULT, WriteResult
from paimon_core.spec.records import Record
from paimon_core.spec.split import DATA_SPLIT, DataSplit
from paimon_core.store.blob.columns import store_of_read
from paimon_core.store.data.time_units import in_microseconds
from paimon_core.store.table_store import TableStore
from paimon_core.tracing import below, current_parent, span
from paimon_core.write.buckets.dynamic import AssignmentBase
from paimon_core.write.compaction.sort_job import SortJob
from paimon_core.write.writer import open_writer, written
from paimon_sql.spark.jvm.arrow_schemas import arrow_schema as spark_arrow_schema

T = TypeVar("T")
BatchFunction = Callable[[Iterator[pa.RecordBatch]], Iterable[pa.RecordBatch]]
_SEQUENCES_PER_TASK = 2**24


def read_function(
    store: TableStore,
    required: StructType,
    predicate: Predicate | None,
    derived: DerivedTable = DerivedTable.ROWS,
    first: FirstRows | None = None,
) -> BatchFunction:
    """Return a function from one row, the JSON of a split, to the split's batches with the columns that Spark requires:
    all rows, or the `first` rows.
    """
    return _task(_read, store_of_read(store, required.fieldNames()), required, predicate, derived, first)


def reduce_function(
    store: TableStore, result: StructType, predicate: Predicate | None, derived: DerivedTable, reduction: Reduction
) -> BatchFunction:
    """Return a function as `read_function` does, but to partial aggregates of the split's rows."""
    read = store_of_read(store, reduction.columns(store.schema))
    return _task(_reduce, read, result, predicate, derived, reduction)


def shown_function(store: TableStore, required: StructType, shown: Shown) -> BatchFunction:
    """Return a function as `read_function` does, but to the part of the rows that a catalog shows its user."""
    return _task(_read_shown, store_of_read(store, shown.stored(required.fieldNames())), required, shown)


def split_batches(
    store: TableStore, required: StructType, predicate: Predicate | None, derived: DerivedTable, split: DataSplit
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a split with the columns that Spark requires."""
    rows = read_derived(in_microseconds(store), derived, split, required.fieldNames(), predicate)
    yield from for_spark(rows, required)


def read_format_function(
    store: TableStore, required: StructType, predicate: Predicate | None, *, case_sensitive: bool
) -> BatchFunction:
    """Return a function as `read_function` does, for splits of a format table. Names of columns are compared by case if
    `case_sensitive`.
    """
    return _task(_read_format, store, required, predicate, case_sensitive)


def write_function(
    store: TableStore, sequence_start: int, base: AssignmentBase | None = None, *, tracked: bool = False
) -> BatchFunction:
    """Return a function from a task's rows to one row: its `WriteResult` as JSON; see `open_writer`."""
    return _task(_write, store, sequence_start, base, tracked)


def write_format_function(store: TableStore) -> BatchFunction:
    """Return a function from a task's rows to one row: JSON of the files that it wrote for a format table."""
    return _task(_write_format, store)


def changes_function(
    store: TableStore, rules: ChangeRules, sequence_start: int, base: AssignmentBase | None = None
) -> BatchFunction:
    """Return a function from a task's row-level changes to one row: its `ChangesResult` as JSON."""
    return _task(_write_changes, store, rules, sequence_start, base)


def sort_input_function(job: SortJob, schema: StructType) -> BatchFunction:
    """Return a function from the texts of a sort job to the rows to sort."""
    return _task(_read_sort_input, job, schema)


def found_function(search: OrphanSearch) -> BatchFunction:
    """Return a function from folders of a table to the old files in them."""
    return _task(_each_of, FOLDER, search.found_in)


def needed_function(search: OrphanSearch) -> BatchFunction:
    """Return a function from sources, mostly manifests, to the files that versions need."""
    return _task(_each_of, SOURCE, search.needed_by)


def delete_function(search: OrphanSearch) -> BatchFunction:
    """Return a function from orphans to one row: the number of deleted files."""
    return _task(_delete, search)


def run_text(function: Callable[[str], str], text: str, parent: str | None = None) -> str:
    """Run a job's function for one item; both are texts. `parent` is the span of the job."""
    _use_local_dirs()
    try:
        with below(parent), span("task", kind="job", partition=_partition()):
            return function(text)
    except PaimonError:
        raise
    except Exception as error:
        raise InternalError.of(error) from None


class TaskCounts(AccumulatorParam[dict[str, int]]):  # type: ignore[misc]  # PySpark is Any here
    """Adds what ended tasks have done, by job."""

    def zero(self, value: dict[str, int]) -> dict[str, int]:
        return {}

    def addInPlace(self, value1: dict[str, int], value2: dict[str, int]) -> dict[str, int]:
        for job, count in value2.items():
            value1[job] = value1.get(job, 0) + count
        return value1


def run_counted(
    run: Callable[[str], str],
    job: str,
    ended: Accumulator[dict[str, int]],
    measure: Callable[[str], int],
    text: str,
) -> str:
    """Run a task of a job. When it has ended, count its units by the measure."""
    result = run(text)
    ended.add({job: measure(text)})
    return result


def _task(function: Callable[..., Iterable[pa.RecordBatch]], *values: object) -> BatchFunction:
    """Bind all arguments of a function except the last one, the batches. The result is pickled as the function's name
    and the values; a closure would be pickled as code. If the driver records spans, the function gets the current one.
    """
    bound, parent = partial(function, *values), current_parent()
    return partial(_run, bound) if parent is None else partial(_run, bound, parent=parent)


def _run(
    function: BatchFunction, batches: Iterator[pa.RecordBatch], parent: str | None = None
) -> Iterator[pa.RecordBatch]:
    """Run a function. Errors of this package lose their traceback, which Spark would show above the message."""
    keep_imports()
    _use_local_dirs()
    acknowledge_input()
    try:
        kind, table = _described(function)
        with below(parent), span("task", kind=kind, table=table, partition=_partition()):
            yield from function(batches)
    except PaimonError as error:
        raise error.with_traceback(None) from None
    except Exception as error:
        raise InternalError.of(error) from None


def _described(function: BatchFunction) -> tuple[str | None, str | None]:
    """Return the kind of a task's function, such as "read", and the name of its table, for spans."""
    if not isinstance(function, partial):
        return None, None
    table = next((each.name for each in function.args if isinstance(each, TableStore)), None)
    return function.func.__name__.lstrip("_"), table


def _partition() -> int | None:
    context = TaskContext.get()
    return None if context is None else context.partitionId()


def _use_local_dirs() -> None:
    """Put temporary files of tasks into Spark's local folders, which Spark deletes."""
    folders = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    tempfile.tempdir = next((f for f in folders if os.path.isdir(f)), tempfile.tempdir)


def _read(
    store: TableStore,
    required: StructType,
    predicate: Predicate | None,
    derived: DerivedTable,
    first: FirstRows | None,
    partitions: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    split = DATA_SPLIT.decode(_only_text(partitions))
    batches = split_batches(store, required, predicate, derived, split)
    yield from batches if first is None else first.of(batches)


def _read_shown(
    store: TableStore, required: StructType, shown: Shown, partitions: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    split, wanted = DATA_SPLIT.decode(_only_text(partitions)), required.fieldNames()
    rows = read_derived(in_microseconds(store), DerivedTable.ROWS, split, shown.stored(wanted))
    yield from for_spark((shown.of(batch, wanted) for batch in rows), required)


def _reduce(
    store: TableStore,
    result: StructType,
    predicate: Predicate | None,
    derived: DerivedTable,
    reduction: Reduction,
    partitions: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    split, store = DATA_SPLIT.decode(_only_text(partitions)), in_microseconds(store)
    rows = read_derived(store, derived, split, reduction.columns(store.schema), predicate)
    yield from for_spark(reduction.apply(store, rows), result)


def _read_format(
    store: TableStore,
    required: StructType,
    predicate: Predicate | None,
    case_sensitive: bool,
    partitions: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    split, names = FORMAT_SPLIT.decode(_only_text(partitions)), required.fieldNames()
    rows = read_format_split(store, split, names, predicate, case_sensitive=case_sensitive)
    yield from for_spark(rows, required)


def _each_of(
    record: Record[T], function: Callable[[T], pa.RecordBatch], texts: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in texts:
        yield from (function(record.decode(text)) for text in batch.column(0).to_pylist())


def _delete(search: OrphanSearch, files: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in files:
        yield pa.record_batch([[search.delete(batch.column(0).to_pylist())]], names=["deleted"])


def _only_text(partitions: Iterator[pa.RecordBatch]) -> str:
    (partition,) = partitions  # read to the end, or Spark starts another Python for the next task
    return str(bytes(partition.column(0)[0].as_py()).decode())


def _write(
    store: TableStore,
    sequence_start: int,
    base: AssignmentBase | None,
    tracked: bool,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    schema = arrow_schema((*in_microseconds(store).schema.fields, *(TRACKING_FIELDS if tracked else ())))
    writer = open_writer(store, sequence_start=_own_sequence(sequence_start), base=base, tracked=tracked)
    messages = written(writer, (_with_types(b, schema) for b in batches))
    yield _message(WRITE_RESULT.encode(WriteResult(tuple(messages))).encode())


def _write_format(store: TableStore, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    schema = arrow_schema(store.schema.fields)
    staged = written(FormatTableWriter(store), (_with_types(b, schema) for b in batches))
    yield _message(STAGED_FILES.encode(StagedFiles(tuple(staged))).encode())


def _write_changes(
    store: TableStore,
    rules: ChangeRules,
    sequence_start: int,
    base: AssignmentBase | None,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    schema = arrow_schema(in_microseconds(store).schema.fields)
    rows = (_with_known_types(b, schema) for b in batches)
    result = write_changes(store, rules, rows, sequence_start=_own_sequence(sequence_start), base=base)
    yield _message(CHANGES_RESULT.encode(result).encode())


def _own_sequence(start: int) -> int:
    """Return the first sequence number of this task. If tasks have separate ranges, the metadata shows which of two
    files is younger, and a merge need not read the numbers. If a task has more rows than its range has numbers, it also
    uses numbers of the next range; merges must then read the numbers.
    """
    task = TaskContext.get()
    return start + (task.partitionId() if task is not None else 0) * _SEQUENCES_PER_TASK


def _message(content: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([content], pa.binary())], names=["message"])


def _read_sort_input(job: SortJob, schema: StructType, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    wanted = spark_arrow_schema(schema)
    for texts in batches:
        for text in texts.column(0).to_pylist():
            for rows in job.read(text):
                arrays = [column.cast(f.type) for column, f in zip(rows.columns, wanted, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=wanted)


@cache
def keep_imports() -> None:
    """Exclude the modules that this process has imported from garbage collection. PySpark collects after each task,
    which would take longer than most tasks.
    """
    gc.freeze()


def acknowledge_input() -> int:
    """Acknowledge data that the JVM has sent to this worker, and return the number of sockets.

    Spark sends a task in several small writes. This machine's kernel acknowledges the first one only after 40 ms (RFC
    1122, 4.2.3.2), and the JVM's kernel (RFC 896) holds the rows back until then.
    """
    count = 0
    if not hasattr(socket, "TCP_QUICKACK"):
        return count
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                continue
            with socket.socket(fileno=os.dup(int(name))) as connection:
                if connection.family in (socket.AF_INET, socket.AF_INET6):
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
                    count += 1
    return count


def for_spark(batches: Iterable[pa.RecordBatch], required: StructType) -> Iterator[pa.RecordBatch]:
    """Yield the batches with Spark's types."""
    wanted = spark_arrow_schema(required)
    options = [pc.CastOptions(f.type, allow_time_truncate=True) for f in wanted]  # Spark's timestamps have microseconds
    for batch in batches:
        arrays = [with_required_parts(batch.column(i)).cast(options=options[i]) for i in range(len(options))]
        yield pa.RecordBatch.from_arrays(arrays, schema=wanted)


def _with_types(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return Spark's columns, in their order, with the table's types."""
    arrays = [_stored(batch.column(i), f) for i, f in enumerate(schema)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _with_known_types(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return Spark's columns, with the table's types if the table has them, otherwise unchanged."""
    known = {f.name: f for f in schema}
    arrays = [_stored(c, known.get(f.name, f)) for f, c in zip(batch.schema, batch.columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _stored(column: pa.Array, field: pa.Field) -> pa.Array:
    """Return Spark's values in the table's type. Microseconds are rounded down to the type's precision.

    Raises `NullValueError` for a value without a part that is NOT NULL.
    """
    target = field.type
    if pa.types.is_timestamp(target) and target.unit == "ms":
        column = pc.floor_temporal(column, unit="millisecond")
    column = with_offsets(column)
    check_required_parts(field.name, column, target)
    return with_required_parts(column, target).cast(options=pc.CastOptions(target, allow_time_truncate=True))
