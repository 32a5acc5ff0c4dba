"""Java's JDBC catalog and ours in one database: rows field by field, and each opens what the other made.

Maven brings Java's drivers: `make campaign NAME=java-jdbc`. PAIMON_SQL_JDBC_DRIVERS is what `scripts/jars jdbc` prints.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from paimon_sql.catalog.load import load_catalog
from tests.interop.engines import ENGINES, Engines
from tests.interop.in_turns import OF_ALL_TYPES, change_in_turn, in_catalog
from tests.support.sql_servers import start_postgres

pytest.importorskip("sqlalchemy", reason='needs pip install "paimon-sql[jdbc]"')

_DRIVERS = os.environ.get("PAIMON_SQL_JDBC_DRIVERS")
if not _DRIVERS:
    pytest.skip("no PAIMON_SQL_JDBC_DRIVERS: make campaign NAME=java-jdbc", allow_module_level=True)

_COLUMNS = {
    "paimon_tables": "table_name",
    "paimon_table_properties": "table_name, property_key, property_value",
    "paimon_database_properties": "property_key, property_value",
    "paimon_views": "view_name, view_schema",
}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def options(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Those of a catalog in a database of a kind."""
    folder = tmp_path_factory.mktemp("jdbc")
    given = {"metastore": "jdbc", "warehouse": str(folder / "warehouse")}
    if request.param == "sqlite":  # without locks, as Java then leaves a query open, and sees nothing new
        yield {**given, "uri": f"jdbc:sqlite:{folder}/catalog.sqlite"}
        return
    pytest.importorskip("psycopg", reason='needs pip install "paimon-sql[postgres]"')
    server = start_postgres()
    if isinstance(server, str):
        pytest.skip(server)
    yield {**given, **server.options, "lock.enabled": "true"}
    server.remove()


@pytest.fixture(scope="module")
def engines(options: dict[str, str], root_session: Any) -> Iterator[Engines]:
    """Both engines with a catalog `paimon` in the database, and the databases `ours` and `java`."""
    drivers = {"spark.driver.extraClassPath": str(_DRIVERS)}
    with in_catalog(root_session, options["warehouse"], options, "ours", of_java=drivers) as both:
        for name in ENGINES:
            both.run(name, f"CREATE DATABASE paimon.{name} WITH DBPROPERTIES (level = '1')")
            both.run(name, f"USE paimon.{name}")
        yield both


def stored(options: dict[str, str], table: str, database: str) -> list[tuple[Any, ...]]:
    """What the database has of a database of the catalog, which is called `db`."""
    catalog: Any = load_catalog(options)
    asked = f"SELECT {_COLUMNS[table]} FROM {table} WHERE catalog_key = 'jdbc' AND database_name = '{database}'"
    try:
        found = catalog._database.read(lambda c: c.exec_driver_sql(asked).fetchall())
    finally:
        catalog.close()
    return sorted(tuple(str(value).replace(f"{database}.db", "db.db") for value in row) for row in found)


@pytest.mark.parametrize(("one", "other"), [("ours", "java"), ("java", "ours")])
def test_each_opens_changes_renames_and_drops_what_the_other_made(engines: Engines, one: str, other: str) -> None:
    alters = ("ADD COLUMN w INT COMMENT 'more' FIRST", "ALTER COLUMN w AFTER v", "ALTER COLUMN w TYPE BIGINT")
    change_in_turn(engines, one, other, ("ours", "java"), alters)


def test_rows_are_equal_field_by_field(engines: Engines, options: dict[str, str]) -> None:
    for engine in ENGINES:
        engines.run(
            engine,
            f"CREATE TABLE paimon.{engine}.all_types ({OF_ALL_TYPES}) COMMENT 'about' TBLPROPERTIES ('x' = 'y')",
            f"CREATE TABLE paimon.{engine}.keyed (k INT, v STRING, p INT) PARTITIONED BY (p) "
            "TBLPROPERTIES ('primary-key' = 'k,p', 'bucket' = '2', 'bucket-key' = 'k')",
            f"ALTER TABLE paimon.{engine}.keyed SET TBLPROPERTIES ('snapshot.num-retained.min' = '5')",
            f"ALTER TABLE paimon.{engine}.all_types UNSET TBLPROPERTIES ('x')",
        )
    for table in ("paimon_tables", "paimon_table_properties", "paimon_database_properties"):
        ours, java = (stored(options, table, engine) for engine in ENGINES)
        assert ours == java and ours, table
    engines.both("DESCRIBE paimon.ours.all_types")
    engines.both("DESCRIBE paimon.java.all_types")


def test_commits_of_both_in_turn(engines: Engines) -> None:
    keyed = "TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')"
    engines.run("ours", f"CREATE TABLE paimon.ours.both_write (k INT, v STRING) {keyed}")
    for n in range(6):
        engines.run(ENGINES[n % 2], f"INSERT INTO paimon.ours.both_write VALUES ({n}, 'x'), (100, '{n}')")
    engines.both("SELECT count(*), max(v) FROM paimon.ours.both_write", [[7, "x"]])
    engines.both("SELECT v FROM paimon.ours.both_write WHERE k = 100", [["5"]])


def test_views_of_both(engines: Engines, options: dict[str, str]) -> None:
    for one in ENGINES:
        engines.run(
            one,
            f"CREATE TABLE paimon.{one}.behind (k INT)",
            f"INSERT INTO paimon.{one}.behind VALUES (1)",
            f"CREATE VIEW paimon.{one}.seen AS SELECT k + 1 AS n FROM paimon.{one}.behind",
        )
        engines.both(f"SELECT n FROM paimon.{one}.seen", [[2]])
        assert [row[0] for row in stored(options, "paimon_views", one)] == ["seen"]
    engines.run("ours", "DROP VIEW paimon.java.seen")
    engines.run("java", "DROP VIEW paimon.ours.seen")
    assert [stored(options, "paimon_views", one) for one in ENGINES] == [[], []]


def test_what_one_drops_the_other_has_not(engines: Engines, options: dict[str, str]) -> None:
    for one, other in (ENGINES, ENGINES[::-1]):
        engines.run(one, f"CREATE DATABASE paimon.gone_{one}", f"CREATE TABLE paimon.gone_{one}.t (k INT)")
        engines.run(other, f"DROP DATABASE paimon.gone_{one} CASCADE")
        for engine in ENGINES:
            assert [f"gone_{one}"] not in engines.rows(engine, "SHOW DATABASES")
        assert [stored(options, table, f"gone_{one}") for table in _COLUMNS] == [[]] * len(_COLUMNS)
