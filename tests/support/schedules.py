"""Operations at the same time: each has a thread, and only one thread runs at a time. Threads are switched before
storage calls.

A random choice gives each thread a priority, and chooses a few calls before which the running thread gets the lowest
priority. A few switches at the right moments find most mistakes, and many switches at random find few. A thread that
sleeps gets the lowest priority, too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from random import Random

from tests.support.interleaving import InterleavedIO, MemoryIO

_current = threading.local()


class Schedule:
    """Runs operations. Each gets the storage that it must use."""

    def __init__(self, io: MemoryIO, dice: Random, switches: int, calls: int) -> None:
        self._io, self._dice = io, dice
        self._changes = {dice.randrange(calls) for _ in range(switches)}
        self._count = 0
        self._order: list[int] = []  # threads that are not done, by priority
        self._gates: list[threading.Semaphore] = []

    def run(self, acts: Sequence[Callable[[InterleavedIO], None]]) -> None:
        """Run all operations. Raises an error that one of them has raised."""
        errors: list[BaseException] = []
        self._order = self._dice.sample(range(len(acts)), len(acts))
        self._gates = [threading.Semaphore(0) for _ in acts]
        threads = [
            threading.Thread(target=self._work, args=(number, act, errors), daemon=True)
            for number, act in enumerate(acts)
        ]
        for thread in threads:
            thread.start()
        self._gates[self._order[0]].release()
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive(), "an operation waits for ever"
        if errors:
            raise errors[0]

    def _work(self, me: int, act: Callable[[InterleavedIO], None], errors: list[BaseException]) -> None:
        self._gates[me].acquire()
        _current.sleep = lambda: self._pause(me, yields=True)
        try:
            act(_ScheduledIO(self._io, lambda: self._pause(me)))
        except BaseException as error:  # `run` raises it
            errors.append(error)
        self._order.remove(me)
        if self._order:
            self._gates[self._order[0]].release()

    def _pause(self, me: int, *, yields: bool = False) -> None:
        self._count += 1
        if yields or self._count in self._changes:
            self._order.remove(me)
            self._order.append(me)
        if self._order[0] != me:
            self._gates[self._order[0]].release()
            self._gates[me].acquire()


class _ScheduledIO(InterleavedIO):
    """Pauses before each call."""

    def __init__(self, inner: MemoryIO, pause: Callable[[], None]) -> None:
        super().__init__(inner)
        self._pause = pause

    def before(self, number: int) -> None:
        self._pause()


def sleep(_: float) -> None:
    """Replace `time.sleep`: let the other threads run."""
    getattr(_current, "sleep", lambda: None)()
