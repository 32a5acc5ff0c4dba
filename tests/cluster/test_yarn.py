"""Client mode on YARN: the shell, a job and spark-submit, as users start them (`make campaign NAME=yarn`)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import paimon_sql
from tests.support import yarn as support
from tests.support.quick_jvm import QUICK_JVM
from tests.support.standalone import SPARK
from tests.support.yarn import Yarn

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(support.JARS is None, reason="no PAIMON_SQL_YARN_JARS: make campaign NAME=yarn"),
]

JOB = """
import os
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.range(100, 200).selectExpr("int(id) AS k", "string(id) AS v").repartition(2).writeTo("d.t").append()
places = spark.sparkContext.parallelize(range(4), 4).map(lambda _: os.path.basename(os.getcwd())).collect()
print("in containers", all(place.startswith("container_") for place in places))
print("rows", spark.table("d.t").count())
"""
FILL = """
CREATE DATABASE d;
CREATE TABLE d.t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '2');
INSERT INTO d.t SELECT int(id), string(id) FROM range(100);
SELECT count(*) AS n FROM d.t;
SELECT commit_kind FROM d.t$snapshots;
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yarn]:
    with support.yarn(tmp_path_factory.mktemp("yarn")) as found:
        yield found


def test_client_mode(cluster: Yarn, tmp_path: Path) -> None:
    settings = {
        **cluster.settings,
        "spark.sql.catalog.lake": "paimon_sql.SparkCatalog",
        "spark.sql.catalog.lake.warehouse": str(tmp_path / "lake"),
        "spark.sql.defaultCatalog": "lake",
        "spark.executor.extraJavaOptions": QUICK_JVM,
        "spark.sql.shuffle.partitions": "2",
    }
    (tmp_path / "defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    (tmp_path / "job.py").write_text(JOB)
    options = ["--master", "yarn", "--deploy-mode", "client", "--properties-file", str(tmp_path / "defaults.conf")]
    options += ["--queue", "reports", "--num-executors", "2", "--executor-memory", "512m", "--executor-cores", "1"]
    shell = [sys.executable, "-m", "paimon_sql"]

    def run(*command: str) -> list[str]:
        done = subprocess.run(
            command, cwd=tmp_path, env=cluster.environment, capture_output=True, text=True, timeout=support.PATIENCE
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()

    printed = run(*shell, *options, "--name", "a report", "--output", "csv", "-e", FILL)
    assert printed == ["n", "100", "commit_kind", "APPEND"]
    printed = run(*shell, "run", *options, str(tmp_path / "job.py"))
    assert printed[-2:] == ["in containers True", "rows 200"]
    main = str(Path(paimon_sql.__file__).parent / "__main__.py")
    printed = run(
        str(SPARK / "bin" / "spark-submit"), *options, main, "--output", "csv", "-e", "SELECT max(k) FROM d.t"
    )
    assert printed[-1] == "199"
    applications = cluster.applications()
    assert [(a["queue"], a["finalStatus"]) for a in applications] in (
        [("reports", "SUCCEEDED")] * 3,
        [("root.reports", "SUCCEEDED")] * 3,
    )
    assert "a report" in [a["name"] for a in applications]
