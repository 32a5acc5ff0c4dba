"""Jobs: work that is divided into tasks, and what runs them.

A task and its result are values of a `Record` each. Between processes they travel as JSON, never as code. The function
travels as its name and the values that it is bound to: make it of a module's function by `functools.partial`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
    read in all, None where nobody knows."""

    description: str
    function: Callable[[TaskT], ResultT]
    task: Record[TaskT]
    result: Record[ResultT]
    tasks: tuple[TaskT, ...]
    size: int | None = None

    @property
    def text_function(self) -> TextFunction[TaskT, ResultT]:
        return TextFunction(self.function, self.task, self.result)

    @property
    def texts(self) -> list[str]:
        """The tasks as they travel."""
        return [self.task.encode(t) for t in self.tasks]

    def run_here(self) -> list[ResultT]:
        """Run all tasks in this process."""
        return [self.function(t) for t in self.tasks]


class Executor(Protocol):
    """Where jobs run."""

    def run(self, job: Job[TaskT, ResultT]) -> list[ResultT]:
        """Results in the order of the tasks. Raises what a task raises; others may have written files by then."""


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a task that has none but its effect."""


DONE = Record("done", Done, ())
