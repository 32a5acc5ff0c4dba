"""The progress of a statement: the phase of this package's work, or the stage that Spark runs, with the part that is
done, the rate, and the time left.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from typing import Any, TextIO

from paimon_core.dataclass import dataclass
from paimon_core.escapes import visible
from paimon_core.jobs import TASKS
from paimon_core.progress import PHASES, PhaseProgress, Phases, duration, rate_text

_FIRST, _EVERY = 1.0, 0.5  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class StageState:
    """The active stages of the newest job: the number of the first active stage among all `stages`, and the tasks of
    all active stages.

    `seconds` is the time since the first of them was seen, `total` the time since the statement began.
    """

    statement: str
    stage: int
    stages: int
    done: int
    tasks: int
    seconds: float
    total: float

    def line(self) -> str:
        """Return the state as a line for people. Rate and time left are estimates from the tasks that have ended."""
        said = f"{self.statement}: stage {self.stage} of {self.stages}, {self.done:,} of {self.tasks:,} tasks"
        rate = self.done / self.seconds if self.seconds > 0 else 0
        if rate:
            said += f", {rate_text(rate)}"
        said += f", {duration(self.total)}"
        if rate and self.done < self.tasks:
            said += f", about {duration((self.tasks - self.done) / rate)} left in this stage"
        return said


@dataclass(frozen=True, slots=True)
class PhaseState:
    """A phase of a statement's work that is measured in files, rows or the like."""

    statement: str
    phase: PhaseProgress

    @property
    def done(self) -> int:
        return self.phase.done

    @property
    def tasks(self) -> int:
        return self.phase.count

    def line(self) -> str:
        """Return the state as a line for people."""
        return f"{self.statement}: {self.phase.line()}"


StatementState = StageState | PhaseState


@dataclass(slots=True)
class StageWatch:
    """Reads the progress of a statement from the open phases, and from Spark's status tracker.

    A phase counts files or rows, which are more exact than Spark's tasks, and work in the driver has no tasks.
    """

    tracker: Any
    statement: str
    clock: Callable[[], float] = time.monotonic
    phases: Phases = PHASES
    _began: float = field(init=False)
    _first_seen: dict[int, float] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()

    def state(self) -> StatementState | None:
        """Return the state now, None if there is no phase and no active stage."""
        phase = self.phases.newest
        if phase is not None and phase.unit != TASKS.unit:
            return PhaseState(self.statement, phase)
        return self._stage()

    def _stage(self) -> StageState | None:
        active = sorted(self.tracker.getActiveStageIds())
        found = [info for number in active if (info := self.tracker.getStageInfo(number)) is not None]
        if not found:
            return None
        now = self.clock()
        began = min(self._first_seen.setdefault(number, now) for number in active)
        stage, stages = self._place(active[0])
        return StageState(
            statement=self.statement,
            stage=stage,
            stages=stages,
            done=sum(s.numCompletedTasks for s in found),
            tasks=sum(s.numTasks for s in found),
            seconds=now - began,
            total=now - self._began,
        )

    def _place(self, stage: int) -> tuple[int, int]:
        """Return the number of a stage in its job, and the number of the job's stages."""
        for job in sorted(self.tracker.getActiveJobsIds(), reverse=True):
            info = self.tracker.getJobInfo(job)
            stages = [] if info is None else sorted(info.stageIds)
            if stage in stages:
                return stages.index(stage) + 1, len(stages)
        return 1, 1


@contextmanager
def watching(watch: StageWatch, show: Callable[[StatementState | None], bool]) -> Iterator[None]:
    """Show the progress during the block, from its first second on. At the end, `show` gets None if it has shown a
    state. `show` returns whether it can still show states.
    """
    ended, shown = threading.Event(), threading.Event()

    def follow() -> None:
        wait = _FIRST
        while not ended.wait(wait):
            wait = _EVERY
            with suppress(Exception):  # the context was stopped, or no longer knows a stage
                state = watch.state()
                if state is not None and not ended.is_set():
                    shown.set()
                    if not show(state):
                        return

    thread = threading.Thread(target=follow, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(5)
        if shown.is_set():
            show(None)


def drawn_on(terminal: TextIO, width: int) -> Callable[[StatementState | None], bool]:
    """Return a function that draws a state as a line that changes, and removes the line for None."""

    def show(state: StatementState | None) -> bool:
        line = "" if state is None else visible(state.line(), kept="")[: max(width - 1, 0)]
        terminal.write(f"\r{line}\x1b[K")
        terminal.flush()
        return True

    return show


@contextmanager
def drawn(terminal: TextIO, first: float = _FIRST, phases: Phases = PHASES) -> Iterator[None]:
    """Draw the newest phase on a terminal during the block, from its first second on, and remove the line at the
    end.
    """
    ended = threading.Event()

    def draw() -> None:
        wait, line = first, ""
        while not ended.wait(wait):
            now = phases.newest
            before, line = line, "" if now is None else now.line()
            if line or before:
                terminal.write(f"\r{line}\x1b[K")
                terminal.flush()
            wait = _EVERY

    thread = threading.Thread(target=draw, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        terminal.write("\r\x1b[K")
        terminal.flush()
