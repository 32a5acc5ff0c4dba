"""Every state that a model can reach, breadth first, and the shortest history that breaks a property.

A state is a world and what each process knows. A process sees the world and its own knowledge only, so its steps from
such a pair are computed once, however many states have the pair: states are numbers, packed from those of the world
and of each process's knowledge, and a step is a difference to be added. That is what makes a million states in Python
a matter of seconds, and it is exact: no state is taken for another by its hash.

Why not an existing checker: `musil` wants Python 3.12 or later, while the project and its gate run 3.11; Quint's
package on npm only simulates, its checker is Java to be downloaded. And a model in plain Python is read by those who
read the code.
"""

from __future__ import annotations

import gc
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

W = TypeVar("W", bound=Hashable)
Steps = Callable[[Any, Any], Iterable[tuple[str, Any, Any]]]  # of (knowledge, world): what happens, and both after it
_BITS = 24  # of a world or knowledge: 16 million different ones
_MASK = (1 << _BITS) - 1


class Process(NamedTuple):
    """`steps` are those that it can take next; `has_ended` whether it may rest for ever."""

    name: str
    start: Hashable
    steps: Steps
    has_ended: Callable[[Any], bool]


@dataclass(frozen=True)
class Model(Generic[W]):
    """`always` says what is wrong with a world, None for nothing; `finally_` the same where all processes rest."""

    world: W
    processes: Sequence[Process]
    always: Callable[[W], str | None]
    finally_: Callable[[W, Sequence[Any]], str | None]


@dataclass(frozen=True)
class Counterexample:
    """What is wrong, and the steps that lead there."""

    wrong: str
    story: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([f"{self.wrong}:", *(f"{n:>4}. {line}" for n, line in enumerate(self.story, 1))])


@dataclass(frozen=True)
class Explored:
    """`states` reached by `steps`, the farthest of them `depth` steps from the first, `worlds` of them different to a
    process; `is_complete` unless a limit or a counterexample ended it."""

    states: int
    steps: int
    depth: int
    worlds: int
    is_complete: bool
    counterexample: Counterexample | None


@dataclass
class _Numbers:
    """Values by number and numbers by value."""

    values: list[Any] = field(default_factory=list)
    numbers: dict[Any, int] = field(default_factory=dict)

    def of(self, value: Any) -> int:
        number = self.numbers.setdefault(value, len(self.values))
        if number == len(self.values):
            assert number <= _MASK
            self.values.append(value)
        return number


