"""Merge reads of the same rows by each merge engine: a bucket in three sorted runs, columns with NULLs and texts.

    merge_engines.py [--rows 2000000]

Prints CPU seconds of this process, the best of three, and the ratio to `deduplicate`.
"""

from __future__ import annotations

import argparse
import tempfile
import time

import numpy as np
import pyarrow as pa

from paimon_core.arrow.types import arrow_schema
from paimon_core.io.local import LocalFileIO
from paimon_core.scan.read import read_split
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.split import DataSplit
from paimon_core.spec.types import BIGINT, DOUBLE, INT, STRING, DataField
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.table_store import TableStore
from paimon_core.write.writer import open_writer

RUNS, REPEATS, NULLS = 3, 3, 0.3
UNPARTITIONED = b"\0" * 12
COLUMNS = {"id": BIGINT.with_nullable(False), "a": INT, "b": DOUBLE, "s": STRING, "t": STRING, "n": BIGINT, "run": INT}
FUNCTIONS = {"a": "sum", "n": "sum", "b": "max", "run": "max", "s": "last_non_null_value", "t": "last_value"}
ENGINES = {
    "deduplicate": {},
    "first-row": {"merge-engine": "first-row"},
    "partial-update": {"merge-engine": "partial-update"},
    "partial-update, sequence group": {"merge-engine": "partial-update", "fields.n.sequence-group": "b,s"},
    "aggregation": {
        "merge-engine": "aggregation",
        **{f"fields.{column}.aggregate-function": name for column, name in FUNCTIONS.items()},
    },
    "aggregation, max of texts": {"merge-engine": "aggregation", "fields.t.aggregate-function": "max"},
}


def make_schema(options: dict[str, str]) -> TableSchema:
    fields = [DataField(id=i, name=n, type=t) for i, (n, t) in enumerate(COLUMNS.items())]
    return new_table_schema(fields, options={"primary-key": "id", "bucket": "1", "target-file-size": "1 gb", **options})


def make_run(run: int, rows: int) -> dict[str, pa.Array]:
    random = np.random.default_rng(run)

    def some(values: np.ndarray) -> pa.Array:
        return pa.array(values, mask=random.random(rows) < NULLS)

    return {
        "id": pa.array(np.sort(random.choice(rows * RUNS // 2, rows, replace=False))),
        "a": some(random.integers(0, 1000, rows, dtype=np.int32)),
        "b": some(random.random(rows)),
        "s": some(np.char.add("name-", random.integers(0, 100_000, rows).astype(str))),
        "t": some(np.char.add("t", random.integers(0, 100_000, rows).astype(str))),
        "n": some(random.integers(0, 2**40, rows)),
        "run": pa.array(np.full(rows, run, dtype=np.int32)),
    }


def write_runs(store: TableStore, rows: int) -> tuple[DataFileMeta, ...]:
    files: list[DataFileMeta] = []
    for run in range(RUNS):
        writer = open_writer(store, sequence_start=run * rows)
        for batch in pa.table(make_run(run, rows)).cast(arrow_schema(store.schema.fields)).to_batches(100_000):
            writer.write(batch)
        files += [f for message in writer.finish() for f in message.new_files]
    return tuple(files)


def merge(root: str, options: dict[str, str], files: tuple[DataFileMeta, ...]) -> float:
    """CPU seconds of reading all columns."""
    store = TableStore.of(LocalFileIO(), root, make_schema(options))
    folder = store.bucket_dir(UNPARTITIONED, 0)
    split = DataSplit(partition=UNPARTITIONED, bucket=0, bucket_dir=folder, files=files, needs_merge=True)
    started = time.process_time()
    for _ in read_split(store, split, list(COLUMNS)):
        pass
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows in, over all runs")
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        root = f"{folder}/bench.db/t"
        files = write_runs(TableStore.of(LocalFileIO(), root, make_schema({})), rows // RUNS)
        print(f"{'engine':32s} {'CPU s':>6s} {'x deduplicate':>14s}")
        ceiling = 0.0
        for name, options in ENGINES.items():
            seconds = min(merge(root, options, files) for _ in range(REPEATS))
            ceiling = ceiling or seconds
            print(f"{name:32s} {seconds:6.2f} {seconds / ceiling:14.2f}")


if __name__ == "__main__":
    main()
