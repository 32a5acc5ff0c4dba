"""YARN in client mode (shell, job, spark-submit) and a JVM program in cluster mode (`make campaign NAME=yarn`)."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import paimon_sql
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.load import load_catalog
from tests.support import yarn as support
from tests.support.jvm_programs import programs_with_jar
from tests.support.place import rows_of
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


PROGRAM = """
import org.apache.spark.sql.SparkSession;

public class YarnProgram {
  public static void main(String[] arguments) throws Exception {
    SparkSession spark = SparkSession.builder().getOrCreate();
    spark.sql("CREATE DATABASE d");
    spark.sql("CREATE TABLE d.t (k BIGINT, folder STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '2')");
    String folder = "'" + System.getProperty("user.dir") + "' AS folder";
    spark.range(100).selectExpr(new String[] {"id AS k", folder}).repartition(2).writeTo("d.t").append();
    spark.sql("DELETE FROM d.t WHERE k >= 90");
    spark.stop();
  }
}
"""


def test_a_jvm_program_in_cluster_mode(cluster: Yarn, tmp_path: Path) -> None:
    """The driver runs in a container, with the Python of an archive."""
    programs = programs_with_jar(tmp_path / "programs", cluster.settings)
    programs.compiled("program.jar", PROGRAM)
    with tarfile.open(programs.folder / "env.tar.gz", "w:gz") as archive:
        (tmp_path / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        (tmp_path / "python").chmod(0o755)
        archive.add(tmp_path / "python", "bin/python")
    lake = tmp_path / "lake"
    pythons = [f"-c spark.pyspark.{of}python=./env/bin/python" for of in ("driver.", "")]
    sizes = "--num-executors 2 --executor-memory 512m --executor-cores 1"
    ended = programs.run(
        f"spark-submit --master yarn --deploy-mode cluster --archives env.tar.gz#env {sizes} --class YarnProgram "
        f"$(paimon-sql spark-options -w {lake} {' '.join(pythons)}) program.jar",
        environment={"HADOOP_CONF_DIR": str(cluster.folder), "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    assert ended.status == 0, ended.err + cluster.output()
    rows = rows_of(load_catalog({"warehouse": str(lake)}).load_table(Identifier("d", "t")))
    assert sorted(row[0] for row in rows) == list(range(90))
    assert all("container_" in row[1] for row in rows)
    assert cluster.applications()[-1]["finalStatus"] == "SUCCEEDED"
