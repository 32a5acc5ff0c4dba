"""BLOBs in `.blob` files: writing and reading values, beside a plain copy of the same bytes.

    blobs.py [--count 1000] [--size 1048576] [--rounds 3]

Each round writes and reads the values as a table with data evolution, as a table with a primary key, and as one plain
file that is made durable, one after the other in one process. Prints the least seconds, and the ratio to the plain
file. Files are in the page cache when they are read.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa

from paimon_core.commit.draft import CommitInfo
from paimon_core.scan.read import read_split
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import BYTES, INT, DataField
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.table import Table
from paimon_core.write.writer import open_writer, written
from paimon_sql.catalog.load import load_catalog

T = TypeVar("T")
EVOLVED = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "blob-field": "v"}
KEYED = {"primary-key": "k", "bucket": "1", "blob-field": "v"}
AT_ONCE = 32 * 2**20  # bytes of a batch


def batches(count: int, size: int) -> Iterator[pa.RecordBatch]:
    """Rows of a number and a value of random bytes."""
    random, step = np.random.default_rng(0), max(1, AT_ONCE // size)
    for start in range(0, count, step):
        rows = min(step, count - start)
        data = pa.py_buffer(random.bytes(rows * size))
        bounds = pa.py_buffer(np.arange(rows + 1, dtype=np.int32) * size)
        values = pa.Array.from_buffers(pa.binary(), rows, [None, bounds, data])
        yield pa.record_batch([pa.array(np.arange(start, start + rows, dtype=np.int32)), values], ["k", "v"])


def write_table(root: str, options: dict[str, str], rows: list[pa.RecordBatch]) -> Table:
    catalog = load_catalog({"warehouse": root})
    fields = [DataField(id=0, name="k", type=INT), DataField(id=1, name="v", type=BYTES)]
    catalog.create_table(Identifier("default", "t"), new_table_schema(fields, options=options))
    table = catalog.load_table(Identifier("default", "t"))
    if table.schema.primary_keys:
        kinds = [pa.array(np.zeros(len(b), np.int8)) for b in rows]
        rows = [b.append_column("_VALUE_KIND", kind) for b, kind in zip(rows, kinds, strict=True)]
    table.commit(written(open_writer(table.store, sequence_start=0), rows), CommitInfo(user="b"))
    return table


def read_table(table: Table) -> int:
    splits = table.plan(table.latest_snapshot()).splits
    return sum(b.column(0).nbytes for split in splits for b in read_split(table.store, split, ["v"]))


def write_plain(path: Path, rows: list[pa.RecordBatch]) -> Path:
    with path.open("wb") as file:
        for batch in rows:
            file.write(batch.column("v").buffers()[2])
        os.fsync(file.fileno())
    return path


def read_plain(path: Path) -> int:
    total = 0
    with path.open("rb") as file:
        while data := file.read(AT_ONCE):
            total += len(data)
    return total


def timed(work: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--size", type=int, default=2**20)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    rows = list(batches(arguments.count, arguments.size))
    best: dict[str, tuple[float, float]] = {}
    for _ in range(arguments.rounds):
        for name, options in (("plain file", None), ("data evolution", EVOLVED), ("primary key", KEYED)):
            with tempfile.TemporaryDirectory() as root:
                if options is None:
                    wrote, path = timed(partial(write_plain, Path(root, "plain"), rows))
                    read, total = timed(partial(read_plain, path))
                else:
                    wrote, table = timed(partial(write_table, root, options, rows))
                    read, total = timed(partial(read_table, table))
                assert total >= arguments.count * arguments.size
                with suppress(KeyError):
                    wrote, read = min(wrote, best[name][0]), min(read, best[name][1])
                best[name] = wrote, read
    print(f"{'':>16} {'write s':>9} {'x plain':>8} {'read s':>9} {'x plain':>8}")
    plain = best["plain file"]
    for name, (wrote, read) in best.items():
        print(f"{name:>16} {wrote:>9.2f} {wrote / plain[0]:>8.2f} {read:>9.2f} {read / plain[1]:>8.2f}")


if __name__ == "__main__":
    main()
