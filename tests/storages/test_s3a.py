"""Large files on S3 are read by Spark's own reader, through Hadoop's connector (`make campaign NAME=s3a`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.object_server import ObjectServer, object_server

JARS = os.environ.get("PAIMON_SQL_S3A_JARS")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(JARS is None, reason="no PAIMON_SQL_S3A_JARS: make campaign NAME=s3a"),
]
PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
import paimon_sql
from paimon_core.scan import execution

given = json.loads(sys.argv[1])
execution._CONNECTOR_BYTES = given["bytes"]
spark = (
    SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.jars", given["jars"])
    .config("spark.sql.files.ignoreMissingFiles", "true").getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")
for name, options in given["catalogs"].items():
    paimon_sql.connect(warehouse="s3://lake/wh", catalog=name, **options)
for statement in given["statements"]:
    try:
        answer = [list(row) for row in spark.sql(statement).collect()]
    except Exception as error:
        answer = str(error)
    print("answer", json.dumps(answer, default=str), flush=True)
"""


def answers(servers: dict[str, ObjectServer], *statements: str, least: int = 0) -> list[Any]:
    """The rows of statements in a process that has the connector, or the text of an error."""
    assert JARS is not None
    jars = ",".join(str(p) for p in sorted(Path(JARS.removesuffix("*")).glob("*.jar")))
    catalogs = {name: server.options | {"s3.path.style.access": "true"} for name, server in servers.items()}
    given = {"jars": jars, "bytes": least, "catalogs": catalogs, "statements": statements}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(given)], capture_output=True, text=True, check=False
    )
    found = [
        json.loads(line.removeprefix("answer ")) for line in done.stdout.splitlines() if line.startswith("answer ")
    ]
    assert len(found) == len(statements), done.stderr[-3000:]
    return found


def test_two_catalogs_of_one_bucket_name_read_their_own_objects() -> None:
    """Hadoop would use the first catalog's keys and endpoint for both."""
    with object_server() as one, object_server() as two:
        servers = {"one": one, "two": two}
        make = [
            text
            for name in servers
            for text in (
                f"CREATE DATABASE {name}.d",
                f"CREATE TABLE {name}.d.t (id BIGINT, v STRING)",
                f"INSERT INTO {name}.d.t SELECT id, '{name}' FROM range(10)",
            )
        ]
        reads = [f"SELECT DISTINCT v FROM {name}.d.t WHERE id > 3" for name in servers]
        plan = "EXPLAIN SELECT * FROM one.d.t"
        *_, first, second, explained = answers(servers, *make, *reads, plan)
    assert (first, second) == ([["one"]], [["two"]])
    assert (
        "PaimonScan[raw]" in explained[0][0] and "read by S3A" in explained[0][0] and "hunter2" not in explained[0][0]
    )


def test_rows_and_names() -> None:
    parts = ["a b", "50%", "k=v", "x+y", "#1", "ü", "a/b", "c:d"]
    values = ", ".join(f"({n}, '{part}')" for n, part in enumerate(parts))
    with object_server() as server:
        found = answers(
            {"c": server},
            "CREATE DATABASE c.d",
            "CREATE TABLE c.d.t (id INT, p STRING) PARTITIONED BY (p)",
            f"INSERT INTO c.d.t VALUES {values}",
            "SELECT id, p FROM c.d.t ORDER BY id",
            "EXPLAIN SELECT id, p FROM c.d.t",
            "SELECT id FROM c.d.t WHERE p = 'a/b'",
            "EXPLAIN SELECT sum(id) FROM c.d.t",
            "DELETE FROM c.d.t WHERE id = 2",
            "ALTER TABLE c.d.t ADD COLUMN more INT",
            "SELECT count(id), count(more) FROM c.d.t",
        )
    assert found[3] == [[n, part] for n, part in enumerate(parts)]
    assert "read by S3A" in found[4][0][0] and found[5] == [[6]]
    assert "read by S3A" not in found[6][0][0], "workers aggregate sooner than Spark"
    assert found[-1] == [[7, 0]]


def test_small_files_are_read_by_workers_and_a_missing_file_is_an_error() -> None:
    with object_server() as server:
        statements = ("CREATE DATABASE c.d", "CREATE TABLE c.d.t (id INT)", "INSERT INTO c.d.t VALUES (1)")
        assert (
            "read by S3A"
            not in answers({"c": server}, *statements, "EXPLAIN SELECT * FROM c.d.t", least=2**23)[-1][0][0]
        )
        assert answers({"c": server}, "SELECT * FROM c.d.t") == [[[1]]]
        for key in [k for k in server.objects if k.endswith(".parquet")]:
            del server.objects[key]
        (error,) = answers({"c": server}, "SELECT * FROM c.d.t")
    assert isinstance(error, str) and ".parquet" in error
