"""Format tables: folders of files as tables, through SQL."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.support.surroundings import machine_zone

pytestmark = pytest.mark.spark


def rows(spark: SparkSession, sql: str, **frames: DataFrame) -> list[tuple[object, ...]]:
    return sorted((tuple(r) for r in spark.sql(sql, **frames).collect()), key=str)


def test_partitions_come_and_go(spark: SparkSession, warehouse: str) -> None:
    spark.sql("CREATE TABLE t (id INT, p1 INT, p2 STRING) USING csv PARTITIONED BY (p1, p2)")
    spark.sql("INSERT INTO t VALUES (1, 1, '1'), (2, 2, '1'), (3, 2, '2'), (4, 3, NULL)")
    root = Path(warehouse) / "default.db" / "t"
    assert (root / "p1=3" / "p2=__DEFAULT_PARTITION__").is_dir()
    everything = [(1, 1, "1"), (2, 2, "1"), (3, 2, "2"), (4, 3, None)]
    assert rows(spark, "SELECT * FROM t") == everything
    assert rows(spark, "SELECT p2, id FROM t WHERE p1 = 2 AND p2 <> '1'") == [("2", 3)]
    assert rows(spark, "SELECT count(*), count(p2) FROM t") == [(4, 3)]
    plan = spark.sql("SELECT id FROM t WHERE p1 = 2")._jdf.queryExecution().toString()
    said = re.search(r"PaimonFormatScan default\.t, csv, (.*?), read by Python workers, (.*)", plan)
    assert said is not None, plan
    assert re.fullmatch(r"folders 2, files 2 \(\d+ bytes\), splits 2, skipped folders: 2 by partition", said[1])
    assert "pushed filters: p1 IS NOT NULL AND p1 = 2, rows expected: unknown" in said[2]
    assert rows(spark, "SHOW PARTITIONS t PARTITION (p1 = 2)") == [("p1=2/p2=1",), ("p1=2/p2=2",)]
    spark.sql("INSERT OVERWRITE t PARTITION (p1 = 2) SELECT 9, '1'")
    assert rows(spark, "SELECT id FROM t WHERE p1 = 2") == [(9,)]
    spark.sql("INSERT OVERWRITE t PARTITION (p1 = 7, p2 = 'x') SELECT id FROM t WHERE false")
    assert (root / "p1=7" / "p2=x").is_dir()
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        spark.sql("INSERT OVERWRITE t SELECT id + 10, p1, p2 FROM t WHERE p1 = 1")
        spark.sql("INSERT OVERWRITE t SELECT * FROM t WHERE false")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert rows(spark, "SELECT * FROM t") == [(11, 1, "1"), (4, 3, None), (9, 2, "1")]
    spark.sql("TRUNCATE TABLE t PARTITION (p1 = 2)")
    assert rows(spark, "SELECT id FROM t") == [(11,), (4,)]
    with pytest.raises(PySparkException, match="no such partition"):
        spark.sql("TRUNCATE TABLE t PARTITION (p1 = 9, p2 = '9')")
    with pytest.raises(PySparkException, match="folders"):
        spark.sql("ALTER TABLE t DROP PARTITION (p1 = 1, p2 = '1')")
    spark.sql("INSERT OVERWRITE t SELECT * FROM t WHERE id = 4")
    assert rows(spark, "SELECT * FROM t") == [(4, 3, None)]
    spark.sql("TRUNCATE TABLE t")
    assert rows(spark, "SELECT * FROM t") == []
    assert ("p1=1/p2=1",) in rows(spark, "SHOW PARTITIONS t")
    assert not [f for f in root.rglob("*") if f.is_file() and f.parent.name != "schema"]


def test_options_of_text(spark: SparkSession, warehouse: str) -> None:
    spark.sql(
        "CREATE TABLE c (f0 INT, f1 STRING, f2 INT) USING csv PARTITIONED BY (ds BIGINT) COMMENT 'mine'"
        " TBLPROPERTIES ('seq' = '|', 'lineSep' = 'abc', 'compression' = 'gzip')"
    )
    spark.sql("INSERT INTO c VALUES (1, 'a|b', NULL, 20250920)")
    assert rows(spark, "SELECT * FROM c") == [(1, "a|b", None, 20250920)]
    folder = Path(warehouse) / "default.db" / "c" / "ds=20250920"
    assert [f.name.endswith(".csv.gz") for f in folder.iterdir()] == [True]
    (folder / "part-0.csv").write_text("2|x|oops|9abc3|y|11abc4abc5|z|12|more")
    (folder / "_not-data").write_text("8|8|8")
    found = [(1, "a|b", None), (2, "x", None), (3, "y", 11), (4, None, None), (5, "z", 12)]
    assert rows(spark, "SELECT f0, f1, f2 FROM c") == found
    spark.sql("ALTER TABLE c SET TBLPROPERTIES ('mode' = 'dropmalformed')")
    assert rows(spark, "SELECT f0 FROM c") == [(1,), (2,), (3,), (4,), (5,)]
    assert (2, "x", None) not in rows(spark, "SELECT f0, f1, f2 FROM c")
    created = spark.sql("SHOW CREATE TABLE c").collect()[0][0]
    assert "USING csv" in created and "PARTITIONED BY (ds)" in created and "'seq' = '|'" in created
    spark.sql("CREATE TABLE d LIKE c")
    assert "'seq' = '|'" in spark.sql("SHOW CREATE TABLE d").collect()[0][0]
    spark.sql("CREATE TABLE v (v STRING) USING text TBLPROPERTIES ('text.line-delimiter' = '?')")
    spark.sql("INSERT INTO v VALUES ('aa'), ('bb?cc'), (NULL)")
    assert rows(spark, "SELECT * FROM v") == [("",), ("aa",), ("bb",), ("cc",)]
    assert rows(spark, "SELECT count(*) FROM v") == [(4,)]


def test_binary_formats_and_values_as_folders(spark: SparkSession, warehouse: str) -> None:
    columns = "ds BIGINT, d DATE, at TIMESTAMP, m DECIMAL(10, 2), a ARRAY<STRUCT<x: INT, y: STRING>>"
    for name in ("parquet", "orc", "json"):
        spark.sql(
            f"CREATE TABLE {name}_t ({columns}) USING {name} PARTITIONED BY (ds, d)"
            " TBLPROPERTIES ('format-table.partition-path-only-value' = 'true')"
        )
        spark.sql(
            f"INSERT INTO {name}_t VALUES (1, DATE '2024-02-29', TIMESTAMP '2024-01-02 03:04:05.678', 1.50,"
            " array(named_struct('x', 1, 'y', 'z')))"
        )
        query = f"SELECT ds, d, at, m, a[0].y FROM {name}_t WHERE d > DATE '2024-01-01'"
        found = spark.sql(query.replace("d, at", "cast(d AS STRING), cast(at AS STRING)")).collect()
        assert [[str(v) for v in r] for r in found] == [["1", "2024-02-29", "2024-01-02 03:04:05.678", "1.50", "z"]]
        assert (Path(warehouse) / "default.db" / f"{name}_t" / "1").is_dir()
    spark.sql("CREATE TABLE q USING orc AS SELECT id, id % 2 AS half FROM range(10)")
    spark.sql("CREATE TABLE q2 USING csv PARTITIONED BY (half) AS SELECT id, id % 2 AS half FROM range(10)")
    assert rows(spark, "SELECT half, sum(id) FROM q2 GROUP BY half") == [(0, 20), (1, 25)]
    spark.sql("CREATE OR REPLACE TABLE q USING csv AS SELECT id + 1 AS other FROM q WHERE id < 3")
    assert rows(spark, "SELECT * FROM q") == [(1,), (2,), (3,)]
    spark.sql("REPLACE TABLE q (k INT) USING json")
    assert rows(spark, "SELECT * FROM q") == []
    plain = spark.read.csv(str(Path(warehouse) / "default.db" / "q2" / "half=1")).collect()
    assert sorted(int(r[0]) for r in plain) == [1, 3, 5, 7, 9]


def test_senseless_statements_are_refused(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE t (id INT, v STRING) USING csv")
    for statement, message in {
        "CREATE TABLE x (v STRING, w STRING) USING text": "one column",
        "CREATE TABLE x (v INT) USING csv TBLPROPERTIES ('csv.quote-character' = '')": "one character",
        "CREATE TABLE x (v INT) USING csv TBLPROPERTIES ('primary-key' = 'v')": "cannot have a primary key",
        "CREATE TABLE x (v INT) TBLPROPERTIES ('type' = 'format-table', 'file.format' = 'avro')": "one of csv",
        "ALTER TABLE t ADD COLUMN w INT": "only options",
        "SELECT * FROM `t$snapshots`": "no snapshots",
        "SELECT * FROM t VERSION AS OF 1": "no snapshots",
        "DELETE FROM t WHERE id = 1": "format table|DELETE|support",
        "CALL sys.create_tag(table => 't', tag => 'x')": "no snapshots",
        "CREATE OR REPLACE TABLE t (id INT)": "cannot be replaced",
    }.items():
        with pytest.raises(PySparkException, match=message):
            spark.sql(statement).collect()


def test_appends_that_may_bring_columns(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE m (id INT, v STRING) USING csv")
    more = spark.sql("SELECT 'a' AS v, 1 AS id")
    more.writeTo("m").option("write.merge-schema", "true").append()
    spark.conf.set("spark.paimon.write.merge-schema", "true")
    try:
        more.writeTo("m").append()
        spark.sql("INSERT INTO m BY NAME SELECT 'b' AS v, 2 AS id")
    finally:
        spark.conf.unset("spark.paimon.write.merge-schema")
    assert rows(spark, "SELECT * FROM m") == [(1, "a"), (1, "a"), (2, "b")]


def test_folders_of_partitions_in_another_case(spark: SparkSession, warehouse: str) -> None:
    """As Spark's own reader finds them."""
    spark.sql("CREATE TABLE f (k INT, Pt INT) USING parquet PARTITIONED BY (Pt)")
    folder = f"{warehouse}/default.db/f"
    for key, number in (("PT", 1), ("pt", 2), ("Pt", 3)):
        spark.sql(f"SELECT {number} AS k").write.parquet(f"{folder}/{key}={number}")
    its = spark.read.schema("k INT, Pt INT").option("basePath", folder).parquet(f"{folder}/*=*")
    for condition in ("true", "pt = 1", "Pt > 1 AND k < 3", "PT IS NULL"):
        assert rows(spark, f"SELECT k, pt FROM f WHERE {condition} ORDER BY k") == [
            tuple(r) for r in its.where(condition).orderBy("k").collect()
        ]
    assert rows(spark, "SHOW PARTITIONS f") == [("Pt=1",), ("Pt=2",), ("Pt=3",)]
    spark.sql("INSERT OVERWRITE f PARTITION (pt = 1) SELECT 10")
    spark.sql("TRUNCATE TABLE f PARTITION (PT = 2)")
    spark.sql("INSERT OVERWRITE f /*+ OPTIONS('dynamic-partition-overwrite'='true') */ SELECT 30, 3")
    assert rows(spark, "SELECT * FROM f ORDER BY k") == [(10, 1), (30, 3)]


