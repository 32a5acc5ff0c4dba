"""Names, values and sessions that queries went wrong with: time zones, cases, keywords, NULL, NaN, empty texts, and the
released wrong answers of Paimon that concern reading."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import AnalysisException

pytestmark = pytest.mark.spark


def rows(spark: Any, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(r) for r in spark.sql(query).collect()), key=str)


def test_time_zones(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, ts TIMESTAMP, n TIMESTAMP_NTZ, d DATE) PARTITIONED BY (d)")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    spark.sql(
        "INSERT INTO t VALUES"
        " (1, timestamp'2024-03-10 01:59:59', timestamp_ntz'2024-03-10 02:30:00', date'2024-03-10'),"
        " (2, timestamp'2024-03-10 03:00:00', timestamp_ntz'1969-12-31 23:59:59.999999', date'1969-12-31')"
    )
    spark.sql("ALTER TABLE t CREATE TAG first")
    spark.sql("INSERT INTO t VALUES (3, NULL, NULL, NULL)")
    assert rows(spark, "SELECT k FROM t WHERE ts = timestamp'2024-03-10 03:00:00'") == [(2,)]
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    assert rows(spark, "SELECT k, string(ts), string(n), string(d) FROM t WHERE k < 3") == [
        (1, "2024-03-10 12:29:59", "2024-03-10 02:30:00", "2024-03-10"),
        (2, "2024-03-10 12:30:00", "1969-12-31 23:59:59.999999", "1969-12-31"),
    ]
    assert rows(spark, "SELECT k FROM t WHERE ts > timestamp'2024-03-10 12:29:59'") == [(2,)]
    assert rows(spark, "SELECT k FROM t WHERE n < timestamp_ntz'1970-01-01 00:00:00'") == [(2,)]
    assert rows(spark, "SELECT max(d), min(d) FROM t") == rows(spark, "SELECT date'2024-03-10', date'1969-12-31'")
    assert rows(spark, "SELECT k FROM t WHERE d < date'1970-01-01'") == [(2,)]
    shown = rows(spark, "SELECT string(commit_time) FROM `t$snapshots` WHERE snapshot_id = 1")[0][0]
    later = f"timestamp'{shown}' + INTERVAL 1 MILLISECOND"
    assert rows(spark, f"SELECT count(*) FROM t TIMESTAMP AS OF {later}") == [(2,)]
    assert rows(spark, f"SELECT count(*) FROM t WITH ('scan.timestamp' = '{shown}')") == [(2,)]


def test_names(spark: Any) -> None:
    spark.sql(
        "CREATE TABLE `select` (`from` INT, `größe 漢` STRING, `a.b` INT, `x``y` INT, `order` STRING)"
        " PARTITIONED BY (`order`)"
    )
    values = ["''", "NULL", "'a b'", "'ü=/%:{}'", "' '"]
    for k, v in enumerate(values):
        spark.sql(f"INSERT INTO `select` VALUES ({k}, {v}, {k}, {k}, {v})")
    for k, v in enumerate(values):
        found = f"SELECT * FROM `select` WHERE `order` <=> {v} AND `größe 漢` <=> {v}"
        assert rows(spark, f"SELECT `from`, `a.b`, `x``y` FROM ({found})") == [(k, k, k)], v
        assert rows(spark, f"SELECT count(*), max(`a.b`), min(`x``y`) FROM `select` WHERE `order` <=> {v}") == [
            (1, k, k)
        ]
    assert rows(spark, "SELECT `order`, count(*) FROM `select` GROUP BY `order`") == sorted(
        [("", 1), (None, 1), ("a b", 1), ("ü=/%:{}", 1), (" ", 1)], key=str
    )
    assert rows(spark, "SELECT `A.B` FROM `select` WHERE `FROM` > 3 ORDER BY `X``Y` DESC LIMIT 1") == [(4,)]
    assert rows(spark, "SELECT max(`A.B`) FROM `select` WHERE `ORDER` = 'a b'") == [(2,)]
    spark.conf.set("spark.sql.caseSensitive", "true")
    with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN"):
        spark.sql("SELECT `FROM` FROM `select`")
    spark.sql("CREATE TABLE cased (k INT, K STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    spark.sql("INSERT INTO cased VALUES (1, 'a'), (2, 'b')")
    spark.sql("INSERT INTO cased (K, k) VALUES ('c', 1)")
    spark.sql("UPDATE cased SET K = 'd' WHERE k = 2")
    spark.sql(
        "MERGE INTO cased USING (SELECT 2 AS k, 'e' AS K) s ON cased.k = s.k WHEN MATCHED THEN UPDATE SET K = s.K"
    )
    assert rows(spark, "SELECT K, k FROM cased WHERE K > 'a' ORDER BY k") == [("c", 1), ("e", 2)]

    spark.sql("CREATE TABLE twins (k INT, v STRING, s STRUCT<x: INT, X: INT>)")
    spark.sql("ALTER TABLE twins ADD COLUMN V INT")
    spark.sql("INSERT INTO twins VALUES (1, 'a', struct(1, 2), 10), (2, 'b', NULL, 20)")
    spark.conf.set("spark.sql.caseSensitive", "false")
    spark.sql("INSERT INTO twins VALUES (3, 'c', struct(3, 4), 30)")
    assert rows(spark, "SELECT * FROM twins WHERE k = 1") == [(1, "a", (1, 2), 10)]
    spark.sql("UPDATE twins SET k = 4 WHERE k = 1")
    spark.sql("MERGE INTO twins USING (SELECT 2 AS o) ON k = o WHEN MATCHED THEN UPDATE SET k = 5")
    spark.sql("DELETE FROM twins WHERE k = 3")
    assert rows(spark, "SELECT * FROM twins") == [(4, "a", (1, 2), 10), (5, "b", None, 20)]
    with pytest.raises(AnalysisException, match="ambiguous"):
        spark.sql("UPDATE twins SET v = 1")


@pytest.mark.parametrize(
    "options",
    [
        "'metadata.stats-mode' = 'none'",
        "'file.format' = 'orc'",
        "'deletion-vectors.enabled' = 'true', 'metadata.stats-mode' = 'truncate(1)'",
    ],
)
def test_released_wrong_answers(spark: Any, options: str) -> None:
    spark.sql(
        f"CREATE TABLE t (k INT, f DOUBLE, s STRING, d DECIMAL(20, 4), p STRING) PARTITIONED BY (p) "
        f"TBLPROPERTIES ({options})"
    )
    spark.sql("INSERT INTO t VALUES (1, double('nan'), 'aa', 1.5, 'x'), (2, NULL, NULL, NULL, NULL)")
    spark.sql("INSERT INTO t VALUES (3, 1.0, 'ab', -2.5, 'x'), (4, -0.0, '', 0, ''), (5, 9.0, 'b', 3, 'y')")
    queries = {
        "f > 2": [1, 5],  # NaN is larger than every number
        "f <> 1": [1, 4, 5],
        "NOT (f < 2)": [1, 5],
        "f = 0.0D": [4],
        "f <=> NULL": [2],
        "s <=> 'ab'": [3],
        "NOT (s <=> 'ab')": [1, 2, 4, 5],
        "s = 'ab' OR p IS NULL": [2, 3],
        "k > 4 OR s > NULL": [5],
        "NOT (k > 4 OR s > NULL)": [],
        "s = ''": [4],
        "p = ''": [4],
        "p IS NULL": [2],
        "d < 0": [3],
        "s > 'aa'": [3, 5],
        "p IN ('x', NULL)": [1, 3],
        "p NOT IN ('x', NULL)": [],
    }
    shapes = {
        "SELECT {n}, k FROM t WHERE {c}": [(n, k) for n, ks in enumerate(queries.values()) for k in ks],
        # the filter's column is not among those asked for
        "SELECT {n}, count(*) FROM t WHERE {c}": [(n, len(ks)) for n, ks in enumerate(queries.values())],
        "SELECT {n}, count(*) FROM (SELECT 1 FROM t WHERE {c} LIMIT 2)": [
            (n, min(2, len(ks))) for n, ks in enumerate(queries.values())
        ],
    }
    for shape, expected in shapes.items():
        asked = " UNION ALL ".join(shape.format(n=n, c=c) for n, c in enumerate(queries))
        assert rows(spark, asked) == sorted(expected, key=str), shape
    found = rows(spark, "SELECT max(s), min(s), max(d), count(f), count(p), max(k), min(k), count(*) FROM t")
    assert found == [("b", "", Decimal("3.0000"), 4, 4, 5, 1, 5)]
    spark.sql("DELETE FROM t WHERE k IN (1, 5)")
    assert rows(spark, "SELECT count(*), max(k), min(k), max(s) FROM t") == [(3, 4, 2, "ab")]
    assert len(rows(spark, "SELECT k FROM t LIMIT 3")) == 3
    assert rows(spark, "SELECT k FROM t ORDER BY k DESC LIMIT 1") == [(4,)]


def test_settings(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT)")
    spark.sql("CREATE TABLE u (k INT)")
    for k in range(4):
        spark.sql(f"INSERT INTO t VALUES ({k})")
        spark.sql(f"INSERT INTO u VALUES ({k})")

    def counts() -> tuple[int, int]:
        return spark.table("t").count(), spark.table("u").count()

    settings = {
        "scan.snapshot-id": (1, 1),
        "*.*.*.scan.snapshot-id": (2, 2),
        "paimon.*.t.scan.snapshot-id": (3, 2),
        "paimon.default.t.scan.snapshot-id": (2, 2),
        "other.default.t.scan.snapshot-id": (2, 2),
    }
    for number, (key, expected) in zip((1, 2, 3, 2, 4), settings.items(), strict=True):
        spark.conf.set(f"spark.paimon.{key}", str(number))
        assert counts() == expected, key
    assert spark.sql("SELECT count(*) FROM t VERSION AS OF 4").collect() == [(4,)]
    assert spark.sql("SELECT count(*) FROM t /*+ OPTIONS('scan.snapshot-id' = '1') */").collect() == [(1,)]
    assert spark.read.option("scan.snapshot-id", "4").table("t").count() == 4
    assert spark.read.option("incremental-between", "1,3").table("t").count() == 2
    for key in settings:
        spark.conf.unset(f"spark.paimon.{key}")
    assert counts() == (4, 4)
    modes = {
        "latest-delta": 1,
        "compacted-full": 4,
        "latest": 4,
    }
    for mode, expected_rows in modes.items():
        assert spark.read.option("scan.mode", mode).table("t").count() == expected_rows, mode
    assert spark.read.option("scan.file-creation-time-millis", str(2**53)).table("t").count() == 0
    spark.sql("SET spark.paimon.scan.mode = from-snapshot")
    with pytest.raises(Exception, match="'from-snapshot' needs 'scan.snapshot-id'"):
        spark.table("t").count()


def test_the_largest_partition(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, p INT, q STRING) PARTITIONED BY (p, q)")
    with pytest.raises(Exception, match=r"no partition of table default\.t has any rows"):
        spark.sql("SELECT sys.max_pt('t')").collect()
    spark.sql("INSERT INTO t VALUES (1, 9, 'x'), (2, 10, 'y'), (3, NULL, 'z')")
    for name in ("t", "default.t", "paimon.default.t", "`default`.`t`"):
        assert rows(spark, f"SELECT k FROM t WHERE p = sys.max_pt('{name}')") == [(2,)]
    about = spark.sql("EXPLAIN SELECT k FROM t WHERE p = paimon.sys.max_pt('t')").collect()[0][0]
    assert "files 1/3" in about
    spark.sql("CREATE TABLE u (k INT)")
    for call, said in {
        "sys.max_pt('u')": "is not a partitioned table",
        "sys.max_pt('nosuch')": "nosuch",
        "sys.max_pt(1, 2)": "takes the name of a table",
        "sys.nosuch(1)": "UNRESOLVED_ROUTINE",
        "nosuch(1)": "UNRESOLVED_ROUTINE",
    }.items():
        with pytest.raises(Exception, match=said):
            spark.sql(f"SELECT {call}").collect()
    assert rows(spark, "SELECT upper('a'), max_by(k, p) FROM t") == [("A", 2)]


def test_the_largest_partition_of_a_format_table(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, p INT, q STRING) USING csv PARTITIONED BY (p, q)")
    with pytest.raises(Exception, match=r"no partition of table default\.t has any rows"):
        spark.sql("SELECT sys.max_pt('t')").collect()
    spark.sql("INSERT INTO t VALUES (1, 9, 'x'), (2, 10, 'y'), (3, NULL, 'z'), (4, 11, 'a'), (5, 9, 'b')")
    assert rows(spark, "SELECT k FROM t WHERE p = sys.max_pt('t')") == [(4,)]
    spark.sql("TRUNCATE TABLE t PARTITION (p = 11, q = 'a')")  # its folder stays
    assert rows(spark, "SELECT k FROM t WHERE p = sys.max_pt('t')") == [(2,)]
    spark.sql("TRUNCATE TABLE t PARTITION (p = 10, q = 'y')")
    assert rows(spark, "SELECT k FROM t WHERE p = sys.max_pt('t') ORDER BY k") == [(1,), (5,)]
