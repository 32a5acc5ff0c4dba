"""The progress of the long work of this process: phases, each with what is done of how much.

Code that may take long opens a phase around its loop, such as "delete files of db.t" with the number of files. A
terminal and a notebook show the newest phase. An announcement shows the phases of its own work to other processes
(`showing`). The log gets a line every ten seconds, and one at the end.

A phase inside of another one does not count: a task that copies files is a part of its job.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import Protocol

from paimon_core.dataclass import dataclass
from paimon_core.escapes import visible

_LOG = logging.getLogger(__name__)
_EVERY = 10.0  # seconds between lines of the log
_LONG = 1.0  # seconds of a phase that the log mentions
_SOON = 0.1  # seconds of a phase before which its rate means nothing
_WIDTH = 100  # characters of a line


@dataclass(frozen=True, slots=True)
class PhaseProgress:
    """The state of a phase: `done` of its `count` units, such as files, are complete after `seconds`. A count of 0
    means unknown.
    """

    description: str
    done: int
    count: int
    unit: str
    seconds: float

    @property
    def rate(self) -> float | None:
        """The units that are done in a second, None before the first one."""
        return self.done / self.seconds if self.done and self.seconds >= _SOON else None

    @property
    def seconds_left(self) -> int | None:
        """The time until the phase ends, an estimate from what is done."""
        return None if self.rate is None or not self.count else round(max(0, self.count - self.done) / self.rate)

    def line(self) -> str:
        """Return the state as a line for people."""
        said = f"{self.done:,} of {self.count:,} {self.unit}" if self.count else f"{self.done:,} {self.unit}"
        if self.rate is not None:
            said += f", {rate_text(self.rate)}"
        said += f", {duration(self.seconds)}"
        if self.seconds_left:
            said += f", about {duration(self.seconds_left)} left"
        room = _WIDTH - len(said) - 2
        name = visible(self.description, kept="")
        return f"{name if len(name) <= room else name[: room - 1] + '…'}: {said}"


class ProgressListener(Protocol):
    """Shows phases."""

    def follow(self, phase: Phase) -> None:
        """Show a phase from now on, until the next one."""


@dataclass(eq=False, slots=True)
class Phase:
    """A part of some work. `known` returns how many units are done, and may be called from any thread. Without it,
    `add` counts them.
    """

    description: str
    unit: str
    count: int = 0
    known: Callable[[], int] | None = None
    clock: Callable[[], float] = time.monotonic
    began: float = field(init=False)
    logged: float = field(init=False)  # when the log had the last line
    _added: int = field(default=0, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self.began = self.logged = self.clock()

    def add(self, number: int = 1) -> None:
        """Count units that are done."""
        with self._lock:
            self._added += number

    @property
    def progress(self) -> PhaseProgress:
        """The state now."""
        done = self._added if self.known is None else self.known()
        done = min(done, self.count) if self.count else done
        return PhaseProgress(self.description, done, self.count, self.unit, self.clock() - self.began)


class Phases:
    """The open phases of a process. Safe for threads."""

    def __init__(self, every: float = _EVERY, long: float = _LONG) -> None:
        self._every, self._long = every, long
        self._open: list[Phase] = []
        self._lock = threading.Lock()
        self._logger: threading.Thread | None = None

    @property
    def newest(self) -> PhaseProgress | None:
        """The state of the phase that was opened last, None if none is open."""
        with self._lock:
            found = self._open[-1] if self._open else None
        return None if found is None else found.progress

    def open(self, phase: Phase) -> None:
        """Show a phase until it is closed."""
        with self._lock:
            self._open.append(phase)
            if self._logger is None:
                self._logger = threading.Thread(target=self._log_lasting, name="progress log", daemon=True)
                self._logger.start()

    def close(self, phase: Phase) -> None:
        """Show a phase no longer. The second call for a phase has no effect."""
        with self._lock:
            if phase not in self._open:
                return
            self._open.remove(phase)
        found = phase.progress
        _log(found, logging.INFO if found.seconds >= self._long else logging.DEBUG)

    def _log_lasting(self) -> None:
        """Log the phases that last, until none is open."""
        while True:
            time.sleep(self._every)
            with self._lock:
                lasting = [p for p in self._open if p.clock() - p.logged >= self._every]
                if not self._open:
                    self._logger = None
                    return
            for phase in lasting:
                phase.logged = phase.clock()
                _log(phase.progress, logging.INFO)


PHASES = Phases()
_inner: ContextVar[Phase | None] = ContextVar("paimon_phase", default=None)
_listeners: ContextVar[tuple[ProgressListener, ...]] = ContextVar("paimon_progress_listeners", default=())


def phase(
    description: str, unit: str, count: int = 0, known: Callable[[], int] | None = None
) -> AbstractContextManager[Phase]:
    """Show a phase during the block. Inside of another phase it is not shown."""
    return opened(Phase(description, unit, count, known))


@contextmanager
def opened(made: Phase) -> Iterator[Phase]:
    """Show a phase during the block, see `phase`."""
    if _inner.get() is not None:
        yield made
        return
    within = _inner.set(made)
    try:
        PHASES.open(made)
        for listener in _listeners.get():
            listener.follow(made)
        yield made
    finally:
        PHASES.close(made)
        _inner.reset(within)


def advance(unit: str, number: int = 1) -> None:
    """Count units of the phase around this call, if the phase counts in the same unit."""
    around = _inner.get()
    if around is not None and around.unit == unit:
        around.add(number)


@contextmanager
def showing(listener: ProgressListener) -> Iterator[None]:
    """Let a listener show the phases of the block."""
    within = _listeners.set((listener,))
    try:
        yield
    finally:
        _listeners.reset(within)


def rate_text(rate: float) -> str:
    """Return "0.25 a second" or "1,200 a second"."""
    return f"{rate:,.0f} a second" if rate >= 10 else f"{rate:.2g} a second"


def duration(seconds: float) -> str:
    """Return "5 s", "2 min 5 s" or "3 h 2 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _log(found: PhaseProgress, level: int) -> None:
    fields = {"job": found.description, "unit": found.unit, "count": found.count, "done": found.done}
    times = {"seconds": round(found.seconds, 3), "seconds_left": found.seconds_left}
    _LOG.log(level, "%s", found.line(), extra={**fields, **times})
