"""Writers that do not queue commit to one table, as against an object store: each call takes a while.

    commit_races.py [--writers 8] [--seconds 60] [--latency 0.03] [--bucket -1] [--primary-key k] [--same-keys]

Prints commits, those that failed and why, and how long they took; the ceiling is a single writer, in the same time.
With `--primary-key k` buckets are dynamic; `--same-keys` lets all writers write keys of one range.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pyarrow as pa

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import PaimonError
from paimon_core.io.file_io import MOST_TEXT, FileIO, FileStatus
from paimon_core.io.local import LocalFileIO
from paimon_core.scan.read import read_split
from paimon_core.spec.types import INT, STRING, DataField
from paimon_core.store.cache import MetadataCache
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.schemas import create_schema, load_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.write.writer import open_writer

KEYS = 1_000_000


class FarIO(LocalFileIO):
    """A disk without a queue that is `latency` seconds away."""

    latency = 0.0

    @contextmanager
    def writer_slot(self, path: str) -> Iterator[bool]:
        yield False

    def read_bytes(self, path: str, most: int = MOST_TEXT) -> bytes:
        time.sleep(self.latency)
        return LocalFileIO.read_bytes(self, path, most)

    def write_bytes(self, path: str, data: bytes) -> None:
        time.sleep(self.latency)
        LocalFileIO.write_bytes(self, path, data)

    def replace_file(self, path: str, data: bytes) -> None:
        time.sleep(self.latency)
        LocalFileIO.write_bytes(self, path, data)

    def create_exclusive(self, path: str, data: bytes) -> bool:
        time.sleep(self.latency)
        return LocalFileIO.create_exclusive(self, path, data)

    def exists(self, path: str) -> bool:
        time.sleep(self.latency)
        return LocalFileIO.exists(self, path)

    def list(self, path: str) -> Iterator[FileStatus]:
        time.sleep(self.latency)
        return LocalFileIO.list(self, path)


def opened(io: FileIO, root: str, options: dict[str, str]) -> Table:
    schema = new_table_schema(
        [DataField(id=0, name="k", type=INT), DataField(id=1, name="v", type=STRING)], options=options
    )
    create_schema(io, root, schema)
    return Table(TableStore.of(io, root, load_schema(io, root, 0), MetadataCache()))


def insert(table: Table, keys: list[int]) -> None:
    base = table.assignment_base(1)
    writer = open_writer(table.store, sequence_start=table.max_sequence_number() + 1, base=base)
    writer.write(pa.record_batch([pa.array(sorted(keys), pa.int32()), pa.array(["x"] * len(keys))], names=["k", "v"]))
    table.commit_or_abort(writer.finish(), CommitInfo(user=table.new_commit_user()))


def work(
    root: str, options: dict[str, str], writer: int, until: float, same_keys: bool
) -> tuple[list[float], Counter[str], set[int]]:
    """Seconds of each commit, why others failed, and the keys acknowledged."""
    table, times, failed, acked = opened(FarIO(), root, options), list[float](), Counter[str](), set[int]()
    generator = random.Random(writer)
    while time.monotonic() < until:
        low = 0 if same_keys else writer * KEYS
        keys = [low + k for k in generator.sample(range(2000 if same_keys else KEYS), 10)]
        began = time.monotonic()
        try:
            insert(table, keys)
            acked.update(keys)
            times.append(time.monotonic() - began)
        except PaimonError as error:
            failed[str(error).partition(": ")[2][:60]] += 1
    return times, failed, acked


def measure(writers: int, arguments: argparse.Namespace) -> float:
    options = {"write-only": "true", "snapshot.num-retained.min": "1000000", "snapshot.num-retained.max": "1000000"}
    if arguments.primary_key:
        options |= {"primary-key": arguments.primary_key, "dynamic-bucket.target-row-num": str(arguments.target_rows)}
    options["bucket"] = arguments.bucket
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(writers) as pool:
        root, until = f"{folder}/db.db/t", time.monotonic() + arguments.seconds
        opened(LocalFileIO(), root, options)
        parts = [pool.submit(work, root, options, n, until, arguments.same_keys) for n in range(writers)]
        results = [p.result() for p in parts]
        times = sorted(t for r in results for t in r[0])
        failed = sum((r[1] for r in results), Counter[str]())
        table = opened(LocalFileIO(), root, options)
        splits = table.plan(table.latest_snapshot()).splits
        there = [k for s in splits for b in read_split(table.store, s, ["k"]) for k in b.column(0).to_pylist()]
        lost = set().union(*(r[2] for r in results)) - set(there)
    print(
        f"{writers} writers: {len(times)} commits, {failed.total()} failed {dict(failed)}, {len(lost)} rows lost, "
        f"{len(there) - len(set(there))} keys twice; seconds: median {times[len(times) // 2]:.2f}, "
        f"p99 {times[int(len(times) * 0.99)]:.2f}, longest {times[-1]:.2f}"
    )
    return len(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--latency", type=float, default=0.03)
    parser.add_argument("--bucket", default="-1")
    parser.add_argument("--primary-key", default="")
    parser.add_argument("--target-rows", type=int, default=2_000_000)
    parser.add_argument("--same-keys", action="store_true")
    arguments = parser.parse_args()
    FarIO.latency = arguments.latency
    single, together = measure(1, arguments), measure(arguments.writers, arguments)
    print(f"ratio to a single writer: {together / max(single, 1):.2f}")


if __name__ == "__main__":
    main()
