"""Eight processes create the same file at the same moment, a small size of `python -m tests.stress.creates`."""

from __future__ import annotations

from pathlib import Path

from tests.stress.creates import contest


def test_every_round_has_exactly_one_winner(tmp_path: Path) -> None:
    contested = winners = 0
    for attempt in range(20):  # where much else runs, the processes seldom meet
        folder = tmp_path / str(attempt)
        folder.mkdir()
        found = contest(str(folder), processes=8, rounds=200)
        assert (found.without_winner, found.several_winners, found.misread) == (0, 0, 0)
        contested, winners = contested + found.contested, max(winners, found.winners)
        if contested > 100 and winners > 1:
            return
    raise AssertionError("no contest")
