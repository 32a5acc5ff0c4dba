"""Histories of many seeds hold, and mistakes that are planted into the product are found.

A history that fails is run again, shrunk and told by `python -m tests.simulation replay SEED`.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulation.found import FOLDER, file_of, from_text, to_text
from tests.simulation.generate import history_of
from tests.simulation.history import Fault, FaultKind, History, Step
from tests.simulation.planted_bugs import BUGS, PlantedBug
from tests.simulation.run import run
from tests.simulation.settings import SETTINGS
from tests.simulation.shrink import shrunk
from tests.simulation.story import story

SEEDS, BLOCK = 1000, 50
MENDED = Path(__file__).parent / "mended"  # shrunk histories that showed faults of the product
KEPT = [b for b in BUGS if file_of(b.name).exists()]  # `python -m tests.simulation bugs --keep` finds more


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_histories(first: int) -> None:
    failed = {seed: problems for seed in range(first, first + BLOCK) if (problems := run(history_of(seed)).problems)}
    assert not failed


@pytest.mark.parametrize("seed", [3, 11])
def test_a_seed_always_gives_the_same_history(seed: int) -> None:
    """In processes of their own, as `python -m tests.simulation replay` runs it."""
    code = (
        "import sys; from tests.simulation.generate import history_of; from tests.simulation.run import run; "
        "found = run(history_of(int(sys.argv[1]))); print(*found.trace, found.results, sep='\\n')"
    )
    command = [sys.executable, "-c", code, str(seed)]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2))
    assert first.splitlines() == second.splitlines() and len(first.splitlines()) > 50


@pytest.mark.parametrize("bug", KEPT, ids=lambda b: b.name)
def test_planted_bugs_are_found(bug: PlantedBug) -> None:
    history = from_text(file_of(bug.name).read_text())
    assert run(history, bug.plant).problems, f"nothing shows that {bug.story}"
    assert not run(history).problems


@pytest.mark.parametrize("path", sorted(MENDED.iterdir()), ids=lambda p: p.stem)
def test_histories_that_failed_once_hold(path: Path) -> None:
    assert not run(from_text(path.read_text())).problems


def test_no_history_is_kept_for_nothing() -> None:
    assert {file_of(b.name) for b in KEPT} == set(FOLDER.iterdir())


@pytest.mark.parametrize("seed", [0, 1])
def test_a_history_is_kept_as_text(seed: int) -> None:
    history = history_of(seed)
    assert from_text(to_text(history)) == history


def test_what_a_failure_does_not_need_is_left_out() -> None:
    faults = (Fault(3, FaultKind.SLOW, 1.0), Fault(1, FaultKind.FAILS, on="create"))
    steps = tuple(Step(n, 0, 0.0, "read", n, faults) for n in range(1, 10))
    history = History(1, SETTINGS["append"], steps)

    def fails(candidate: History) -> bool:
        found = {s.number: s for s in candidate.steps}
        return 4 in found and 7 in found and any(f.kind is FaultKind.FAILS for f in found[7].faults)

    smallest = shrunk(history, fails)
    assert [(s.number, s.faults) for s in smallest.steps] == [(4, ()), (7, faults[1:])]


def test_a_story_names_steps_calls_and_problems() -> None:
    history = from_text(file_of("no conflicts").read_text())
    bug = next(b for b in BUGS if b.name == "no conflicts")
    outcome = run(history, bug.plant)
    told = story(outcome)
    assert all(f"{s.number:>3}. " in told and s.kind in told for s in history.steps)
    assert "snapshot/snapshot-1" in told and outcome.problems[0] in told
