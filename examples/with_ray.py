"""Read and write a table by tasks of Ray: each task reads a part of a scan, or writes a part of one commit.

python examples/with_ray.py       (needs `pip install ray`)
"""

from __future__ import annotations

import tempfile

import pyarrow as pa
import ray

import paimon_sql
from paimon_sql.python.planned_write import PlannedWrite
from paimon_sql.python.reading import ScanSplit
from paimon_sql.python.table import PaimonTable


def total(part: ScanSplit) -> int:
    """The sum of a column in a part of a scan."""
    return sum(part.to_arrow()["amount"].to_pylist())


def written(write: PlannedWrite, first: int) -> str:
    """Write rows, and return the part as JSON: no reader sees the rows before the commit."""
    return write.write([{"id": i, "amount": 1} for i in range(first, first + 1000)]).json


def fill(table: PaimonTable) -> None:
    write = table.plan_write()
    task, same = ray.remote(written), ray.put(write)
    texts = ray.get([task.remote(same, first) for first in range(0, 4000, 1000)])
    write.commit([write.part(text) for text in texts])


def sum_of(table: PaimonTable) -> int:
    scan = table.scan(["amount"], where="id >= 500")
    task = ray.remote(total)
    return sum(ray.get([task.remote(part) for part in scan.plan()]))


def main(folder: str) -> None:
    schema = pa.schema([("id", pa.int64()), ("amount", pa.int64())])
    table = paimon_sql.open_catalog(f"{folder}/lake").create_table(
        "default.orders", schema, primary_key="id", options={"bucket": "3"}
    )
    fill(table)
    print(sum_of(table))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(temporary)
