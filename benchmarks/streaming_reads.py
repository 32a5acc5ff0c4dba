"""Streams that read what there is (AvailableNow) into nothing: ours and Java's connector, one after the other.

    streaming_reads.py [--rows 2000000] [--commits 4]

An append table, and the changelog of a table with `lookup`, both written by us. Prints rows per second of each, best of
three, and the ratio to Java's; without Java's connector (../shared/oracles) only ours.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.java_oracle import find_oracles, run_streams  # noqa: E402

FROM_THE_START = {"scan.snapshot-id": "1"}
KEYED = "'primary-key' = 'k', 'bucket' = '2', 'changelog-producer' = 'lookup'"
TABLES = {"append": "", "lookup": f"TBLPROPERTIES ({KEYED})"}
RUNS = 3


def session(warehouse: str) -> Any:
    import paimon_sql  # noqa: PLC0415  Java's Python does not have it

    return paimon_sql.connect(warehouse, **{"spark.master": "local[2]", "spark.ui.showConsoleProgress": "false"})


def make_tables(warehouse: str, rows: int, commits: int) -> None:
    spark = session(warehouse)
    for name, properties in TABLES.items():
        spark.sql(f"CREATE TABLE {name} (k BIGINT NOT NULL, v STRING, n DOUBLE) {properties}")
        for number in range(commits):
            first, end = number * rows // commits, (number + 1) * rows // commits
            spark.sql(f"INSERT INTO {name} SELECT id, concat('value ', id % 1000), id / 3.0 FROM range({first}, {end})")
    spark.stop()


def ours(warehouse: str, table: str, folder: str) -> None:
    """Best of some runs, as JSON."""
    spark = session(warehouse)
    spark.range(1000).write.format("noop").mode("overwrite").save()
    found = []
    for number in range(RUNS):
        started = time.perf_counter()
        stream = spark.readStream.options(**FROM_THE_START).table(table).writeStream.format("noop")
        stream = stream.option("checkpointLocation", f"{folder}/ours{table}{number}").trigger(availableNow=True)
        query = stream.start()
        query.awaitTermination()
        seconds = time.perf_counter() - started
        found.append((seconds, sum(p.numInputRows for p in query.recentProgress)))
    print(json.dumps(dict(zip(("seconds", "count"), min(found), strict=True))))


def of_java(warehouse: str, table: str, folder: str) -> dict[str, float] | None:
    if find_oracles() is None:
        return None
    query = {"table": f"paimon.default.{table}", "options": FROM_THE_START, "noop": True}
    queries = [query | {"checkpoint": f"{folder}/java{table}{number}"} for number in range(RUNS)]
    return min(run_streams(warehouse, queries, quick=False), key=lambda run: run["seconds"])  # type: ignore[no-any-return]


def _last_line(done: subprocess.CompletedProcess[str]) -> dict[str, float]:
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--commits", type=int, default=4)
    parser.add_argument("--ours", nargs=3, help=argparse.SUPPRESS)  # a run in a process of its own
    arguments = parser.parse_args()
    if arguments.ours:
        ours(*arguments.ours)
        return
    with tempfile.TemporaryDirectory() as folder:
        warehouse = f"{folder}/warehouse"
        make_tables(warehouse, arguments.rows, arguments.commits)
        for table in TABLES:
            command = [sys.executable, __file__, "--ours", warehouse, table, folder]
            mine = _last_line(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True))
            line = f"{table:8} {mine['count']:9.0f} rows  ours {mine['count'] / mine['seconds']:9.0f} rows/s"
            java = of_java(warehouse, table, folder)
            if java is not None:
                assert java["count"] == mine["count"], f"Java reads {java['count']} rows of {table}"
                speed, ratio = java["count"] / java["seconds"], java["seconds"] / mine["seconds"]
                line += f"  Java {speed:9.0f} rows/s  {ratio:.2f}x"
            print(line)


if __name__ == "__main__":
    main()
