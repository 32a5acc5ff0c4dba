"""Upkeep of a table of many files: 1,000 of 1,100 snapshots expire, orphans are looked for among 200,000 files.

    upkeep.py [--snapshots 1100] [--files 100000]

Prints seconds, files per second and peak resident memory, each in a process of its own, and the ratio to the calls of
the operating system that it cannot do without: deleting the same number of files, listing them with their times.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from memory import peak_bytes

from paimon_core.clock import metadata_now
from paimon_core.commit.draft import CommitInfo
from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance.orphans.search import find_orphans
from paimon_core.maintenance.snapshot_expiry import Retention, expire_snapshots
from paimon_core.spec.binary_row import EMPTY_ROW
from paimon_core.spec.manifest import UNAWARE_BUCKET, DataFileMeta
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.stats import EMPTY_STATS
from paimon_core.spec.types import INT, DataField
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.schemas import create_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table

KEPT = 100
FOREVER = 2**62
Work = Callable[[TableStore], int]


def make_store(root: str, name: str) -> TableStore:
    schema = new_table_schema([DataField(id=0, name="k", type=INT)], options={"write-only": "true"})
    path = f"{root}/bench.db/{name}"
    create_schema(LocalFileIO(), path, schema)
    return TableStore.of(LocalFileIO(), path, schema)


def make_files(store: TableStore, count: int) -> tuple[DataFileMeta, ...]:
    """Empty files, and the metadata of full ones."""
    folder, now, prefix = Path(store.bucket_dir(EMPTY_ROW, UNAWARE_BUCKET)), metadata_now(), uuid.uuid4()
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"data-{prefix}-{i}.parquet" for i in range(count)]
    for name in names:
        (folder / name).touch()
    return tuple(
        DataFileMeta(
            file_name=name,
            file_size=2**20,
            row_count=1000,
            min_key=EMPTY_ROW,
            max_key=EMPTY_ROW,
            key_stats=EMPTY_STATS,
            value_stats=EMPTY_STATS,
            value_stats_cols=(),
            min_sequence_number=0,
            max_sequence_number=999,
            schema_id=0,
            level=0,
            creation_time=now,
            delete_row_count=0,
            file_source=0,
        )
        for name in names
    )


def commit(store: TableStore, new: tuple[DataFileMeta, ...], old: tuple[DataFileMeta, ...] = ()) -> None:
    """New files, or new ones that replace old ones."""
    bucket = CommitMessage(partition=EMPTY_ROW, bucket=UNAWARE_BUCKET, total_buckets=-1)
    message = replace(bucket, compact_before=old, compact_after=new) if old else replace(bucket, new_files=new)
    Table(store).commit([message], CommitInfo(user="bench"))


def make_history(store: TableStore, snapshots: int, files: int) -> None:
    """Each snapshot replaces the files of the one before."""
    before: tuple[DataFileMeta, ...] = ()
    for _ in range(snapshots):
        new = make_files(store, files // snapshots)
        commit(store, new, before)
        before = new


def make_orphans(store: TableStore, files: int) -> None:
    """As many files that nothing names as files of the table, in ten snapshots."""
    for _ in range(10):
        commit(store, make_files(store, files // 10))
    make_files(store, files)


def expire(store: TableStore) -> int:
    return expire_snapshots(store, Retention(least=KEPT, most=KEPT, older_than=FOREVER, limit=2**31 - 1), 0)


def look_for_orphans(store: TableStore) -> int:
    return len(find_orphans(store, FOREVER).paths)


def list_files(store: TableStore) -> int:
    with os.scandir(store.bucket_dir(EMPTY_ROW, UNAWARE_BUCKET)) as entries:
        return sum(e.stat().st_size == 0 for e in entries)


def delete_files(store: TableStore) -> int:
    folder = store.bucket_dir(EMPTY_ROW, UNAWARE_BUCKET)
    names = os.listdir(folder)
    for name in names:
        os.unlink(f"{folder}/{name}")
    return len(names)


def in_own_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a call in a process of its own, so that the peak of memory is of this work only."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def measured(work: Work, store: TableStore) -> tuple[float, int, float]:
    """Seconds, what it counted, peak resident MiB."""
    started = time.perf_counter()
    count = work(store)
    return time.perf_counter() - started, count, peak_bytes() / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--snapshots", type=int, default=1100)
    parser.add_argument("--files", type=int, default=100_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        history, many, plain = (make_store(root, name) for name in ("history", "many", "plain"))
        in_own_process(make_history, history, given.snapshots, given.files)
        in_own_process(make_orphans, many, given.files)
        print(f"{'work':28s} {'files':>8s} {'seconds':>8s} {'files/s':>9s} {'peak MiB':>9s} {'x system':>9s}")
        expired = given.files // given.snapshots * (given.snapshots - KEPT)
        in_own_process(make_files, plain, expired)
        for name, files, work, store, ceiling in (
            (f"expire {given.snapshots - KEPT:,} snapshots", expired, expire, history, (delete_files, plain)),
            ("look for orphans", 2 * given.files, look_for_orphans, many, (list_files, many)),
        ):
            least = in_own_process(measured, *ceiling)[0]
            seconds, _, peak = in_own_process(measured, work, store)
            print(f"{name:28s} {files:8,d} {seconds:8.2f} {files / seconds:9,.0f} {peak:9.0f} {seconds / least:9.1f}")


if __name__ == "__main__":
    main()
