"""Spark 4.0, 4.1 and 4.2 against 4.3: the same statements in each, one after the other in each round.

Every version is a process with its own session and tables, made by `scripts/spark_env`. A line is run in one version,
then in the next, so that a busy machine is busy for all. Prints the median of the rounds, and its ratio to that of 4.3
in the same run; lines that begin with `parquet` are Spark's own tables: what the version itself costs. With `--check`
the exit status is 1 where a line of ours is more than LIMIT times as slow as on 4.3.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[1]
LIMIT = 1.15
VERSIONS = ("4.0", "4.1", "4.2", "4.3")
KEYED = "TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2', 'write-only' = 'true')"
SOURCE = "SELECT id AS k, concat('v', id % 1000) AS v, id % 7 AS p FROM range({rows})"
CHANGES = "SELECT id * 3 AS k, 'new' AS v, 1L AS p FROM range({rows} div 10)"
# what each line runs; {n} is the round
LINES = {
    "parquet write": [
        "CREATE OR REPLACE TEMPORARY VIEW s AS " + SOURCE,
        "INSERT OVERWRITE spark_catalog.default.pq TABLE s",
    ],
    "parquet plan": ["EXPLAIN SELECT * FROM spark_catalog.default.pq WHERE k = {n}"],
    "parquet scan": ["SELECT p, count(*), max(v) FROM spark_catalog.default.pq GROUP BY p"],
    "plan": ["EXPLAIN SELECT * FROM plain WHERE k = {n}"],
    "append": ["INSERT OVERWRITE plain " + SOURCE],
    "scan": ["SELECT p, count(*), max(v) FROM plain GROUP BY p"],
    "filter": ["SELECT max(v) FROM plain WHERE k BETWEEN 10 AND 20"],
    "load keys": ["INSERT OVERWRITE keyed " + SOURCE],
    "upsert": ["INSERT INTO keyed " + CHANGES],
    "merge read": ["SELECT p, count(*), max(v) FROM keyed GROUP BY p"],
    "compact": ["CALL sys.compact(table => 'keyed')"],
    "update": ["UPDATE plain SET v = 'u' WHERE p = 3"],
    "delete": ["DELETE FROM plain WHERE k % 50 = 1"],
    "merge into": [
        "MERGE INTO plain t USING ("
        + CHANGES
        + ") s ON t.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    ],
    "create, drop": ["CREATE TABLE x{n} (k INT)", "INSERT INTO x{n} VALUES (1)", "DROP TABLE x{n}"],
}


def serve(rows: int) -> None:
    """Run the lines that come, as numbers of a round and names, and answer with seconds."""
    from pyspark.sql import SparkSession  # noqa: PLC0415

    import paimon_sql  # noqa: PLC0415

    answers, sys.stdout = sys.stdout, sys.stderr
    with tempfile.TemporaryDirectory() as folder:
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.memory", "1g")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.warehouse.dir", f"{folder}/spark")
            .config("spark.sql.catalog.paimon", "paimon_sql.SparkCatalog")
            .config("spark.sql.catalog.paimon.warehouse", f"{folder}/paimon")
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("OFF")
        paimon_sql.install(spark).sql("USE paimon.default")
        spark.sql("CREATE TABLE spark_catalog.default.pq (k BIGINT, v STRING, p BIGINT) USING parquet")
        spark.sql("CREATE TABLE plain (k BIGINT, v STRING, p BIGINT)")
        spark.sql(f"CREATE TABLE keyed (k BIGINT, v STRING, p BIGINT) {KEYED}")
        print("ready", file=answers, flush=True)
        for asked in sys.stdin:
            number, _, line = asked.strip().partition(" ")
            started = time.perf_counter()
            for statement in LINES[line]:
                spark.sql(statement.format(n=number, rows=rows)).collect()
            print(time.perf_counter() - started, file=answers, flush=True)
        spark.stop()


class Version:
    """A process with one Spark."""

    def __init__(self, version: str, rows: int) -> None:
        python = Path(_output([str(ROOT / "scripts" / "spark_env"), version])) / "bin" / "python"
        command = [str(python), __file__, "--serve", "--rows", str(rows)]
        pipe: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, cwd=ROOT, text=True, **pipe)
        assert self._answers.readline().strip() == "ready", f"no session of Spark {version}"

    @property
    def _answers(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def seconds(self, number: int, line: str) -> float:
        """How long a line takes in it."""
        assert self.process.stdin is not None
        print(number, line, file=self.process.stdin, flush=True)
        return float(self._answers.readline())

    def end(self) -> None:
        """Ends the session, and waits for that."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)


def _output(command: Sequence[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def measure(versions: Sequence[str], rounds: int, rows: int) -> dict[str, dict[str, float]]:
    """The median seconds of each line by version, without a first round that warms up."""
    sessions = {version: Version(version, rows) for version in versions}
    found: dict[str, dict[str, list[float]]] = {line: {v: [] for v in versions} for line in LINES}
    try:
        for number in range(rounds + 1):
            print(f"round {number} of {rounds}", file=sys.stderr, flush=True)
            for line in LINES:
                turn = [*versions[number % len(versions) :], *versions[: number % len(versions)]]
                for version in turn:
                    took = sessions[version].seconds(number, line)
                    if number:
                        found[line][version].append(took)
    finally:
        for session in sessions.values():
            session.end()
    middle: Callable[[list[float]], float] = statistics.median
    return {line: {v: middle(times) for v, times in by_version.items()} for line, by_version in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--versions", nargs="+", default=list(VERSIONS[:-1]), help="to compare with 4.3")
    parser.add_argument("--check", action="store_true", help=f"fail where a line is more than {LIMIT} times as slow")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.rows)
        return
    newest, slow = VERSIONS[-1], []
    medians = measure([*given.versions, newest], given.rounds, given.rows)
    print(f"{given.rows} rows, {given.rounds} rounds; milliseconds, and how often those of {newest}")
    print(f"{'':16s}" + "".join(f"{v:>16s}" for v in (newest, *given.versions)))
    for line, took in medians.items():
        ratios = {v: took[v] / took[newest] for v in given.versions}
        cells = "".join(f"{took[v] * 1000:9.0f} {ratios[v]:5.2f}x" for v in given.versions)
        print(f"{line:16s}{took[newest] * 1000:16.0f}{cells}")
        slow += [f"{line} on {v}" for v, r in ratios.items() if r > LIMIT and not line.startswith("parquet")]
    print(f"more than {LIMIT} times as slow: {', '.join(slow) or 'none'}")
    sys.exit(bool(slow) and given.check)


if __name__ == "__main__":
    main()
