"""Java's connector and ours in one session, two catalogs over one warehouse: on the one Spark that both have."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.java_oracle import find_oracles
from tests.support.spark_versions import spark_minor

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(spark_minor() != (4, 1), reason="Java's connector here is for Spark 4.1: make test SPARK=4.1")
def test_two_catalogs_over_one_warehouse(tmp_path: Path) -> None:
    oracles = find_oracles()
    jars = [] if oracles is None else sorted(oracles.glob("paimon-spark-4.1_*.jar"))
    if not jars:
        pytest.skip("shared/oracles has no jar of Paimon's connector: set PAIMON_ORACLES to its folder")
    command = [sys.executable, "-m", "tests.support.two_connectors", str(jars[0]), str(tmp_path / "warehouse")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    found = {name: sorted(rows) for name, rows in json.loads(done.stdout).items()}
    assert found["java.of_java"] == found["ours.of_java"] == [[2, "B"], [3, "c"]]
    assert found["java.of_ours"] == found["ours.of_ours"] == [[1, "a"], [2, "B"], [3, "c"]]
    assert found["joined"] == [[2, "B", "B"], [3, "c", "c"]]
