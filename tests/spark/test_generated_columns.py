"""Generated columns in every way of writing in Spark, filters that skip partitions by them, and what shows, changes and
copies them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from paimon_sql import open_table
from tests.support.examples import examples
from tests.support.spark_versions import since

pytestmark = [pytest.mark.spark, since(4, 1, "Spark 4.0 checks no constraints")]

COLUMNS = (
    "(id INT, ts TIMESTAMP_NTZ, note STRING, dt DATE GENERATED ALWAYS AS (CAST(ts AS DATE)), "
    "start STRING GENERATED ALWAYS AS (substring(note, 1, 1)))"
)
TABLES = {
    "append": "PARTITIONED BY (dt)",
    "keyed": "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')",
    "crossed": "PARTITIONED BY (dt) TBLPROPERTIES ('primary-key' = 'id')",
    "evolved": "TBLPROPERTIES ('row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', "
    "'deletion-vectors.enabled' = 'true')",
}
NARROW, WIDE = "id INT, ts TIMESTAMP_NTZ, note STRING", "id INT, ts TIMESTAMP_NTZ, note STRING, dt DATE"
TS, DAY = dt.datetime(2024, 3, 5, 12), dt.date(2024, 3, 5)
SQL_TS = "TIMESTAMP_NTZ '2024-03-05 12:00:00'"


def narrow(spark: Any) -> Any:
    return spark.createDataFrame([(5, TS, "x")], NARROW)


def wide(spark: Any, day: dt.date | None) -> Any:
    return spark.createDataFrame([(5, TS, "x", day)], WIDE)


def copied(spark: Any, rows: Any, folder: Path) -> None:
    path = str(folder / f"rows{len(list(folder.iterdir()))}")
    rows.write.mode("overwrite").parquet(path)
    spark.sql(f"COPY INTO t FROM '{path}' FILE_FORMAT = (TYPE = PARQUET)")


def streamed(spark: Any, rows: Any, folder: Path) -> None:
    path = str(folder / f"stream{len(list(folder.iterdir()))}")
    rows.write.mode("overwrite").parquet(path)
    found = spark.readStream.schema(rows.schema).parquet(path)
    query = found.writeStream.option("checkpointLocation", f"{path}-seen").trigger(availableNow=True).toTable("t")
    query.awaitTermination()


MAKES: dict[str, Callable[[Any, Path], Any]] = {
    "by position": lambda spark, _: spark.sql(f"INSERT INTO t VALUES (5, {SQL_TS}, 'x')"),
    "default": lambda spark, _: spark.sql(f"INSERT INTO t VALUES (5, {SQL_TS}, 'x', DEFAULT, default)"),
    "null": lambda spark, _: spark.sql(f"INSERT INTO t VALUES (5, {SQL_TS}, 'x', NULL, NULL)"),
    "listed": lambda spark, _: spark.sql(f"INSERT INTO t (note, id, ts) VALUES ('x', 5, {SQL_TS})"),
    "listed default": lambda spark, _: spark.sql(
        f"INSERT INTO t (note, id, dt, ts) VALUES ('x', 5, DEFAULT, {SQL_TS})"
    ),
    "by name": lambda spark, _: spark.sql(f"INSERT INTO t BY NAME SELECT {SQL_TS} AS TS, 'x' AS note, 5 AS id"),
    "query": lambda spark, _: spark.sql(f"INSERT INTO t SELECT 5L, {SQL_TS}, 'x' WHERE rand() >= 0"),
    "cast": lambda spark, _: spark.sql("INSERT INTO t (id, ts, note) VALUES ('5', '2024-03-05 12:00:00', 'x')"),
    "given": lambda spark, _: spark.sql(f"INSERT INTO t VALUES (5, {SQL_TS}, 'x', DATE '2024-03-05', 'x')"),
    "given as text": lambda spark, _: spark.sql(f"INSERT INTO t VALUES (5, {SQL_TS}, 'x', '2024-03-05', 'x')"),
    "overwrite": lambda spark, _: spark.sql(f"INSERT OVERWRITE t VALUES (5, {SQL_TS}, 'x')"),
    "replace where": lambda spark, _: spark.sql(
        f"INSERT INTO t REPLACE WHERE true SELECT 5, {SQL_TS}, 'x', CAST(NULL AS DATE), CAST(NULL AS STRING)"
    ),
    "append": lambda spark, _: narrow(spark).writeTo("t").append(),
    "append given": lambda spark, _: wide(spark, DAY).writeTo("t").append(),
    "append null": lambda spark, _: wide(spark, None).writeTo("t").append(),
    "overwrite all": lambda spark, _: narrow(spark).writeTo("t").overwrite(F.lit(True)),
    "overwrite partitions": lambda spark, _: narrow(spark).writeTo("t").overwritePartitions(),
    "save": lambda spark, _: narrow(spark).write.mode("append").saveAsTable("t"),
    "save over": lambda spark, _: narrow(spark).write.mode("overwrite").saveAsTable("t"),
    "insert into": lambda spark, _: narrow(spark).write.insertInto("t"),
    "insert over": lambda spark, _: narrow(spark).write.insertInto("t", overwrite=True),
    "merge schema": lambda spark, _: narrow(spark).writeTo("t").option("write.merge-schema", "true").append(),
    "merges": lambda spark, _: spark.sql(
        f"MERGE INTO t USING (SELECT 5 AS id, {SQL_TS} AS ts, 'x' AS note) s ON t.id = s.id "
        "WHEN NOT MATCHED THEN INSERT *"
    ),
    "merges columns": lambda spark, _: spark.sql(
        f"MERGE INTO t USING (SELECT 5 AS id, {SQL_TS} AS ts) s ON t.id = s.id "
        "WHEN NOT MATCHED THEN INSERT (id, ts, note, dt) VALUES (s.id, s.ts, 'x', NULL)"
    ),
    "frame merges": lambda spark, _: (
        narrow(spark).alias("s").mergeInto("t", F.col("t.id") == F.col("s.id")).whenNotMatched().insertAll().merge()
    ),
    "copy": lambda spark, folder: copied(spark, narrow(spark), folder),
    "copy given": lambda spark, folder: copied(spark, wide(spark, DAY), folder),
    "stream": lambda spark, folder: streamed(spark, narrow(spark), folder),
    "stream given": lambda spark, folder: streamed(spark, wide(spark, DAY), folder),
}
WRONG = dt.date(2024, 3, 6)
REFUSED: dict[str, Callable[[Any, Path], Any]] = {
    "insert": lambda spark, _: spark.sql(f"INSERT INTO t VALUES (5, {SQL_TS}, 'x', DATE '2024-03-06', 'x')"),
    "overwrite": lambda spark, _: spark.sql(f"INSERT OVERWRITE t (id, ts, dt) VALUES (5, {SQL_TS}, DATE '2024-03-06')"),
    "append": lambda spark, _: wide(spark, WRONG).writeTo("t").append(),
    "update": lambda spark, _: spark.sql("UPDATE t SET dt = DATE '2024-03-07' WHERE id = 1"),
    "merge": lambda spark, _: spark.sql(
        "MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET dt = DATE '2024-03-07'"
    ),
    "copy": lambda spark, folder: copied(spark, wide(spark, WRONG), folder),
    "stream": lambda spark, folder: streamed(spark, wide(spark, WRONG), folder),
}


def content(spark: Any, name: str = "t") -> list[Any]:
    return sorted(map(tuple, spark.sql(f"SELECT id, ts, note, dt, start FROM {name}").collect()), key=str)


def test_a_null_in_the_partition_clause(spark: Any) -> None:
    spark.sql(f"CREATE TABLE t {COLUMNS.replace('start', 'PLACE STRING, start')} PARTITIONED BY (place, dt)")
    spark.sql(f"INSERT INTO t PARTITION (DT = NULL) SELECT 1, {SQL_TS}, 'x', 'home'")
    spark.sql(f"INSERT INTO t PARTITION (place = 'away', dt = NULL) VALUES (2, {SQL_TS}, 'x')")
    spark.sql(f"INSERT INTO t PARTITION (place = NULL, dt = NULL) (note, id, ts) VALUES ('x', 3, {SQL_TS})")
    made = spark.sql("SELECT id, place, dt, start FROM t ORDER BY id").collect()
    assert list(map(tuple, made)) == [(1, "home", DAY, "x"), (2, "away", DAY, "x"), (3, None, DAY, "x")]
    with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
        spark.sql(f"INSERT OVERWRITE t PARTITION (place = 'away', dt = NULL) VALUES (2, {SQL_TS}, 'x', 'x')")


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("way", MAKES)
def test_every_write_makes_the_values(way: str, kind: str, spark: Any, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE t {COLUMNS} {TABLES[kind]}")
    spark.sql("INSERT INTO t VALUES (1, TIMESTAMP_NTZ '2024-01-01 00:00:00', 'abc')")
    MAKES[way](spark, tmp_path)
    found = content(spark)
    assert [row for row in found if row[0] == 5] == [(5, TS, "x", DAY, "x")]
    assert found[0] == (1, dt.datetime(2024, 1, 1), "abc", dt.date(2024, 1, 1), "a") or len(found) == 1


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("way", REFUSED)
def test_every_write_checks_the_values(way: str, kind: str, spark: Any, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE t {COLUMNS} {TABLES[kind]}")
    spark.sql("INSERT INTO t VALUES (1, TIMESTAMP_NTZ '2024-01-01 00:00:00', 'abc')")
    before = content(spark)
    with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION") as caught:
        REFUSED[way](spark, tmp_path)
    assert "of generated column dt" in str(caught.value)
    assert content(spark) == before


@pytest.mark.parametrize("kind", TABLES)
def test_changes_make_the_values_anew(kind: str, spark: Any) -> None:
    spark.sql(f"CREATE TABLE t {COLUMNS} {TABLES[kind]}")
    spark.sql(f"INSERT INTO t VALUES (1, {SQL_TS}, 'abc'), (2, {SQL_TS}, 'bcd'), (3, NULL, NULL)")
    spark.sql("UPDATE t SET ts = ts + INTERVAL 1 DAY WHERE id = 1")
    spark.sql("UPDATE t SET note = 'zz', start = DEFAULT WHERE id = 2")
    spark.sql("UPDATE t SET note = note")
    later = TS + dt.timedelta(days=1)
    moved = (1, later, "abc", DAY + dt.timedelta(days=1), "a")
    assert content(spark) == [moved, (2, TS, "zz", DAY, "z"), (3, None, None, None, None)]
    spark.sql(
        "MERGE INTO t USING (SELECT 2 AS id, TIMESTAMP_NTZ '2024-05-06 07:00:00' AS ts, 'm' AS note) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED BY SOURCE AND t.id = 1 THEN UPDATE SET note = 'n'"
    )
    merged = (2, dt.datetime(2024, 5, 6, 7), "m", dt.date(2024, 5, 6), "m")
    assert content(spark) == [(*moved[:2], "n", moved[3], "n"), merged, (3, None, None, None, None)]


def test_values_are_made_and_checked_as_they_are_stored(spark: Any) -> None:
    spark.sql(
        "CREATE TABLE t (id INT, n DECIMAL(10, 2), small TINYINT, text STRING GENERATED ALWAYS AS (CAST(n AS STRING)), "
        "CONSTRAINT big CHECK (small > 7))"
    )
    spark.sql("INSERT INTO t (id, n, small) VALUES (1, 1.999, 8), (2, 1, 8)")
    spark.sql("UPDATE t SET n = 7.556 WHERE id = 1")
    spark.sql(
        "MERGE INTO t USING (SELECT 2 AS id, 8.889 AS n UNION ALL SELECT 3, 9.999) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (id, n, small) VALUES (s.id, s.n, 9)"
    )
    found = [tuple(map(str, row)) for row in spark.sql("SELECT id, n, text FROM t ORDER BY id").collect()]
    assert found == [("1", "7.56", "7.56"), ("2", "8.89", "8.89"), ("3", "10.00", "10.00")]
    with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
        spark.sql("UPDATE t SET small = 7.5D WHERE id = 1")
    for ansi in ("true", "false"):
        spark.conf.set("spark.sql.ansi.enabled", ansi)
        with pytest.raises(PySparkException, match="OVERFLOW"):
            spark.sql("UPDATE t SET small = id + 300")
        with pytest.raises(PySparkException, match="NUMERIC|OVERFLOW"):
            spark.sql("UPDATE t SET n = 12345678901.5")


def test_a_key_does_not_change(spark: Any) -> None:
    spark.sql(f"CREATE TABLE t {COLUMNS} PARTITIONED BY (dt) TBLPROPERTIES ('primary-key' = 'id,dt', 'bucket' = '1')")
    spark.sql(f"INSERT INTO t VALUES (1, {SQL_TS}, 'a')")
    spark.sql("UPDATE t SET ts = ts + INTERVAL 1 HOUR")
    assert content(spark) == [(1, TS + dt.timedelta(hours=1), "a", DAY, "a")]
    with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
        spark.sql("UPDATE t SET ts = ts + INTERVAL 1 DAY")


def planned(spark: Any, where: str, name: str = "t") -> str:
    return str(spark.sql(f"EXPLAIN SELECT * FROM {name} WHERE {where}").first()[0])


def test_filters_skip_partitions(spark: Any) -> None:
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.sql(
        "CREATE TABLE t (id INT, ts TIMESTAMP, dt DATE GENERATED ALWAYS AS (CAST(ts AS DATE)), "
        "y INT GENERATED ALWAYS AS (year(ts)), m INT GENERATED ALWAYS AS (month(ts))) PARTITIONED BY (y, m) "
        "TBLPROPERTIES ('metadata.stats-mode' = 'none')"
    )
    spark.sql(
        "INSERT INTO t (id, ts) SELECT i, TIMESTAMP '2024-01-15 10:00:00' + make_ym_interval(0, i) FROM "
        "(SELECT CAST(id AS INT) AS i FROM range(24))"
    )
    text = planned(spark, "ts >= TIMESTAMP '2024-11-20 00:00:00' AND ts < TIMESTAMP '2025-03-01 00:00:00'")
    assert "files 4/24" in text, text
    assert "y > 2024 OR y = 2024 AND m >= 11" in text and "dt >= 20047" in text, text
    assert "files 1/24" in planned(spark, "ts = TIMESTAMP '2024-11-15 10:00:00'")
    assert "files 24/24" in planned(spark, "id > 3")
    spark.sql("SET spark.paimon.read.generated-columns.prune = false")
    assert "files 24/24" in planned(spark, "ts = TIMESTAMP '2024-11-15 10:00:00'")
    spark.sql("RESET spark.paimon.read.generated-columns.prune")
    assert spark.sql("SELECT id FROM t WHERE ts < TIMESTAMP '2024-02-15 10:00:00'").collect()[0][0] == 0


def test_a_table_keeps_its_time_zone(spark: Any) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        spark.sql("CREATE TABLE t (id INT, ts TIMESTAMP) PARTITIONED BY (days(ts))")
        spark.sql("INSERT INTO t VALUES (1, TIMESTAMP '2024-03-05 23:30:00 UTC')")
        assert spark.sql("SELECT ts_day FROM t").first()[0] == dt.date(2024, 3, 6)
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        assert spark.sql("SELECT id FROM t WHERE ts >= TIMESTAMP '2024-03-05 23:00:00'").collect() == [(1,)]
        for statement in (
            "INSERT INTO t VALUES (2, TIMESTAMP '2024-03-05 23:30:00')",
            "UPDATE t SET id = 2",
            "MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = 3",
        ):
            with pytest.raises(PySparkException, match="set spark.sql.session.timeZone .* to 'Asia/Tokyo'"):
                spark.sql(statement)
        spark.sql("DELETE FROM t WHERE id = 1")
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.parametrize(
    ("transform", "column", "value"),
    [
        ("years", "ts_year", 2024),
        ("months", "ts_month", "2024-03"),
        ("days", "ts_day", DAY),
        ("hours", "ts_hour", "2024-03-05-12"),
    ],
)
def test_transforms_make_columns(spark: Any, transform: str, column: str, value: Any) -> None:
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.sql(f"CREATE TABLE t (id INT, ts TIMESTAMP) PARTITIONED BY ({transform}(ts))")
    spark.sql("INSERT INTO t VALUES (1, TIMESTAMP '2024-03-05 12:00:00'), (2, TIMESTAMP '2022-03-05 12:00:00')")
    assert spark.sql(f"SELECT {column} FROM t WHERE id = 1").first()[0] == value
    assert "files 1/2" in planned(spark, "ts > TIMESTAMP '2024-03-05 11:30:00'")
    with pytest.raises(PySparkException, match=f"makes the column '{column}', which the table has already"):
        spark.sql(f"CREATE TABLE u (ts TIMESTAMP, {column} INT) PARTITIONED BY ({transform}(ts))")


def test_statements_on_definitions(spark: Any) -> None:
    spark.sql(f"CREATE TABLE t {COLUMNS} PARTITIONED BY (dt)")
    options = dict(map(tuple, spark.sql("SELECT * FROM `t$options`").collect()))
    assert options["generated-column.dt"] == '{"expression": "CAST(ts AS DATE)", "columns": ["ts"]}'
    described = str(spark.sql("DESCRIBE EXTENDED t").collect())
    assert "# Generated Column" in described and "substring(note, 1, 1)" in described
    assert "of generated column" not in described
    created = spark.sql("SHOW CREATE TABLE t").first()[0]
    assert "dt DATE GENERATED ALWAYS AS (CAST(ts AS DATE))" in created, created
    assert "generated-column" not in created and "CONSTRAINT" not in created
    spark.sql(created.replace("default.t ", "default.again "))
    spark.sql("CREATE TABLE alike LIKE t")
    spark.sql(f"INSERT INTO t VALUES (1, {SQL_TS}, 'abc')")
    spark.sql("CALL sys.copy('t', 'copied')")
    spark.sql("CALL sys.create_branch('t', 'b')")
    for name in ("again", "alike", "copied", "`t$branch_b`"):
        spark.sql(f"INSERT INTO {name} VALUES (5, {SQL_TS}, 'x')")
        assert (5, TS, "x", DAY, "x") in content(spark, name), name
        with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
            spark.sql(f"INSERT INTO {name} VALUES (5, {SQL_TS}, 'x', DATE '2020-01-01', 'x')")
    for change in ("RENAME COLUMN ts TO n", "DROP COLUMN note", "ALTER COLUMN id SET DEFAULT 1"):
        if "id" not in change:
            with pytest.raises(PySparkException, match="the column '(dt|start)' is GENERATED ALWAYS AS"):
                spark.sql(f"ALTER TABLE t {change}")
    for change in ("RENAME COLUMN start TO n", "ALTER COLUMN start SET DEFAULT 'x'"):
        with pytest.raises(PySparkException, match="Make it a plain column first"):
            spark.sql(f"ALTER TABLE t {change}")
    with pytest.raises(PySparkException, match="cannot be set, because it stores the expression"):
        spark.sql("ALTER TABLE t SET TBLPROPERTIES ('generated-column.id' = '{}')")
    with pytest.raises(PySparkException, match="GENERATED ALWAYS AS"):
        spark.sql("ALTER TABLE t ADD COLUMN g INT GENERATED ALWAYS AS (id + 1)")
    spark.sql("ALTER TABLE t DROP COLUMN start")
    spark.sql("ALTER TABLE t UNSET TBLPROPERTIES ('generated-column.dt')")
    spark.sql(f"INSERT INTO t VALUES (6, {SQL_TS}, 'x', DATE '2020-01-01')")
    assert spark.sql("SELECT count(*) FROM t VERSION AS OF 1").first()[0] == 1


@pytest.mark.parametrize(
    "column",
    [
        "g DOUBLE GENERATED ALWAYS AS (rand())",
        "g DATE GENERATED ALWAYS AS (current_date())",
        "g INT GENERATED ALWAYS AS (missing + 1)",
        "g INT GENERATED ALWAYS AS (own(id))",
        "g INT GENERATED ALWAYS AS (py(id))",
        "g INT GENERATED ALWAYS AS (g + 1)",
        "g INT GENERATED ALWAYS AS ((SELECT 1))",
        "g STRING GENERATED ALWAYS AS (reflect('java.lang.System', 'getProperty', note))",
        "g CHAR(3) GENERATED ALWAYS AS (note)",
        "g INT GENERATED ALWAYS AS (h + 1), h INT GENERATED ALWAYS AS (id + 1)",
        "g BIGINT GENERATED ALWAYS AS IDENTITY",
        "g BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH 5)",
    ],
)
def test_refused_definitions(spark: Any, column: str) -> None:
    spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION own(x INT) RETURNS INT RETURN x + 1")
    spark.udf.register("py", lambda x: x, "int")
    with pytest.raises(PySparkException) as caught:
        spark.sql(f"CREATE TABLE u (id INT, note STRING, {column})")
    if "IDENTITY" in column:
        assert "concurrent writers would have to agree" in str(caught.value)
    assert not spark.catalog.tableExists("u")


EXPRESSIONS = {
    "dt": ("DATE", "CAST(ts AS DATE)"),
    "hour": ("STRING", "date_format(ts, 'yyyy-MM-dd-HH')"),
    "y": ("INT", "year(ts)"),
    "m": ("INT", "month(ts)"),
    "total": ("BIGINT", "coalesce(n, 0) * 2 + id"),
    "start": ("STRING", "substring(note, 1, 1)"),
}
_TS = st.none() | st.datetimes(dt.datetime(2023, 12, 28), dt.datetime(2024, 3, 2)).map(
    lambda t: t.replace(minute=0, second=0, microsecond=0)
)
_NOTE = st.sampled_from([None, "", "a", "ab", "büro"])
_ROWS = st.lists(
    st.tuples(st.integers(0, 5), _TS, st.none() | st.integers(-2, 9), _NOTE),
    min_size=1,
    max_size=3,
    unique_by=lambda row: row[0],
)
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["insert", "given", "merge"]), _ROWS),
        st.tuples(st.just("update"), st.tuples(_TS, _NOTE)),
    ),
    min_size=1,
    max_size=3,
)


def literal(value: Any) -> str:
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value}'"
    return "NULL" if value is None else repr(value)


def of_values(rows: list[tuple[Any, ...]]) -> str:
    texts = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
    columns = "CAST(id AS INT) AS id, CAST(ts AS TIMESTAMP) AS ts, CAST(n AS INT) AS n, CAST(note AS STRING) AS note"
    return f"(SELECT {columns} FROM VALUES {texts} AS v (id, ts, n, note))"


@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(names=st.lists(st.sampled_from(sorted(EXPRESSIONS)), min_size=1, max_size=3, unique=True), steps=_STEPS, at=_TS)
def test_rows_are_as_plain_sql_says(
    spark: Any, names: list[str], steps: list[tuple[str, Any]], at: dt.datetime | None
) -> None:
    """The table has the rows of a model with the columns of a plain query; filters return the rows of that query."""
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    made = ", ".join(f"{n} {EXPRESSIONS[n][0]} GENERATED ALWAYS AS ({EXPRESSIONS[n][1]})" for n in names)
    spark.sql(
        f"CREATE OR REPLACE TABLE t (id INT, ts TIMESTAMP, n INT, note STRING, {made}) PARTITIONED BY ({names[0]}) "
        "TBLPROPERTIES ('primary-key' = 'id')"
    )
    model: dict[int, tuple[Any, ...]] = {}
    own = ", ".join(f"CAST({EXPRESSIONS[n][1]} AS {EXPRESSIONS[n][0]}) AS {n}" for n in names)
    for step, argument in steps:
        if step == "update":
            spark.sql(f"UPDATE t SET ts = {literal(argument[0])}, note = {literal(argument[1])}")
            model = {k: (k, argument[0], row[2], argument[1]) for k, row in model.items()}
            continue
        given_rows = of_values(argument)
        spark.sql(
            {
                "insert": f"INSERT INTO t (id, ts, n, note) SELECT * FROM {given_rows}",
                "given": f"INSERT INTO t BY NAME SELECT *, {own} FROM {given_rows}",
                "merge": f"MERGE INTO t USING {given_rows} s ON t.id = s.id "
                "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
            }[step]
        )
        model |= {row[0]: row for row in argument}
    if not model:
        return
    wheres = ["true", f"ts >= {literal(at)}", f"ts < {literal(at)}", f"ts <=> {literal(at)}", "note LIKE 'a%'"]
    for where in wheres:
        expected = spark.sql(f"SELECT id, ts, n, note, {own} FROM {of_values(list(model.values()))} WHERE {where}")
        found = spark.sql(f"SELECT id, ts, n, note, {', '.join(names)} FROM t WHERE {where}")
        assert sorted(map(tuple, found.collect()), key=str) == sorted(map(tuple, expected.collect()), key=str), where


def test_python_and_spark_write_the_same(spark: Any, warehouse: str) -> None:
    spark.sql(
        "CREATE TABLE t (id INT, ts TIMESTAMP_NTZ, note STRING, dt DATE GENERATED ALWAYS AS (CAST(ts AS DATE)), "
        "start STRING GENERATED ALWAYS AS (upper(note))) PARTITIONED BY (dt)"
    )
    table = open_table(f"{warehouse}/default.db/t")
    table.append([{"id": 5, "ts": TS, "note": "x"}])
    assert content(spark) == [(5, TS, "x", DAY, "X")]
    table.update({"ts": "TIMESTAMP_NTZ '2024-04-01 00:00:00'"}, where="id = 5")
    assert content(spark) == [(5, dt.datetime(2024, 4, 1), "x", dt.date(2024, 4, 1), "X")]
