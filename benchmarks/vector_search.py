"""Exact search for vectors: an append table of Parquet files, in Python without Spark.

    vector_search.py [--rows 1000000] [--length 128]

Prints the seconds of a search by each metric, beside two ceilings of the same run: reading the same column without a
search, and NumPy's product of the query with a matrix of the same vectors in memory.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from paimon_core.arrow.nearest import METRICS
from paimon_sql import open_catalog

_BATCH = 100_000


def best_of(work: Callable[[], object], rounds: int = 3) -> float:
    """Return the seconds of the fastest round."""
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--length", type=int, default=128)
    asked = parser.parse_args()
    random = np.random.default_rng(0)
    matrix = random.standard_normal((asked.rows, asked.length), dtype=np.float32)
    query = matrix[asked.rows // 2]
    with tempfile.TemporaryDirectory() as folder:
        schema = pa.schema([("k", pa.int64()), ("v", pa.list_(pa.float32()))])
        options = {"vector-field": "v", "field.v.vector-dim": str(asked.length), "file.compression": "none"}
        table = open_catalog(folder).create_table("default.t", schema, options=options)
        for start in range(0, asked.rows, _BATCH):
            part = matrix[start : start + _BATCH]
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(part.ravel()), asked.length)
            table.append(pa.table({"k": pa.array(range(start, start + len(part))), "v": vectors}))
        product = best_of(lambda: matrix @ query)
        reading = best_of(lambda: [None for _ in table.scan(["v"]).to_batches()])
        size = matrix.nbytes / 2**30
        print(f"{asked.rows:,} vectors of {asked.length} floats, {size:.2f} GB")
        print(f"matrix product in memory   {product:8.3f} s   {size / product:8.2f} GB/s")
        print(f"reading the column         {reading:8.3f} s   {size / reading:8.2f} GB/s")
        for metric in METRICS:
            seconds = best_of(lambda metric=metric: table.search("v", query, 10, ["k"], metric=metric))  # type: ignore[misc]
            ratios = f"{seconds / product:6.1f} times the product, {seconds / reading:5.2f} times reading"
            print(f"search by {metric:16} {seconds:8.3f} s   {size / seconds:8.2f} GB/s   {ratios}")
    print(
        f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB, of it the matrix {size:.2f}"
    )


if __name__ == "__main__":
    main()
