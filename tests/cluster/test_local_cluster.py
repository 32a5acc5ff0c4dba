"""Executors in processes of their own: all works there, and of a task that is tried twice one copy is visible."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest

from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `driver.py` saw, and the warehouse it left."""
    folder = tmp_path_factory.mktemp("cluster")
    home = folder / "spark"  # the workers of a local cluster leave their logs in SPARK_HOME
    home.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    command = [sys.executable, str(ROOT / "tests" / "cluster" / "driver.py"), str(folder / "wh"), str(folder / "seen")]
    settings = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        command, cwd=folder, env=os.environ | settings, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((folder / "seen").read_text(encoding="utf-8")) | {"warehouse": str(folder / "wh")}


def test_tasks_run_in_executors(cluster: dict[str, Any]) -> None:
    assert all(Path(folder).parent.name.startswith("app-") for folder in cluster["folders"])


def test_statements(cluster: dict[str, Any]) -> None:
    seen = cluster["statements"]
    assert seen["merged"] == seen["raw"] == [["new", 300, sum(range(900, 1200))], ["old", 900, sum(range(900))]]
    assert "PaimonScan[merge]" in seen["merged plan"][0][0] and "PaimonScan[raw]" in seen["raw plan"][0][0]
    assert seen["joined merged"] == seen["joined raw"] == [[1200, sum(range(1200))]]
    assert "Join" in seen["joined plan"][0][0] and "Exchange" not in seen["joined plan"][0][0]
    assert seen["first version"] == [["old", 1000, sum(range(1000))]]
    assert seen["snapshots"] == [[1, "APPEND", 1000], [2, "APPEND", 1300], [3, "COMPACT", 1200]]


@pytest.mark.parametrize("fate", ["dies", "sleeps"])
def test_of_two_attempts_at_a_task_one_is_visible(cluster: dict[str, Any], fate: str) -> None:
    """A task dies, or is overtaken by a speculative copy, with its files written."""
    seen = cluster[fate]
    assert seen["rows"] == [["new", 1000, sum(range(500, 1500))], ["old", 500, sum(range(500))]]
    assert seen["counts"] == [1000, 2000]
    written = {path.name for path in Path(cluster["warehouse"], "default.db", fate).rglob("data-*.parquet")}
    live = {Path(path).name for path in seen["live"]}
    assert live < written, "the first attempt left no files: the test proves nothing"
