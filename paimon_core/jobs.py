"""Jobs: work that is divided into tasks, and the interface of their runner. A task and its result are values of a
`Record`. They are sent between processes as JSON, never as code. The function is sent as its name and its bound values:
create it from a module's function with `functools.partial`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

from paimon_core.dataclass import dataclass
from paimon_core.progress import Phase, phase
from paimon_core.spec.message import BucketState
from paimon_core.spec.records import Record

TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class TextFunction(Generic[TaskT, ResultT]):
    """A job's function for transport between processes.

    It receives the text of a task and returns the text of its result."""

    function: Callable[[TaskT], ResultT]
    task: Record[TaskT]
    result: Record[ResultT]

    def __call__(self, text: str) -> str:
        return self.result.encode(self.function(self.task.decode(text)))


@dataclass(frozen=True, slots=True)
class Measure(Generic[TaskT]):
    """The unit in which people see the work of tasks, such as files, and a function for the units of a task."""

    unit: str
    of: Callable[[TaskT], int]


@dataclass(frozen=True, slots=True)
class TextMeasure(Generic[TaskT]):
    """A measure for transport between processes: it receives the text of a task."""

    of: Callable[[TaskT], int]
    task: Record[TaskT]

    def __call__(self, text: str) -> int:
        return self.of(self.task.decode(text))


class OfBucket(Protocol):
    """A task on the files of a bucket."""

    @property
    def bucket(self) -> BucketState: ...


def _one(_: object) -> int:
    return 1


def _files(bucket: BucketState) -> int:
    return len(bucket.files)


def _files_of_task(task: OfBucket) -> int:
    return len(task.bucket.files)


TASKS: Measure[Any] = Measure("tasks", _one)
FILES_OF_BUCKET = Measure("files", _files)
FILES_OF_TASK: Measure[Any] = Measure("files", _files_of_task)


@dataclass(frozen=True, slots=True)
class Job(Generic[TaskT, ResultT]):
    """A job: `function` applied to each task. Spark's UI shows `description`.

    `size` is the number of bytes that all tasks read, None if unknown. If a task fails, `undo` is called with the
    result of each finished task, and deletes what the task wrote. Its progress is shown by `measure`."""

    description: str
    function: Callable[[TaskT], ResultT]
    task: Record[TaskT]
    result: Record[ResultT]
    tasks: tuple[TaskT, ...]
    size: int | None = None
    undo: Callable[[ResultT], object] | None = None
    measure: Measure[TaskT] = TASKS

    @property
    def text_function(self) -> TextFunction[TaskT, ResultT]:
        return TextFunction(self.function, self.task, self.result)

    @property
    def texts(self) -> list[str]:
        """The tasks as texts for transport."""
        return [self.task.encode(t) for t in self.tasks]

    def undone_by(self, undo: Callable[[ResultT], object]) -> Job[TaskT, ResultT]:
        """Return the job with `undo`. If a task fails, `undo` is called with the result of each task that has ended."""
        return replace(self, undo=undo)

    @property
    def text_measure(self) -> TextMeasure[TaskT]:
        return TextMeasure(self.measure.of, self.task)

    def shown(self, known: Callable[[], int] | None = None) -> AbstractContextManager[Phase]:
        """Show the job's progress during the block. `known` returns how much is done; without it, the finished tasks
        are counted.
        """
        return phase(self.description, self.measure.unit, sum(map(self.measure.of, self.tasks)), known)

    def run_here(self) -> list[ResultT]:
        """Run all tasks in this process."""

        def results(shown: Phase) -> Iterator[ResultT]:
            for task in self.tasks:
                yield self.function(task)
                shown.add(self.measure.of(task))

        with self.shown() as shown:
            return self.gathered(results(shown))

    def gathered(self, results: Iterable[ResultT]) -> list[ResultT]:
        """Collect the results of tasks, which run while this function iterates. If a task fails, undo the others."""
        ended, undo = list[ResultT](), self.undo
        try:
            ended.extend(results)  # keeps the results before the failure
        except BaseException:
            if undo is not None:
                for result in ended:
                    undo(result)
            raise
        return ended


class Executor(Protocol):
    """A runner of jobs."""

    def run(self, job: Job[TaskT, ResultT]) -> list[ResultT]:
        """Return the results in the order of the tasks.

        Raises the error of a task; the job then undoes the tasks with known results."""


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a task that only has an effect."""


DONE = Record("done", Done, ())
