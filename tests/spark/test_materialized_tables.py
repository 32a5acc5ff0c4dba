"""Materialized tables through SQL: what is stored, refreshes in one commit, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tests.support.waiting import wait_until

pytestmark = pytest.mark.spark


def rows(spark: Any, statement: str) -> list[Any]:
    return sorted((tuple(row) for row in spark.sql(statement).collect()), key=str)


def snapshots(spark: Any, table: str) -> list[Any]:
    return rows(spark, f"SELECT snapshot_id, commit_kind FROM `{table}$snapshots`")


@pytest.fixture
def orders(spark: Any) -> Any:
    spark.sql("CREATE TABLE orders (id INT, day STRING, amount INT)")
    spark.sql("INSERT INTO orders VALUES (1, 'mon', 10), (2, 'mon', 5), (3, 'tue', 7)")
    spark.sql(
        """CREATE MATERIALIZED TABLE IF NOT EXISTS by_day COMMENT 'what a day''s orders are' PARTITIONED BY (day)
        WITH ('file.format' = 'orc') FRESHNESS = INTERVAL '30' MINUTES
        AS SELECT day, sum(amount) AS total, 'it\\'s' AS note FROM orders GROUP BY day;"""
    )
    return spark


def test_definition_and_rows(orders: Any, warehouse: str) -> None:
    assert rows(orders, "SELECT * FROM by_day") == [("mon", 15, "it's"), ("tue", 7, "it's")]
    assert snapshots(orders, "by_day") == [(1, "APPEND")]
    schema = json.loads((Path(warehouse) / "default.db" / "by_day" / "schema" / "schema-0").read_text())
    schema["options"].pop("owner", None)
    assert schema["options"] == {
        "type": "materialized-table",
        "materialized-table.definition-query": (
            "SELECT day, sum(amount) AS total, 'it\\'s' AS note FROM orders GROUP BY day"
        ),
        "materialized-table.interval-freshness": "30",
        "materialized-table.interval-freshness.time-unit": "MINUTE",
        "materialized-table.logical-refresh-mode": "AUTOMATIC",
        "materialized-table.refresh-mode": "FULL",
        "materialized-table.refresh-status": "ACTIVATED",
        "paimon-sql.materialized-table.catalog": "paimon",
        "paimon-sql.materialized-table.database": "default",
        "file.format": "orc",
    }
    assert schema["partitionKeys"] == ["day"] and schema["comment"] == "what a day's orders are"
    orders.sql("CREATE DATABASE other")
    assert rows(orders, "SHOW MATERIALIZED TABLES") == [("default", "by_day")]
    assert rows(orders, "SHOW MATERIALIZED TABLES IN paimon.other") == []
    assert rows(orders, "SHOW MATERIALIZED TABLES FROM default LIKE 'BY*|x'") == [("default", "by_day")]
    assert rows(orders, "SHOW MATERIALIZED TABLES LIKE 'x*'") == []
    assert "definition-query" in str(rows(orders, "SHOW CREATE TABLE by_day"))
    assert "definition-query" in str(rows(orders, "DESCRIBE EXTENDED by_day"))
    assert [r[2] for r in rows(orders, "SELECT * FROM sys.tables WHERE table_name = 'by_day'")] == [
        "materialized-table"
    ]


def test_a_refresh_is_one_commit(orders: Any) -> None:
    orders.sql("INSERT INTO orders VALUES (4, 'wed', 1), (5, 'mon', 100)")
    orders.sql("DELETE FROM orders WHERE day = 'tue'")
    orders.sql("REFRESH MATERIALIZED TABLE by_day PARTITION (day = 'mon')")
    assert rows(orders, "SELECT day, total FROM by_day") == [("mon", 115), ("tue", 7)]
    orders.sql("CREATE DATABASE elsewhere")
    orders.sql("USE elsewhere")
    orders.sql("ALTER MATERIALIZED TABLE default.by_day REFRESH")  # names are looked up where it was defined
    assert rows(orders, "SELECT day, total FROM default.by_day") == [("mon", 115), ("wed", 1)]
    assert rows(orders, "SELECT current_database()") == [("elsewhere",)]
    assert [kind for _, kind in rows(orders, "SELECT snapshot_id, commit_kind FROM default.by_day$snapshots")] == [
        "APPEND", "OVERWRITE", "OVERWRITE",
    ]  # fmt: skip
    orders.sql("DROP TABLE default.orders")
    with pytest.raises(PySparkException, match="orders"):
        orders.sql("REFRESH MATERIALIZED TABLE default.by_day")
    assert rows(orders, "SELECT day, total FROM default.by_day") == [("mon", 115), ("wed", 1)]
    assert rows(orders, "SELECT current_database()") == [("elsewhere",)]


