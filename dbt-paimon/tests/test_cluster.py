"""The example project on a standalone master: dbt is the driver, and workers in other processes write its rows."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.load import load_catalog
from tests.support.place import rows_of
from tests.support.quick_jvm import ARCHIVED
from tests.support.standalone import environment_of, standalone

EXAMPLE = Path(__file__).parents[2] / "examples" / "dbt"
SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.executor.cores": 1,
    "spark.cores.max": 2,
    "spark.sql.shuffle.partitions": 2,
    "spark.executor.extraJavaOptions": ARCHIVED,
    "spark.driver.extraJavaOptions": ARCHIVED,
}


def test_models_are_built_by_the_workers_of_a_master(tmp_path: Path) -> None:
    project, workers = tmp_path / "dbt", tmp_path / "workers"
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns("target", "logs", "warehouse"))
    environment = environment_of(workers)
    with standalone(environment, tmp_path / "log") as master:
        profile = {"type": "paimon", "warehouse": str(tmp_path / "lake"), "schema": "jaffle", "threads": 4}
        profile |= {"master": master, "server_side_parameters": SETTINGS}
        written = {"jaffle_lake": {"target": "dev", "outputs": {"dev": profile}}}
        (project / "profiles.yml").write_text(yaml.safe_dump(written), encoding="utf-8")
        command = [sys.executable, "-c", "from dbt.cli.main import cli; cli()", "build", "--select", "+customers"]
        command += ["--indirect-selection", "cautious"]  # tests of models that are built
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "ERROR=0" in done.stdout, done.stdout + done.stderr
    catalog = load_catalog({"warehouse": str(tmp_path / "lake")})
    assert len(rows_of(catalog.load_table(Identifier("jaffle", "customers")))) == 40
    assert any("Finished task" in log.read_text() for log in workers.glob("app-*/*/stderr"))
