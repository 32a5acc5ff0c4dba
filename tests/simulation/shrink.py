"""Leaves out of a history that fails whatever it does not need for that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.simulation.history import History, Step


def shrunk(history: History, fails: Callable[[History], bool]) -> History:
    """The smallest history that was found and that still fails: nothing in it can be left out."""
    smaller: History | None = history
    while smaller is not None:
        history = smaller
        smaller = next((h for h in _smaller(history) if fails(h)), None)
    return history


def _smaller(history: History) -> Iterator[History]:
    """Histories without one or more of the things that this one has."""
    steps = history.steps
    length = len(steps) // 2
    while length:
        for start in range(0, len(steps), length):
            yield replace(history, steps=steps[:start] + steps[start + length :])
        length //= 2
    for index, step in enumerate(steps):
        for fault in step.faults:
            yield _with(history, index, replace(step, faults=tuple(f for f in step.faults if f != fault)))
    for host, skew in enumerate(history.setting.skews):
        if skew:
            skews = tuple(0.0 if h == host else s for h, s in enumerate(history.setting.skews))
            yield replace(history, setting=replace(history.setting, skews=skews))


def _with(history: History, index: int, step: Step) -> History:
    return replace(history, steps=(*history.steps[:index], step, *history.steps[index + 1 :]))
