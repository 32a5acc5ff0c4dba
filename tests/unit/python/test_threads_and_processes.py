"""One catalog, table and scan serve several threads, and processes that are forked or spawned."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pyarrow as pa
import pytest

from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.python.reading import ScanSplit
from paimon_sql.python.table import PaimonTable

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])
ROWS, WRITERS = 500, 4


@pytest.fixture
def table(lake: PaimonCatalog) -> PaimonTable:
    made = lake.create_table("shop.t", SCHEMA, primary_key="id", options={"bucket": "4", "write-only": "true"})
    for _ in range(2):
        made.upsert(pa.table({"id": list(range(ROWS)), "text": [f"text {i}" for i in range(ROWS)]}))
    return made


def ids(scanned: pa.Table) -> list[int]:
    return sorted(scanned["id"].to_pylist())


def part_read(pickled: bytes) -> tuple[int, list[int]]:
    """Read a part of a scan in another process."""
    part: ScanSplit = pickle.loads(pickled)  # noqa: S301
    return os.getpid(), part.to_arrow()["id"].to_pylist()


def table_read(warehouse: str) -> int:
    """Open a table in another process, after this one has read and written."""
    from paimon_sql import open_catalog  # noqa: PLC0415  as a program of its own

    return open_catalog(warehouse).table("shop.t").scan(where="id < 100").to_arrow().num_rows


def test_threads_share_a_scan(table: PaimonTable) -> None:
    scan = table.scan(where="id >= 100")
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: ids(scan.to_arrow()), range(12)))
    assert found == [list(range(100, ROWS))] * 12


def test_threads_share_a_table_that_they_write_and_read(table: PaimonTable) -> None:
    def write(first: int) -> list[int]:
        table.upsert([{"id": first + i, "text": "new"} for i in range(5)])
        return ids(table.scan(where=f"id >= {first} AND id < {first + 5}").to_arrow())

    firsts = [1000 * n for n in range(1, 1 + 2 * WRITERS)]
    with ThreadPoolExecutor(WRITERS) as pool:
        found = list(pool.map(write, firsts))
    assert found == [list(range(first, first + 5)) for first in firsts]
    assert table.scan().count() == ROWS + 5 * len(firsts)
    assert table.inspect("snapshots").num_rows == 2 + len(firsts)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_read_parts(method: str, table: PaimonTable) -> None:
    table.scan().to_arrow()  # so that a fork comes after threads have read
    parts = [pickle.dumps(part) for part in table.scan(["id"]).plan()]
    assert len(parts) > 1
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        found = list(pool.map(part_read, parts))
    assert os.getpid() not in {process for process, _ in found}
    assert sorted(i for _, numbers in found for i in numbers) == list(range(ROWS))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_open_the_table_themselves(method: str, table: PaimonTable) -> None:
    table.scan().to_arrow()
    warehouse = table.location.partition("/shop.db/")[0]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        assert list(pool.map(table_read, [warehouse] * 4)) == [100] * 4
