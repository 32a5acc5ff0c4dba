"""The example project, built by eight threads; and a run of it that is killed in the middle of a table."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.cli.main import dbtRunner

from tests.support.remote_storage import RemoteStorage

EXAMPLE = Path(__file__).parents[2] / "examples" / "dbt"
# rows come slowly, and there is no end of them: the run cannot be done when it is killed
_SLOW = "select id as customer_id, 'x' as first_name from range(0, 10000000000000, 1, 2) where hash(id) % 1000000 = 0"


@pytest.fixture(scope="module")
def project(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example, whose catalog has a name of its own in this process's session."""
    folder = tmp_path_factory.mktemp("example") / "dbt"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("target", "logs", "warehouse"))
    profiles = yaml.safe_load((folder / "profiles.yml").read_text(encoding="utf-8"))
    target = profiles["jaffle_lake"]["outputs"]["dev"]
    target |= {"catalog": "jaffle", "warehouse": str(folder / "lake"), "master": "local[2]"}
    if (remote := RemoteStorage.given()) is not None:
        options = remote.warehouse()
        target |= {"warehouse": options.pop("warehouse"), "catalog_options": options}
    (folder / "profiles.yml").write_text(yaml.safe_dump(profiles), encoding="utf-8")
    yield folder
    spark.catalog.setCurrentCatalog("paimon")


@pytest.fixture(scope="module")
def built(project: Path) -> dict[str, str]:
    """How each part of the example was built."""
    return _dbt(project, "build", "--threads", "8")


def _dbt(project: Path, *arguments: str) -> dict[str, str]:
    done = dbtRunner().invoke([*arguments, "--project-dir", str(project), "--profiles-dir", str(project)])
    assert done.exception is None
    return {result.node.name: str(result.status) for result in done.result}


def _rows(spark: Any, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(f"select {columns} from jaffle.jaffle.{table} order by 1").collect()]


def test_the_example_is_built_twice_by_eight_threads(project: Path, built: dict[str, str], spark: Any) -> None:
    assert len(built) == 20 and set(built.values()) == {"success", "pass"}
    names = ("customers", "orders", "daily_revenue", "payment_methods", "orders_history")
    before = {name: _rows(spark, name) for name in names}
    assert [len(rows) for rows in before.values()] == [40, 120, 31, 3, 120]

    statuses = _dbt(project, "build", "--threads", "8")
    assert set(statuses.values()) == {"success", "pass"}
    assert {name: _rows(spark, name) for name in names} == before
    assert _rows(spark, "`customers$tags`", "tag_name") == [("latest_run",)]
    assert {kind for (kind,) in _rows(spark, "`customers$snapshots`", "commit_kind")} == {"OVERWRITE"}


def test_a_killed_run_leaves_the_old_rows(project: Path, built: dict[str, str], spark: Any) -> None:
    before = _rows(spark, "customers")
    assert len(before) == 40
    model = project / "models" / "marts" / "customers.sql"
    text = model.read_text(encoding="utf-8")
    model.write_text(_SLOW, encoding="utf-8")
    program = "from dbt.cli.main import cli; cli()"
    command = [sys.executable, "-c", program, "run", "--select", "customers", "--log-level", "debug", "--no-use-colors"]
    dbt = subprocess.Popen(
        command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        assert dbt.stdout is not None
        for line in dbt.stdout:
            if "create or replace table" in line:
                break
        time.sleep(5)  # by now its tasks write
        assert dbt.poll() is None
    finally:
        os.killpg(dbt.pid, signal.SIGKILL)
        dbt.wait()
    assert _rows(spark, "customers") == before

    model.write_text(text, encoding="utf-8")
    assert _dbt(project, "run", "--select", "customers") == {"customers": "success"}
    assert _rows(spark, "customers") == before
