"""Measurements of two sides in rounds. A round has a run of each side, one after the other, and the result is their
ratio.

Other load on the machine changes from minute to minute, and slows both runs of a round about alike. The side that runs
first changes from round to round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median, quantiles
from typing import TypeVar

S = TypeVar("S")
R = TypeVar("R")


def paired_rounds(run: Callable[[S], R], sides: Sequence[S], rounds: int, warm_up: int) -> list[tuple[R, ...]]:
    """Return the results of the sides' runs, round by round, in the order of `sides`. Rounds of warm-up come first and
    are left out.
    """
    found = []
    for number in range(warm_up + rounds):
        order = list(range(len(sides)))[:: -1 if number % 2 else 1]
        results = {side: run(sides[side]) for side in order}
        found.append(tuple(results[side] for side in range(len(sides))))
    return found[warm_up:]


def told_speed(count: float, seconds: Sequence[float]) -> str:
    """Return the text of a speed: rows per second, by the median."""
    return f"{count / median(seconds):9.0f} rows/s"


def told_ratio(seconds: Sequence[tuple[float, ...]]) -> str:
    """Return the text of a ratio: how many times as fast the first side is as the second, by the median of the rounds,
    and their middle half.
    """
    ratios = [second / first for first, *others in seconds for second in others]
    if not ratios:
        return ""
    low, middle, high = quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    return f"{middle:.2f}x of {len(ratios)} rounds, half of them {low:.2f}x to {high:.2f}x"
