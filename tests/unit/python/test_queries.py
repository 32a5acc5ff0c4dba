"""Queries in SQL without Spark: which tables they name, what they may do, and what they read."""

from __future__ import annotations

import threading
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import (
    DataFileMissingError,
    InvalidOptionError,
    NotFoundError,
    PaimonError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.python.dataset import TableDataset
from paimon_sql.python.queries import QueryLimits, parsed_query, run_query
from paimon_sql.shell.tables import run_table_command

ORDERS = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("name", pa.string())])


@pytest.fixture
def shop(lake: PaimonCatalog) -> PaimonCatalog:
    """A catalog with `shop.orders`, keyed and partitioned, and `prices` in the database `default`."""
    orders = lake.create_table("shop.orders", ORDERS, primary_key=["day", "id"], partitioned_by="day")
    for i in range(3):
        orders.upsert([{"id": i, "day": date(2026, 1, 1 + i), "name": "abc"[i]}])
    lake.create_table("prices", pa.schema([("id", pa.int64()), ("price", pa.int32())])).append([{"id": 1, "price": 5}])
    return lake


def answers(catalog: PaimonCatalog, query: str) -> list[tuple[Any, ...]]:
    pytest.importorskip("duckdb")
    return [tuple(row.values()) for row in catalog.sql(query).to_pylist()]


@pytest.mark.parametrize(
    ("query", "tables"),
    [
        ("SELECT * FROM shop.orders", ["shop.orders"]),
        ("SELECT 1", []),
        ("SELECT * FROM shop.orders o JOIN prices USING (id) JOIN shop.orders p ON p.id = o.id",
         ["shop.orders", "prices"]),
        ("WITH c AS (SELECT * FROM prices) SELECT * FROM c WHERE id IN (SELECT id FROM shop.orders)",
         ["prices", "shop.orders"]),
        ("WITH prices AS (SELECT * FROM prices) SELECT * FROM prices", ["prices"]),
        ("WITH Prices AS (SELECT * FROM prices) SELECT * FROM PRICES", ["prices"]),
        ("WITH RECURSIVE R AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r", []),
        ("WITH prices AS (SELECT 1 AS id) SELECT * FROM prices, shop.Prices", ["shop.Prices"]),
        ("SELECT id FROM prices UNION ALL SELECT id FROM \"Other\".t", ["prices", "Other.t"]),
        ('SELECT * FROM shop."orders$audit_log"', ["shop.orders$audit_log"]),
        ("SELECT * FROM range(3) r", []),
        ("(SELECT * FROM prices) LIMIT 1;", ["prices"]),
    ],
)  # fmt: skip
def test_the_tables_of_a_query_are_found(query: str, tables: list[str]) -> None:
    assert sorted(table.name for table in parsed_query(query).tables) == sorted(tables)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("DELETE FROM shop.orders", "cannot run DELETE"),
        ("INSERT INTO shop.orders SELECT 1", "cannot run INSERT"),
        ("CREATE TABLE x AS SELECT * FROM prices", "cannot run CREATE"),
        ("DROP TABLE prices", "cannot run DROP"),
        ("COPY prices TO 'x.csv'", "cannot run COPY"),
        ("ATTACH 'x.db'", "cannot run ATTACH"),
        ("SET memory_limit = '1GB'", "cannot run SET"),
        ("PRAGMA database_list", "cannot run PRAGMA"),
        ("SELECT * FROM read_csv('x.csv')", "cannot read READ_CSV"),
        ("SELECT * FROM glob('*')", "cannot read GLOB"),
        ("SELECT * FROM prices WHERE id IN (SELECT a FROM read_text('x'))", "(?i)cannot read READ_TEXT"),
        ("SELECT * FROM a.b.c", "cannot read a.b.c"),
    ],
)
def test_whatever_does_not_only_read_tables_is_refused(query: str, message: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=message):
        parsed_query(query)


@pytest.mark.parametrize(
    "call",
    [
        "current_setting('secret_directory')",
        "\"Current_Setting\"('secret_directory')",
        "system.main.current_setting('allowed_paths')",
        "'secret_directory'.current_setting()",
        "$$secret_directory$$.current_setting()",
        "current_setting('secret' || '_directory')",
        "current_setting('TimeZone', 'secret_directory')",
        "list_transform([1], x -> current_setting('extension_directory'))",
    ],
)
@pytest.mark.parametrize("query", ["SELECT {}", "SELECT 1 WHERE {} = 'x'", "WITH a AS (SELECT {} AS v) FROM a"])
def test_settings_that_may_name_paths_are_refused(query: str, call: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match="shows no settings of DuckDB"):
        parsed_query(query.format(call))


