"""Every test is in exactly one share of its suite, and two weeks of gates run all shares."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.shares import IN_EVERY_PART, SUITES, VARIABLE, Share, suite_of

ROOT = Path(__file__).parents[2]


def functions() -> list[str]:
    """One of each suite."""
    files = [s if ".py" in s else f"{s}/test_x.py" for s in SUITES]
    return [name if "::" in name else f"{name}::test" for name in files]


TESTS = [f"{name}[{n}-é]" for name in functions() for n in range(1000)]


@pytest.mark.parametrize("finer", [1, 3])
def test_every_test_is_in_exactly_one_share(finer: int) -> None:
    for test in TESTS:
        parts = SUITES[str(suite_of(test))] * finer
        assert sum(Share(number, finer).has(test) for number in range(parts)) == 1, test


@pytest.mark.parametrize("finer", [1, 3])
def test_two_weeks_run_everything(finer: int) -> None:
    """Beginning with any day: one share a day, and of shares a third as large three."""
    for first in (0, 1, 20_416):
        days = [Share(number, finer) for number in range(first * finer, (first + 14) * finer)]
        assert [test for test in TESTS if not any(share.has(test) for share in days)] == []


def test_no_part_is_empty_or_twice_as_large_as_another() -> None:
    for suite in SUITES:
        mine = [test for test in TESTS if suite_of(test) == suite]
        sizes = [sum(Share(number).has(test) for test in mine) for number in range(SUITES[suite])]
        assert 0 < max(sizes) <= 2 * min(sizes), (suite, sizes)


def test_what_is_in_no_suite_is_in_every_share() -> None:
    for test in ("tests/unit/test_jobs.py::test_x", "tests/spark/test_golden.pyx::test", "tests/conformance_/x.py::t"):
        assert suite_of(test) is None
        assert all(Share(number).has(test) for number in range(7))


def test_what_is_in_every_part_is_there_and_of_a_suite() -> None:
    for test in IN_EVERY_PART:
        file, _, name = test.partition("::")
        assert f"\ndef {name}(" in (ROOT / file).read_text(encoding="utf-8"), test
        assert suite_of(f"{test}_x") is not None and suite_of(test) is None
        assert all(Share(number, finer).has(test) for number in range(14) for finer in (1, 3))


def test_suites_are_there_and_apart() -> None:
    for suite in SUITES:
        path, _, function = suite.partition("::")
        assert (ROOT / path).exists(), suite
        assert not function or f"\ndef {function}(" in (ROOT / path).read_text(encoding="utf-8"), suite
    assert [s for s in SUITES for other in SUITES if s != other and s.startswith(f"{other}/")] == []


@pytest.mark.parametrize(
    ("given", "meant"), [("", None), ("20416", Share(20416)), ("61249/3", Share(61249, 3)), ("0", Share(0))]
)
def test_what_the_environment_asks_for(given: str, meant: Share | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, given)
    assert Share.asked() == meant
    monkeypatch.delenv(VARIABLE)
    assert Share.asked() is None


def test_a_share_says_how_to_run_it_again() -> None:
    assert str(Share(5, 3)).startswith("PAIMON_SQL_SHARE=5/3 runs: part 5 of 9 of dbt-paimon/tests/test_cluster.py, ")
