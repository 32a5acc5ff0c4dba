"""Run jobs of tables on threads of this process. On a Spark cluster, executors run the same jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

import pyarrow as pa

from paimon_core.jobs import Job, ResultT, TaskT
from paimon_core.tracing import span

S = TypeVar("S")
T = TypeVar("T")


class ThreadExecutor:
    """Runs the tasks of a job on all cores."""

    def run(self, job: Job[TaskT, ResultT]) -> list[ResultT]:
        """Return the results in the order of the tasks. If a task fails, undo the others and raise its error."""
        described = span("job", description=job.description, tasks=len(job.tasks))
        with described, job.shown() as shown:
            ended = lambda task: shown.add(job.measure.of(task))  # noqa: E731
            return on_threads(job.function, job.tasks, undo=job.undo, ended=ended)


def on_threads(
    function: Callable[[S], T],
    tasks: Sequence[S],
    width: int | None = None,
    undo: Callable[[T], object] | None = None,
    ended: Callable[[S], None] = lambda _: None,
) -> list[T]:
    """Call a function for each task, and `ended` with the task after each call. If a call fails, or if the user
    interrupts, wait for the calls under way and undo them all.
    """
    if not tasks:
        return []

    def call(task: S) -> T:
        result = function(task)
        ended(task)
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
