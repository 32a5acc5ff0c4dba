"""The waits of a commit between its tries, and the point at which it gives up: decisions without a clock.

A lost race means that another writer committed, so the next try comes soon. The first wait is up to twice the time of
the last try, and each next wait is half as long: commits that have waited longer get ahead of newcomers. Tries end
after five minutes, or as `commit.max-retries` and `commit.timeout` say. A publish call of unknown outcome means that
the storage is in trouble: the waits double, and `commit.max-retries` always counts.
"""

from __future__ import annotations

import random

from paimon_core.dataclass import dataclass
from paimon_core.options import (
    COMMIT_MAX_RETRIES,
    COMMIT_MAX_RETRY_WAIT,
    COMMIT_MIN_RETRY_WAIT,
    COMMIT_TIMEOUT,
    TableOptions,
)

_RACING_SECONDS = 300.0
_FIRST_WAIT = 2.0  # times the duration of a try
_MAX_DOUBLINGS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """The tries so far: their number, their duration, the duration of the last try (in seconds), and whether all
    outcomes are known."""

    count: int
    seconds: float
    last_seconds: float
    is_known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryLimits:
    """The limits of a commit's retries.

    `retries` limits tries of unknown outcome, and with `counts_races` also lost races. Times are in seconds; None in
    `racing_seconds` or `seconds` means no limit."""

    retries: int
    counts_races: bool
    racing_seconds: float | None
    seconds: float | None
    min_wait: float
    max_wait: float

    @staticmethod
    def of(options: TableOptions) -> RetryLimits:
        """Return the limits that a table's options set; by default, lost races are tried again for five minutes."""
        timeout, counts = options[COMMIT_TIMEOUT], COMMIT_MAX_RETRIES in options
        return RetryLimits(
            retries=options[COMMIT_MAX_RETRIES],
            counts_races=counts,
            racing_seconds=None if counts or timeout is not None else _RACING_SECONDS,
            seconds=None if timeout is None else timeout / 1000,
            min_wait=options[COMMIT_MIN_RETRY_WAIT] / 1000,
            max_wait=options[COMMIT_MAX_RETRY_WAIT] / 1000,
        )

    def next_wait(self, tries: Tries) -> float | None:
        """Return the seconds to wait before the next try, or None to give up."""
        counted = self.counts_races or not tries.is_known
        limits = [self.seconds, self.racing_seconds if tries.is_known else None]
        if counted and tries.count > self.retries or any(s is not None and tries.seconds > s for s in limits):
            return None
        doublings = min(tries.count - 1, _MAX_DOUBLINGS)
        if tries.is_known:
            wait = random.uniform(0, _FIRST_WAIT * tries.last_seconds / 2**doublings)
        else:
            wait = self.min_wait * 2**doublings * random.uniform(0.8, 1.2)
        return min(max(wait, self.min_wait), self.max_wait)
