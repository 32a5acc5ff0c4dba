"""The progress of jobs that run without Spark: on a terminal as a line that changes, and in the log when a job ends."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TextIO

from paimon_core.dataclass import dataclass
from paimon_core.escapes import visible

_LOG = logging.getLogger(__name__)
_FIRST, _EVERY = 1.0, 0.5  # seconds
_WIDTH = 100  # characters of a line


@dataclass(frozen=True, slots=True)
class JobState:
    """The state of a job: `done` of its `count` tasks have ended, after some seconds."""

    description: str
    done: int
    count: int
    seconds: float

    def line(self) -> str:
        """Return the state as a line for people. The time left is an estimate from the tasks that have ended."""
        said = f"{self.done:,} of {self.count:,} tasks, {duration(self.seconds)}"
        if 0 < self.done < self.count:
            said += f", about {duration(self.seconds / self.done * (self.count - self.done))} left"
        room = _WIDTH - len(said) - 2
        name = visible(self.description, kept="")
        return f"{name if len(name) <= room else name[: room - 1] + '…'}: {said}"


class JobProgress(Protocol):
    """Follows jobs."""

    def job(self, description: str, count: int) -> AbstractContextManager[Callable[[], None]]:
        """Follow a job of `count` tasks during the block. It yields a function to call for each task that has ended."""


class LoggedProgress:
    """Writes a line into the log for each job that has ended."""

    @contextmanager
    def job(self, description: str, count: int) -> Iterator[Callable[[], None]]:
        began, done = time.monotonic(), TaskCount()
        try:
            yield done.add
        finally:
            state = JobState(description, done.value, count, time.monotonic() - began)
            fields = {"job": description, "tasks": count, "done": state.done, "seconds": round(state.seconds, 3)}
            _LOG.info("%s", state.line(), extra=fields)


class TerminalProgress:
    """Draws a line on a terminal while a job runs, from its first second on, and removes it at the end."""

    def __init__(self, terminal: TextIO, first: float = _FIRST) -> None:
        self._terminal, self._first = terminal, first

    @contextmanager
    def job(self, description: str, count: int) -> Iterator[Callable[[], None]]:
        began, done, ended = time.monotonic(), TaskCount(), threading.Event()

        def draw() -> None:
            wait = self._first
            while not ended.wait(wait):
                line = JobState(description, done.value, count, time.monotonic() - began).line()
                self._terminal.write(f"\r{line}\x1b[K")
                self._terminal.flush()
                wait = _EVERY

        thread = threading.Thread(target=draw, name="progress", daemon=True)
        thread.start()
        try:
            yield done.add
        finally:
            ended.set()
            thread.join()
            self._terminal.write("\r\x1b[K")
            self._terminal.flush()


class TaskCount:
    """A number that threads raise."""

    def __init__(self) -> None:
        self.value, self._lock = 0, threading.Lock()

    def add(self) -> None:
        with self._lock:
            self.value += 1


def duration(seconds: float) -> str:
    """Return "5 s", "2 min 5 s" or "3 h 2 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
