"""Streams of both engines over one table: each reads what the other wrote, and goes on with the other's checkpoint."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.interop.engines import ENGINES, Engines, SparkEngine
from tests.support.java_oracle import JavaOracle, find_oracles
from tests.support.quick_jvm import QUICK_JVM

LOG = {"read.changelog": "true"}
TABLES = {
    "append": "",
    "keyed": "TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2')",
    "lookup": "TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2', 'changelog-producer' = 'lookup')",
}


def of_java(warehouse: str, table: str, checkpoint: Path, **options: str) -> list[list[Any]]:
    """What a query of Java's reads, in a process of its own."""
    oracles = find_oracles()
    assert oracles is not None
    setup = subprocess.run(["bash", oracles / "java_setup.sh"], check=True, stdout=subprocess.PIPE, text=True)
    script = Path(__file__).parents[1] / "support" / "java_stream.py"
    ours = ("PYSPARK_", "SPARK_", "PYTHON")
    env = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    env |= {"ORACLE_MEMORY": "1g", "SPARK_SUBMIT_OPTS": QUICK_JVM, "TZ": "UTC"}
    command = [setup.stdout.strip(), script, oracles, warehouse, table, checkpoint, json.dumps(options)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=env)
    rows: list[list[Any]] = json.loads(done.stdout.splitlines()[-1])["rows"]
    return rows


def of_ours(ours: SparkEngine, table: str, checkpoint: Path, **options: str) -> list[list[Any]]:
    rows: list[list[Any]] = []
    stream = ours.session.readStream.options(**options).table(table)
    writer = stream.writeStream.foreachBatch(lambda batch, _: rows.extend(map(list, batch.collect())))
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    return sorted(rows)


@pytest.mark.parametrize("kind", TABLES)
def test_ours_follows_what_both_write(engines: Engines, ours: SparkEngine, tmp_path: Path, kind: str) -> None:
    engines.run("java", f"CREATE TABLE t (k INT, v STRING) {TABLES[kind]}")
    assert of_ours(ours, "t", tmp_path, **LOG) == []
    expected: list[list[Any]] = []
    for number, engine in enumerate(ENGINES):
        engines.run(engine, f"INSERT INTO t VALUES (1, '{number}'), ({number + 2}, 'x')")
        expected += [["+I", number + 2, "x"]]
    if kind == "lookup":
        expected += [["+I", 1, "0"], ["-U", 1, "0"], ["+U", 1, "1"]]
    else:
        expected += [["+I", 1, "0"], ["+I", 1, "1"]]
    assert of_ours(ours, "t", tmp_path, **LOG) == sorted(expected)


def test_checkpoints_change_hands(
    engines: Engines, ours: SparkEngine, java: tuple[JavaOracle, str], tmp_path: Path
) -> None:
    """Our query, Java's, and ours again, with one checkpoint."""
    table = f"paimon.{engines.database}.`t$audit_log`"
    engines.run("ours", f"CREATE TABLE t (k INT, v STRING) {TABLES['lookup']}")
    engines.run("ours", "INSERT INTO t VALUES (1, 'a'), (2, 'a'), (3, 'a'), (4, 'a')")
    assert of_ours(ours, table, tmp_path / "at") == [["+I", k, "a"] for k in (1, 2, 3, 4)]
    engines.run("ours", "INSERT INTO t VALUES (1, 'b'), (2, 'b')")
    assert of_java(java[1], table, tmp_path / "at") == sorted(
        [k, n, v] for n in (1, 2) for k, v in (("+U", "b"), ("-U", "a"))
    )
    engines.run("java", "INSERT INTO t VALUES (5, 'c')")
    assert of_ours(ours, table, tmp_path / "at") == [["+I", 5, "c"]]
