"""Commit and compact beside Paimon's Java engine on a local disk, and count what is lost.

    python -m tests.stress.beside_java [--seconds 150] [--writers 2] [--python 0] [--spark 0] [--java-threads 4]

`--python` are processes that write by `paimon_sql.open_catalog`, without Spark. `--spark` are Spark sessions, each in a
process of its own, that run INSERTs. Our writers do not wait for the disk: commits then meet more often. Prints how
many commits of both succeeded, failed and were lost, and after how many milliseconds Java's rename replaced a snapshot
of ours. Java is the peer, and `--java-threads` is the number of its threads.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import IO, Any

import paimon_sql
from paimon_core.errors import PaimonError
from paimon_core.io.local import LocalFileIO
from tests.support.java_oracle import find_oracles
from tests.support.quick_jvm import QUICK_JVM
from tests.support.stored import compact, create_table, insert, open_table, read

FOREVER = "1000000"
Published = tuple[str, str, int]  # path, uuid, epoch nanoseconds


class NotingIO(LocalFileIO):
    """A disk that records which snapshots were published through it, in `noted`."""

    noted: list[Published] = []  # of this process

    def create_exclusive(self, path: str, data: bytes) -> bool:
        made = LocalFileIO.create_exclusive(self, path, data)
        if made and "/snapshot/" in path:
            self.noted.append((path, json.loads(data)["uuid"], time.time_ns()))
        return made


def write(warehouse: str, writer: int) -> tuple[list[int], Counter[str], list[Published], list[float]]:
    """Commit until a file `stop` is there: keys acknowledged, failures, snapshots published, seconds of each."""
    os.fsync = lambda _: None
    table, acked, failed, seconds = open_table(warehouse, NotingIO()), list[int](), Counter[str](), list[float]()
    key = writer * 10_000_000
    while not Path(warehouse, "stop").exists():
        key, began = key + 1, time.monotonic()
        try:
            insert(table, [(key, "x")])
            acked.append(key)
        except PaimonError as error:
            failed[type(error).__name__] += 1
        seconds.append(time.monotonic() - began)
    return acked, failed, NotingIO.noted, seconds


Written = tuple[list[int], Counter[str], list[Published], list[float]]


def write_in_python(warehouse: str, writer: int) -> Written:
    """Commit as `write` does, by the calls of a program without Spark."""
    os.fsync = lambda _: None
    table = paimon_sql.open_catalog(warehouse).table("default.t")
    return _committed(warehouse, writer, lambda key: table.append([{"k": key, "v": "x"}]))


def write_in_spark(warehouse: str, writer: int) -> Written:
    """Commit as `write` does, by INSERTs of a Spark session."""
    spark = paimon_sql.connect(
        warehouse,
        **{
            "spark.master": "local[1]",
            "spark.ui.enabled": "false",
            "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": QUICK_JVM,
            "spark.sql.warehouse.dir": f"{warehouse}/spark-{writer}",
        },
    )
    try:
        return _committed(warehouse, writer, lambda key: spark.sql(f"INSERT INTO t VALUES ({key}, 'x')").collect())
    finally:
        spark.stop()


def _committed(warehouse: str, writer: int, commit: Callable[[int], object]) -> Written:
    acked, failed, seconds, key = list[int](), Counter[str](), list[float](), writer * 10_000_000
    while not Path(warehouse, "stop").exists():
        key, began = key + 1, time.monotonic()
        try:
            commit(key)
            acked.append(key)
        except Exception as error:
            failed[type(error).__name__] += 1
        seconds.append(time.monotonic() - began)
    return acked, failed, [], seconds


def keep_compacting(warehouse: str) -> Counter[str]:
    """Compact until a file `stop` is there; how often it was `done`, and failures."""
    table, times = open_table(warehouse), Counter[str]()
    while not Path(warehouse, "stop").exists():
        try:
            times["done"] += compact(table) is not None
        except PaimonError as error:
            times[type(error).__name__] += 1
        time.sleep(1)
    return times


def answer(lines: IO[str]) -> Any:
    return next(json.loads(line) for line in lines if line.startswith("{"))


def measure(oracles: Path, warehouse: str, arguments: argparse.Namespace) -> None:
    kept = {"snapshot__num_retained__min": FOREVER, "snapshot__num_retained__max": FOREVER}
    create_table(warehouse, bucket="-1", write_only="true", **kept)
    setup = subprocess.run(["bash", oracles / "java_setup.sh"], check=True, stdout=subprocess.PIPE, text=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK_", "SPARK_", "PYTHON"))}
    command = [setup.stdout.strip(), str(Path(__file__).with_name("java_commits.py")), warehouse]
    java = subprocess.Popen(
        [*command, str(arguments.java_threads)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=env | {"ORACLE_MEMORY": "1g", "ORACLES": str(oracles)},
    )
    assert java.stdout is not None
    answer(java.stdout)
    roles = [write] * arguments.writers + [write_in_python] * arguments.python + [write_in_spark] * arguments.spark
    with ProcessPoolExecutor(len(roles) + 1, mp_context=multiprocessing.get_context("spawn")) as pool:
        parts = [pool.submit(role, warehouse, n) for n, role in enumerate(roles, 1)]
        compactor = pool.submit(keep_compacting, warehouse)
        time.sleep(arguments.seconds)
        Path(warehouse, "stop").touch()
        results = [p.result() for p in parts]
    theirs = answer(java.stdout)
    java.wait(60)
    there = Counter(k for k, _ in read(open_table(warehouse)))
    acked = [k for r in results for k in r[0]]
    seconds = sorted(s for r in results for s in r[3])
    replaced = [
        round((os.stat(path).st_ctime_ns - at) / 1e6, 1)
        for r in results
        for path, uuid, at in r[2]
        if json.loads(Path(path).read_bytes())["uuid"] != uuid
    ]
    for role in dict.fromkeys(roles):
        counts = [len(r[0]) for own, r in zip(roles, results, strict=True) if own is role]
        print(f"{role.__name__}: {counts} acknowledged")
    print(
        f"ours: {len(acked)} acknowledged, {sum(k not in there for k in acked)} lost, "
        f"{sum(n > 1 for n in there.values())} twice, failed {[dict(r[1]) for r in results]}, replaced after ms "
        f"{sorted(replaced)}; seconds: median {seconds[len(seconds) // 2]:.2f}, longest {seconds[-1]:.2f}"
    )
    known = theirs["acknowledged"]
    print(f"compactions of ours: {dict(compactor.result())}")
    print(
        f"Java: {len(known)} acknowledged, {sum(k not in there for k in known)} lost, {theirs['failed']} failed; "
        f"{theirs['compactions']} compactions, {theirs['failed compactions']} failed"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("--python", type=int, default=0)
    parser.add_argument("--spark", type=int, default=0)
    parser.add_argument("--java-threads", type=int, default=4)
    arguments, oracles = parser.parse_args(), find_oracles()
    if oracles is None:
        print("no Java: shared/oracles is not there")
        return
    with tempfile.TemporaryDirectory() as warehouse:
        measure(oracles, warehouse, arguments)


if __name__ == "__main__":
    main()
