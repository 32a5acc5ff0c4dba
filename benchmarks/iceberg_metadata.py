"""What metadata for readers of Iceberg adds to a commit, on a table of many files.

    iceberg_metadata.py [--files 20000] [--commits 100]

The table has `--files` data files in its manifests only; then commits of one file each are timed, in turn on a table
without the metadata, which is the ceiling, and on one with it. Prints the median of both, their ratio, and how long
listing all files anew takes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import uuid
from statistics import median

from paimon_core.commit.draft import CommitInfo
from paimon_core.iceberg.follow import follow
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.binary_row import EMPTY_ROW
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.stats import ColumnStats, encode_stats
from paimon_core.spec.types import BIGINT, STRING, DataField
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.schemas import create_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table

INFO = CommitInfo(user="benchmark")


def table(folder: str, storage: str) -> Table:
    fields = [DataField(id=0, name="k", type=BIGINT), DataField(id=1, name="v", type=STRING)]
    schema = new_table_schema(fields, options={"metadata.iceberg.storage": storage})
    path = f"{folder}/db.db/{storage}"
    create_schema(LocalFileIO(), path, schema)
    return Table(TableStore.of(LocalFileIO(), path, schema))


def message(count: int) -> CommitMessage:
    """Files that are in manifests only."""
    stats = encode_stats([BIGINT, STRING], [ColumnStats(1, 9, 0), ColumnStats("a", "z", 1)])
    files = tuple(
        DataFileMeta(
            file_name=f"data-{uuid.uuid4()}-0.parquet",
            file_size=1000,
            row_count=10,
            value_stats=stats,
            min_sequence_number=0,
            max_sequence_number=9,
            schema_id=0,
        )
        for _ in range(count)
    )
    return CommitMessage(partition=EMPTY_ROW, bucket=0, total_buckets=-1, new_files=files)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--commits", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tables = {storage: table(folder, storage) for storage in ("disabled", "table-location")}
        for made in tables.values():
            made.commit([message(given.files)], INFO)
        seconds: dict[str, list[float]] = {storage: [] for storage in tables}
        for _ in range(given.commits):
            for storage, made in tables.items():
                started = time.perf_counter()
                made.commit([message(1)], INFO)
                seconds[storage].append(time.perf_counter() - started)
        without, with_it = (median(seconds[storage]) for storage in tables)
        print(f"commit of a file to {given.files:,}: {without * 1000:.1f} ms without, {with_it * 1000:.1f} ms with")
        print(f"ratio {with_it / without:.2f}")
        late = Table(tables["disabled"].store.with_options({"metadata.iceberg.storage": "table-location"}))
        started = time.perf_counter()
        follow(late.store)
        print(f"all files anew: {time.perf_counter() - started:.2f} s")


if __name__ == "__main__":
    main()
