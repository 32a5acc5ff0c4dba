"""Eight processes create the same file at the same moment, a small size of `python -m tests.stress.creates`."""

from __future__ import annotations

from pathlib import Path

from tests.stress.creates import contest


def test_every_round_has_exactly_one_winner(tmp_path: Path) -> None:
    found = contest(str(tmp_path), processes=8, rounds=200)
    assert (found.without_winner, found.several_winners, found.misread) == (0, 0, 0)
    assert found.contested > 100 and found.winners > 1, "no contest"
