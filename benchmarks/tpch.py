"""TPC-H on merging and on compacted tables: ours, Paimon's Java connector and Spark's own Parquet tables, in turns.

    tpch.py [--scale 1] [--rounds 3] [--queries 1 6 …] [--compacted] [--data FOLDER]

Every table has its primary key and is loaded twice, so that each read merges; with `--compacted` a full compaction
follows. The data comes from `tpchgen-cli` (`pip install tpchgen-cli`), and is made once for each folder of `--data`.
Each engine is one process that runs on; a query runs in each engine once per round, and the engines change turns. The
first round warms up. Prints the median seconds, and how many times as fast ours is as each peer; geometric means
follow. The exit status is 1 if two engines return different rows. Without Java's connector (../shared/oracles) only
Parquet is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
QUERIES = Path(__file__).with_name("tpch_queries.sql")
OURS, JAVA, PARQUET = "ours", "java", "parquet"
# by table: the columns of its primary key, and its buckets
TABLES = {
    "region": ("r_regionkey", 1),
    "nation": ("n_nationkey", 1),
    "supplier": ("s_suppkey", 1),
    "customer": ("c_custkey", 2),
    "part": ("p_partkey", 2),
    "partsupp": ("ps_partkey,ps_suppkey", 2),
    "orders": ("o_orderkey", 2),
    "lineitem": ("l_orderkey,l_linenumber", 2),
}


def serve(engine: str, folder: str) -> None:
    """Run the statements that arrive as lines of JSON, and answer each with its seconds and its rows as texts."""
    answers, sys.stdout = sys.stdout, sys.stderr
    spark = _session(engine, folder)
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        started = time.perf_counter()
        rows = spark.sql(json.loads(line)).collect()
        seconds = time.perf_counter() - started
        print(json.dumps({"seconds": seconds, "rows": [list(map(str, row)) for row in rows]}), file=answers, flush=True)
    spark.stop()


def _session(engine: str, folder: str) -> Any:
    from pyspark.sql import SparkSession  # noqa: PLC0415  the parent process needs no Spark

    builder = SparkSession.builder.master("local[2]")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.sql.warehouse.dir": f"{folder}/spark",
        "spark.log.level": "OFF",
    }
    if engine != PARQUET:
        java = engine == JAVA
        settings["spark.sql.catalog.paimon"] = (
            "org.apache.paimon.spark.SparkCatalog" if java else "paimon_sql.SparkCatalog"
        )
        settings["spark.sql.catalog.paimon.warehouse"] = f"{folder}/paimon"
    if engine == JAVA:
        settings["spark.jars"] = os.environ["CONNECTOR"]
        settings["spark.sql.extensions"] = "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions"
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    if engine == OURS:
        import paimon_sql  # noqa: PLC0415  the process of Java's connector does not have it

        spark = paimon_sql.install(spark)
    if engine != PARQUET:
        spark.sql("USE paimon.default")
    return spark


class Engine:
    """A process with one session."""

    def __init__(self, name: str, python: str, folder: Path) -> None:
        self.name = name
        command = [python, __file__, "--serve", name, "--data", str(folder)]
        pipe: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK_", "SPARK_", "PYTHON"))}
        self._process = subprocess.Popen(command, text=True, env=env, **pipe)
        assert self._pipe(self._process.stdout).readline().strip() == "ready", f"no session of {name}"

    def run(self, statement: str) -> tuple[float, list[list[str]]]:
        """Return the seconds and the rows of a statement. Raises `RuntimeError` if it fails."""
        print(json.dumps(statement), file=self._pipe(self._process.stdin), flush=True)
        line = self._pipe(self._process.stdout).readline()
        if not line:
            raise RuntimeError(f"{self.name} failed at: {statement}")
        answer = json.loads(line)
        return answer["seconds"], answer["rows"]

    def end(self) -> None:
        """End the session, and wait for its end."""
        self._pipe(self._process.stdin).close()
        self._process.wait(60)

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe


def _pythons() -> dict[str, str]:
    """Return the Python of each engine that is available."""
    from tests.support.java_oracle import find_oracles  # noqa: PLC0415  not in the process of Java's connector

    found, oracles = {OURS: sys.executable}, find_oracles()
    if oracles is not None:
        (connector,) = oracles.glob("paimon-spark-*.jar")
        os.environ["CONNECTOR"] = str(connector)
        setup = subprocess.run(["bash", str(oracles / "java_setup.sh")], check=True, capture_output=True, text=True)
        found[JAVA] = setup.stdout.strip()
    return found | {PARQUET: sys.executable}


def make_data(folder: Path, scale: float) -> None:
    """Make the Parquet files of all tables, unless the folder has them."""
    if all((folder / f"{table}.parquet").exists() for table in TABLES):
        return
    program = shutil.which("tpchgen-cli") or shutil.which("tpchgen-cli", path=str(Path(sys.executable).parent))
    if program is None:
        raise SystemExit("The data comes from tpchgen-cli, which is not installed: pip install tpchgen-cli")
    command = [program, "parquet", "--scale-factor", f"{scale:g}", "--output-dir", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def load(engine: Engine, data: Path, compacted: bool) -> float:
    """Make and fill the tables; return the seconds of the writes. Spark reads the files of Parquet in place."""
    seconds = 0.0
    for table, (key, buckets) in TABLES.items():
        source = f"parquet.`{data}/{table}.parquet`"
        if engine.name == PARQUET:
            engine.run(f"CREATE OR REPLACE TEMPORARY VIEW {table} AS SELECT * FROM {source}")
            continue
        _, columns = engine.run(f"DESCRIBE QUERY SELECT * FROM {source}")
        listed = ", ".join(f"{name} {kind}{' NOT NULL' * (name in key.split(','))}" for name, kind, *_ in columns)
        engine.run(
            f"CREATE TABLE {table} ({listed}) TBLPROPERTIES ('primary-key' = '{key}', 'bucket' = '{buckets}', "
            "'write-only' = 'true', 'file.format' = 'parquet')"
        )
        statements = [f"INSERT INTO {table} SELECT * FROM {source}"] * 2
        if compacted:
            statements.append(f"CALL sys.compact(table => 'default.{table}', compact_strategy => 'full')")
        seconds += sum(engine.run(statement)[0] for statement in statements)
    return seconds


def queries() -> dict[int, str]:
    """Return the queries by number."""
    _, *parts = QUERIES.read_text(encoding="utf-8").split("-- query ")
    return {int(number): text.strip() for number, _, text in (part.partition("\n") for part in parts)}


def measure(
    engines: Sequence[Engine], asked: Mapping[int, str], rounds: int
) -> tuple[dict[int, dict[str, float]], list[int]]:
    """Return the median seconds of each query by engine, and the queries with different answers."""
    found: dict[int, dict[str, list[float]]] = {number: {e.name: [] for e in engines} for number in asked}
    different: set[int] = set()
    for turn in range(rounds + 1):
        print(f"round {turn} of {rounds}", file=sys.stderr, flush=True)
        order = [*engines[turn % len(engines) :], *engines[: turn % len(engines)]]
        for number, text in asked.items():
            answers = []
            for engine in order:
                seconds, rows = engine.run(text)
                answers.append(rows)
                if turn:
                    found[number][engine.name].append(seconds)
            if any(answer != answers[0] for answer in answers):
                different.add(number)
    medians = {n: {name: statistics.median(times) for name, times in by.items()} for n, by in found.items()}
    return medians, sorted(different)


def print_ratios(medians: Mapping[int, Mapping[str, float]], peers: Iterable[str]) -> None:
    """Print a line for each query, and the geometric means."""
    for number, seconds in medians.items():
        ratios = "".join(f"{seconds[p]:8.2f} {seconds[p] / seconds[OURS]:5.2f}x" for p in peers)
        print(f"query {number:3d} {seconds[OURS]:8.2f} {ratios}")
    for peer in peers:
        ratios_of = [seconds[peer] / seconds[OURS] for seconds in medians.values()]
        print(f"geometric mean, {peer}: {statistics.geometric_mean(ratios_of):.2f}x, least {min(ratios_of):.2f}x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--queries", type=int, nargs="+", default=list(queries()))
    parser.add_argument("--compacted", action="store_true", help="compact the tables before the queries")
    parser.add_argument("--data", type=Path, help="a folder for the data; a new one for each run if it is not given")
    parser.add_argument("--serve", choices=[OURS, JAVA, PARQUET], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, str(given.data))
        return
    pythons = _pythons()
    with tempfile.TemporaryDirectory() as scratch:
        data = (given.data or Path(scratch) / "data").absolute()
        make_data(data, given.scale)
        engines = [Engine(name, python, Path(scratch) / name) for name, python in pythons.items()]
        loading = {engine.name: load(engine, data, given.compacted) for engine in engines}
        medians, different = measure(engines, {n: queries()[n] for n in given.queries}, given.rounds)
        for engine in engines:
            engine.end()
    peers = [name for name in pythons if name != OURS]
    tables = "compacted" if given.compacted else "merging"
    print(
        f"scale {given.scale:g}, {tables} tables; seconds of ours, then of {', '.join(peers)}, with the ratio to ours"
    )
    if JAVA in loading:
        print(f"loading   {loading[OURS]:8.2f} {loading[JAVA]:8.2f} {loading[JAVA] / loading[OURS]:5.2f}x")
    print_ratios(medians, peers)
    print(f"queries with different rows: {', '.join(map(str, different)) or 'none'}")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
