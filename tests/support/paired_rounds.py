"""Two sides measured in rounds: each round has a run of each, one behind the other, and their ratio is what counts.

What else a machine does changes from minute to minute, and slows both runs of a round about alike. The side that runs
first changes from round to round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median, quantiles
from typing import TypeVar

S = TypeVar("S")
R = TypeVar("R")


def paired_rounds(run: Callable[[S], R], sides: Sequence[S], rounds: int, warm_up: int) -> list[tuple[R, ...]]:
    """What the sides' runs gave, round by round, in the order of `sides`; rounds of warm-up come first, left out."""
    found = []
    for number in range(warm_up + rounds):
        order = list(range(len(sides)))[:: -1 if number % 2 else 1]
        results = {side: run(sides[side]) for side in order}
        found.append(tuple(results[side] for side in range(len(sides))))
    return found[warm_up:]


def told_speed(count: float, seconds: Sequence[float]) -> str:
    """Rows a second by the median."""
    return f"{count / median(seconds):9.0f} rows/s"


def told_ratio(seconds: Sequence[tuple[float, ...]]) -> str:
    """How many times as fast the first side is as the second: the median of the rounds, and their middle half."""
    ratios = [second / first for first, *others in seconds for second in others]
    if not ratios:
        return ""
    low, middle, high = quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    return f"{middle:.2f}x of {len(ratios)} rounds, half of them {low:.2f}x to {high:.2f}x"
