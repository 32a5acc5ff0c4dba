"""Search for vectors in Python without Spark: exact, in an append table of Parquet files, and by indexes.

    vector_search.py [--rows 1000000] [--length 128] [--indexed 100000] [--queries 20]

Prints the seconds of an exact search by each metric, beside three ceilings of the same run: the memory bandwidth, as
NumPy sums a matrix of the same vectors in memory, NumPy's product of the query with this matrix, and reading the same
column without a search. The bar is a tenth of the memory bandwidth. Then, for each type of
index, the seconds to make it, its size, the share of the true 10 nearest rows that it finds, and the seconds of a
search, beside the figures of an exact search in the same table. The indexed vectors lie around 100 centers.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from paimon_core.arrow.nearest import METRICS, Floats
from paimon_core.commit.draft import CommitInfo
from paimon_core.indexes.vector_index.layout import VECTOR_INDEXES
from paimon_core.spec.message import written_messages
from paimon_core.store.partitions import PartitionFilter
from paimon_core.write.indexes.vector_index import VectorIndexBuild
from paimon_sql import open_catalog
from paimon_sql.python.table import PaimonTable

_BATCH = 100_000


def best_of(work: Callable[[], object], rounds: int = 3) -> float:
    """Return the seconds of the fastest round."""
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def exact(asked: argparse.Namespace) -> None:
    """Print the seconds of exact searches."""
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
        memory = best_of(lambda: matrix.sum())
        product = best_of(lambda: matrix @ query)
        reading = best_of(lambda: [None for _ in table.scan(["v"]).to_batches()])
        size = matrix.nbytes / 2**30
        print(f"{asked.rows:,} vectors of {asked.length} floats, {size:.2f} GB")
        print(f"memory bandwidth (sum)     {memory:8.3f} s   {size / memory:8.2f} GB/s")
        print(f"matrix product in memory   {product:8.3f} s   {size / product:8.2f} GB/s")
        print(f"reading the column         {reading:8.3f} s   {size / reading:8.2f} GB/s")
        for metric in METRICS:
            seconds = best_of(lambda metric=metric: table.search("v", query, 10, ["k"], metric=metric))  # type: ignore[misc]
            ratios = f"{memory / seconds:6.3f} of the bandwidth, {seconds / reading:5.2f} times reading"
            print(f"search by {metric:16} {seconds:8.3f} s   {size / seconds:8.2f} GB/s   {ratios}")


def indexed(asked: argparse.Namespace) -> None:
    """Print what indexes cost, and what they find."""
    random = np.random.default_rng(0)
    centers = random.standard_normal((100, asked.length), dtype=np.float32)
    noise = random.standard_normal((asked.indexed, asked.length), dtype=np.float32) / 2
    matrix = centers[random.integers(0, len(centers), asked.indexed)] + noise
    queries = matrix[:: max(1, asked.indexed // asked.queries)][: asked.queries] + np.float32(0.01)
    options = {"vector-field": "v", "field.v.vector-dim": str(asked.length), "vector.file.format": "parquet"}
    options |= {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "file.compression": "none"}
    options |= {"ivf-pq.pq.m": str(asked.length // 4)}
    with tempfile.TemporaryDirectory() as folder:
        schema = pa.schema([("k", pa.int64()), ("v", pa.list_(pa.float32()))])
        table = open_catalog(folder).create_table("default.t", schema, options=options)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), asked.length)
        table.append(pa.table({"k": pa.array(range(asked.indexed)), "v": vectors}))
        truth = [_found(table, query) for query in queries]
        plain = best_of(lambda: _found(table, queries[0]))
        print(f"{asked.indexed:,} vectors of {asked.length} floats; an exact search takes {plain:.3f} s")
        for kind in VECTOR_INDEXES:
            _index(table, kind, queries, truth, plain)


def _index(table: PaimonTable, kind: str, queries: Floats, truth: list[set[int]], plain: float) -> None:
    inner = table.inner
    snapshot = inner.latest_snapshot()
    assert snapshot is not None
    build = VectorIndexBuild(inner.store, inner.schema.field_by_name["v"], kind, snapshot)
    start = time.perf_counter()
    messages = written_messages(build.job(PartitionFilter(())).run_here())
    made = time.perf_counter() - start
    inner.commit(messages, CommitInfo(user="benchmark"))
    files = [f for m in messages for f in m.new_index_files]
    shares = [len(_found(table, q) & t) / 10 for q, t in zip(queries, truth, strict=True)]
    refined = [len(_found(table, q, {"ivf.refine_factor": "4"}) & t) / 10 for q, t in zip(queries, truth, strict=True)]
    seconds = best_of(lambda: _found(table, queries[0]))
    print(
        f"{kind:9} made in {made:6.1f} s, {sum(f.file_size for f in files) / 2**20:6.1f} MiB; finds "
        f"{np.mean(shares):.3f}, refined {np.mean(refined):.3f}; a search {seconds:.3f} s, {plain / seconds:.1f} times "
        "faster than exact"
    )
    dropped = [replace(m, new_index_files=(), deleted_index_files=m.new_index_files, rows_base=None) for m in messages]
    inner.commit(dropped, CommitInfo(user="benchmark"))


def _found(table: PaimonTable, query: Floats, options: Mapping[str, str] | None = None) -> set[int]:
    return set(table.search("v", query.tolist(), 10, ["k"], options=options).column("k").to_pylist())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--indexed", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=20)
    asked = parser.parse_args()
    if asked.rows:
        exact(asked)
    if asked.indexed:
        indexed(asked)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


if __name__ == "__main__":
    main()
