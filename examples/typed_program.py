"""A typed program without Spark: orders of a shop are written, read, changed and followed.

    python examples/typed_program.py [FOLDER]

`mypy --strict` knows the types of all calls; `assert_type` does nothing when the program runs.
"""

from __future__ import annotations

import sys
import tempfile
from typing import assert_type

import pyarrow as pa

import paimon_sql
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.python.following import ChangeBatch
from paimon_sql.python.planned_write import PlannedWrite, WrittenPart
from paimon_sql.python.reading import ScanSplit
from paimon_sql.python.scan import TableScan
from paimon_sql.python.table import PaimonTable


def orders_of(catalog: PaimonCatalog) -> PaimonTable:
    """Create the table of orders."""
    catalog.create_database("shop", if_not_exists=True)
    schema = pa.schema([("id", pa.int64()), ("customer", pa.string()), ("amount", pa.decimal128(10, 2))])
    return catalog.create_table("shop.orders", schema, primary_key="id", options={"bucket": "2"})


def main(folder: str) -> None:
    catalog = paimon_sql.open_catalog(f"{folder}/lake", time_zone="UTC")
    assert_type(catalog, PaimonCatalog)
    orders = orders_of(catalog)
    assert_type(orders, PaimonTable)
    assert_type(orders.primary_key, tuple[str, ...])
    orders.upsert([{"id": i, "customer": "Ada", "amount": i} for i in range(10)])
    write = orders.plan_write()
    assert_type(write, PlannedWrite)
    part = write.write([{"id": 10, "customer": "Ben", "amount": 7}])
    assert_type(part, WrittenPart)
    write.commit([part])
    orders.update({"amount": "amount * 2"}, where="customer = 'Ben'")
    orders.delete(where="id < 5")

    scan = orders.scan(["id", "amount"], where="amount > 6", limit=100)
    assert_type(scan, TableScan)
    assert_type(scan.count(), int)
    assert_type(scan.explain(), str)
    assert_type(scan.plan(), list[ScanSplit])
    read = sum(part.to_arrow().num_rows for part in scan.plan())
    print(f"{orders.scan().count()} orders, {read} of more than 6, {catalog.list_tables('shop')}")

    for batch in orders.follow(columns=["rowkind", "id"]):
        assert_type(batch, ChangeBatch)
        assert_type(batch.position, str)
        print(f"{batch.to_arrow().num_rows} rows to begin with")
    print(catalog.call("create_tag", table="shop.orders", tag="first").num_rows, orders.inspect("tags").num_rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(temporary)