def test_altering(orders: Any) -> None:
    def status() -> str:
        options = dict(rows(orders, "SELECT * FROM `by_day$options`"))
        return str(options["materialized-table.refresh-status"])

    orders.sql("ALTER MATERIALIZED TABLE by_day SUSPEND")
    assert status() == "SUSPENDED"
    orders.sql("ALTER MATERIALIZED TABLE by_day RESUME")
    assert status() == "ACTIVATED"
    orders.sql("ALTER MATERIALIZED TABLE by_day AS SELECT day, count(*) AS n FROM orders GROUP BY day")
    assert rows(orders, "SELECT * FROM by_day") == [("mon", 2), ("tue", 1)]
    assert rows(orders, "SELECT count(*) FROM by_day VERSION AS OF 1") == [(2,)]
    orders.sql("INSERT INTO orders VALUES (9, 'tue', 1)")
    orders.sql("REFRESH MATERIALIZED TABLE by_day")
    assert rows(orders, "SELECT * FROM by_day") == [("mon", 2), ("tue", 2)]
    orders.sql("INSERT INTO by_day VALUES ('sun', 1)")  # as any table; the next refresh replaces it
    orders.sql("REFRESH MATERIALIZED TABLE by_day")
    assert rows(orders, "SELECT * FROM by_day") == [("mon", 2), ("tue", 2)]
    orders.sql("DROP MATERIALIZED TABLE by_day")
    orders.sql("DROP MATERIALIZED TABLE IF EXISTS by_day")
    assert rows(orders, "SHOW MATERIALIZED TABLES") == []


def test_keys(orders: Any) -> None:
    orders.sql(
        "CREATE MATERIALIZED TABLE keyed TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1') "
        "FRESHNESS = INTERVAL 1 DAY REFRESH_MODE = FULL AS SELECT id, amount FROM orders"
    )
    orders.sql("INSERT INTO orders VALUES (1, 'mon', 11)")
    orders.sql("ALTER MATERIALIZED TABLE keyed AS SELECT id, max(amount) AS most FROM orders GROUP BY id")
    assert rows(orders, "SELECT * FROM keyed") == [(1, 11), (2, 5), (3, 7)]
    assert "PRIMARY KEY" in str(rows(orders, "SHOW CREATE TABLE keyed")) or "primary-key" in str(
        rows(orders, "SHOW CREATE TABLE keyed")
    )


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("CREATE MATERIALIZED TABLE m AS SELECT 1 AS k", "needs FRESHNESS"),
        (
            "CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '0' DAY AS SELECT 1 AS k",
            "a whole number and one of SECOND",
        ),
        (
            "CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' YEAR AS SELECT 1 AS k",
            "a whole number and one of SECOND",
        ),
        ("CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' DAY", "each once, then AS and a query"),
        ("CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' DAY AS", "AS needs a query"),
        ("CREATE MATERIALIZED TABLE m (k INT) FRESHNESS = INTERVAL '1' DAY AS SELECT 1 AS k", "columns of its query"),
        (
            "CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' DAY REFRESH_MODE = OFTEN AS SELECT 1 AS k",
            "REFRESH_MODE must be FULL or CONTINUOUS",
        ),
        ("CREATE MATERIALIZED TABLE by_day FRESHNESS = INTERVAL '1' DAY AS SELECT 1 AS k", "already exists"),
        ("CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' DAY AS SELECT nothing FROM orders", "nothing"),
        ("CREATE TABLE m (k INT) TBLPROPERTIES ('type' = 'materialized-table')", "without a query"),
        ("REFRESH MATERIALIZED TABLE orders", "orders is not a materialized table"),
        ("REFRESH MATERIALIZED TABLE nope", "nope"),
        ("REFRESH MATERIALIZED TABLE by_day PARTITION (total = 1)", "no partition column 'total'; it has day"),
        ("ALTER MATERIALIZED TABLE orders SUSPEND", "orders is not a materialized table"),
        ("ALTER MATERIALIZED TABLE by_day PAUSE", "has SUSPEND, RESUME, REFRESH"),
        ("DROP MATERIALIZED TABLE orders", "orders is not a materialized table"),
        ("DROP MATERIALIZED TABLE nope", "no materialized table default.nope"),
        ("REFRESH MATERIALIZED TABLE spark_catalog.default.x", "not in a Paimon catalog"),
    ],
)
def test_what_is_refused(orders: Any, statement: str, says: str) -> None:
    with pytest.raises(PySparkException, match=says):
        orders.sql(statement).collect()
    assert rows(orders, "SHOW MATERIALIZED TABLES") == [("default", "by_day")]


# -- continuous refreshes ---------------------------------------------------------------------------------------------


def until(answer: Any, expected: Any) -> None:
    """Wait for a job that runs each second."""
    wait_until(lambda: answer() == expected, answer)


def jobs(spark: Any) -> list[str]:
    return [query.name for query in spark.streams.active]


def option(spark: Any, table: str, key: str) -> str:
    return str(dict(rows(spark, f"SELECT * FROM {table}$options")).get(f"materialized-table.{key}"))


@pytest.fixture
def live(orders: Any) -> Iterator[Any]:
    orders.sql(
        "CREATE MATERIALIZED TABLE live FRESHNESS = INTERVAL '1' SECOND REFRESH_MODE = CONTINUOUS"
        " AS SELECT day, sum(amount) AS total FROM orders GROUP BY day"
    )
    yield orders
    for query in orders.streams.active:
        query.stop()


