from __future__ import annotations

import pytest

from paimon_core.commit.retries import RetryLimits, Tries
from paimon_core.options import TableOptions


def next_wait(count: int, seconds: float = 0, last: float = 1, known: bool = True, **options: str) -> float | None:
    limits = RetryLimits.of(TableOptions({f"commit.{k.replace('_', '-')}": v for k, v in options.items()}))
    return limits.next_wait(Tries(count=count, seconds=seconds, last_seconds=last, is_known=known))


def longest_wait(count: int, known: bool = True, **options: str) -> float:
    waits = [next_wait(count, known=known, **options) for _ in range(200)]
    assert None not in waits
    return max(w for w in waits if w is not None)


def test_who_has_lost_more_races_waits_less() -> None:
    assert [round(longest_wait(n) * 2**n) for n in (1, 2, 3, 4)] == [4, 4, 4, 4]  # times 1 s, that a try takes
    assert longest_wait(40) == 0.01 == longest_wait(400)


def test_unknown_outcomes_wait_ever_longer() -> None:
    for n in range(10):
        assert 0.8 <= longest_wait(n + 1, known=False) / (0.01 * 2**n) <= 1.2
    assert longest_wait(10, known=False, max_retry_wait="3 s") == 3


@pytest.mark.parametrize(
    ("options", "count", "seconds", "known", "goes_on"),
    [
        ({}, 1000, 299, True, True),
        ({}, 1, 301, True, False),
        ({}, 10, 301, False, True),
        ({}, 11, 1, False, False),
        ({"max_retries": "3"}, 3, 10_000, True, True),
        ({"max_retries": "3"}, 4, 0, True, False),
        ({"timeout": "1 h"}, 1000, 3599, True, True),
        ({"timeout": "1 h"}, 1, 3601, True, False),
        ({"timeout": "1 s"}, 1, 2, False, False),
        ({"max_retries": "3", "timeout": "1 h"}, 4, 1, True, False),
        ({"max_retries": "3", "timeout": "1 s"}, 1, 2, True, False),
    ],
)
def test_limits(options: dict[str, str], count: int, seconds: float, known: bool, goes_on: bool) -> None:
    assert (next_wait(count, seconds, known=known, **options) is not None) == goes_on
