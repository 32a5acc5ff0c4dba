"""Jobs: work that is divided into tasks, and what runs them.

A task and its result are values of a `Record` each. Between processes they travel as JSON, never as code. The function
travels as its name and the values that it is bound to: make it of a module's function by `functools.partial`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from paimon_core.spec.records import Record

TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class TextFunction(Generic[TaskT, ResultT]):
    """A job's function as it travels: from the text of a task to that of its result."""

    function: Callable[[TaskT], ResultT]
    task: Record[TaskT]
    result: Record[ResultT]

    def __call__(self, text: str) -> str:
        return self.result.encode(self.function(self.task.decode(text)))


@dataclass(frozen=True, slots=True)
class Job(Generic[TaskT, ResultT]):
    """`function` of each of some tasks. `description` is what Spark's UI shows of it, `size` how many bytes the tasks
    read in all, None where nobody knows. `undo` deletes what a task wrote, by its result, where another fails."""

    description: str
    function: Callable[[TaskT], ResultT]
    task: Record[TaskT]
    result: Record[ResultT]
    tasks: tuple[TaskT, ...]
    size: int | None = None
    undo: Callable[[ResultT], object] | None = None

    @property
    def text_function(self) -> TextFunction[TaskT, ResultT]:
        return TextFunction(self.function, self.task, self.result)

    @property
    def texts(self) -> list[str]:
        """The tasks as they travel."""
        return [self.task.encode(t) for t in self.tasks]

    def undone_by(self, undo: Callable[[ResultT], object]) -> Job[TaskT, ResultT]:
        """The job where `undo` is called with the result of each task that had ended when another failed."""
        return replace(self, undo=undo)

    def run_here(self) -> list[ResultT]:
        """Run all tasks in this process."""
        return self.gathered(map(self.function, self.tasks))

    def gathered(self, results: Iterable[ResultT]) -> list[ResultT]:
        """The results of tasks that run as they are asked for; where one fails, the others are undone."""
        ended, undo = list[ResultT](), self.undo
        try:
            ended.extend(results)  # keeps those before the one that raises
        except BaseException:
            if undo is not None:
                for result in ended:
                    undo(result)
            raise
        return ended


class Executor(Protocol):
    """Where jobs run."""

    def run(self, job: Job[TaskT, ResultT]) -> list[ResultT]:
        """Results in the order of the tasks. Raises what a task raises; the job undoes others whose results came."""


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a task that has none but its effect."""


DONE = Record("done", Done, ())
