"""Catalogs in Python: each kind of catalog, definitions of tables and their changes, and names that are refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_core.errors import (
    DatabaseExistsError,
    DatabaseNotEmptyError,
    DatabaseNotFoundError,
    InvalidNameError,
    InvalidOptionError,
    InvalidSchemaError,
    NoPrivilegeError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from paimon_core.spec.identifier import Identifier
from paimon_sql import open_catalog, open_table
from paimon_sql.catalog.load import load_catalog
from paimon_sql.catalog.privileges.accounts import Accounts
from paimon_sql.catalog.view import View
from paimon_sql.python.catalog import PaimonCatalog

ORDERS = pa.schema(
    [
        pa.field("id", pa.int64(), metadata={"comment": "of the shop"}),
        pa.field("day", pa.date32()),
        pa.field("amount", pa.decimal128(10, 2)),
        pa.field("note", pa.large_string(), nullable=False),
        pa.field("tags", pa.list_(pa.field("item", pa.dictionary(pa.int8(), pa.string()), nullable=False))),
        pa.field("more", pa.struct([pa.field("a", pa.uint16()), pa.field("b", pa.map_(pa.string(), pa.float32()))])),
        pa.field("seen", pa.timestamp("us", "Europe/Berlin")),
        pa.field("at", pa.timestamp("ns")),
    ]
)


@pytest.fixture(params=["filesystem", "jdbc", "rest"])
def any_catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PaimonCatalog]:
    warehouse = str(tmp_path / "any")
    if request.param != "rest":
        with open_catalog(warehouse=warehouse, metastore=request.param) as catalog:
            yield catalog
        return
    pytest.importorskip("uvicorn", reason='needs pip install "paimon-sql[rest-server]"')
    from tests.support.rest_server import RestServer  # noqa: PLC0415  needs what may not be installed

    with RestServer.over(load_catalog({"warehouse": warehouse})) as server:
        yield open_catalog(metastore="rest", uri=f"http://127.0.0.1:{server.port}")


def test_names_in_every_kind_of_catalog(any_catalog: PaimonCatalog) -> None:
    any_catalog.create_database("shop")
    any_catalog.create_database("shop", if_not_exists=True)
    with pytest.raises(DatabaseExistsError):
        any_catalog.create_database("shop")
    made = any_catalog.create_table("shop.orders", ORDERS, primary_key="id")
    assert any_catalog.create_table("shop.orders", ORDERS, if_not_exists=True).schema == made.schema
    with pytest.raises(TableExistsError):
        any_catalog.create_table("shop.orders", ORDERS)
    assert (any_catalog.list_tables("shop"), any_catalog.list_views("shop")) == (["orders"], [])
    assert any_catalog.table_exists("shop.orders") and not any_catalog.table_exists("nowhere.orders")
    any_catalog.rename_table("shop.orders", "sales")
    assert any_catalog.list_tables("shop") == ["sales"]
    assert any_catalog.table("shop.sales").schema == made.schema
    with pytest.raises(DatabaseNotEmptyError):
        any_catalog.drop_database("shop")
    any_catalog.drop_table("shop.sales")
    any_catalog.drop_table("shop.sales", if_exists=True)
    with pytest.raises(TableNotFoundError):
        any_catalog.table("shop.sales")
    any_catalog.drop_database("shop", cascade=True)
    any_catalog.drop_database("shop", if_exists=True)
    with pytest.raises(DatabaseNotFoundError):
        any_catalog.drop_database("shop")


def test_a_definition(lake: PaimonCatalog) -> None:
    given = {"bucket": 2, "write-only": True}
    table = lake.create_table(
        "shop.orders", ORDERS, primary_key=["id", "day"], partitioned_by="day", options=given, comment="sales"
    )
    assert (table.name, table.primary_key, table.partitioned_by) == ("shop.orders", ("id", "day"), ("day",))
    assert (table.comment, table.options) == ("sales", {"bucket": "2", "write-only": "true"})
    assert table.schema == pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("day", pa.date32(), nullable=False),
            pa.field("amount", pa.decimal128(10, 2)),
            pa.field("note", pa.string(), nullable=False),
            pa.field("tags", pa.list_(pa.field("element", pa.string(), nullable=False))),
            pa.field("more", pa.struct([("a", pa.int32()), ("b", pa.map_(pa.string(), pa.float32()))])),
            pa.field("seen", pa.timestamp("us", "UTC")),
            pa.field("at", pa.timestamp("ns")),
        ]
    )
    assert table.inner.schema.fields[0].description == "of the shop"
    assert sorted({f.id for f in table.inner.schema.fields}) == [0, 1, 2, 3, 4, 5, 8, 9]
    assert open_table(table.location).schema == table.schema


@pytest.mark.parametrize("arrow", [pa.null(), pa.time64("us"), pa.duration("s"), pa.decimal256(50, 0)], ids=str)
def test_a_type_that_paimon_lacks(lake: PaimonCatalog, arrow: pa.DataType) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"Column 'a\.b' cannot have the Arrow type"):
        lake.create_table("shop.t", pa.schema([("a", pa.struct([("b", arrow)]))]))
    assert lake.list_tables("shop") == []


def test_changes_of_a_definition(lake: PaimonCatalog) -> None:
    lake.create_table("shop.orders", ORDERS, options={"write-only": "true"}, comment="sales")
    changed = lake.table("shop.orders").alter(
        rename={"amount": "total"},
        drop="tags",
        types={"total": pa.decimal128(12, 2)},
        add={"more.c": pa.bool_(), "extra": pa.string()},
        options={"write-only": None, "file.format": "orc"},
        comment="",
    )
    assert changed.schema.names == ["id", "day", "total", "note", "more", "seen", "at", "extra"]
    assert changed.schema.field("total").type == pa.decimal128(12, 2)
    assert [f.name for f in changed.schema.field("more").type] == ["a", "b", "c"]
    assert (changed.options, changed.comment, changed.inner.schema.id) == ({"file.format": "orc"}, None, 1)
    with pytest.raises(InvalidSchemaError):
        changed.alter(drop=["nothing"])
    assert lake.table("shop.orders").schema == changed.schema


def test_names_that_are_refused(lake: PaimonCatalog) -> None:
    lake.create_table("shop.orders", ORDERS)
    with pytest.raises(UnsupportedFeatureError, match=r"open shop\.orders and call inspect\('files'\)"):
        lake.table("shop.orders$files")
    with pytest.raises(TableNotFoundError, match=r"default\.orders"):
        lake.table("orders")
    with pytest.raises(InvalidNameError):
        lake.table("shop.")
    with pytest.raises(InvalidNameError, match="is not a table's path"):
        open_table("shop.orders")


def test_views_are_listed_and_need_spark(lake: PaimonCatalog) -> None:
    view = View(fields=(), query="SELECT 1 AS one")
    lake.inner.create_view(Identifier("shop", "one"), view)  # type: ignore[attr-defined]
    assert lake.list_views("shop") == ["one"]
    with pytest.raises(UnsupportedFeatureError, match=r"shop\.one is a view, and its query needs Spark"):
        lake.table("shop.one")


def test_users_of_a_warehouse(lake: PaimonCatalog, tmp_path: Path) -> None:
    path = lake.create_table("shop.orders", ORDERS).location
    Accounts(lake.inner.io, str(tmp_path / "lake")).initialize("secret")  # type: ignore[attr-defined]
    warehouse = str(tmp_path / "lake")
    as_root = open_catalog(warehouse=warehouse, user="root", password="secret")
    assert as_root.table("shop.orders").schema.names[0] == "id"
    with pytest.raises(NoPrivilegeError):
        open_catalog(warehouse=warehouse, user="root", password="guess").create_database("more")
    with pytest.raises(NoPrivilegeError):
        open_table(path)


def test_options_that_are_refused() -> None:
    with pytest.raises(InvalidOptionError, match="'warehouse'"):
        open_catalog()
    with pytest.raises(InvalidOptionError, match="'metastore' cannot be 'glue'"):
        open_catalog("warehouse", "glue")
    with pytest.raises(InvalidOptionError, match="Mars"):
        open_catalog("warehouse", time_zone="Mars")


def test_nothing_imports_spark(tmp_path: Path) -> None:
    code = """
import sys
for name in ("pyspark", "py4j"):
    sys.modules[name] = None
import importlib, pkgutil
import paimon_sql, paimon_sql.python, pyarrow as pa
for module in pkgutil.walk_packages(paimon_sql.python.__path__, "paimon_sql.python."):
    importlib.import_module(module.name)
catalog = paimon_sql.open_catalog(warehouse="lake")
catalog.create_database("shop")
print(catalog.create_table("shop.t", pa.schema([("id", pa.int64())])).schema.names)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "['id']\n", "")
