"""Metadata: decoding manifests, planning a table of many files and partitions, and the system tables about them.

Makes a table whose files exist in manifests only and prints CPU seconds of this process; cold is a process's first look
at the table. The ceiling of decoding is unpacking the same manifest.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from paimon_core.commit.draft import CommitInfo
from paimon_core.expressions.predicate import Compare
from paimon_core.formats.avro_container import ContainerReader
from paimon_core.formats.entry_columns import decode_entries
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.binary_row import encode_row
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.stats import ColumnStats, encode_stats
from paimon_core.spec.types import BIGINT, INT, STRING, DataField
from paimon_core.store.manifests import data_manifests
from paimon_core.store.new_schema import new_table_schema
from paimon_core.store.schemas import create_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table

TYPES = {"k": BIGINT, "a": INT, "s": STRING, "p": INT}


def new_file(number: int, partition: int) -> DataFileMeta:
    name = f"name-{number:08d}"
    stats = (
        ColumnStats(100 * number, 100 * number + 99, 0),
        ColumnStats(number, number + 5, 3),
        ColumnStats(name, name, 100),
        ColumnStats(partition, partition, 0),
    )
    return DataFileMeta(
        file_name=f"data-{uuid.uuid4()}-0.parquet",
        file_size=1_000_000 + number,
        row_count=100_000,
        value_stats=encode_stats(list(TYPES.values()), stats),
        min_sequence_number=100 * number,
        max_sequence_number=100 * number + 99,
        schema_id=0,
        creation_time=datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
        delete_row_count=0,
        file_source=0,
    )


def new_table(root: str, files: int, partitions: int) -> Table:
    fields = [DataField(id=0, name=name, type=t) for name, t in TYPES.items()]
    schema = new_table_schema(fields, options={"partition": "p"})
    create_schema(LocalFileIO(), root, schema)
    table, each = open_table(root, schema), files // partitions
    messages = [
        CommitMessage(
            partition=encode_row([INT], [p]),
            bucket=0,
            total_buckets=-1,
            new_files=tuple(new_file(p * each + i, p) for i in range(each)),
        )
        for p in range(partitions)
    ]
    table.commit(messages, CommitInfo(user="benchmark"))
    return table


def open_table(root: str, schema: Any) -> Table:
    return Table(TableStore.of(LocalFileIO(), root, schema))


def copy_snapshots(table: Table, count: int) -> None:
    text = Path(table.store.paths.snapshot(1)).read_text()
    for number in range(2, count + 1):
        Path(table.store.paths.snapshot(number)).write_text(text.replace('"id": 1,', f'"id": {number},'))


def measure(what: str, work: Callable[[], Any]) -> float:
    started = time.process_time()
    result = work()
    took = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{what:44s} {took:7.3f} s   peak {peak:4d} MB   {result}")
    return took


def decoding(table: Table) -> None:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    paths = [table.store.paths.manifest(m.file_name) for m in data_manifests(table.store, snapshot)]
    content = [(p, Path(p).read_bytes()) for p in paths]
    count = sum(len(decode_entries(p, d)) for p, d in content)
    took = measure("decode manifests into columns", lambda: sum(len(decode_entries(p, d)) for p, d in content))
    unpack = measure("  unpack them only", lambda: sum(ContainerReader(BytesIO(d)).content(0)[0] for _, d in content))
    print(f"  {count / took:,.0f} entries/s, {took / unpack:.1f}x of unpacking")


def planning(root: str, schema: Any, files: int) -> None:
    table = open_table(root, schema)
    snapshot = table.latest_snapshot()

    def plan(column: str = "", value: Any = None) -> str:
        made = table.plan(snapshot, Compare(column, "=", value) if column else None)
        return f"{made.files_kept} of {made.files_total} files, {len(made.splits)} splits"

    measure("plan, cold, one key", lambda: plan("k", 50 * files))
    measure("plan, all files, their metadata made", plan)
    measure("plan, all files, warm", plan)
    measure("plan, one partition, warm", lambda: plan("p", 7))
    measure("plan, one key, warm", lambda: plan("k", 50 * files))
    measure("plan, one text, warm", lambda: plan("s", "name-00000042"))
    measure("$files", lambda: table.system_table("files").num_rows)
    measure("$partitions", lambda: table.system_table("partitions").num_rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--partitions", type=int, default=1_000)
    parser.add_argument("--snapshots", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = f"{folder}/db.db/t"
        table = new_table(root, arguments.files, arguments.partitions)
        measure("plan, cold, all files", lambda: planned(root, table))
        planning(root, table.schema, arguments.files)
        decoding(table)
        copy_snapshots(table, arguments.snapshots)
        measure("$snapshots", lambda: table.system_table("snapshots").num_rows)


def planned(root: str, table: Table) -> int:
    cold = open_table(root, table.schema)
    return cold.plan(cold.latest_snapshot()).files_kept


if __name__ == "__main__":
    main()
