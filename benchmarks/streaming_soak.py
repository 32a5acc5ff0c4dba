"""A stream of epochs of 1,000 rows into a keyed table: files and runs of buckets, and what driver and workers hold.

    streaming_soak.py [--minutes 60] [--batches 60] [--each 1]

One query runs all the time. Rows arrive each second, and an epoch takes what has arrived, or with `--each 0` as fast as
it can, 1,000 in an epoch. After each round it is waited for, and looked at: nothing of what is held may grow, a bucket
may have but so many files, and fewer runs at level 0 than start a compaction. Ends with the number of things that are
not so.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1]))

from paimon_core.options import NUM_SORTED_RUN_TRIGGER
from paimon_core.spec.identifier import Identifier
from paimon_core.store.cache import MetadataCache
from paimon_core.store.manifests import live_files
from paimon_core.store.snapshots import latest_snapshot
from paimon_sql.catalog.load import load_catalog
from tests.support.long_session import Held, grown, held, session_below

ROWS, KEYS, BUCKETS = 1_000, 100_000, 4
MOST_RUNS = 12  # at level 0 at any moment: what starts a compaction, what comes during one, and what then has to wait
MOST_FILES = 20  # of a bucket: those runs and the older ones
COLUMNS = "k BIGINT, v STRING"
TABLE = f"""CREATE TABLE t (k BIGINT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '{BUCKETS}',
    'snapshot.num-retained.min' = '5', 'snapshot.num-retained.max' = '20')"""


class Buckets:
    """The files of the buckets of the table: the most there were of one, and at level 0, now and at any moment."""

    def __init__(self, warehouse: str) -> None:
        table = load_catalog({"warehouse": warehouse}).load_table(Identifier("default", "t"))
        self.store = replace(table.store, cache=MetadataCache(1000))  # nobody else tells this one what has expired
        self.trigger = self.store.options[NUM_SORTED_RUN_TRIGGER]
        self.files = self.runs = self.most_files = self.most_runs = 0

    def look(self) -> None:
        try:
            entries = live_files(self.store, latest_snapshot(self.store)).values()
        except FileNotFoundError:  # expired meanwhile
            return
        self.files = max(Counter(e.bucket for e in entries).values(), default=0)
        self.runs = max(Counter(e.bucket for e in entries if e.file.level == 0).values(), default=0)
        self.most_files, self.most_runs = max(self.most_files, self.files), max(self.most_runs, self.runs)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Look again and again, and in the end when no compaction is under way."""
        done = threading.Event()

        def watch() -> None:
            while not done.wait(0.5):
                self.look()

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()
        for thread in threading.enumerate():
            if thread.name == "paimon-compaction":
                thread.join()
        self.look()

    def wrong(self) -> list[str]:
        found = []
        if self.runs >= self.trigger:
            found.append(f"a bucket has {self.runs} runs at level 0, and {self.trigger} start a compaction")
        if self.most_runs > MOST_RUNS:
            found.append(f"a bucket had {self.most_runs} runs at level 0, more than {MOST_RUNS}")
        if self.most_files > MOST_FILES:
            found.append(f"a bucket had {self.most_files} files, more than {MOST_FILES}")
        return found


def feed(source: Path, batches: int, each: float, dice: np.random.Generator) -> None:
    """Files of rows, each so many seconds after the one before."""
    started = time.monotonic()
    for number in range(batches):
        time.sleep(max(0.0, started + number * each - time.monotonic()))
        k = dice.integers(0, KEYS, ROWS)
        hidden = source / f"_{time.time_ns()}"
        pq.write_table(pa.table({"k": k, "v": pa.array(k.astype(str))}), hidden)
        hidden.rename(source / f"{hidden.name[1:]}.parquet")


def run(folder: Path, minutes: float, batches: int, each: float) -> int:
    """What is not as it should be, and how much that is; each round is printed."""
    (source := folder / "source").mkdir()
    warehouse, spark = str(folder / "warehouse"), session_below(folder)
    spark.sql(TABLE)
    rows = spark.readStream.schema(COLUMNS).option("cleanSource", "delete")
    rows = rows if each else rows.option("maxFilesPerTrigger", 1)
    writer = rows.parquet(str(source)).writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(processingTime=f"{each} seconds").toTable("t")
    buckets, dice, samples, until = (
        Buckets(warehouse),
        np.random.default_rng(7),
        list[Held](),
        time.time() + minutes * 60,
    )
    began = time.time()
    while time.time() < until or len(samples) < 6:
        started = time.perf_counter()
        with buckets.watched():
            feed(source, batches, each, dice)
            fed = time.perf_counter()
            query.processAllAvailable()
        ended = time.perf_counter()
        samples.append(held(spark, folder))
        print(
            f"minute {(time.time() - began) / 60:.1f}, {len(samples) * batches} times {ROWS} rows in "
            f"{query.lastProgress['batchId'] + 1} epochs, {(ended - started) / batches:.2f} s each, the last "
            f"{ended - fed:.1f} s behind its rows; most of a bucket: {buckets.files} files, "
            f"{buckets.runs} runs at level 0 (at any moment {buckets.most_files}, {buckets.most_runs}); {samples[-1]}",
            flush=True,
        )
    query.stop()
    # Spark's own pools have up to some hundred threads, each for a minute after it had to do
    wrong = [g for g in grown(samples) if not g.startswith("jvm_threads")] + buckets.wrong()
    spark.stop()
    print(*(wrong or ["Nothing grew."]), sep="\n")
    return len(wrong)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--batches", type=int, default=60, help="of 1,000 rows, of a round")
    parser.add_argument("--each", type=float, default=1, help="seconds from one to the next")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(run(Path(folder), asked.minutes, asked.batches, asked.each))


if __name__ == "__main__":
    main()
