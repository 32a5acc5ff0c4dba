"""Every script of sql-examples/ prints what its comments promise, and notebooks of examples/ what they show."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from paimon_sql.shell.main import QUICKSTART
from paimon_sql.shell.runner import Options, Shell

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
EXAMPLES = [*sorted((ROOT / "sql-examples").glob("*.sql")), QUICKSTART]
NOTEBOOKS = [ROOT / "examples" / "streams.ipynb"]  # of Python alone
FLIGHTS_FILE = "build/flights.parquet"

# what lines of the output begin with, in this order, others between them; runs of blanks as one, … for any text
EXPECTED = {
    "quickstart.sql": [
        *("1 | Ada | 12.50", "2 | Ben | 25.00", "3 | Cy | 7.25", "4 | Dee | 3.00"),
        *("1 | Ada | 12.50", "2 | Ben | 20.00", "3 | Cy | 7.25"),
        *("1 | APPEND | 3", "2 | APPEND | 5", "3 | COMPACT | 4"),
        "5 | 4 | [1] | [4]",
    ],
    "flights.sql": [
        "336776 | 12 | 0",
        *("month=1", "month=10", "month=2", "month=9"),
        "336776 | 328521 | 327346",
        "336776 | 328521 | 327346",
        *("F9 | 685 | 20.2 | 21.9", "FL | 3260 | 18.7 | 20.1", "EV | 54173 | 20.0 | 15.8"),
        *("EWR | TYS | 323 | 41.2 | 9", "EWR | TUL | 315 | 33.7 | 16", "EWR | OKC | 346 | 30.6 | 19"),
        *("scheduled | 0 | 0", "now | 328521 | 327346"),
        "scheduled | 2013-01-09 09:00:00 | NULL | NULL",
        "departed | 2013-01-09 09:00:00 | 1301 | NULL",
        "arrived | 2013-01-09 09:00:00 | 1301 | 1272",
        "0 | … | 1102481 |",
        "5 | 24 | 336776 |",
        "{10} | 0 | 5 | 14358 | [9E, 3283, LGA, 2013-10-12T16:25] | [YV, 3771, LGA, 2013-10-28T16:35]",
        "{10} | 1 | 5 | 14531 | [9E, 3285, LGA, 2013-10-12T09:40] | [YV, 3771, LGA, 2013-10-31T16:35]",
        *("12 | APPEND | 28135 | 336776", "13 | APPEND | 106080 | 442856"),
        *("19 | APPEND | 109838 | 1102481", "20 | COMPACT | -765705 | 336776"),
        "336776 | 328521 | 327346",
    ],
}


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("input") / "flights.parquet"
    subprocess.run([sys.executable, ROOT / "scripts" / "flights_data.py", path], check=True)
    return path


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.name)
def test_example(script: Path, spark, flights: Path):
    text = script.read_text(encoding="utf-8").replace(f"'{FLIGHTS_FILE}'", f"'{flights}'")
    out, err = io.StringIO(), io.StringIO()
    status = Shell(spark, out, err, Options()).run_script(text, script.name)
    assert (status, err.getvalue()) == (0, "")
    lines = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    position = 0
    for expected in EXPECTED[script.name]:
        pattern = re.compile(re.escape(expected).replace("…", ".*?"))
        found = next((i for i in range(position, len(lines)) if pattern.match(lines[i])), None)
        assert found is not None, f"{expected!r} is not in the output after line {position}:\n{out.getvalue()}"
        position = found + 1


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook(notebook: Path, spark, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("paimon_sql.connect", lambda **_: spark)
    names: dict[str, object] = {}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile("".join(cell["source"]), cell["id"], "exec"), names)  # noqa: S102  our own notebook
            shown = "".join(line for output in cell["outputs"] for line in output["text"])
            assert printed.getvalue() == shown, cell["id"]
