"""`SparkExecutor`: runs the jobs of statements and procedures on Spark's executors."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql.types import BinaryType, StructField, StructType

from paimon_core.errors import InvalidOptionError, PaimonError, TableNotFoundError, UnsupportedFeatureError
from paimon_core.format_table.options import SUPPORTED
from paimon_core.io.load import normalize
from paimon_core.jobs import Job, ResultT, TaskT
from paimon_core.maintenance.orphans.job import OrphanSearch
from paimon_core.spec.message import WRITE_RESULT, CommitMessage, written_messages
from paimon_core.store.data.row_tracking import tracking_fields
from paimon_core.tracing import current_parent, span
from paimon_core.write.compaction.sort_job import SORT_KEY, Curve, SortJob
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.procedures import ForeignTable
from paimon_sql.spark.errors.java import first_line, of_worker, unchecked
from paimon_sql.spark.jvm.frames import partition_columns
from paimon_sql.spark.jvm.session_tables import SESSION_CATALOG, session_table, session_tables
from paimon_sql.spark.jvm.workers import map_batches, run_tasks
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.types import from_arrow, from_struct, string_types, to_struct
from paimon_sql.spark.workers import orphan_frames
from paimon_sql.spark.workers.orphan_frames import FoundFrame
from paimon_sql.spark.workers.stage_phase import spark_phase
from paimon_sql.spark.workers.worker import TaskCounts, run_counted, run_text, sort_input_function, write_function

TextTask = Callable[[str], str]
SMALL_WORK = 16 * 2**20  # bytes that the driver reads in less time than a job takes to start
_ROW_NUMBER = "__row"
_ECHO = re.compile(r" Did you mean .*?\]\.|; line \d.*|\n.*", re.DOTALL)  # the plan in an error
# The environment of the workers that serve scans and writes. Spark starts another process for workers with another
# environment, which takes time.
_WORKERS_OF_SQL = {"SPARK_SIMPLIFIED_TRACEBACK": "1"}


class SparkExecutor:
    """Runs jobs, with one Spark task for each task of a job. The driver itself runs jobs that read at most `small`
    bytes.
    """

    def __init__(self, session: SessionBridge, small: int = -1) -> None:
        self.session, self.small = session, small

    def run(self, job: Job[TaskT, ResultT]) -> list[ResultT]:
        """Run a job and return the results in the order of its tasks. Spark retries a failed task; if it fails again,
        the call fails.
        """
        if job.size is not None and job.size <= self.small:
            return job.run_here()
        texts = job.texts
        if not texts:
            return []
        context = self.session.jvm.context
        context.setJobDescription(job.description)
        try:
            with span("job", description=job.description, tasks=len(texts)), self._counted(job) as counted:
                run = counted(partial(run_text, job.text_function, parent=current_parent()))
                return list(map(job.result.decode, run_tasks(self.session.jvm, run, texts, _WORKERS_OF_SQL)))
        except CapturedException as error:
            raise of_worker(error) from error
        except Py4JJavaError as error:  # the job was cancelled, or lost its executors; before 4.2 a worker's error, too
            said = of_worker(error)
            raise (said if isinstance(said, PaimonError) else unchecked(self.session.jvm, error)) from error
        finally:
            context.setJobDescription(None)

    @contextmanager
    def _counted(self, job: Job[TaskT, ResultT]) -> Iterator[Callable[[TextTask], TextTask]]:
        """Show the job during the block. Yield a function that changes the function of its tasks: each task that ends
        is counted.
        """
        counts, key, last = self.session.jvm.task_counts(TaskCounts()), str(uuid.uuid4()), list[int]()
        with job.shown(lambda: last[0] if last else counts.value.get(key, 0)):
            try:
                yield lambda run: partial(run_counted, run, key, counts, job.text_measure)
            finally:
                last.append(counts.value.pop(key, 0))

    def sort(self, job: SortJob, description: str) -> list[CommitMessage]:
        """Sort the rows of a job by ranges. Each task writes one range; the caller commits."""
        session = self.session.python_session
        columns = string_types(to_struct(job.fields))
        curved = StructType([*columns.fields, StructField(SORT_KEY, BinaryType())])
        schema = columns if job.curve is Curve.ORDER else curved
        by = [quoted_name(c) for c in job.sort_columns]
        self.session.bound_batches_by_rows()
        try:
            with spark_phase(self.session.jvm, description):
                texts = session.createDataFrame([(t,) for t in job.texts], "text string").repartition(len(job.parts))
                rows = map_batches(texts, sort_input_function(job, schema), schema)
                ordered = rows.repartitionByRange(job.files, *by).sortWithinPartitions(*by)
                write = write_function(job.store, 0, tracked=bool(tracking_fields(job.store)))
                written = map_batches(ordered.select(*map(quoted_name, columns.names)), write, "message binary")
                return written_messages(WRITE_RESULT.decode(bytes(row[0])) for row in written.collect())
        except CapturedException as error:
            raise of_worker(error) from error
        finally:
            self.session.bound_batches_by_bytes()

    def find_orphans(self, search: OrphanSearch, parallelism: int | None, description: str) -> FoundFrame:
        """Find orphans, see `orphan_frames.find_orphans`."""
        try:
            with spark_phase(self.session.jvm, description):
                return orphan_frames.find_orphans(self.session, search, parallelism)
        except CapturedException as error:
            raise of_worker(error) from error

    # -- tables to migrate: of the session's own catalog, or folders of files ------------------------------------------
    def foreign_table(self, database: str, name: str) -> ForeignTable | None:
        """Return a table of files of Spark's session catalog; None if it does not exist.

        Raises `UnsupportedFeatureError` for other kinds of tables.
        """
        found = session_table(self.session.jvm, self.session.session, database, name)
        if found is None:
            return None
        provider, serde = (found.provider or "none").lower(), found.serde.lower()
        file_format = next((f for f in SUPPORTED if f == provider or (provider == "hive" and f in serde)), None)
        if file_format is None or found.kind == "VIEW":
            raise UnsupportedFeatureError(
                f"Table {database}.{name} cannot be migrated: it is {provider} ({found.kind}); tables of "
                f"{', '.join(SUPPORTED)} files can."
            )
        return ForeignTable(
            format=file_format,
            location=found.location,
            fields=from_struct(found.schema),
            partition_keys=found.partition_columns,
            options={k: v for k, v in found.options.items() if k not in ("path", "serialization.format")},
        )

    def foreign_tables(self, database: str) -> list[str] | None:
        """Return the names of the tables in a database of Spark's session catalog; None for a missing database."""
        return session_tables(self.session.session, database)

    def drop_foreign_table(self, database: str, name: str) -> None:
        """Drop a table of Spark's session catalog. If it is external, its files remain."""
        names = ".".join(quoted_name(n) for n in (SESSION_CATALOG, database, name))
        self.session.session.sql(f"DROP TABLE {names}")

    def folder_of_files(self, file_format: str, location: str, options: Mapping[str, str]) -> ForeignTable:
        """Return a folder as Spark reads it: columns from its files, and partition columns from the names of its
        subfolders.

        Raises `TableNotFoundError` if the folder has no such files.
        """
        spark = self.session.python_session
        try:
            found = spark.read.format(file_format).options(**dict(options)).load(normalize(location))
        except AnalysisException as e:
            raise TableNotFoundError(
                f"{location} has no {file_format} files with known columns: {first_line(e)}"
            ) from e
        return ForeignTable(
            format=file_format,
            location=location,
            fields=from_struct(found.schema),
            partition_keys=partition_columns(found),
            options=dict(options),
        )

    def select(self, rows: pa.Table, condition: str) -> list[int]:
        """Return the numbers of the rows that satisfy an SQL condition, with names that Spark resolves in their
        columns.

        Raises `InvalidOptionError` for a condition that it cannot resolve.
        """
        numbered = rows.append_column(_ROW_NUMBER, pa.array(range(rows.num_rows), pa.int64()))
        session = self.session.python_session
        try:
            matching = (
                session.createDataFrame(numbered, from_arrow(numbered.schema)).where(condition).select(_ROW_NUMBER)
            )
            found = matching.collect() if rows.num_rows else []
        except AnalysisException as error:
            known, cause = ", ".join(rows.column_names), _ECHO.sub("", str(error)).strip()
            raise InvalidOptionError(
                f"where cannot be {condition!r}: only conditions on partition columns are supported ({known}). {cause}"
            ) from error
        return sorted(row[0] for row in found)
