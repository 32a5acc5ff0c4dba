"""Tables with rows in a warehouse on a local disk, through the core: catalog, writer, commit, plan, read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from paimon_core.commit.draft import CommitInfo
from paimon_core.io.file_io import FileIO
from paimon_core.io.local import LocalFileIO
from paimon_core.lsm.strategy import Strategy
from paimon_core.scan.read import read_split
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.types import INT, STRING
from paimon_core.store.cache import MetadataCache
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.partitions import PartitionFilter
from paimon_core.table import Table
from paimon_core.write.compaction.job import compaction_job, live_buckets
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.load import load_catalog
from tests.support.executors import run_job
from tests.support.tables import fields

T = Identifier("default", "t")
Row = tuple[int, str]
LocatedRow = tuple[int, str, str, int]  # a row, the path of its file and its position there


def create_table(warehouse: str, **options: str) -> Table:
    """`default.t` of k INT, v STRING; `primary_key="k"` gives it keys."""
    spelled = {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
    load_catalog({"warehouse": warehouse}).create_table(T, new_table_schema(fields(k=INT, v=STRING), options=spelled))
    return open_table(warehouse)


def open_table(warehouse: str, io: FileIO | None = None) -> Table:
    """Return `default.t` as a new process sees it through `io`."""
    table = load_catalog({"warehouse": warehouse}).load_table(T)
    return Table(replace(table.store, io=io or LocalFileIO(), cache=MetadataCache()))


def write(table: Table, rows: Iterable[Row]) -> list[CommitMessage]:
    """Write rows, in key order; deletes its files if it fails."""
    k, v = zip(*sorted(rows), strict=True)
    writer = open_writer(table.store, sequence_start=table.max_sequence_number() + 1)
    try:
        writer.write(pa.record_batch([pa.array(k, pa.int32()), pa.array(v)], names=["k", "v"]))
        return writer.finish()
    except BaseException:
        writer.abort()
        raise


def commit(table: Table, messages: list[CommitMessage], user: str) -> Snapshot | None:
    """Commit. If that fails for certain, delete the files."""
    return table.commit_or_abort(messages, CommitInfo(user=user))


def insert(table: Table, rows: Iterable[Row], user: str = "tester") -> Snapshot | None:
    """Insert, or upsert, as one commit."""
    return commit(table, write(table, rows), user)


def compact(table: Table, user: str = "compactor") -> Snapshot | None:
    """Compact every bucket fully. Return None if nothing was due."""
    buckets = live_buckets(table.store, table.latest_snapshot(), PartitionFilter(()))
    return commit(table, run_job(compaction_job(table.store, buckets, Strategy.FULL)), user)


def read(table: Table) -> list[Any]:
    """All rows of the latest version, sorted."""
    batches = [b for s in table.plan(table.latest_snapshot()).splits for b in read_split(table.store, s, ["k", "v"])]
    return sorted(tuple(row.values()) for batch in batches for row in batch.to_pylist())


def located_rows(table: Table) -> list[LocatedRow]:
    """The rows of the latest version, with file and position."""
    found: list[LocatedRow] = []
    for split in table.plan(table.latest_snapshot()).splits:
        for batch in read_split(table.store, split, ["k", "v", "__paimon_file_path", "__paimon_row_index"]):
            found += zip(*(c.to_pylist() for c in batch.columns), strict=True)
    return found
