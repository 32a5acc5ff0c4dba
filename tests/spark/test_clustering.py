"""CLUSTER BY: the option `clustering.columns` of append tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

pytestmark = pytest.mark.spark
KEY = "clustering.columns"


def option(spark: Any, table: str = "t") -> str | None:
    rows = spark.sql(f"SELECT value FROM `{table}$options` WHERE key = '{KEY}'").collect()
    return str(rows[0][0]) if rows else None


def test_rows_are_sorted_by_the_columns(spark: Any, warehouse: str) -> None:
    spark.sql("CREATE TABLE t (x INT, y INT) CLUSTER BY (y)")
    spark.sql("INSERT INTO t SELECT CAST(id AS INT), CAST(100 - id AS INT) FROM range(100)")
    files = [*Path(warehouse, "default.db", "t").rglob("*.parquet")]
    assert files
    for file in files:
        values = pq.read_table(file).column("y").to_pylist()
        assert values == sorted(values)
    assert option(spark) == "y"


def test_a_definition_is_made_again(spark: Any) -> None:
    spark.sql("CREATE TABLE t (x INT, `a b` INT) CLUSTER BY (x, `a b`)")
    assert "x" in [row[0] for row in spark.sql("DESCRIBE t").collect()][3:]  # beneath "# Clustering Information"
    shown = spark.sql("SHOW CREATE TABLE t").collect()[0][0]
    spark.sql("DROP TABLE t")
    spark.sql(shown)
    assert option(spark) == "x,a b"
    spark.sql("CREATE TABLE same (x INT, y INT) CLUSTER BY (x, y) TBLPROPERTIES ('clustering.columns' = 'x, y')")
    assert option(spark, "same") == "x,y"


def test_a_table_is_clustered_by_other_columns_or_none(spark: Any) -> None:
    spark.sql("CREATE TABLE t (x INT, y INT)")
    spark.sql("ALTER TABLE t CLUSTER BY (y, x)")
    assert option(spark) == "y,x"
    spark.sql("ALTER TABLE t CLUSTER BY NONE")
    assert option(spark) is None
    spark.sql("CREATE TABLE older (x INT, y INT) TBLPROPERTIES ('sink.clustering.by-columns' = 'y')")
    spark.sql("ALTER TABLE older CLUSTER BY NONE")
    assert spark.sql("SELECT * FROM `older$options` WHERE key LIKE '%cluster%'").count() == 0


def test_statements_name_columns_in_any_case(spark: Any) -> None:
    """Of every statement that names columns of a table, one in another case than the table's."""
    spark.sql("CREATE TABLE t (x INT, y INT) CLUSTER BY (Y)")
    assert option(spark) == "y"
    for statement in (
        "ALTER TABLE t CLUSTER BY (Y, X)",
        "INSERT INTO t (Y, X) VALUES (1, 2)",
        "INSERT INTO t BY NAME SELECT 1 AS Y, 4 AS X",
        "ALTER TABLE t ADD COLUMN z INT AFTER X",
        "ALTER TABLE t ADD COLUMN (w STRUCT<a: INT>)",
        "ALTER TABLE t ADD COLUMN W.b INT AFTER A",
        "ALTER TABLE t ALTER COLUMN Z COMMENT 'c'",
        "ALTER TABLE t ALTER COLUMN Z TYPE BIGINT",
        "ALTER TABLE t ALTER COLUMN Z AFTER Y",
        "ALTER TABLE t ALTER COLUMN Z SET DEFAULT 3",
        "ALTER TABLE t RENAME COLUMN Z TO v",
        "ALTER TABLE t DROP COLUMN W",
        "UPDATE t SET Y = X WHERE V IS NULL",
        "DELETE FROM t WHERE X = 100",
        "MERGE INTO t USING (SELECT 9 AS x) s ON t.X = s.X WHEN NOT MATCHED THEN INSERT (X, Y) VALUES (9, 9)",
        "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS X, Y",
        "CREATE TABLE p (x INT, y INT, dt STRING) PARTITIONED BY (DT)",
        "INSERT INTO p PARTITION (DT = 'a') VALUES (1, 2)",
        "INSERT OVERWRITE p PARTITION (DT = 'a') (Y) VALUES (2)",
        "ALTER TABLE p ADD PARTITION (DT = 'b')",
        "SHOW PARTITIONS p PARTITION (DT = 'a')",
        "INSERT INTO p PARTITION (DT = 'b') VALUES (1, 2)",
        "TRUNCATE TABLE p PARTITION (DT = 'b')",
        "INSERT INTO p PARTITION (DT = 'b') VALUES (1, 2)",
        "ALTER TABLE p DROP PARTITION (DT = 'b')",
        "CREATE TABLE k (id INT, dt STRING, v INT, PRIMARY KEY (ID, DT) NOT ENFORCED) PARTITIONED BY (DT)",
        "INSERT INTO k VALUES (1, 'a', 1)",
        "CREATE VIEW vw AS SELECT X FROM t",
    ):
        assert spark.sql(statement).collect() is not None, statement
    assert option(spark) == "y,x"
    assert sorted(map(tuple, spark.sql("SELECT x, y FROM t").collect())) == [(2, 2), (4, 4), (9, 9)]
    assert spark.table("t").columns == ["x", "y", "v"]
    assert [tuple(row) for row in spark.sql("SELECT * FROM p").collect()] == [(None, 2, "a")]


