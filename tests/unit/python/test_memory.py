"""Streams of rows have bounded memory: what is held does not grow with the table, and readers wait for the caller."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pytest

from paimon_sql.python import reading
from paimon_sql.python import scan as scans
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.python.reading import RowReader

SCHEMA = pa.schema([("id", pa.int64()), ("x", pa.float64())])
THREADS, SPLITS, ROWS = 3, 40, 20_000


def test_a_slow_caller_holds_few_batches(lake: PaimonCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads read ahead, but not the whole table, also if each split is one batch."""
    table = lake.create_table(
        "shop.t", SCHEMA, options={"source.split.target-size": "1 b", "source.split.open-file-cost": "1 b"}
    )
    for i in range(SPLITS):
        table.append({"id": i, "x": 0.5})
    read, begun, taken = list[int](), list[int](), 0
    batches_of = RowReader.batches

    def noted(self, split):  # type: ignore[no-untyped-def]
        begun.append(1)
        for batch in batches_of(self, split):
            read.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(RowReader, "batches", noted)
    monkeypatch.setattr(scans.pa, "cpu_count", lambda: THREADS)
    scan = table.scan()
    assert len(scan.plan()) == SPLITS
    ahead = []
    for batch in scan.to_batches():
        taken += batch.num_rows
        deadline = time.monotonic() + 0.02  # readers that wait have time to go on
        while time.monotonic() < deadline:
            time.sleep(0.005)
        ahead.append(sum(read) - taken)
    assert (taken, len(begun)) == (SPLITS, SPLITS)
    assert max(ahead) <= THREADS * reading._AHEAD


def peak(act: Callable[[Iterator[pa.RecordBatch]], object], batches: int) -> int:
    """Return the most bytes that Arrow holds whenever the next of some batches is made."""
    before, held = pa.total_allocated_bytes(), list[int]()

    def made() -> Iterator[pa.RecordBatch]:
        random = np.random.default_rng(batches)
        for i in range(batches):
            held.append(pa.total_allocated_bytes() - before)
            ids = pa.array(np.arange(i * ROWS, (i + 1) * ROWS))
            yield pa.RecordBatch.from_arrays([ids, pa.array(random.random(ROWS))], schema=SCHEMA)

    act(made())
    return max(held)


@pytest.mark.parametrize("key", [None, "id"])
def test_a_stream_that_is_written_is_not_held(key: str | None, lake: PaimonCatalog) -> None:
    options = {"write-buffer-size": "1 mb", "write-only": "true"} | ({"bucket": "1"} if key else {})
    table = lake.create_table("shop.t", SCHEMA, primary_key=key or (), options=options)
    write = table.upsert if key else table.append
    stream = pa.RecordBatchReader.from_batches
    few, many = (peak(lambda made: write(stream(SCHEMA, made)), n) for n in (12, 60))
    whole = 60 * ROWS * 16
    assert many < whole / 3
    assert many < 1.5 * few + 2**20


def test_a_stream_that_is_read_is_not_held(lake: PaimonCatalog) -> None:
    """A merge of runs holds some batches of each run, here a quarter of the table."""
    batches = 100
    table = lake.create_table("shop.t", SCHEMA, primary_key="id", options={"bucket": "1", "write-only": "true"})
    for run in range(2):
        ids = np.arange(run, 2 * batches * ROWS, 2)
        table.upsert(pa.table({"id": ids, "x": np.ones(len(ids))}))
    before, held, rows = pa.total_allocated_bytes(), [0], 0
    for batch in table.scan().to_batches():
        rows += batch.num_rows
        held.append(pa.total_allocated_bytes() - before)
    assert rows == 2 * batches * ROWS
    assert max(held) < rows * 16 / 2
