"""Tasks that take turns by virtual time, in one thread.

A task runs until it waits. Then the one that waited for the earliest moment goes on, and the clock jumps to it. Tasks
that wait for the same moment go on in the order in which they began to wait.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from greenlet import getcurrent, greenlet


class EndlessError(AssertionError):
    """A history that does not end."""


@dataclass
class Scheduler:
    """`now` is in seconds since the history began. No more than `most` turns are taken. `on_turn` is told when a task
    goes on, or the clock has moved under it."""

    most: int = 200_000
    now: float = 0.0
    on_turn: Callable[[], None] = lambda: None
    _turns: count[int] = field(default_factory=count)
    _waiting: list[tuple[float, int, greenlet]] = field(default_factory=list)
    _hub: greenlet = field(default_factory=getcurrent)

    def start(self, moment: float, act: Callable[[], object]) -> None:
        """Run a task from a moment on; what it raises ends the history."""
        self._push(moment, greenlet(act, self._hub))

    def wait(self, seconds: float) -> None:
        """Let the others go on, for so long. Outside of a task it only moves the clock."""
        moment, me = self.now + max(seconds, 0.0), getcurrent()
        if me is self._hub or not self._waiting or self._waiting[0][0] > moment:
            self.now = moment
        else:
            self._push(moment, me)
            self._hub.switch()
        self.on_turn()

    def run(self) -> None:
        """Until no task is left."""
        while self._waiting:
            moment, turn, task = heapq.heappop(self._waiting)
            if turn > self.most:
                raise EndlessError(f"after {turn} turns, at second {self.now:g}, there is still work to do")
            self.now = max(self.now, moment)
            task.switch()

    def _push(self, moment: float, task: greenlet) -> None:
        heapq.heappush(self._waiting, (moment, next(self._turns), task))
