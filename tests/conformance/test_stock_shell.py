"""The stories of test_conformance.py, and the scripts of sql-examples/, through Spark's own `spark-sql` with the jar.

One program runs all cases of a run, as its start takes longer than a case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conformance.test_conformance import CASES, marked_cases
from tests.sql.test_examples import EXAMPLES, EXPECTED, FLIGHTS_FILE, flights  # noqa: F401  a fixture
from tests.support.jvm_programs import Programs, programs_with_jar
from tests.support.stock_shell import Printed, lacking, outputs, script

pytestmark = [pytest.mark.spark, pytest.mark.slow]

_NESTED = re.compile(r"\{[^}]*\}|\[[^\]]*\]")  # which Hive prints in another way
_OPTIONS = (
    "--conf spark.ui.showConsoleProgress=false --conf spark.sql.session.timeZone=UTC "
    "--hiveconf hive.cli.errors.ignore=true"
)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return programs_with_jar(tmp_path_factory.mktemp("shell"), {"spark.driver.memory": "2g"})


def _run(programs: Programs, text: str, options: str = "") -> str:
    """Return what a script prints, errors between the rows."""
    (programs.folder / "script.sql").write_text(text, encoding="utf-8")
    lake = programs.folder / "lake"
    ended = programs.run(f"spark-sql $(paimon-sql spark-options -w {lake}) {options} -f script.sql > printed 2>&1")
    text = (programs.folder / "printed").read_text("utf-8")
    assert ended.status == 0, text[-3000:]
    return text


@pytest.fixture(scope="module")
def printed(programs: Programs, request: pytest.FixtureRequest) -> Mapping[tuple[str, int], Printed]:
    """Return the output of each step of the cases of this run."""
    items = (item for item in request.session.items if item.path == request.path and "case_id" in _given(item))
    cases = sorted(_given(item)["case_id"] for item in items)
    return outputs(_run(programs, script(cases, CASES, str(programs.folder)), _OPTIONS))


def _given(item: pytest.Item) -> Mapping[str, str]:
    called = getattr(item, "callspec", None)
    return called.params if called is not None else {}


@pytest.mark.parametrize("case_id", [*marked_cases()])
def test_case(printed: Mapping[tuple[str, int], Printed], case_id: str) -> None:
    for number, step in enumerate(CASES[case_id]["steps"], 1):
        assert (case_id, number) in printed, f"step {number} was not reached"
        lack = lacking(step, printed[case_id, number])
        assert lack is None, f"step {number}: {step.get('sql') or step['query']}\n{lack}"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example(programs: Programs, path: Path, flights: Path) -> None:  # noqa: F811
    text = path.read_text("utf-8").replace(f"'{FLIGHTS_FILE}'", f"'{flights}'")
    lines = [" ".join(line.replace("\t", " | ").split()) for line in _run(programs, text).splitlines()]
    position = 0
    for expected in EXPECTED[path.name]:
        pattern = re.compile(re.escape(_NESTED.sub("…", expected)).replace("…", ".*?"))
        found = next((i for i in range(position, len(lines)) if pattern.match(lines[i])), None)
        assert found is not None, f"{expected!r} is not in the output after line {position}:\n" + "\n".join(lines)
        position = found + 1
