"""A consumer keeps the snapshots that it has still to read, from the moment it is there."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from paimon_core.store.consumers import decode_consumer
from tests.simulation.history import Step
from tests.simulation.observer import CUTTERS, ROOT, Observer
from tests.simulation.storage import Change

_CONSUMER = re.compile(rf"{re.escape(ROOT)}/consumer/consumer-(.+)")
_SNAPSHOT = re.compile(rf"{re.escape(ROOT)}/snapshot/snapshot-(\d+)")
_STALE = 5.0  # seconds; listings are not older


@dataclass
class Protection:
    """Watches that nobody removes what consumers keep. Who began before the consumer was there may not know of it, and
    who publishes a snapshot that is no part of the history takes it back."""

    observer: Observer
    now: Callable[[], float]
    _began: dict[int, float] = field(default_factory=dict)  # by step
    _kept: dict[str, tuple[float, int]] = field(default_factory=dict)  # since when, and the next snapshot

    def begin(self, step: Step) -> None:
        self._began[step.number] = self.now()

    def watch(self, change: Change) -> None:
        """To be called before a change is made."""
        if consumer := _CONSUMER.fullmatch(change.path):
            self._move(consumer[1], change)
        elif change.data is None and (snapshot := _SNAPSHOT.fullmatch(change.path)):
            self._check(int(snapshot[1]), change.path)

    def _move(self, name: str, change: Change) -> None:
        if change.data is None:
            self._kept.pop(name, None)
            return
        following = decode_consumer(change.path, change.data)
        since, before = self._kept.get(name, (self.now(), 0))
        self._kept[name] = (since if before and following >= before else self.now()), following

    def _check(self, number: int, path: str) -> None:
        step = self.observer.running
        if step is None or step.kind in CUTTERS or self.observer.is_own(path, step):
            return
        for name, (since, following) in self._kept.items():
            if following <= number and since + _STALE < self._began.get(step.number, 0.0):
                self.observer.problems.append(
                    f"step {step.number} removed snapshot {number}, and consumer {name} is at {following}"
                )
