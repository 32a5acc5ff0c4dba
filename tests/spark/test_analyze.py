"""ANALYZE TABLE: what it keeps with the table, and what Spark's optimizer then knows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException

pytestmark = pytest.mark.spark

COLUMNS = {
    "k": "1",
    "s": "'aaa'",
    "b": "true",
    "d": "date'2020-01-02'",
    "ts": "timestamp'2020-01-02 03:04:05.5'",
    "n": "timestamp_ntz'2020-01-02 03:04:05'",
    "dec": "12.12345BD",
    "f": "double('nan')",
    "`a.b`": "5",
}


def test_all_tables_of_a_database(spark: Any) -> None:
    spark.sql("CREATE DATABASE other")
    for name in ("default.a", "default.`b c`", "other.d"):
        spark.sql(f"CREATE TABLE {name} (k INT)")
        spark.sql(f"INSERT INTO {name} VALUES (1)")
    spark.sql("CREATE TABLE f (k INT) TBLPROPERTIES ('type' = 'format-table', 'file.format' = 'csv')")

    def analyzed() -> list[int]:
        names = ("default.`a$statistics`", "default.`b c$statistics`", "other.`d$statistics`")
        return [spark.table(name).count() for name in names]

    with pytest.raises(PySparkException, match="NOSCAN is ineffective"):
        spark.sql("ANALYZE TABLES COMPUTE STATISTICS NOSCAN")
    assert analyzed() == [0, 0, 0]
    spark.sql("ANALYZE TABLES COMPUTE STATISTICS")
    assert analyzed() == [1, 1, 0]
    spark.sql("analyze tables in paimon.other compute statistics")
    assert analyzed() == [1, 1, 1]
    spark.sql("ANALYZE TABLES IN spark_catalog.default COMPUTE STATISTICS")  # Spark's own


def info(spark: Any, column: str) -> dict[str, str]:
    return {r[0]: r[1] for r in spark.sql(f"DESCRIBE EXTENDED t {column}").collect()}


def test_columns(spark: Any) -> None:
    types = ["INT", "STRING", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "DECIMAL(10, 5)", "DOUBLE", "INT"]
    declared = ", ".join(f"{c} {t}" for c, t in zip(COLUMNS, types, strict=True))
    spark.sql(f"CREATE TABLE t ({declared}) TBLPROPERTIES ('primary-key' = 'k')")
    spark.sql("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS")
    assert spark.table("`t$statistics`").count() == 0
    spark.sql(f"INSERT INTO t VALUES ({', '.join(COLUMNS.values())}), (2{', NULL' * 8})")
    spark.sql("ANALYZE TABLE t COMPUTE STATISTICS")
    assert spark.sql("SELECT snapshot_id, mergedRecordCount, colstat FROM t$statistics").collect() == [(1, 2, "{ }")]
    spark.sql("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS")
    (row,) = spark.sql("SELECT snapshot_id, schema_id, mergedRecordCount, colstat FROM t$statistics").collect()
    found = json.loads(row.colstat)
    assert (row[:3], list(found)) == ((2, 0, 2), [c.strip("`") for c in COLUMNS])
    bounds = {c: (v.get("min"), v.get("max"), v["nullCount"], v["maxLen"]) for c, v in found.items()}
    utc = "date_format(to_utc_timestamp(ts, current_timezone()), 'yyyy-MM-dd HH:mm:ss.SSSSSS')"
    moments = spark.sql(f"SELECT {utc} FROM t WHERE k = 1").first()[0], "2020-01-02 03:04:05.000000"
    assert bounds == {
        "k": ("1", "2", 0, 4),
        "s": (None, None, 1, 3),
        "b": ("true", "true", 1, 1),
        "d": ("18263", "18263", 1, 4),
        "ts": (moments[0], moments[0], 1, 8),
        "n": (moments[1], moments[1], 1, 8),
        "dec": ("12.12345", "12.12345", 1, 8),
        "f": ("NaN", "NaN", 1, 8),
        "a.b": ("5", "5", 1, 4),
    }
    assert spark.sql("SELECT commit_kind FROM t$snapshots").collect() == [("APPEND",), ("ANALYZE",), ("ANALYZE",)]
    kept = info(spark, "`a.b`")
    assert (kept["min"], kept["max"], kept["num_nulls"], kept["distinct_count"]) == (
        "Optional[5]",
        "Optional[5]",
        "1",
        "1",
    )
    assert (info(spark, "s")["max_col_len"], info(spark, "d")["min"]) == ("3", "Optional[18263]")
    spark.conf.set("spark.sql.cbo.enabled", "true")
    filtered = "SELECT k FROM t WHERE k > 1 AND d > date'2020-01-01' AND n > timestamp_ntz'2020-01-01 00:00:00'"
    assert spark.sql(filtered).collect() == []
    moment = "timestamp_ntz'2020-01-02 03:04:05'"
    for condition in (f"= {moment}", f"<= {moment}", f"IN ({moment}, timestamp_ntz'2021-01-01 00:00:00')", "= n"):
        assert len(spark.sql(f"SELECT k FROM t WHERE n {condition}").collect()) == 1, condition
    assert len(spark.sql(f"SELECT k FROM t WHERE ts = {COLUMNS['ts']} AND ts <= {COLUMNS['ts']}").collect()) == 1
    assert len(spark.sql("SELECT a.k FROM t a JOIN t b ON a.n = b.n").collect()) == 1
    about = spark.sql("EXPLAIN COST SELECT k FROM t WHERE k = 1").collect()[0][0]
    assert "rowCount=1" in about and "rowCount=2" in about


def test_some_columns_and_refusals(spark: Any) -> None:
    spark.sql("CREATE TABLE t (id STRING, Name STRING, m MAP<INT, STRING>, pt INT) PARTITIONED BY (pt)")
    spark.sql("INSERT INTO t VALUES ('1', 'a', map(1, 'a'), 1), ('2', 'aaa', map(1, 'a'), 1)")
    spark.sql("ANALYZE TABLE paimon.default.t COMPUTE STATISTICS FOR COLUMNS name")
    assert json.loads(spark.table("`t$statistics`").collect()[0].colstat) == {
        "Name": {"colId": 1, "distinctCount": 2, "nullCount": 0, "avgLen": 2, "maxLen": 3}
    }
    refused = {
        "COMPUTE STATISTICS FOR COLUMNS m": r"Analyzing on col: m, data type: MAP<INT NOT NULL, STRING> is",
        "COMPUTE STATISTICS FOR COLUMNS fake": r"Column fake not found in default.t; it has id, Name, m, pt",
        "COMPUTE STATISTICS NOSCAN": "NOSCAN is ineffective with paimon",
        "PARTITION (pt = 1) COMPUTE STATISTICS": "Analyze table partition is not supported",
    }
    for statement, said in refused.items():
        with pytest.raises(AnalysisException, match=said):
            spark.sql(f"ANALYZE TABLE t {statement}")
    spark.conf.set("spark.sql.caseSensitive", "true")
    with pytest.raises(AnalysisException, match="Column name not found"):
        spark.sql("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS name")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql("ANALYZE TABLE nosuch COMPUTE STATISTICS")
    assert spark.table("`t$snapshots`").count() == 2
