"""A standalone master with two workers: the shell, a job of somebody's and spark-submit, as people start them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import paimon_sql
from tests.support.quick_jvm import ARCHIVED
from tests.support.standalone import PATIENCE, SPARK, environment_of, standalone

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.slow]

BIN = Path(sys.executable).parent
SETTINGS = f"""
spark.sql.catalog.lake            org.apache.paimon.spark.SparkCatalog
spark.sql.catalog.lake.warehouse  {{warehouse}}
spark.sql.defaultCatalog          lake
spark.executor.memory             512m
spark.executor.cores              1
spark.cores.max                   2
spark.sql.shuffle.partitions      2
spark.executor.extraJavaOptions   {ARCHIVED}
spark.driver.extraJavaOptions     {ARCHIVED}
"""
JOB = """
import os
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.sql("CREATE DATABASE d")
spark.sql("CREATE TABLE d.t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '2')")
spark.range(100).selectExpr("int(id) AS k", "string(id) AS v").repartition(2).writeTo("d.t").append()
print("hosts", sorted({os.path.basename(p) for p in spark.sparkContext.parallelize(range(4), 4).map(
    lambda _: os.path.dirname(os.getcwd())).collect()}))
print("rows", spark.table("d.t").count())
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return environment_of(tmp_path_factory.mktemp("spark-logs"))


@pytest.fixture(scope="module")
def master(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a master with two workers."""
    with standalone(environment, tmp_path_factory.mktemp("standalone") / "log") as url:
        yield url


def run(command: list[str], environment: dict[str, str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE * 2)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def given(master: str, tmp_path: Path) -> list[str]:
    """The options of a session on the cluster, with a warehouse of its own."""
    defaults = tmp_path / "defaults.conf"
    defaults.write_text(SETTINGS.format(warehouse=tmp_path / "warehouse"))
    return ["--master", master, "--properties-file", str(defaults)]


SHELL = str(BIN / "paimon-sql")
FILL = """
CREATE DATABASE d;
CREATE TABLE d.t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '2');
INSERT INTO d.t SELECT int(id), string(id) FROM range(100);
"""
COUNT = "SELECT count(*) AS n FROM ${table};\nSELECT commit_kind FROM ${table}$snapshots;\n"


def test_a_job(given: list[str], environment: dict[str, str], tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text(JOB)
    printed = run([SHELL, "run", *given, str(job)], environment, tmp_path)
    assert re.search(r"hosts \['app-", printed), printed
    assert re.search(r"rows 100$", printed, re.M), printed


def test_the_shell(given: list[str], environment: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "report.sql"
    script.write_text(FILL + COUNT + "SET spark.app.name;\nSET spark.executor.memory;\n")
    options = ["--name", "a report", "--executor-memory", "500m", "--total-executor-cores", "2"]
    words = [*given, *options, "-S", "--output", "csv", "-d", "table=d.t", "-f", str(script)]
    printed = run([SHELL, *words], environment, tmp_path)
    told = ["key,value", "spark.app.name,a report", "key,value", "spark.executor.memory,500m"]
    assert printed.splitlines() == ["n", "100", "commit_kind", "APPEND", *told]


def test_spark_submit(given: list[str], environment: dict[str, str], tmp_path: Path) -> None:
    main = Path(paimon_sql.__file__).parent / "__main__.py"
    submit = [str(SPARK / "bin" / "spark-submit"), *given, str(main), "--output", "csv"]
    printed = run([*submit, "-e", FILL + "SELECT max(k) FROM d.t WHERE v < '5'"], environment, tmp_path)
    assert printed.splitlines()[-1] == "49"
