"""Stories in Spark SQL, each on an empty warehouse: what a user types, and what has to come back.

`cases/*.yaml` is a list of cases per file: `id`, and `steps` of `sql` or `query` with one of `rows` (a multiset, a
list where `ordered`), `contains`, `count`, or `error`, words that the message has. Cells are as in
`tests.support.comparison`. `not_yet.txt` names the cases that do not hold yet; it is strict both ways. `not_before.txt`
names those that a Spark before a version cannot parse.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.comparison import cells
from tests.support.printed_errors import without_echo
from tests.support.spark_versions import spark_minor

pytestmark = pytest.mark.spark

HERE = Path(__file__).parent
NOT_YET = frozenset((HERE / "not_yet.txt").read_text().split())
_YAML = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
CASES = {c["id"]: c for f in sorted((HERE / "cases").glob("*.yaml")) for c in yaml.load(f.read_text("utf-8"), _YAML)}
NOT_BEFORE = dict(line.split() for line in (HERE / "not_before.txt").read_text().splitlines() if line)


def marked_cases() -> Iterator[Any]:
    """The cases, with marks."""
    for case in CASES:
        since = NOT_BEFORE.get(case, "4.0")
        too_old = spark_minor() < tuple(map(int, since.split(".")))
        is_odd = case in NOT_YET or too_old
        reason = f"not before Spark {since}" if too_old else "not yet"
        yield pytest.param(case, marks=[pytest.mark.xfail(strict=True, reason=reason)] if is_odd else [])


@pytest.mark.parametrize("case_id", [*marked_cases()])
def test_case(spark: Any, tmp_path: Path, case_id: str) -> None:
    run_case(spark, tmp_path / "files", case_id)


def run_case(spark: Any, files: Path, case_id: str) -> None:
    """Run the steps of a case in a session, and check what comes back. `files` is the folder of a case's files."""
    for number, step in enumerate(CASES[case_id]["steps"], 1):
        text = (step.get("sql") or step["query"]).replace("{tmp}", str(files))
        where = f"step {number}: {text}"
        if "error" in step:
            with pytest.raises(Exception) as raised:  # the message is what counts
                spark.sql(text).collect()
            message = without_echo(str(raised.value))
            assert message, where
            assert re.search(step["error"], message, re.IGNORECASE | re.DOTALL), f"{where}\n{message}"
            continue
        check(step, cells(spark.sql(text).collect()), where)


def test_the_list_names_cases() -> None:
    assert set(CASES) >= NOT_YET | NOT_BEFORE.keys()


def check(step: dict[str, Any], rows: list[Any], where: str) -> None:
    """Compare a step's rows with what it asks for."""
    if "count" in step:
        assert len(rows) == step["count"], f"{where}\n{rows[:20]}"
    for wanted in cells(step.get("contains", [])):
        assert any(same(wanted, r) for r in rows), f"{where}\nmissing {wanted} in {rows[:20]}"
    if "rows" not in step:
        return
    wanted, unmatched = cells(step["rows"]), list(rows)
    if step.get("ordered"):
        assert same(wanted, rows), f"{where}\nexpected {wanted}, got {rows[:20]}"
        return
    for row in wanted:
        index = next((i for i, r in enumerate(unmatched) if same(row, r)), None)
        assert index is not None, f"{where}\nmissing {row}, got {rows[:20]}"
        unmatched.pop(index)
    assert not unmatched, f"{where}\nnot expected {unmatched[:20]}"


def same(wanted: Any, got: Any) -> bool:
    """Equal as cells: numbers by value, floating ones to 1e-9; a mapping without entries is written as a list."""
    match wanted, got:
        case list(), list():
            return len(wanted) == len(got) and all(map(same, wanted, got))
        case dict(), dict():
            return wanted.keys() == got.keys() and all(same(wanted[k], got[k]) for k in wanted)
        case ((dict() | list()), (dict() | list())):
            return not wanted and not got
        case ((float() | int()), (float() | int())) if not isinstance(wanted, bool) and not isinstance(got, bool):
            both_nan = math.isnan(wanted) and math.isnan(got)
            return both_nan or math.isclose(wanted, got, rel_tol=1e-9, abs_tol=1e-12)
        case bool(), _:
            return str(got).lower() == str(wanted).lower()
    return wanted is got if wanted is None or got is None else str(wanted) == str(got)
