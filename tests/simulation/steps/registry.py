"""The kinds of steps, by name: what each does, and how often it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.simulation.statements import Session

Act = Callable[[Session], object]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of step; of all steps of a history `weight` in the sum of all weights are of it (0: only of those
    with a theme)."""

    act: Act
    weight: float


STEPS: dict[str, Kind] = {}


class NothingToDo(Exception):
    """The table has nothing that a step could work on."""


def step(name: str, weight: float) -> Callable[[Act], Act]:
    """Make a function the act of a kind of steps."""

    def add(act: Act) -> Act:
        assert name not in STEPS
        STEPS[name] = Kind(act, weight)
        return act

    return add


def some(session: Session, names: list[str]) -> str:
    """One of the names. Raises `NothingToDo` where there is none."""
    if not names:
        raise NothingToDo
    return session.dice.choice(names)
