"""Streams of epochs of 10,000 rows into tables with a primary key: ours and Java's connector, in turn.

    streaming_writes.py [--epochs 12] [--rows 10000] [--keys 200000] [--rounds 6] [--warm-up 1]

The rows are Parquet files, one in each epoch, with keys at random; a tenth of the tables' keys or so comes in an epoch.
Each side is one process that runs on; in each round both write the same epochs into a new table. Prints the median of
all epochs but the first of each query, in milliseconds, and the median and the quartiles of the rounds' ratios to
Java's, of the epochs' medians and of the whole rounds; without Java's connector (../shared/oracles) only ours. Both
compact as their defaults are; Java does so within the epochs, ours behind them, and a round ends when that is done.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.java_oracle import StreamRuns, both_sides  # noqa: E402
from tests.support.java_stream import serve  # noqa: E402
from tests.support.like_java import session  # noqa: E402
from tests.support.paired_rounds import paired_rounds, told_ratio  # noqa: E402

COLUMNS = "k BIGINT, v STRING, n DOUBLE"
KEYED = "'primary-key' = 'k', 'bucket' = '2'"
TABLES = {"keyed": KEYED, "lookup": f"{KEYED}, 'changelog-producer' = 'lookup'", "append": "'bucket' = '-1'"}
SIDES = ("ours", "Java")


def make_source(folder: Path, epochs: int, rows: int, keys: int) -> None:
    """A Parquet file of each epoch; streams take the oldest first."""
    folder.mkdir()
    dice = np.random.default_rng(7)
    for number in range(epochs):
        k = dice.integers(0, keys, rows)
        columns = {"k": k, "v": pa.array([f"value {n % 1000}" for n in k.tolist()]), "n": k / 3.0}
        pq.write_table(pa.table(columns), folder / f"{number:05}.parquet")


def wait_for_compactions() -> None:
    for thread in threading.enumerate():
        if thread.name == "paimon-compaction":
            thread.join()


def make_tables(warehouse: str, names: list[str], rounds: int) -> None:
    """A table of each kind for each side and round."""
    spark = session(warehouse)
    for name in names:
        for number in range(rounds * len(SIDES)):
            columns, options = "k BIGINT NOT NULL, v STRING, n DOUBLE", TABLES[name]
            spark.sql(f"CREATE TABLE {name}{number} ({columns}) TBLPROPERTIES ({options})")
    spark.stop()


def compare(sides: list[StreamRuns], folder: str, table: str, rounds: int, warm_up: int) -> None:
    """Write to tables of one kind in rounds, and print what came of it."""
    number = -1

    def write(side: StreamRuns) -> dict[str, Any]:
        nonlocal number
        number += 1
        into, checkpoint = f"{folder}/warehouse/default.db/{table}{number}", f"{folder}/checkpoints/{table}{number}"
        query = {"folder": f"{folder}/source", "columns": COLUMNS, "into": into, "checkpoint": checkpoint}
        answer: dict[str, Any] = side.run(query)
        return answer

    found = paired_rounds(write, sides, rounds, warm_up)
    epochs = [tuple(median(run["epochs"][1:]) for run in pair) for pair in found]
    whole = [tuple(run["seconds"] for run in pair) for pair in found]
    line = f"{table:8}"
    for side in range(len(sides)):
        line += f" {SIDES[side]} {median(e for p in found for e in p[side]['epochs'][1:]) * 1000:5.0f} ms;"
    print(f"{line} epochs {told_ratio(epochs)}; with compactions {told_ratio(whole)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--keys", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--warm-up", type=int, default=1, help="rounds before those that count")
    parser.add_argument("--only", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--ours", help=argparse.SUPPRESS)  # the process that is our side
    arguments = parser.parse_args()
    if arguments.ours:
        serve(session(arguments.ours), wait_for_compactions)
        return
    with tempfile.TemporaryDirectory() as folder:
        warehouse = f"{folder}/warehouse"
        make_source(Path(folder) / "source", arguments.epochs, arguments.rows, arguments.keys)
        make_tables(warehouse, arguments.only, arguments.rounds + arguments.warm_up)
        with both_sides(__file__, warehouse) as sides:
            for table in arguments.only:
                compare(sides, folder, table, arguments.rounds, arguments.warm_up)


if __name__ == "__main__":
    main()
