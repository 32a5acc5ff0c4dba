"""Costs of a statement before its rows come: calls between Python and the JVM, Spark jobs, and milliseconds.

    crossings.py [--statements REGEX] [--rounds 20] [--lines 0]

Prints for each statement the least milliseconds of some rounds, its calls to the JVM and to Python, the Java objects
that Python let go of, and its jobs. With `--lines 10`, prints the ten lines of this package with most calls, too.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parents[1]))

import paimon_sql
from tests.support.crossings import counted

COLUMNS = "(id BIGINT, a INT, b DOUBLE, s STRING)"
KEYED = "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '2', 'write-only' = 'true')"
ROWS = "SELECT id, int(id % 7), id / 3, concat('v', id) FROM range(100000)"
STATEMENTS = {
    "point query": "SELECT * FROM merged WHERE id = 4242",
    "compacted read": "SELECT count(*), sum(a), max(s) FROM compacted",
    "plain Parquet": "SELECT count(*), sum(a), max(s) FROM plain",
    "merge read": "SELECT count(*), sum(a), max(s) FROM merged",
    "count": "SELECT count(*) FROM compacted",
    "system table": "SELECT max(snapshot_id) FROM `merged$snapshots`",
    "INSERT, keyed": "INSERT INTO small VALUES (1, 1, 1.0, 'x')",
    "INSERT, append": "INSERT INTO appended VALUES (1, 1, 1.0, 'x')",
    "UPDATE": "UPDATE small SET a = 2 WHERE id = 1",
    "DELETE": "DELETE FROM appended WHERE id = 2",
}


def make_tables(spark: SparkSession, folder: str) -> None:
    for name in ("merged", "compacted", "small"):
        spark.sql(f"CREATE TABLE {name} {COLUMNS} {KEYED}")
    spark.sql(f"CREATE TABLE appended {COLUMNS}")
    for name in ("merged", "merged", "compacted"):
        spark.sql(f"INSERT INTO {name} {ROWS}")
    spark.sql("CALL sys.compact(table => 'compacted', compact_strategy => 'full')")
    spark.table("compacted").write.parquet(f"{folder}/plain")
    spark.read.parquet(f"{folder}/plain").createOrReplaceTempView("plain")


def measure(spark: SparkSession, statement: str, rounds: int, shown: int) -> str:
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        spark.sql(statement).collect()
        taken.append(time.perf_counter() - started)
    spark.sparkContext.setJobGroup(statement, statement)
    with counted() as found:
        spark.sql(statement).collect()
    jobs = len(spark.sparkContext.statusTracker().getJobIdsForGroup(statement))
    spark.sparkContext._jsc.clearJobGroup()
    figures = f"{min(taken) * 1000:8.0f} {found.to_java():8} {found.to_python():10} {found.released:9} {jobs:5}"
    return "\n".join([figures, *(f"    {count:4} {line}" for line, count in found.lines().most_common(shown))])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statements", default="")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--lines", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as warehouse:
        settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
        spark = paimon_sql.connect(warehouse, **settings)
        make_tables(spark, warehouse)
        print(f"{'statement':18} {'ms':>8} {'to JVM':>8} {'to Python':>10} {'released':>9} {'jobs':>5}")
        for name, statement in STATEMENTS.items():
            if re.search(args.statements, name):
                print(f"{name:18} {measure(spark, statement, args.rounds, args.lines)}", flush=True)
        spark.stop()


if __name__ == "__main__":
    main()
