"""The explorer itself, on two counters whose states can be counted by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tests.protocol.explorer import Model, Process, explore


def counter(name: str, end: int = 3, stops_at: int | None = None) -> Process:
    """Adds 1 to what it knows and to the world, until `end`; for ever stopped at `stops_at`."""

    def steps(own: int, world: int) -> Iterator[tuple[str, int, int]]:
        if own < end and own != stops_at:
            yield f"counts {own + 1}", own + 1, world + 1

    return Process(name, 0, steps, lambda own: own == end)


def model(*processes: Process, most: int = 99, last: int | None = None) -> Model[int]:
    def always(world: int) -> str | None:
        return None if world <= most else f"{world} is too much"

    def finally_(world: int, ends: Sequence[Any]) -> str | None:
        return None if last in (None, world) else f"{world} in the end"

    return Model(0, processes, always, finally_)


def test_every_state_is_visited_once() -> None:
    explored = explore(model(counter("a"), counter("b"), last=6))
    assert (explored.states, explored.steps, explored.depth, explored.worlds) == (16, 24, 6, 7)
    assert explored.is_complete and explored.counterexample is None


def test_the_shortest_story_is_told() -> None:
    found = explore(model(counter("a"), counter("b", end=1), most=1)).counterexample
    assert found is not None
    assert str(found) == "2 is too much:\n   1. a counts 1\n   2. a counts 2"


def test_the_end_is_looked_at() -> None:
    found = explore(model(counter("a"), last=4)).counterexample
    assert found is not None and found.wrong == "3 in the end" and len(found.story) == 3


def test_who_waits_for_ever_is_named() -> None:
    found = explore(model(counter("a"), counter("b", stops_at=1))).counterexample
    assert found is not None and found.wrong == "b can never end" and len(found.story) == 4


def test_who_goes_round_for_ever_is_found() -> None:
    def turns(own: int, world: int) -> Iterator[tuple[str, int, int]]:
        yield "turns", 1 - own, world

    found = explore(model(Process("a", 0, turns, lambda own: False))).counterexample
    assert found is not None and "come to an end" in found.wrong


def test_a_limit_ends_it() -> None:
    explored = explore(model(counter("a"), counter("b")), limit=5)
    assert not explored.is_complete and explored.counterexample is None and 5 <= explored.states < 16
