"""Rows of Polars and DuckDB as the source of writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import InvalidDataError
from paimon_sql.python.catalog import PaimonCatalog

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("amount", pa.decimal128(10, 2))])
OLD = [(1, "a", "1.00"), (2, "b", "2.00")]
NEW = [(2, "B", "2.50"), (3, "c", None)]


def of_polars(rows: list[tuple[Any, ...]]) -> Any:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(rows, schema=["id", "name", "amount"], orient="row")
    return frame.with_columns(polars.col("amount").cast(polars.Decimal(10, 2)))


def of_duckdb(rows: list[tuple[Any, ...]]) -> Any:
    duckdb = pytest.importorskip("duckdb")
    values = ", ".join(f"({i}, '{n}', {'NULL' if a is None else a})" for i, n, a in rows)
    return duckdb.sql(
        f"SELECT id, name, CAST(amount AS DECIMAL(10, 2)) AS amount FROM (VALUES {values}) v(id, name, amount)"
    )


def of_duckdb_stream(rows: list[tuple[Any, ...]]) -> Any:
    return of_duckdb(rows).to_arrow_reader(1)


Source = Callable[[list[tuple[Any, ...]]], Any]
SOURCES = (of_polars, of_duckdb, of_duckdb_stream)


def rows(lake: PaimonCatalog, name: str) -> list[tuple[Any, ...]]:
    found = lake.table(name).scan().to_arrow().sort_by("id").to_pylist()
    return [(r["id"], r["name"], None if r["amount"] is None else str(r["amount"])) for r in found]


@pytest.mark.parametrize("source", SOURCES)
def test_append(lake: PaimonCatalog, source: Source) -> None:
    table = lake.create_table("shop.t", SCHEMA)
    table.append(source(OLD))
    table.append(source(NEW))
    assert sorted(rows(lake, "shop.t"), key=str) == sorted([*OLD, *NEW], key=str)


@pytest.mark.parametrize("source", SOURCES)
def test_upsert_and_overwrite(lake: PaimonCatalog, source: Source) -> None:
    table = lake.create_table("shop.t", SCHEMA, primary_key="id", options={"bucket": "1"})
    table.upsert(source(OLD))
    table.upsert(source(NEW))
    assert rows(lake, "shop.t") == [OLD[0], *NEW]
    table.overwrite(source(NEW))
    assert rows(lake, "shop.t") == NEW


@pytest.mark.parametrize("source", SOURCES)
def test_merge(lake: PaimonCatalog, source: Source) -> None:
    table = lake.create_table("shop.t", SCHEMA, primary_key="id", options={"bucket": "1"})
    table.upsert(source(OLD))
    table.merge(source(NEW), on="id", when_matched={"name": "source.name"}, when_not_matched="insert")
    assert rows(lake, "shop.t") == [OLD[0], (2, "B", "2.00"), NEW[1]]


@pytest.mark.parametrize("source", SOURCES)
def test_values_that_do_not_fit_write_nothing(lake: PaimonCatalog, source: Source) -> None:
    table = lake.create_table("shop.t", pa.schema([("id", pa.int8()), ("name", pa.string()), ("amount", pa.float64())]))
    with pytest.raises(InvalidDataError, match="id"):
        table.append(source([*OLD, (300, "x", "1.00")]))
    assert table.scan().count() == 0


def test_lazy_frames_say_what_to_pass(lake: PaimonCatalog) -> None:
    table = lake.create_table("shop.t", SCHEMA)
    with pytest.raises(InvalidDataError, match=r"collect\(\)"):
        table.append(of_polars(OLD).lazy())
