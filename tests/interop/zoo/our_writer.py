"""Insert rows one by one, or compact and expire, through the core; the number of each acknowledged row is printed."""

from __future__ import annotations

import sys
import time

import pyarrow as pa

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import PaimonError
from paimon_core.insert import insert_rows
from paimon_core.lsm.strategy import Strategy
from paimon_core.maintenance.snapshot_expiry import Retention, expire_snapshots
from paimon_core.spec.identifier import Identifier
from paimon_core.store.partitions import PartitionFilter
from paimon_core.table import Table
from paimon_core.write.compaction.job import compaction_job, live_buckets
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.load import load_catalog
from tests.support.executors import TextExecutor, run_job


def write(table: Table, number: int) -> None:
    """Insert one row."""
    table = table.for_write()
    writer = open_writer(table.store, sequence_start=table.max_sequence_number() + 1)
    writer.write(pa.record_batch([pa.array([number], pa.int64()), pa.array(["ours"])], names=["id", "w"]))
    insert_rows(table, writer.finish(), CommitInfo(user=table.new_commit_user()), TextExecutor())


def keep_up(table: Table) -> None:
    """Compact every bucket, and keep ten snapshots."""
    buckets = live_buckets(table.store, table.latest_snapshot(), PartitionFilter(()))
    messages = run_job(compaction_job(table.store, buckets, Strategy.FULL))
    if messages:
        table.commit_or_abort(messages, CommitInfo(user="compactor"))
    expire_snapshots(table.store, Retention(least=10, most=10, older_than=2**62, limit=1000), time.time_ns() // 10**6)


def main(warehouse: str, name: str, first: int, count: int) -> None:
    """Insert the rows `first` to `first + count - 1`, each by a commit; without end, upkeep, where `first` is -1."""
    catalog, identifier = load_catalog({"warehouse": warehouse}), Identifier(*name.split("."))
    while first < 0:
        try:
            keep_up(catalog.load_table(identifier))
        except PaimonError as e:
            print(f"upkeep: {e}", file=sys.stderr)
        time.sleep(0.5)
    for number in range(first, first + count):
        try:
            write(catalog.load_table(identifier), number)
        except PaimonError as e:
            print(f"{number}: {e}", file=sys.stderr)
        else:
            print(number, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
