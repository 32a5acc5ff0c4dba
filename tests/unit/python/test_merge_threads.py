"""The runs of one bucket are read by threads, and the rows are the same."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.errors import CorruptFileError
from paimon_core.store.data import bucket_files
from paimon_sql.python import scan as scans
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.python.table import PaimonTable

ROWS, BATCHES = 4000, 5


@pytest.fixture
def table(lake: PaimonCatalog, monkeypatch: pytest.MonkeyPatch) -> PaimonTable:
    """A table of one bucket. Its runs overlap, and every section is large."""
    schema = pa.schema([("id", pa.int64()), ("batch", pa.int32()), ("text", pa.string())])
    made = lake.create_table("shop.t", schema, primary_key="id", options={"bucket": "1", "write-only": "true"})
    chosen = np.random.default_rng(7)
    for batch in range(BATCHES):
        ids = np.sort(chosen.choice(2 * ROWS, ROWS, replace=False))
        made.upsert(pa.table({"id": ids, "batch": [batch] * ROWS, "text": [f"{i} of {batch}" for i in ids]}))
    monkeypatch.setattr(bucket_files, "_LARGE", 0)
    return made


def files(table: PaimonTable) -> list[Path]:
    return sorted(Path(table.location, "bucket-0").glob("*.parquet"))


def read_by(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans.pa, "cpu_count", lambda: threads)


def test_threads_return_the_same_rows(table: PaimonTable, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for threads in (1, 4):
        read_by(threads, monkeypatch)
        found[threads] = table.scan().to_arrow()
    assert found[4].equals(found[1])
    assert found[4].num_rows > ROWS


def test_runs_are_read_in_other_threads(table: PaimonTable, monkeypatch: pytest.MonkeyPatch) -> None:
    readers: set[bool] = set()
    read = bucket_files.BucketFiles._live

    def noted(self, file):  # type: ignore[no-untyped-def]
        readers.add(threading.current_thread() is threading.main_thread())
        return read(self, file)

    monkeypatch.setattr(bucket_files.BucketFiles, "_live", noted)
    for threads, expected in ((4, {False}), (1, {True})):
        readers.clear()
        read_by(threads, monkeypatch)
        table.scan().to_arrow()
        assert readers == expected


def test_a_damaged_run_is_an_error(table: PaimonTable, monkeypatch: pytest.MonkeyPatch) -> None:
    files(table)[2].write_bytes(b"PAR1 is damaged")
    read_by(4, monkeypatch)
    with pytest.raises(CorruptFileError, match=files(table)[2].name):
        table.scan().to_arrow()


def test_a_reader_that_stops_early_leaves_no_file_open(table: PaimonTable, monkeypatch: pytest.MonkeyPatch) -> None:
    read_by(4, monkeypatch)
    before = set(threading.enumerate())
    assert table.scan(limit=3).to_arrow().num_rows == 3
    batches = table.scan().to_batches()
    assert batches.read_next_batch().num_rows
    del batches
    opened = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
    assert [path for path in opened if path.endswith(".parquet")] == []
    begun = [t for t in threading.enumerate() if t not in before and t.name.startswith(("runs", "requests"))]
    for thread in begun:
        thread.join(30)
    assert not any(thread.is_alive() for thread in begun)
