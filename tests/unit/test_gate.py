"""The gate is the same on every day, has a test of each file and each mark, and its tables name what exists."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest
from hypothesis import settings

from scripts.campaign import campaigns
from tests.support.examples import WHOLE_EXAMPLES, examples
from tests.support.gate import (
    CHOSEN,
    COLLECTED,
    LEFT_OUT,
    NONE,
    Choice,
    Gaps,
    gaps_of,
    gate_of,
    kind_of,
    other_moment,
    suite_of,
)

ROOT = Path(__file__).parents[2]
CASES = [f"tests/a/test_x.py::test[{word} {n}]" for word in ("INSERT", "DELETE") for n in range(30)]
OTHERS = ["tests/a/test_y.py::test", "tests/b/test_x.py::test[1]", "tests/ab/test_x.py::test[1]"]


def test_the_first_of_each_kind() -> None:
    gate = gate_of([*CASES, *OTHERS], {"tests/a": Choice(2)})
    assert sorted(map(kind_of, gate & set(CASES))) == [
        ("tests/a/test_x.py::test", "DELETE"),
        ("tests/a/test_x.py::test", "DELETE"),
        ("tests/a/test_x.py::test", "INSERT"),
        ("tests/a/test_x.py::test", "INSERT"),
    ]
    assert set(OTHERS) <= gate


def test_a_part_of_the_kinds() -> None:
    assert len(gate_of(CASES, {"tests/a": Choice(3, of=2)})) == 3


def test_every_file_of_a_folder_has_tests_in_the_gate() -> None:
    files = [f"tests/a/test_{n}.py::test_{m}" for n in range(20) for m in range(3)]
    gate = gate_of(files, {"tests/a": Choice(of=3)})
    assert {test.partition("::")[0] for test in gate} == {test.partition("::")[0] for test in files}


def test_the_order_of_tests_changes_nothing() -> None:
    shuffled = random.Random(1).sample(CASES, len(CASES))
    assert gate_of(shuffled, {"tests/a": Choice(3)}) == gate_of(CASES, {"tests/a": Choice(3)})


def test_one_more_test_moves_at_most_one_out() -> None:
    before = gate_of(CASES[1:], {"tests/a": Choice(3)})
    assert len(before - gate_of(CASES, {"tests/a": Choice(3)})) <= 1


def test_the_longest_name_counts() -> None:
    chosen = {"tests/a": NONE, "tests/a/test_x.py": Choice(), "tests/a/test_x.py::test": Choice(2)}
    assert suite_of(CASES[0], chosen) == "tests/a/test_x.py::test"
    assert suite_of("tests/a/test_x.py::other", chosen) == "tests/a/test_x.py"
    assert gate_of(["tests/a/test_y.py::test"], chosen) == frozenset()


def test_all_cases_of_one_word() -> None:
    gate = gate_of(CASES, {"tests/a": Choice(of=2, always="INSERT")})
    assert {test for test in CASES if "INSERT" in test} <= gate
    assert len(gate & {test for test in CASES if "DELETE" in test}) == 1


@pytest.mark.parametrize("left_out", ["tests/a/test_x.py", CASES[0].partition("[")[0], CASES[0]])
def test_a_slow_test_leaves_its_place_to_another(left_out: str) -> None:
    chosen = {"tests/a/test_x.py": NONE}
    gate = gate_of(CASES, chosen, {left_out: "tests/b/test_x.py::test"})
    assert gate == frozenset()
    gate = gate_of([*CASES, *OTHERS], {"tests": NONE}, {left_out: "tests/b/test_x.py::test"})
    assert gate == {"tests/b/test_x.py::test[1]"}
    assert CASES[0] not in gate_of(CASES, {}, {left_out: "tests/b/test_x.py::test"})


def test_each_file_and_each_mark_is_in_the_gate(request: pytest.FixtureRequest) -> None:
    """Of the tests of this run: of all of them in `make test`."""
    if any("::" in argument for argument in request.config.args):
        pytest.skip("parts of files run")
    marks = {
        item.nodeid: frozenset(mark.name for mark in item.iter_markers()) for item in request.config.stash[COLLECTED]
    }
    gaps = gaps_of(marks, gate_of(marks))
    assert (gaps.files, gaps.marks, gaps.staying) == (frozenset(), frozenset(), frozenset())


def test_no_test_has_the_path_of_the_repository_in_its_name(request: pytest.FixtureRequest) -> None:
    """The gate chooses tests by their names: with a path, it would choose others in each clone."""
    assert [item.nodeid for item in request.config.stash[COLLECTED] if str(ROOT) in item.nodeid] == []


def test_the_second_worker_lists_the_tests_at_another_moment() -> None:
    now, zone = time.time(), time.localtime().tm_gmtoff
    with other_moment():
        assert time.time() > now + 86400 and time.localtime().tm_gmtoff == 8 * 3600
    assert time.time() < now + 86400 and time.localtime().tm_gmtoff == zone


def test_gaps_are_found() -> None:
    files, nothing = [one.partition("::")[0] for one in LEFT_OUT.values()], frozenset[str]()
    test, stays = next(
        (test, stays)
        for test, stays in LEFT_OUT.items()
        if files.count(stays.partition("::")[0]) == 1 and test.partition("::")[0] not in files and "[" not in stays
    )
    marks = {"tests/unit/test_x.py::test": frozenset({"slow"}), test: nothing, f"{stays}[1]": nothing}
    gaps = gaps_of(marks, nothing)
    assert gaps.files == {"tests/unit/test_x.py", stays.partition("::")[0]}
    assert gaps.marks == {"slow"} and gaps.staying == {stays}
    assert gaps_of(marks, gate_of(marks)) == Gaps(nothing, nothing, nothing)


def test_the_gate_tries_a_part_of_the_examples() -> None:
    assert examples(WHOLE_EXAMPLES) == settings.default.max_examples
    assert (examples(1), examples(2 * WHOLE_EXAMPLES)) == (1, 2 * settings.default.max_examples)
    pages = (ROOT / "tests" / "unit").rglob("*.py")
    assert [str(page) for page in pages if re.search(r"max_examples=\d", page.read_text(encoding="utf-8"))] == []


def test_suites_are_there() -> None:
    for suite in (*CHOSEN, *LEFT_OUT, *LEFT_OUT.values()):
        path, _, function = suite.partition("[")[0].partition("::")
        assert (ROOT / path).exists(), suite
        assert not function or f"\ndef {function}(" in (ROOT / path).read_text(encoding="utf-8"), suite


def test_campaigns_name_what_exists() -> None:
    for campaign in campaigns().values():
        named = re.findall(r"\b(?:scripts|tests|benchmarks|dbt-paimon)/[\w./-]*\w", campaign.run)
        modules = [name.replace(".", "/") for name in re.findall(r"-m (tests\.[\w.]+)", campaign.run)]
        assert named or modules or "make test-all" in campaign.run, campaign.name
        assert [name for name in named if not (ROOT / name).exists()] == []
        assert [name for name in modules if not list(ROOT.glob(f"{name}*"))] == []
        used = set(re.findall(r"\$\{?([A-Z]+)\b", campaign.run)) - {"PYTHON", "ARGS", "WORKERS"}
        assert used == set(campaign.set), campaign.name


def test_targets_of_make_are_few() -> None:
    named = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert named is not None and len(named[1].split()) <= 10


def test_what_is_documented_about_campaigns_exists() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *ROOT.glob("tests/**/*.py")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    assert set(re.findall(r"make campaign NAME=([\w-]+)", text)) <= {*campaigns(), "nightly"}
    targets = "demo|test|test-all|check|campaign|bench|docs|serve|clean|help"
    assert re.findall(rf"`make (?!(?:{targets})\b)[\w-]+", text) == []
