"""Merge read and full compaction of one bucket in five sorted runs, each in a process of its own.

    merge_and_compact.py [--rows 1000000 10000000 50000000] [--plot growth.svg]

Prints seconds, rows per second and peak resident memory, and the ratio to decoding the same files without merging. The
plot shows seconds and memory by rows; it needs `pip install matplotlib`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from memory import peak_bytes

from paimon_core.arrow.types import arrow_schema
from paimon_core.io.local import LocalFileIO
from paimon_core.lsm.strategy import Strategy
from paimon_core.scan.read import read_split
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.message import BucketState, CommitMessage
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.split import DataSplit
from paimon_core.spec.types import BIGINT, DOUBLE, INT, STRING, DataField
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.table_store import TableStore
from paimon_core.write.compaction.bucket import compact_bucket
from paimon_core.write.writer import open_writer

RUNS = 5
COLUMNS = {"id": BIGINT.with_nullable(False), "a": INT, "b": DOUBLE, "s": STRING, "batch": INT}
Work = Callable[[TableStore, list[DataFileMeta]], int]


def make_store(root: str) -> TableStore:
    fields = [DataField(id=i, name=n, type=t) for i, (n, t) in enumerate(COLUMNS.items())]
    options = {"primary-key": "id", "bucket": "1", "target-file-size": "1 gb"}
    return TableStore.of(LocalFileIO(), f"{root}/bench.db/t", new_table_schema(fields, options=options))


def write_run(store: TableStore, run: int, rows: int) -> list[CommitMessage]:
    """`rows` rows of distinct keys, about 40 % of the key space, sorted."""
    random = np.random.default_rng(run)
    keys = np.sort(random.choice(rows * RUNS // 2, rows, replace=False))
    columns = {
        "id": keys,
        "a": random.integers(0, 1000, len(keys), dtype=np.int32),
        "b": random.random(len(keys)),
        "s": pa.array(random.integers(0, 100_000, len(keys))).cast(pa.string()),
        "batch": np.full(len(keys), run, dtype=np.int32),
    }
    writer = open_writer(store, sequence_start=run * rows)
    for batch in pa.table(columns).cast(arrow_schema(store.schema.fields)).to_batches(max_chunksize=10_000):
        writer.write(batch)
    return writer.finish()


def decode(store: TableStore, files: list[DataFileMeta]) -> int:
    """The ceiling: every row of the files, no merging."""
    rows = 0
    for file in files:
        path = data_file_path(store.bucket_dir(b"\0" * 12, 0), file)
        rows += sum(b.num_rows for b in pq.ParquetFile(path).iter_batches(131_072, columns=list(COLUMNS)))
    return rows


def merge(store: TableStore, files: list[DataFileMeta]) -> int:
    partition = b"\0" * 12
    split = DataSplit(
        partition=partition, bucket=0, bucket_dir=store.bucket_dir(partition, 0), files=tuple(files), needs_merge=True
    )
    return sum(b.num_rows for b in read_split(store, split, list(COLUMNS)))


def compact(store: TableStore, files: list[DataFileMeta]) -> int:
    message = compact_bucket(store, BucketState(b"\0" * 12, 0, 1, tuple(files)), Strategy.FULL)
    return sum(f.row_count for f in message.compact_after) if message else 0


WORKS: dict[str, Work] = {"decode only": decode, "merge read": merge, "full compaction": compact}


@dataclass(frozen=True, slots=True)
class Figure:
    """What a work took; `memory` is the peak in MiB."""

    work: str
    rows: int
    seconds: float
    memory: float


def measured(work: Work, store: TableStore, files: list[DataFileMeta]) -> tuple[float, int, int]:
    """Seconds, rows out, peak resident bytes: in a process of its own, so that the peak is of this work only."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measure, (work, store, files))


def _measure(work: Work, store: TableStore, files: list[DataFileMeta]) -> tuple[float, int, int]:
    started = time.perf_counter()
    rows = work(store, files)
    return time.perf_counter() - started, rows, peak_bytes()


def measure_all(rows: int) -> Iterator[Figure]:
    """The figures of each work over `rows` rows, printed as they come."""
    with tempfile.TemporaryDirectory() as root:
        store = make_store(root)
        messages = [m for run in range(RUNS) for m in write_run(store, run, rows // RUNS)]
        files = [f for m in messages for f in m.new_files]
        total = sum(f.row_count for f in files)
        print(f"{total:,} rows in {len(files)} files, {sum(f.file_size for f in files) / 2**20:.0f} MiB")
        print(f"{'work':18s} {'seconds':>8s} {'M rows/s':>9s} {'rows out':>11s} {'peak MiB':>9s} {'x decoding':>11s}")
        ceiling = None
        for name, work in WORKS.items():
            seconds, out, peak = measured(work, store, files)
            ceiling = ceiling or seconds
            rate, memory = total / seconds / 1e6, peak / 2**20
            print(f"{name:18s} {seconds:8.2f} {rate:9.2f} {out:11,d} {memory:9.0f} {seconds / ceiling:11.2f}")
            yield Figure(work=name, rows=total, seconds=seconds, memory=memory)


def plot(figures: list[Figure], path: str) -> None:
    """Seconds and MiB by rows, a line per work."""
    from matplotlib.figure import Figure as Drawing  # noqa: PLC0415  only plots need it

    drawing = Drawing(figsize=(10, 4), layout="constrained")
    for axes, unit in zip(drawing.subplots(1, 2), ("seconds", "memory"), strict=True):
        for work in WORKS:
            points = [f for f in figures if f.work == work]
            axes.plot([f.rows / 1e6 for f in points], [getattr(f, unit) for f in points], marker="o", label=work)
        axes.set(xlabel="million rows", ylabel="seconds" if unit == "seconds" else "peak MiB")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.legend()
    drawing.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000_000], help="rows in, over all runs")
    parser.add_argument("--plot", help="a file to draw into, .svg or .png")
    arguments = parser.parse_args()
    figures = [figure for rows in arguments.rows for figure in measure_all(rows)]
    if arguments.plot:
        plot(figures, arguments.plot)


if __name__ == "__main__":
    main()
