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
from collections.abc import Callable, Mapping
from copy import deepcopy
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

from paimon_core.commit.draft import CommitInfo
from paimon_core.expressions.predicate import Compare, Predicate
from paimon_core.formats.avro.container import ContainerReader
from paimon_core.formats.avro.records import read_records, write_records
from paimon_core.io.local import LocalFileIO
from paimon_core.manifests.entries import decode_entries
from paimon_core.spec.binary_row import encode_row
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.stats import ColumnStats, encode_stats
from paimon_core.spec.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    DataField,
    DataType,
    DecimalType,
    Kind,
    TimeType,
)
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.manifests import data_manifests
from paimon_core.store.schemas import create_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table

Types = Mapping[str, DataType]
TYPES: Types = {"k": BIGINT, "a": INT, "s": STRING, "p": INT}
OTHER_TYPES: Types = {
    "d": DOUBLE,
    "f": FLOAT,
    "c": DecimalType(precision=12, scale=2),
    "w": DecimalType(precision=38, scale=9),
    "t": TimeType(Kind.TIMESTAMP, precision=6),
    "b": BOOLEAN,
    "p": INT,
}


def new_file(number: int, partition: int, types: Types) -> DataFileMeta:
    name, amount = f"name-{number:08d}", Decimal(12_345 * number).scaleb(-2)
    known = {
        "k": ColumnStats(100 * number, 100 * number + 99, 0),
        "a": ColumnStats(number, number + 5, 3),
        "s": ColumnStats(name, name, 100),
        "d": ColumnStats(number / 7, number * 1e3 / 7, 0),
        "f": ColumnStats(number / 8, number * 1e3 / 8, 0),
        "c": ColumnStats(-amount, amount, 0),
        "w": ColumnStats(-(amount**3), amount**3, 0),
        "t": ColumnStats((10**12 + 1000 * number, 0), (10**12 + 1001 * number, 7000), 0),
        "b": ColumnStats(number % 2 == 0, True, 0),
        "p": ColumnStats(partition, partition, 0),
    }
    stats = [known[name] for name in types]
    return DataFileMeta(
        file_name=f"data-{uuid.uuid4()}-0.parquet",
        file_size=1_000_000 + number,
        row_count=100_000,
        value_stats=encode_stats(list(types.values()), stats),
        min_sequence_number=100 * number,
        max_sequence_number=100 * number + 99,
        schema_id=0,
        creation_time=datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
        delete_row_count=0,
        file_source=0,
    )


def new_table(root: str, files: int, partitions: int, types: Types) -> Table:
    fields = [DataField(id=0, name=name, type=t) for name, t in types.items()]
    schema = new_table_schema(fields, options={"partition": "p"})
    create_schema(LocalFileIO(), root, schema)
    table, each = open_table(root, schema), files // partitions
    messages = [
        CommitMessage(
            partition=encode_row([INT], [p]),
            bucket=0,
            total_buckets=-1,
            new_files=tuple(new_file(p * each + i, p, types) for i in range(each)),
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
    unions = [(p, as_rust_writes(d)) for p, d in content]
    slower = measure("decode them as pypaimon-rust writes them", lambda: sum(len(decode_entries(*u)) for u in unions))
    print(f"  {slower / took:.2f}x of ours")


def as_rust_writes(data: bytes) -> bytes:
    """A manifest of ours whose records and statistics are unions with NULL."""
    container = ContainerReader(BytesIO(data))
    schema = deepcopy(container.schema)
    (file,) = (f["type"]["fields"] for f in schema["fields"] if f["name"] == "_FILE")
    for field in file:
        if field["name"] in ("_KEY_STATS", "_VALUE_STATS"):
            field |= {"type": ["null", field["type"]], "default": None}
    return write_records(["null", schema], read_records(container), "zstandard")


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
    table.system_table("options")  # imports the modules of system tables
    measure("$files", lambda: table.system_table("files").num_rows)
    measure("$partitions", lambda: table.system_table("partitions").num_rows)


def other_types(table: Table, files: int) -> None:
    for column, value in (("d", files * 1e3 / 7 - 1e3), ("c", Decimal(123 * files))):
        predicate = Compare(column, ">", value)
        measure(f"plan, one {OTHER_TYPES[column]}", partial(kept, table, predicate))
    measure("$files of columns of other types", lambda: table.system_table("files").num_rows)


def kept(table: Table, predicate: Predicate) -> int:
    return table.plan(table.latest_snapshot(), predicate).files_kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--partitions", type=int, default=1_000)
    parser.add_argument("--snapshots", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = f"{folder}/db.db/t"
        table = new_table(root, arguments.files, arguments.partitions, TYPES)
        measure("plan, cold, all files", lambda: planned(root, table))
        planning(root, table.schema, arguments.files)
        decoding(table)
        copy_snapshots(table, arguments.snapshots)
        measure("$snapshots", lambda: table.system_table("snapshots").num_rows)
        root = f"{folder}/db.db/other_types"
        table = new_table(root, arguments.files, arguments.partitions, OTHER_TYPES)
        other_types(open_table(root, table.schema), arguments.files)


def planned(root: str, table: Table) -> int:
    cold = open_table(root, table.schema)
    return cold.plan(cold.latest_snapshot()).files_kept


if __name__ == "__main__":
    main()