class Explorer(Generic[W]):
    """Explores a model once."""

    def __init__(self, model: Model[W]) -> None:
        self.model = model
        self._parts = [_Numbers() for _ in range(1 + len(model.processes))]  # the world, and what each process knows
        self._taken: list[dict[int, tuple[int, ...]]] = [{} for _ in model.processes]
        self._broken: dict[int, str] = {}  # worlds
        self._states: list[int] = []
        self._parents = array("q")
        self._sources, self._targets = array("I"), array("I")
        self._resting: list[int] = []

    def explore(self, limit: int = 1 << 31) -> Explored:
        """Visit all states, `limit` at most, until one is wrong."""
        collects = gc.isenabled()
        gc.disable()  # values refer to older ones only: there is nothing for it to find
        try:
            return self._explore(limit)
        finally:
            if collects:
                gc.enable()

    def _explore(self, limit: int) -> Explored:
        model = self.model
        first = sum(self._parts[i].of(v) << i * _BITS for i, v in enumerate([model.world, *self._starts()]))
        known, states, depth = {first: 0}, self._states, 0
        states.append(first)
        self._parents.append(-1)
        wrong = model.always(model.world)
        if wrong is not None:
            return self._result(depth, self._story(wrong, 0))
        done = 0
        while done < len(states) < limit:
            depth += 1
            for index in range(done, len(states)):
                moved = False
                for following in self._following(states[index]):
                    moved = True
                    target = known.setdefault(following, len(states))
                    if target == len(states):
                        states.append(following)
                        self._parents.append(index)
                        if following & _MASK in self._broken:
                            return self._result(depth, self._story(self._broken[following & _MASK], target))
                    self._sources.append(index)
                    self._targets.append(target)
                wrong = self._resting_wrong(index, moved)
                if wrong is not None:
                    return self._result(depth, self._story(wrong, index))
                done = index + 1
        if done < len(states):
            return self._result(depth, None, is_complete=False)
        stuck = self._stuck()
        story = None if stuck is None else self._story("not every process can come to an end from here", stuck)
        return self._result(depth - 1, story)

    def _starts(self) -> Iterator[Hashable]:
        return (p.start for p in self.model.processes)

    def _following(self, state: int) -> Iterator[int]:
        """The states one step after another; a step of a process that was taken from the same pair is known."""
        world = state & _MASK
        for number, taken in enumerate(self._taken, 1):
            own = state >> number * _BITS & _MASK
            pair = own << _BITS | world
            differences = taken.get(pair)
            if differences is None:
                differences = taken[pair] = tuple(self._differences(number, own, world))
            for difference in differences:
                yield state + difference

    def _differences(self, number: int, own: int, world: int) -> Iterator[int]:
        for _, own_after, world_after in self._steps(number, own, world):
            known = len(self._parts[0].values)
            after = self._parts[0].of(world_after)
            if after == known:
                wrong = self.model.always(world_after)
                if wrong is not None:
                    self._broken[after] = wrong
            yield (after - world) + (self._parts[number].of(own_after) - own << number * _BITS)

    def _steps(self, number: int, own: int, world: int) -> Iterable[tuple[str, Any, Any]]:
        process = self.model.processes[number - 1]
        return process.steps(self._parts[number].values[own], self._parts[0].values[world])

    def _values(self, state: int) -> tuple[Any, list[Any]]:
        world, *own = (part.values[state >> i * _BITS & _MASK] for i, part in enumerate(self._parts))
        return world, own

    def _resting_wrong(self, index: int, moved: bool) -> str | None:
        """What is wrong with a state in which all processes may rest; they must where nothing `moved`."""
        if moved:
            return None
        world, own = self._values(self._states[index])
        waiting = [p.name for p, k in zip(self.model.processes, own, strict=True) if not p.has_ended(k)]
        if waiting:
            return f"{', '.join(waiting)} can never end"
        self._resting.append(index)
        return self.model.finally_(world, own)

    def _stuck(self) -> int | None:
        """The first state from which no state of rest can be reached."""
        sources, targets = (np.frombuffer(a, np.uint32) for a in (self._sources, self._targets))
        ends = np.zeros(len(self._states), bool)
        ends[self._resting] = True
        while True:
            found = sources[ends[targets] & ~ends[sources]] if len(sources) else sources
            if not len(found):
                break
            ends[found] = True
        return None if ends.all() else int(np.argmin(ends))

    def _story(self, wrong: str, index: int) -> Counterexample:
        """The steps to a state, the shortest way."""
        path = [index]
        while self._parents[path[-1]] >= 0:
            path.append(self._parents[path[-1]])
        path.reverse()
        pairs = zip(path, path[1:], strict=False)
        return Counterexample(wrong, tuple(self._label(self._states[a], self._states[b]) for a, b in pairs))

    def _label(self, state: int, following: int) -> str:
        world = state & _MASK
        for number, process in enumerate(self.model.processes, 1):
            own = state >> number * _BITS & _MASK
            for text, own_after, world_after in self._steps(number, own, world):
                difference = (self._parts[0].numbers[world_after] - world) + (
                    self._parts[number].numbers[own_after] - own << number * _BITS
                )
                if state + difference == following:
                    return f"{process.name} {text}"
        raise AssertionError("a step that no process takes")

    def _result(self, depth: int, counterexample: Counterexample | None, is_complete: bool = True) -> Explored:
        return Explored(
            states=len(self._states),
            steps=len(self._sources),
            depth=depth,
            worlds=len(self._parts[0].values),
            is_complete=is_complete and counterexample is None,
            counterexample=counterexample,
        )


def explore(model: Model[Any], limit: int = 1 << 31) -> Explored:
    """Every state that a model can reach, `limit` at most."""
    return Explorer(model).explore(limit)