def test_moments_of_sparks_own_files(spark: SparkSession, warehouse: str) -> None:
    """As Spark's own reader gives them, in the zone of any machine. New York repeats an hour on 2024-11-03."""
    columns = "k INT, t TIMESTAMP, a ARRAY<STRUCT<x: TIMESTAMP>>"
    with machine_zone(spark, "America/New_York"):
        made = spark.sql("SELECT CAST(id AS INT) AS k, timestamp_seconds(1730606400 + 1800 * id) AS t FROM range(12)")
        made = made.selectExpr("k", "t", "array(named_struct('x', t)) AS a")
        for name in ("parquet", "orc", "json"):
            spark.sql(f"CREATE TABLE {name}_t ({columns}) USING {name}")
            folder = f"{warehouse}/default.db/{name}_t"
            made.coalesce(1).write.format(name).mode("append").save(folder)
            its = spark.read.schema(columns).format(name).load(f"{folder}/part-*")
            query = f"SELECT k, unix_micros(t), unix_micros(a[0].x) FROM {name}_t"
            assert rows(spark, query) == rows(its.sparkSession, query.replace(f"{name}_t", "{its}"), its=its)
            assert rows(spark, f"SELECT count(*) FROM {name}_t WHERE t > timestamp_seconds(1730610000)") == [(9,)]


