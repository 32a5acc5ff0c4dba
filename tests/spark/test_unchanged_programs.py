"""`paimon-sql run` of a program that has a kernel run a notebook: libraries in it that know nothing of Paimon."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.served import PATIENCE

pytest.importorskip("nbclient", reason="needs pip install nbclient ipykernel")
pytest.importorskip("ibis", reason="needs pip install ibis-framework")

pytestmark = [pytest.mark.spark, pytest.mark.slow]

# as `jupyter execute` and papermill: it reads a notebook, has a kernel run it, and writes it with what the cells gave
PROGRAM = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=500, kernel_name="python3", allow_errors=True).execute()
nbformat.write(notebook, sys.argv[1])
"""
CELLS = [
    "from pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n"
    "spark.sql('CREATE TABLE t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED)')\n"
    "spark.createDataFrame([(1, 'a'), (2, 'b')], 'k INT, v STRING').writeTo('t').append()",
    "import pyspark.pandas as ps\nps.sql('SELECT count(*) AS n FROM t').n.to_list()",
    "import ibis\nlake = ibis.pyspark.connect(spark)\nlake.table('t', database=('lake', 'default')).count().execute()",
    "%load_ext paimon_sql",
    # the user, who waits until the bar of tasks has moved
    "import os, signal, threading, time\ntracker = spark.sparkContext.statusTracker()\ndone = lambda: sum(\n"
    "    tracker.getStageInfo(i).numCompletedTasks for i in tracker.getActiveStageIds())\n"
    "def interrupt():\n    while done() < 4:\n        time.sleep(0.1)\n    time.sleep(3)\n"
    "    os.kill(os.getpid(), signal.SIGINT)\nthreading.Thread(target=interrupt).start()",
    # tasks that each take a moment, far too many
    "%%sql\nSELECT sum(x) FROM (SELECT explode(sequence(1, 3000000)) AS x FROM range(0, 5000, 1, 5000))",
    "%sql SELECT count(*) AS n FROM t$snapshots",
]


def test_a_notebook(tmp_path: Path) -> None:
    path, program = tmp_path / "unchanged.ipynb", tmp_path / "program.py"
    cells = [
        {"id": f"c{i}", "cell_type": "code", "source": text, "metadata": {}, "outputs": [], "execution_count": None}
        for i, text in enumerate(CELLS)
    ]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    program.write_text(PROGRAM)
    settings = {"": "paimon_sql.SparkCatalog", ".warehouse": str(tmp_path / "lake"), ".table-default.bucket": "1"}
    words = [word for k, v in settings.items() for word in ("-c", f"spark.sql.catalog.lake{k}={v}")]
    words += ["-c", "spark.sql.defaultCatalog=lake", "-c", "spark.ui.showConsoleProgress=false", "--master", "local[2]"]
    command = [sys.executable, "-m", "paimon_sql", "run", *words, str(program), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    _, pandas, found, _, _, slow, after = (cell["outputs"] for cell in json.loads(path.read_text())["cells"])
    assert shown(pandas) == "[2]" and "2" in shown(found)
    bar, error = slow
    assert bar["output_type"] == "display_data" and error["ename"] == "Cancelled", slow
    assert shown(after).splitlines()[2].split() == ["1"]


def shown(outputs: list[dict[str, Any]]) -> str:
    """The last of what is below a cell."""
    return "".join(outputs[-1]["data"]["text/plain"])
