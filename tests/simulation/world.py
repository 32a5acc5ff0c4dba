"""Everything that is not the storage and yet differs between two runs: clocks, random numbers, threads.

While a history runs, `time`, `uuid` and `random` are those of its running task: of its host's clock and its step's
seed. Threads are none: what pools are given runs at once.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import time_machine
from greenlet import getcurrent, greenlet

from paimon_core.io import local_copies, transfer
from paimon_core.scan.pruning import by_global_index, files
from tests.simulation.history import Step
from tests.simulation.scheduler import Scheduler
from tests.simulation.storage import EPOCH

_POOLS = (transfer, by_global_index, files)
NO_STEP = Step(0, 0, 0.0, "check", 0)


class _Pool:
    """A pool of threads without threads."""

    def __init__(self, workers: int = 1) -> None:
        pass

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def map(self, function: Callable[..., Any], *values: Iterable[Any]) -> Iterator[Any]:
        return map(function, *values)


class World:
    """The clock and the dice of whoever is running."""

    def __init__(self, scheduler: Scheduler, clock: Any) -> None:
        self.scheduler, self._clock = scheduler, clock
        self._running: dict[greenlet, tuple[Step, float]] = {}
        self._dice: dict[int, random.Random] = {}
        self._counts: dict[int, int] = {}

    def enter(self, step: Step, skew: float) -> None:
        """From here on this task is a step, on a host whose clock is so far ahead."""
        self._running[getcurrent()] = step, skew
        self.resume()

    def resume(self) -> None:
        """Set the clock to that of the task that runs."""
        _, skew = self._running.get(getcurrent(), (None, 0.0))
        self._clock.move_to(EPOCH + self.scheduler.now + skew)

    def unique(self) -> uuid.UUID:
        """The next of the step's ids: the first eight digits are the step's number."""
        step = self._step.number
        count = self._counts[step] = self._counts.get(step, 0) + 1
        mixed = count * 0x9E3779B1 % 2**32  # so that prefixes of ids differ, too
        return uuid.UUID(int=step << 96 | 0x4 << 76 | 0x8 << 60 | mixed << 16 | count % 2**16)

    def dice(self) -> random.Random:
        return self._dice.setdefault(self._step.number, random.Random(self._step.seed))

    @property
    def _step(self) -> Step:
        return self._running[getcurrent()][0] if getcurrent() in self._running else NO_STEP


def step_of(unique: str) -> int:
    """The number of the step that made an id."""
    return int(unique.replace("-", "")[:8], 16)


@contextmanager
def simulated(scheduler: Scheduler) -> Iterator[World]:
    """The world of one history. Not for two threads at once."""
    with ExitStack() as stack:
        clock = stack.enter_context(time_machine.travel(EPOCH, tick=False))
        world = World(scheduler, clock)
        stack.enter_context(patch.object(scheduler, "on_turn", world.resume))
        stack.enter_context(patch.object(uuid, "uuid4", _here(world.unique, uuid.uuid4)))
        stack.enter_context(patch.object(time, "sleep", _here(scheduler.wait, time.sleep)))
        stack.enter_context(patch.object(time, "monotonic", _here(lambda: scheduler.now, time.monotonic)))
        for name in ("random", "uniform", "randrange", "choices"):
            stack.enter_context(patch.object(random, name, _here(_rolled(world, name), getattr(random, name))))
        folder = stack.enter_context(TemporaryDirectory())  # names of files are those of other histories, too
        stack.enter_context(patch.object(local_copies, "_own_folder", lambda: folder))
        for module in _POOLS:
            stack.enter_context(patch.object(module, "ThreadPoolExecutor", _Pool))
        yield world


def _here(ours: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """What only the thread of the history is given: others, such as py4j's, are none of its tasks."""
    own = threading.get_ident()
    return lambda *values, **named: (ours if threading.get_ident() == own else original)(*values, **named)


def _rolled(world: World, name: str) -> Callable[..., Any]:
    return lambda *values, **named: getattr(world.dice(), name)(*values, **named)
