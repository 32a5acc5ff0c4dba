"""The simulator itself: histories repeat, and a table that is all right is found to be so."""

from __future__ import annotations

import pytest

from tests.simulation.generate import history_of
from tests.simulation.run import run
from tests.simulation.settings import SETTINGS


@pytest.mark.parametrize("seed", [3, 11, 20])
def test_a_seed_always_gives_the_same_history(seed: int) -> None:
    first, second = run(history_of(seed)), run(history_of(seed))
    assert first.trace == second.trace and len(first.trace) > 50


@pytest.mark.parametrize("table", SETTINGS)
def test_every_kind_of_table(table: str) -> None:
    for seed in range(2):
        outcome = run(history_of(seed, table))
        assert not outcome.problems, f"seed {seed}: python -m tests.simulation replay {seed} --table '{table}'"
