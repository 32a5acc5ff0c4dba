"""Streams that read what there is (AvailableNow) into nothing: ours and Java's connector, in turn.

    streaming_reads.py [--rows 2000000] [--commits 4] [--rounds 15] [--warm-up 5]

An append table, and the changelog of a table with `lookup`, both written by us. Each side is one process that runs on;
in each round both read the table once, one behind the other, in turn the one or the other first. Prints rows per second
of each by the median of the rounds, and the median and the quartiles of the rounds' ratios to Java's: what else is on
the machine meets both sides of a round alike. Without Java's connector (../shared/oracles) only ours.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.java_oracle import StreamRuns, both_sides  # noqa: E402
from tests.support.java_stream import serve  # noqa: E402
from tests.support.like_java import session  # noqa: E402
from tests.support.paired_rounds import paired_rounds, told_ratio, told_speed  # noqa: E402

FROM_THE_START = {"scan.snapshot-id": "1"}
KEYED = "'primary-key' = 'k', 'bucket' = '2', 'changelog-producer' = 'lookup'"
TABLES = {"append": "", "lookup": f"TBLPROPERTIES ({KEYED})"}


def make_tables(warehouse: str, rows: int, commits: int) -> None:
    spark = session(warehouse)
    for name, properties in TABLES.items():
        spark.sql(f"CREATE TABLE {name} (k BIGINT NOT NULL, v STRING, n DOUBLE) {properties}")
        for number in range(commits):
            first, end = number * rows // commits, (number + 1) * rows // commits
            spark.sql(f"INSERT INTO {name} SELECT id, concat('value ', id % 1000), id / 3.0 FROM range({first}, {end})")
    spark.stop()


def compare(sides: list[StreamRuns], folder: str, table: str, rounds: int, warm_up: int) -> None:
    """Read a table in rounds, and print what came of it."""
    number = 0

    def read(side: StreamRuns) -> dict[str, Any]:
        nonlocal number
        number += 1
        query = {"table": f"paimon.default.{table}", "options": FROM_THE_START, "noop": True}
        answer: dict[str, Any] = side.run(query | {"checkpoint": f"{folder}/checkpoints/{table}{number}"})
        return answer

    found = paired_rounds(read, sides, rounds, warm_up)
    (count,) = {run["count"] for pair in found for run in pair}  # all have read the same
    seconds = [tuple(run["seconds"] for run in pair) for pair in found]
    names = ("ours", "Java")[: len(sides)]
    speeds = "  ".join(f"{name} {told_speed(count, [s[i] for s in seconds])}" for i, name in enumerate(names))
    print(f"{table:8} {count:9} rows  {speeds}  {told_ratio(seconds)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--commits", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--warm-up", type=int, default=5, help="rounds before those that count")
    parser.add_argument("--only", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--ours", help=argparse.SUPPRESS)  # the process that is our side
    arguments = parser.parse_args()
    if arguments.ours:
        serve(session(arguments.ours))
        return
    with tempfile.TemporaryDirectory() as folder:
        warehouse = f"{folder}/warehouse"
        make_tables(warehouse, arguments.rows, arguments.commits)
        with both_sides(__file__, warehouse) as sides:
            for table in arguments.only:
                compare(sides, folder, table, arguments.rounds, arguments.warm_up)


if __name__ == "__main__":
    main()
