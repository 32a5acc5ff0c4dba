"""The example project on `paimon-sql serve`, over dbt's own Thrift session and Spark Connect; runs that are killed."""

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

from tests.support.served import PASSWORD, PATIENCE, USER, Server, answer

pytest.importorskip("pyhive", reason="needs 'dbt-paimon[thrift]'")

EXAMPLE = Path(__file__).parents[2] / "examples" / "dbt"
# rows come slowly, in one task, and there is no end of them: the run cannot be done when it is killed
_SLOW = "select id as customer_id, 'x' as first_name from range(0, 10000000000000, 1, 1) where hash(id) % 1000000 = 0"


@pytest.fixture(scope="module", params=["thrift", "connect"])
def project(request: pytest.FixtureRequest, server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example, whose profile names the server; its schema is the door's name."""
    folder = tmp_path_factory.mktemp(request.param) / "dbt"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("target", "logs", "warehouse"))
    doors = {
        "thrift": {"method": "thrift", "host": "127.0.0.1", "port": server.thrift, "auth": "CUSTOM"},
        "connect": {"remote": server.remote},
    }
    profile = {"type": "paimon", "schema": request.param, "threads": 8, **doors[request.param]}
    if request.param == "thrift":
        profile |= {"user": USER, "password": PASSWORD}
    written = {"jaffle_lake": {"target": "dev", "outputs": {"dev": profile}}}
    (folder / "profiles.yml").write_text(yaml.safe_dump(written), encoding="utf-8")
    return folder


def dbt(project: Path, *arguments: str) -> subprocess.Popen[str]:
    """dbt in a process of its own, which can be killed."""
    command = [sys.executable, "-c", "from dbt.cli.main import cli; cli()", *arguments, "--no-use-colors"]
    out, err = subprocess.PIPE, subprocess.STDOUT
    return subprocess.Popen(command, cwd=project, stdout=out, stderr=err, text=True, start_new_session=True)


def rows(server: Server, project: Path, table: str) -> list[tuple[Any, ...]]:
    profile = yaml.safe_load((project / "profiles.yml").read_text(encoding="utf-8"))
    schema = profile["jaffle_lake"]["outputs"]["dev"]["schema"]
    with server.client() as client, client.cursor() as cursor:
        return answer(cursor, f"SELECT * FROM paimon.{schema}.{table} ORDER BY 1")


def test_the_example_is_built(project: Path, server: Server) -> None:
    run = dbt(project, "build")
    said = run.communicate()[0]
    assert run.returncode == 0 and "PASS=20 WARN=0 ERROR=0" in said, said
    found = [rows(server, project, name) for name in ("customers", "orders", "daily_revenue", "orders_history")]
    assert [len(one) for one in found] == [40, 120, 31, 120]


@pytest.mark.long
def test_a_killed_run_leaves_the_old_rows(project: Path, server: Server) -> None:
    before = rows(server, project, "customers")
    assert len(before) == 40
    (project / "models" / "marts" / "customers.sql").write_text(_SLOW, encoding="utf-8")
    run = dbt(project, "run", "--select", "customers", "--log-level", "debug")
    try:
        assert run.stdout is not None
        assert any("create or replace table" in line for line in run.stdout)
        wait_for_statements(server, 1)
        time.sleep(5)  # by now its tasks write
        assert run.poll() is None and server.health_now()["statements"] == 1
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    assert rows(server, project, "customers") == before
    if "method: thrift" in (project / "profiles.yml").read_text(encoding="utf-8"):
        wait_for_statements(server, 0)  # the server ends what nobody waits for


def wait_for_statements(server: Server, number: int) -> None:
    """Until so many are under way."""
    until = time.monotonic() + PATIENCE
    while server.health_now()["statements"] != number:
        assert time.monotonic() < until, server.log.read_text()
        time.sleep(0.5)
