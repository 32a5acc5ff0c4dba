"""Streams of epochs of 10,000 rows into tables with a primary key: ours and Java's connector, one after the other.

    streaming_writes.py [--epochs 20] [--rows 10000] [--keys 200000]

The rows are Parquet files, one in each epoch, with keys at random; a tenth of the tables' keys or so comes in an epoch.
Prints the median and the slowest of the epochs behind the first five, in milliseconds, and the ratio of the medians to
Java's; without Java's connector (../shared/oracles) only ours. Both compact as their defaults are; Java does so within
the epochs, ours behind them, and `with compactions` is the whole run until that is done, too.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.java_oracle import find_oracles, run_streams  # noqa: E402

COLUMNS = "k BIGINT, v STRING, n DOUBLE"
KEYED = "'primary-key' = 'k', 'bucket' = '2'"
TABLES = {"keyed": KEYED, "lookup": f"{KEYED}, 'changelog-producer' = 'lookup'", "append": "'bucket' = '-1'"}
WARM_UP = 5


def make_source(folder: Path, epochs: int, rows: int, keys: int) -> None:
    """A Parquet file of each epoch; streams take the oldest first."""
    folder.mkdir()
    dice = np.random.default_rng(7)
    for number in range(epochs):
        k = dice.integers(0, keys, rows)
        columns = {"k": k, "v": pa.array([f"value {n % 1000}" for n in k.tolist()]), "n": k / 3.0}
        pq.write_table(pa.table(columns), folder / f"{number:05}.parquet")


def session(warehouse: str) -> Any:
    import paimon_sql  # noqa: PLC0415  Java's Python does not have it

    return paimon_sql.connect(warehouse, **{"spark.master": "local[2]", "spark.ui.showConsoleProgress": "false"})


def ours(warehouse: str, table: str, source: str, checkpoint: str) -> None:
    """The seconds of each epoch, and of the whole run with compactions, as JSON."""
    spark = session(warehouse)
    spark.range(1000).write.format("noop").mode("overwrite").save()
    started = time.perf_counter()
    rows = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(source)
    writer = rows.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    query = writer.toTable(table)
    query.awaitTermination()
    for thread in threading.enumerate():
        if thread.name == "paimon-compaction":
            thread.join()
    seconds = time.perf_counter() - started
    progress = [p for p in query.recentProgress if p.numInputRows]
    epochs = [p.durationMs["triggerExecution"] / 1000 for p in progress]
    print(json.dumps({"epochs": epochs, "seconds": seconds, "count": spark.table(table).count()}))


def told(name: str, run: dict[str, Any]) -> str:
    epochs = run["epochs"][WARM_UP:]
    return (
        f"{name} {statistics.median(epochs) * 1000:5.0f} ms, slowest {max(epochs) * 1000:5.0f} ms, "
        f"with compactions {run['seconds']:5.1f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--keys", type=int, default=200_000)
    parser.add_argument("--only", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--ours", nargs=4, help=argparse.SUPPRESS)  # a run in a process of its own
    arguments = parser.parse_args()
    if arguments.ours:
        ours(*arguments.ours)
        return
    with tempfile.TemporaryDirectory() as folder:
        warehouse, source = f"{folder}/warehouse", Path(folder) / "source"
        make_source(source, arguments.epochs, arguments.rows, arguments.keys)
        spark = session(warehouse)
        for table in arguments.only:
            for name in (table, f"{table}_of_java"):
                spark.sql(
                    f"CREATE TABLE {name} (k BIGINT NOT NULL, v STRING, n DOUBLE) TBLPROPERTIES ({TABLES[table]})"
                )
        spark.stop()
        for table in arguments.only:
            command = [sys.executable, __file__, "--ours", warehouse, table, str(source), f"{folder}/ours{table}"]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            mine = json.loads(done.stdout.splitlines()[-1])
            line = f"{table:8} {told('ours', mine)}"
            if find_oracles() is not None:
                query = {"folder": str(source), "columns": COLUMNS, "into": f"{warehouse}/default.db/{table}_of_java"}
                (java,) = run_streams(warehouse, [query | {"checkpoint": f"{folder}/java{table}"}], quick=False)
                medians = [statistics.median(run["epochs"][WARM_UP:]) for run in (java, mine)]
                line += f"; {told('Java', java)}; {medians[0] / medians[1]:.2f}x"
            print(line, flush=True)


if __name__ == "__main__":
    main()