def test_harmless_settings_are_shown(shop: PaimonCatalog) -> None:
    assert shop.sql("SELECT current_setting('TimeZone') AS zone, main.CURRENT_SETTING('calendar') AS c").num_rows == 1


@pytest.mark.parametrize("query", ["SELEC 1", "", "SELECT 1; SELECT 2", "SELECT * FROM (", "SELECT 'x"])
def test_a_text_that_is_not_one_query_is_an_error(query: str) -> None:
    with pytest.raises((InvalidOptionError, UnsupportedFeatureError)):
        parsed_query(query)


def test_queries_join_group_and_nest(shop: PaimonCatalog) -> None:
    joined = "SELECT orders.name, price FROM shop.orders JOIN prices ON shop.orders.id = prices.id"
    assert answers(shop, joined) == [("b", 5)]
    assert answers(shop, "SELECT count(*), max(day) FROM shop.orders") == [(3, date(2026, 1, 3))]
    assert answers(shop, "WITH prices AS (SELECT id + 1 AS id FROM prices) SELECT id FROM prices") == [(2,)]
    assert answers(shop, "SELECT name FROM shop.orders WHERE id IN (SELECT id FROM prices)") == [("b",)]


def test_names_of_ctes_hide_tables_in_any_case(shop: PaimonCatalog) -> None:
    assert answers(shop, "WITH Prices AS (SELECT 7 AS id) SELECT id FROM prices") == [(7,)]
    assert answers(shop, 'WITH prices AS (SELECT 7 AS id) SELECT "PRICES".id FROM "PRICES"') == [(7,)]
    assert answers(shop, "WITH Prices AS (SELECT id + 1 AS id FROM prices) SELECT id FROM PRICES") == [(2,)]


def test_names_in_a_query_hide_no_table(shop: PaimonCatalog) -> None:
    assert answers(shop, "WITH __paimon_0 AS (SELECT 7 AS id) SELECT id FROM prices") == [(1,)]
    assert answers(shop, "WITH __PAIMON_0 AS (SELECT 7 AS id) SELECT id FROM prices") == [(1,)]


def test_fields_of_structs_are_found_by_their_whole_path(lake: PaimonCatalog) -> None:
    inner = pa.struct([("g", pa.int32())])
    schema = pa.schema([("s", pa.struct([("f", inner)])), ("f", inner)])
    for name in ("prices", "shop.nested"):
        lake.create_table(name, schema).append([{"s": {"f": {"g": 10}}, "f": {"g": -1}}])
    for path in ("s.f.g", "t.s.f.g", "(t.s).f.g"):
        assert answers(lake, f"SELECT {path} FROM prices t WHERE {path} = 10") == [(10,)]
        assert answers(lake, f"SELECT {path} FROM shop.nested t WHERE {path} = 10") == [(10,)]
    for path in ("s.f.g", "nested.s.f.g", "shop.nested.s.f.g"):
        assert answers(lake, f"SELECT {path} FROM shop.nested") == [(10,)]
    for path in ("f.g", "nested.f.g", "shop.nested.f.g"):
        assert answers(lake, f"SELECT {path} FROM shop.nested") == [(-1,)]
    assert answers(lake, "SELECT t.f.g, s.f.g AS h FROM prices t, (SELECT {'g': 5} AS f) s") == [(-1, 5)]


def test_system_and_derived_tables_are_tables(shop: PaimonCatalog) -> None:
    assert answers(shop, 'SELECT count(*) FROM shop."orders$snapshots"') == [(3,)]
    assert answers(shop, 'SELECT DISTINCT rowkind FROM shop."orders$audit_log"') == [("+I",)]
    assert answers(shop, "SELECT table_name FROM sys.tables ORDER BY 1") == [("orders",), ("prices",)]


