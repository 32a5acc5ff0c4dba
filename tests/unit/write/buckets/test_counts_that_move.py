"""Columns that are counted keep their counts where their rows change the bucket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.commit.draft import CommitInfo
from paimon_core.lsm.strategy import Strategy
from paimon_core.scan.read import read_split
from paimon_core.spec.types import BIGINT, INT
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.partitions import PartitionFilter
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.load import load_catalog
from tests.support.executors import TextExecutor
from tests.support.stored import T, open_table
from tests.support.tables import fields

INFO = CommitInfo(user="tester")


def read(table: Table) -> list[Any]:
    splits = table.plan(table.latest_snapshot()).splits
    batches = [b for s in splits for b in read_split(table.store, s, ["k", "n"])]
    return sorted(tuple(row.values()) for batch in batches for row in batch.to_pylist())


@pytest.mark.parametrize("bucket", ["2", "-2"])
def test_counts_stay(tmp_path: Path, bucket: str) -> None:
    options = {"primary-key": "k", "bucket": bucket, "merge-engine": "aggregation"}
    options["fields.n.aggregate-function"] = "count"
    columns = fields(k=INT, n=BIGINT)
    load_catalog({"warehouse": str(tmp_path)}).create_table(T, new_table_schema(columns, options=options))
    table = open_table(str(tmp_path))
    for values in ([7, None], [8, None], [9, 9]):
        writer = open_writer(table.store, sequence_start=table.max_sequence_number() + 1)
        writer.write(pa.record_batch([pa.array([1, 2], pa.int32()), pa.array(values, pa.int64())], names=["k", "n"]))
        table.commit(writer.finish(), INFO)
    moves = table.bucket_moves(TextExecutor(), "move")
    everywhere = PartitionFilter(())
    table.commit(moves.rescale(everywhere, 3) if bucket == "2" else moves.compact(everywhere, Strategy.FULL), INFO)
    assert read(table) == [(1, 3), (2, 1)]
