"""Jobs: work that is divided into tasks, and the interface of their runner. A task and its result are values of a
`Record`. They are sent between processes as JSON, never as code. The function is sent as its name and its bound values:
create it from a module's function with `functools.partial`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

from paimon_core.dataclass import dataclass
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


class JobFollower(Protocol):
    """Shows how far jobs are."""

    def follow(self, description: str, tasks: int, done: Callable[[], int]) -> None:
        """Follow a job that begins now. `done` returns the number of its tasks that have ended, from any thread."""


@dataclass(frozen=True, slots=True)
class Job(Generic[TaskT, ResultT]):
    """A job: `function` applied to each task. Spark's UI shows `description`.

    `size` is the number of bytes that all tasks read, None if unknown. If a task fails, `undo` is called with the
    result of each finished task, and deletes what the task wrote. The `follower` sees how far the job is."""

    description: str
    function: Callable[[TaskT], ResultT]
    task: Record[TaskT]
    result: Record[ResultT]
    tasks: tuple[TaskT, ...]
    size: int | None = None
    undo: Callable[[ResultT], object] | None = None
    follower: JobFollower | None = None

    @property
    def text_function(self) -> TextFunction[TaskT, ResultT]:
        return TextFunction(self.function, self.task, self.result)

    @property
    def texts(self) -> list[str]:
        """The tasks as texts for transport."""
        return [self.task.encode(t) for t in self.tasks]

    def undone_by(self, undo: Callable[[ResultT], object]) -> Job[TaskT, ResultT]:
        """Return the job with `undo`. If a task fails, it is called with the result of each task that has ended."""
        return replace(self, undo=undo)

    def followed_by(self, follower: JobFollower) -> Job[TaskT, ResultT]:
        """Return the job with a follower."""
        return replace(self, follower=follower)

    def follow(self, done: Callable[[], int]) -> None:
        """Let the follower see the job that begins now, if there is one."""
        if self.follower is not None:
            self.follower.follow(self.description, len(self.tasks), done)

    def run_here(self) -> list[ResultT]:
        """Run all tasks in this process."""
        ended = list[bool]()

        def results() -> Iterator[ResultT]:
            for result in map(self.function, self.tasks):
                ended.append(True)
                yield result

        self.follow(lambda: len(ended))
        return self.gathered(results())

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