def test_names_in_another_case(spark: SparkSession, warehouse: str) -> None:
    """As Spark's own reader finds them, which does not find `User_Id` in a Turkish locale: `i` has another capital."""
    for name in ("parquet", "orc"):
        columns = "event_name STRING, info STRUCT<user_no: INT, tag: STRING>"
        spark.sql(
            f"CREATE TABLE {name}_names ({columns}) TBLPROPERTIES ('type' = 'format-table', 'file.format' = '{name}')"
        )
        folder = f"{warehouse}/default.db/{name}_names"
        made = spark.sql("SELECT 'a' AS Event_Name, named_struct('User_No', 1, 'tag', 't') AS info")
        made.write.format(name).mode("append").save(folder)
        its = spark.read.schema(columns).format(name).load(f"{folder}/part-*")
        query = f"SELECT * FROM {name}_names WHERE event_name = 'a'"
        assert rows(spark, query) == [tuple(r) for r in its.collect()] == [("a", (1, "t"))]
        assert rows(spark, f"SELECT count(*), sum(info.user_no) FROM {name}_names") == [(1, 1)]
        spark.conf.set("spark.sql.caseSensitive", "true")
        try:
            assert rows(spark, f"SELECT event_name FROM {name}_names") == [(None,)]
        finally:
            spark.conf.unset("spark.sql.caseSensitive")
