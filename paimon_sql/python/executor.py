"""Run jobs of tables and procedures on threads of this process. On a Spark cluster, executors run the same jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TYPE_CHECKING, NoReturn, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.table_fields import table_fields
from paimon_core.dataclass import dataclass
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.jobs import Job, ResultT, TaskT
from paimon_core.maintenance.orphans.job import FOUND, NEEDED, OrphanSearch
from paimon_core.spec.message import CommitMessage
from paimon_core.tracing import span
from paimon_core.write.compaction.sort_job import SortJob
from paimon_sql.python.progress import JobProgress, LoggedProgress, TaskCount
from paimon_sql.python.where.condition import Condition

if TYPE_CHECKING:
    from paimon_sql.procedures import ForeignTable

S = TypeVar("S")
T = TypeVar("T")


class ThreadExecutor:
    """Runs the tasks of a job on all cores, and reports its `progress`. What needs Spark is refused by name. See
    `ProcedureExecutor`.
    """

    def __init__(self, progress: JobProgress | None = None) -> None:
        self._progress = progress or LoggedProgress()

    def run(self, job: Job[TaskT, ResultT]) -> list[ResultT]:
        """Return the results in the order of the tasks. If a task fails, undo the others and raise its error."""
        described = span("job", description=job.description, tasks=len(job.tasks))
        count = TaskCount()

        with described, self._progress.job(job.description, len(job.tasks)) as ended:

            def note() -> None:
                count.add()
                ended()

            job.follow(lambda: count.value)
            return _on_threads(job.function, job.tasks, undo=job.undo, ended=note)

    def find_orphans(self, search: OrphanSearch, parallelism: int | None, description: str) -> FoundHere:
        """Return the files that a search finds and that no version needs."""
        sources, folders = list(search.sources()), list(search.folders())
        with self._progress.job(description, len(sources) + len(folders)) as ended:
            named = _on_threads(search.needed_by, sources, parallelism, ended=ended)
            listed = _on_threads(search.found_in, folders, parallelism, ended=ended)
        weights = pa.Table.from_batches(named, NEEDED).group_by(["chain", "name"]).aggregate([("weight", "sum")])
        kept = weights.filter(pc.greater(weights["weight_sum"], 0))["name"].combine_chunks()
        found = pa.Table.from_batches(listed, FOUND)
        names = pc.replace_substring_regex(found["path"], ".*/", "")
        return FoundHere(search, found.filter(pc.invert(pc.is_in(names, value_set=kept))))

    def select(self, rows: pa.Table, condition: str) -> list[int]:
        """Return the numbers of the rows that satisfy an SQL condition on their columns. Raises the errors of
        `bind`.
        """
        numbered = rows.append_column(_ROW_NUMBER, pa.array(range(rows.num_rows), pa.int64()))
        checked = Condition.of(condition, table_fields(rows.schema), None)
        batches = [checked.filter(batch) for batch in numbered.to_batches()]
        return [number for batch in batches for number in batch.column(_ROW_NUMBER).to_pylist()]

    def foreign_table(self, database: str, name: str) -> ForeignTable | None:
        _refuse("Migrating a table of Spark's own catalog")

    def foreign_tables(self, database: str) -> list[str] | None:
        _refuse("Migrating a database of Spark's own catalog")

    def drop_foreign_table(self, database: str, name: str) -> None:
        _refuse("Dropping a table of Spark's own catalog")

    def folder_of_files(self, file_format: str, location: str, options: Mapping[str, str]) -> ForeignTable:
        _refuse("Reading the columns of other files")

    def sort(self, job: SortJob, description: str) -> list[CommitMessage]:
        _refuse("Sorting the rows of a table")


_ROW_NUMBER = "__row"


@dataclass(frozen=True, slots=True)
class FoundHere:
    """Files that were found and that no version needs, with their bytes. See `FoundFiles`."""

    search: OrphanSearch
    files: pa.Table

    @property
    def count(self) -> int:
        return int(self.files.num_rows)

    @property
    def size(self) -> int:
        return int(pc.sum(self.files["size"]).as_py() or 0)

    def delete(self) -> None:
        self.search.delete(self.files["path"].to_pylist())


def _on_threads(
    function: Callable[[S], T],
    tasks: Sequence[S],
    width: int | None = None,
    undo: Callable[[T], object] | None = None,
    ended: Callable[[], None] = lambda: None,
) -> list[T]:
    """Call a function for each task, and `ended` after each call. If a call fails, or if the user interrupts, wait for
    the calls under way and undo them all.
    """
    if not tasks:
        return []

    def call(task: S) -> T:
        result = function(task)
        ended()
        return result

    interrupted: BaseException | None = None
    with ThreadPoolExecutor(min(width or pa.cpu_count(), len(tasks)), thread_name_prefix="job") as pool:
        futures: list[Future[T]] = [pool.submit(copy_context().run, call, task) for task in tasks]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        except BaseException as error:  # Ctrl-C
            interrupted = error
        for future in futures:
            future.cancel()
    begun = [f for f in futures if not f.cancelled()]
    failure = interrupted or next((e for f in begun if (e := f.exception()) is not None), None)
    if failure is None:
        return [f.result() for f in futures]
    for future in begun:
        if undo is not None and future.exception() is None:
            undo(future.result())
    raise failure


def _refuse(what: str) -> NoReturn:
    raise UnsupportedFeatureError(f"{what} needs Spark: call the procedure there, by CALL sys.NAME(…).")
