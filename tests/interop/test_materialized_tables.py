"""Java reads, and writes to, materialized tables of ours; one that it made, as Flink stores it, is refreshed here."""

from __future__ import annotations

from tests.interop.engines import Engines

OPTIONS = {
    "type": "materialized-table",
    "materialized-table.interval-freshness": "1",
    "materialized-table.interval-freshness.time-unit": "DAY",
    "materialized-table.logical-refresh-mode": "FULL",
    "materialized-table.refresh-mode": "FULL",
    "materialized-table.refresh-status": "ACTIVATED",
}


def test_java_reads_ours(engines: Engines) -> None:
    engines.run(
        "ours",
        "CREATE TABLE s (k INT, v STRING)",
        "INSERT INTO s VALUES (1, 'a'), (2, 'b')",
        "CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' DAY REFRESH_MODE = FULL AS SELECT v, k FROM s",
    )
    engines.both("SELECT * FROM m ORDER BY k", [["a", 1], ["b", 2]])
    shown = {row[0]: row[1] for row in engines.rows("java", "SHOW TBLPROPERTIES m")}
    assert {k: shown.get(k) for k in OPTIONS} == OPTIONS
    assert shown["materialized-table.definition-query"] == "SELECT v, k FROM s"
    engines.run("java", "INSERT INTO m VALUES ('c', 3)")
    engines.both("SELECT * FROM m ORDER BY k", [["a", 1], ["b", 2], ["c", 3]])
    engines.run("ours", "REFRESH MATERIALIZED TABLE m")
    engines.both("SELECT * FROM m ORDER BY k", [["a", 1], ["b", 2]])
    engines.same_metadata("m")


def test_we_refresh_java_s(engines: Engines) -> None:
    """Its query has full names, and says nothing of the database in which it was defined."""
    query = f"SELECT `s`.`k` FROM `{engines.database}`.`s` AS `s`"
    options = ", ".join(f"'{k}' = '{v}'" for k, v in {**OPTIONS, "materialized-table.definition-query": query}.items())
    engines.run("java", "CREATE TABLE s (k INT)", "INSERT INTO s VALUES (1), (2)")
    engines.run("java", f"CREATE TABLE m (k INT) TBLPROPERTIES ({options})")
    assert engines.rows("ours", "SHOW MATERIALIZED TABLES") == [[engines.database, "m"]]
    engines.run("ours", "REFRESH MATERIALIZED TABLE m")
    engines.both("SELECT * FROM m ORDER BY k", [[1], [2]])