def test_writers_of_dataframes(spark: Any, tmp_path: Path) -> None:
    rows = spark.range(10).selectExpr("id", "id % 2 AS p")
    rows.write.clusterBy("id").saveAsTable("t")
    rows.writeTo("u").clusterBy("id").create()
    spark.sql("CREATE TABLE v CLUSTER BY (id) AS SELECT * FROM t")
    assert [option(spark, name) for name in "tuv"] == ["id", "id", "id"]
    stream = spark.readStream.table("t").writeStream.clusterBy("id").trigger(availableNow=True)
    stream.option("checkpointLocation", str(tmp_path)).toTable("s").awaitTermination()
    keys = [row[0] for row in spark.sql("SELECT key FROM `s$options`").collect()]
    assert option(spark, "s") == "id" and not any(key.startswith("__") for key in keys)
    rows.write.mode("append").saveAsTable("t")
    rows.write.clusterBy("id").mode("append").saveAsTable("t")
    spark.sql("CREATE TABLE w (id BIGINT, p BIGINT) PARTITIONED BY (p) TBLPROPERTIES ('clustering.columns' = 'id')")
    rows.write.partitionBy("p").mode("append").saveAsTable("w")
    assert (spark.table("t").count(), spark.table("w").count()) == (30, 10)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CREATE TABLE n (k INT NOT NULL, v INT) CLUSTER BY (v) TBLPROPERTIES ('primary-key' = 'k')", "a primary key"),
        ("CREATE TABLE n (k INT) CLUSTER BY (k) TBLPROPERTIES ('bucket' = '2', 'bucket-key' = 'k')", "buckets"),
        ("CREATE TABLE n (s STRUCT<a: INT>) CLUSTER BY (s.a)", "CLUSTER BY s.a is not supported"),
        ("CREATE TABLE n (a INT, b INT) CLUSTER BY (a) TBLPROPERTIES ('clustering.columns' = 'b')", "leave one out"),
        (
            "CREATE TABLE n (a INT, b INT) CLUSTER BY (a) TBLPROPERTIES ('sink.clustering.by-columns' = 'b')",
            "leave one out",
        ),
        ("CREATE TABLE n (a INT) USING csv CLUSTER BY (a)", "a format table"),
        ("ALTER TABLE keyed CLUSTER BY (v)", "a primary key"),
    ],
)
def test_what_is_refused(spark: Any, statement: str, said: str) -> None:
    spark.sql("CREATE TABLE keyed (k INT, v INT) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    with pytest.raises(PySparkException, match=said):
        spark.sql(statement)
    assert not spark.catalog.tableExists("n") and option(spark, "keyed") is None


@pytest.mark.parametrize(
    "options", ["'primary-key' = 'k', 'bucket' = '1'", "'bucket-key' = 'k', 'bucket' = '1'", "'bucket' = '-1'"]
)
def test_tables_with_the_option_alone_show_no_clause(spark: Any, options: str) -> None:
    spark.sql(f"CREATE TABLE t (k INT NOT NULL, v INT) TBLPROPERTIES ({options}, '{KEY}' = 'v')")
    assert "# Clustering Information" not in [row[0] for row in spark.sql("DESCRIBE t").collect()]
    shown = spark.sql("SHOW CREATE TABLE t").collect()[0][0]
    spark.sql("DROP TABLE t")
    spark.sql(shown)
    spark.sql("ALTER TABLE t CLUSTER BY NONE")
    assert option(spark) is None