def test_a_job_follows_the_tables_of_the_query(live: Any) -> None:
    assert jobs(live) == ["refresh of paimon.default.live"]
    assert option(live, "live", "refresh-mode") == option(live, "live", "logical-refresh-mode") == "CONTINUOUS"
    until(lambda: len(snapshots(live, "live")), 2)  # what came in between is not known to a job that begins
    live.sql("CREATE DATABASE elsewhere")
    live.sql("USE elsewhere")
    live.sql("INSERT INTO default.orders VALUES (4, 'wed', 1)")
    until(lambda: rows(live, "SELECT * FROM default.live"), [("mon", 15), ("tue", 7), ("wed", 1)])
    assert rows(live, "SELECT current_database()") == [("elsewhere",)]
    live.sql("USE default")
    live.sql("DELETE FROM orders WHERE day = 'mon'")
    until(lambda: rows(live, "SELECT * FROM live"), [("tue", 7), ("wed", 1)])
    (query,) = live.streams.active
    batches, count = query.lastProgress.batchId, len(snapshots(live, "live"))
    until(lambda: query.lastProgress.batchId > batches + 2, True)
    assert len(snapshots(live, "live")) == count, "where nothing has changed, nothing is written"
    live.sql("ALTER MATERIALIZED TABLE live AS SELECT day, count(*) AS orders FROM orders GROUP BY day")
    live.sql("INSERT INTO orders VALUES (5, 'tue', 0)")
    until(lambda: rows(live, "SELECT * FROM live"), [("tue", 2), ("wed", 1)])
    live.sql("REFRESH MATERIALIZED TABLE live")  # by hand, too


def test_suspending_resuming_and_dropping(live: Any) -> None:
    first = option(live, "live", "refresh-handler-description")
    assert live.sparkContext.applicationId in first
    live.sql("ALTER MATERIALIZED TABLE live SUSPEND")
    assert jobs(live) == [] and option(live, "live", "refresh-status") == "SUSPENDED"
    live.sql("INSERT INTO orders VALUES (4, 'wed', 1)")
    live.sql("ALTER MATERIALIZED TABLE live RESUME")
    assert option(live, "live", "refresh-handler-description") not in (first, "None")
    until(lambda: rows(live, "SELECT * FROM live"), [("mon", 15), ("tue", 7), ("wed", 1)])
    live.sql("DROP MATERIALIZED TABLE live")
    assert jobs(live) == []
    live.sql("CREATE MATERIALIZED TABLE IF NOT EXISTS by_day FRESHNESS = INTERVAL '1' SECOND AS SELECT 1 AS k")
    live.sql("ALTER MATERIALIZED TABLE by_day RESUME")  # refreshed by hand: no job
    assert jobs(live) == []


def test_the_last_job_is_the_one(live: Any) -> None:
    """Another session resumes, suspends or drops the table: the job of this one ends by itself."""
    other = live.newSession()
    other.sql("USE paimon.default")
    other.sql("ALTER MATERIALIZED TABLE live RESUME")
    until(lambda: jobs(live), [])
    assert jobs(other) == ["refresh of paimon.default.live"]
    live.sql("ALTER MATERIALIZED TABLE live SUSPEND")
    until(lambda: jobs(other), [])
    other.sql("ALTER MATERIALIZED TABLE live RESUME")
    live.sql("DROP TABLE live")
    until(lambda: jobs(other), [])


def test_rows_that_change_by_themselves(orders: Any) -> None:
    """What depends on the time is computed each time, and a refresh that fails is tried again."""
    orders.sql("CREATE VIEW now_and_then AS SELECT o.day, current_timestamp() AS then FROM orders o")
    orders.sql(
        "CREATE MATERIALIZED TABLE live FRESHNESS = INTERVAL '1' SECOND REFRESH_MODE = CONTINUOUS"
        " AS SELECT day FROM orders WHERE id IN (SELECT 1 FROM now_and_then)"
    )
    try:
        until(lambda: len(snapshots(orders, "live")) > 3, True)
        orders.sql("DROP VIEW now_and_then")
        orders.sql("INSERT INTO orders VALUES (1, 'sun', 1)")
        orders.sql("CREATE VIEW now_and_then AS SELECT 1 AS k")
        until(lambda: rows(orders, "SELECT * FROM live"), [("mon",), ("sun",)])
    finally:
        for query in orders.streams.active:
            query.stop()


def test_jobs_of_flink_s_are_left_alone(orders: Any) -> None:
    orders.sql(
        "CREATE TABLE theirs (k INT) TBLPROPERTIES ('type' = 'materialized-table', 'materialized-table.refresh-mode' ="
        " 'CONTINUOUS', 'materialized-table.definition-query' = 'SELECT 1 AS k')"
    )
    for statement in ("REFRESH MATERIALIZED TABLE theirs", "ALTER MATERIALIZED TABLE theirs RESUME"):
        with pytest.raises(PySparkException, match="by a streaming job of Flink"):
            orders.sql(statement).collect()
    orders.sql("DROP MATERIALIZED TABLE theirs")