def test_columns_and_filters_choose_what_is_read(shop: PaimonCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[tuple[str, ...], int]] = []
    scan_of = TableDataset.scan_of

    def counted(self: TableDataset, *arguments: Any) -> Any:
        scan = scan_of(self, *arguments)
        read.append((scan.columns, len(scan.plan())))
        return scan

    monkeypatch.setattr(TableDataset, "scan_of", counted)
    assert answers(shop, "SELECT name FROM shop.orders o WHERE o.day = DATE '2026-01-02'") == [("b",)]
    assert read == [(("day", "name"), 1)]


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("SELECT nothing FROM shop.orders", InvalidOptionError),
        ("SELECT * FROM shop.missing", TableNotFoundError),
        ("SELECT CAST(name AS INT) FROM shop.orders", InvalidOptionError),
        ("SELECT * FROM duckdb_settings()", UnsupportedFeatureError),
    ],
)
def test_errors_are_ours(shop: PaimonCatalog, query: str, error: type[PaimonError]) -> None:
    with pytest.raises(error):
        answers(shop, query)


def test_an_error_of_a_scan_keeps_its_class(shop: PaimonCatalog) -> None:
    for file in Path(shop.table("prices").location).glob("bucket-*/data-*"):
        file.unlink()
    with pytest.raises(DataFileMissingError):
        answers(shop, "SELECT * FROM prices")


def test_the_command_prints_rows(shop: PaimonCatalog, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("duckdb")
    warehouse = shop.table("prices").location.partition("/default.db/")[0]
    query = "SELECT id, price FROM prices"
    assert run_table_command(["query", query, "-w", warehouse, "--output", "csv"]) == 0
    assert capsys.readouterr().out == "id,price\n1,5\n"


def test_limits_of_a_query(lake: PaimonCatalog) -> None:
    endless = "SELECT sum(a.range * b.range) FROM range(10000000000) a, range(10000000000) b"
    with pytest.raises(InvalidOptionError, match="was stopped after 0.1 seconds"):
        run_query(lake, endless, QueryLimits(rows=1, seconds=0.1))
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    with pytest.raises(InvalidOptionError, match="was stopped"):
        run_query(lake, endless, QueryLimits(rows=1, seconds=3600, stop=stop))
    assert run_query(lake, "SELECT * FROM range(1000)", QueryLimits(rows=3, seconds=60)).num_rows == 3
    with pytest.raises(InvalidOptionError, match="cannot run"):
        run_query(lake, "SELECT list(range) FROM range(100000000)", QueryLimits(rows=3, seconds=60, memory="20MB"))


def test_versions(shop: PaimonCatalog) -> None:
    prices = shop.table("prices")
    prices.append([{"id": 2, "price": 6}])
    prices.delete("id = 1")
    shop.call("create_tag", table="default.prices", tag="v1", snapshot=1)
    ids = "SELECT id FROM prices {} ORDER BY id"
    before = "TIMESTAMP '2001-01-01'"
    for version, expected in {
        "FOR VERSION AS OF 1": [(1,)],
        "FOR VERSION AS OF 2 AS p": [(1,), (2,)],
        "VERSION AS OF 'v1'": [(1,)],
        "FOR VERSION AS OF 'v1' p": [(1,)],
        "FOR TIMESTAMP AS OF TIMESTAMP '2999-01-01 00:00:00'": [(2,)],
        "TIMESTAMP AS OF '2999-01-01'": [(2,)],
        "": [(2,)],
    }.items():
        assert (version, answers(shop, ids.format(version))) == (version, expected)
    joined = """
        SELECT old.id AS gone, new.id AS came
        FROM prices FOR VERSION AS OF 1 old FULL JOIN prices FOR VERSION AS OF 3 new USING (id)
        WHERE old.id IS NULL OR new.id IS NULL
    """
    assert set(answers(shop, joined)) == {(1, None), (None, 2)}
    assert answers(shop, 'SELECT count(*) FROM "prices$snapshots"') == [(3,)]
    with pytest.raises(NotFoundError):
        shop.sql(ids.format("FOR VERSION AS OF 99"))
    with pytest.raises(PaimonError):
        shop.sql(ids.format(f"FOR TIMESTAMP AS OF {before}"))
    with pytest.raises(UnsupportedFeatureError, match="has no versions"):
        shop.sql('SELECT * FROM "prices$snapshots" FOR VERSION AS OF 1')
    for unknown in ("FOR VERSION AS OF 1 + 1", "FOR TIMESTAMP AS OF 5", "FOR TIMESTAMP BETWEEN '2001' AND '2002'"):
        with pytest.raises((UnsupportedFeatureError, InvalidOptionError)):
            shop.sql(ids.format(unknown))
