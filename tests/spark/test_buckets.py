"""Bucket modes through Spark, with as many tasks as it likes."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.spark


def test_dynamic_buckets_with_one_task_and_with_many(spark: Any) -> None:
    options = "'bucket' = '-1', 'dynamic-bucket.target-row-num' = '400'"
    spark.sql(f"CREATE TABLE t (k BIGINT, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ({options})")
    spark.sql("INSERT INTO t SELECT id, 0 FROM range(1000)")
    counts = "SELECT bucket, row_count FROM t$table_indexes ORDER BY bucket"
    assert [tuple(r) for r in spark.sql(counts).collect()] == [(0, 400), (1, 400), (2, 200)]
    spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    try:
        for number in (1, 2):
            spark.sql(f"INSERT INTO t SELECT id, {number} FROM range({number * 500}, 3000)")
    finally:
        spark.conf.unset("spark.sql.adaptive.coalescePartitions.enabled")
    found = spark.sql("SELECT v, count(*), sum(k) FROM t GROUP BY v ORDER BY v").collect()
    sums = [(0, 0, 500), (1, 500, 1000), (2, 1000, 3000)]
    assert [tuple(r) for r in found] == [(v, high - low, sum(range(low, high))) for v, low, high in sums]
    assert spark.sql("SELECT sum(row_count) FROM t$table_indexes").first()[0] == 3000
    assert spark.sql("SELECT count(*) = count(DISTINCT bucket) FROM t$table_indexes").first()[0]
    spark.sql("INSERT OVERWRITE t VALUES (5, 5), (6, 6)")
    assert [tuple(r) for r in spark.sql(counts).collect()] == [(0, 2)]
    spark.sql("CALL sys.compact(table => 't')")
    spark.sql("INSERT INTO t VALUES (5, 50)")
    assert {tuple(r) for r in spark.sql("SELECT * FROM t").collect()} == {(5, 50), (6, 6)}


@pytest.mark.parametrize("function", ["mod", "hive"])
def test_bucket_functions(spark: Any, function: str) -> None:
    options = f"'bucket' = '3', 'bucket-function.type' = '{function}'"
    spark.sql(f"CREATE TABLE t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ({options})")
    spark.sql("INSERT INTO t VALUES (0, 'a'), (1, 'b'), (2, 'c'), (3, 'd'), (-1, 'e')")
    found = spark.sql("SELECT bucket, sum(record_count) FROM t$files GROUP BY bucket ORDER BY bucket").collect()
    assert [tuple(r) for r in found] == ([(0, 2), (1, 1), (2, 2)] if function == "mod" else [(0, 2), (1, 2), (2, 1)])
    assert spark.sql("SELECT v FROM t WHERE k = -1").first()[0] == "e"


def test_rows_move_between_partitions(spark: Any) -> None:
    spark.sql("CREATE TABLE t (p STRING, k BIGINT, v INT, PRIMARY KEY (k) NOT ENFORCED) PARTITIONED BY (p)")
    spark.sql("INSERT INTO t SELECT concat('p', id % 3), id, 0 FROM range(300)")
    spark.sql("INSERT INTO t SELECT concat('p', id % 2), id, 1 FROM range(100, 400)")
    spark.sql("INSERT INTO t VALUES ('z', 7, 1), ('a', 7, 2), ('m', 7, 3)")
    found = spark.sql("SELECT count(*), count(DISTINCT k), sum(v) FROM t").first()
    assert tuple(found) == (400, 400, 303)
    assert tuple(spark.sql("SELECT p, v FROM t WHERE k = 7").first()) == ("m", 3)
    assert spark.sql("SELECT count(*) FROM t WHERE p = 'p2' AND k >= 100").first()[0] == 0
    spark.sql("DELETE FROM t WHERE k >= 10")
    spark.sql("UPDATE t SET p = 'u' WHERE k = 3")
    assert {tuple(r) for r in spark.sql("SELECT p, k FROM t WHERE k IN (3, 7, 8, 20)").collect()} == {
        ("u", 3),
        ("m", 7),
        ("p2", 8),
    }
    spark.sql("INSERT OVERWRITE t VALUES ('b', 1, 1)")
    assert [tuple(r) for r in spark.sql("SELECT * FROM t").collect()] == [("b", 1, 1)]


def test_rows_of_a_table_with_postponed_buckets_change(spark: Any) -> None:
    options = "'bucket' = '-2', 'postpone.target-row-num-per-bucket' = '30'"
    spark.sql(
        f"CREATE TABLE t (p INT, k INT, v INT, PRIMARY KEY (p, k) NOT ENFORCED) PARTITIONED BY (p) WITH ({options})"
    )
    spark.sql("INSERT INTO t SELECT id % 2, id, 0 FROM range(100)")
    layout = "SELECT partition, count(*) FROM t$buckets GROUP BY partition ORDER BY partition"
    assert [r[1] for r in spark.sql(layout).collect()] == [2, 2]
    spark.sql("UPDATE t SET v = 1 WHERE k < 10")
    spark.sql("DELETE FROM t WHERE k >= 90")
    spark.sql(
        "MERGE INTO t USING (SELECT 1 AS p, 5 AS k UNION SELECT 0, 200) s ON t.k = s.k AND t.p = s.p"
        " WHEN MATCHED THEN UPDATE SET v = 7 WHEN NOT MATCHED THEN INSERT (p, k, v) VALUES (p, k, 8)"
    )
    assert tuple(spark.sql("SELECT count(*), sum(v) FROM t").first()) == (91, 24)
    spark.conf.set("spark.paimon.postpone.batch-write-fixed-bucket", "false")
    try:
        spark.sql("DELETE FROM t WHERE p = 0 AND k < 90")
        spark.sql("INSERT INTO t VALUES (1, 5, 9), (3, 3, 3)")
    finally:
        spark.conf.unset("spark.paimon.postpone.batch-write-fixed-bucket")
    assert spark.sql("SELECT count(*) FROM t").first()[0] == 91
    spark.conf.set("spark.paimon.postpone.merge-on-read", "true")
    seen = {tuple(r) for r in spark.sql("SELECT p, k, v FROM t WHERE p <> 1 OR v > 1").collect()}
    spark.conf.unset("spark.paimon.postpone.merge-on-read")
    spark.sql("CALL sys.compact(table => 't')")
    after = {tuple(r) for r in spark.sql("SELECT p, k, v FROM t WHERE p <> 1 OR v > 1").collect()}
    assert seen == after == {(0, 200, 8), (1, 5, 9), (3, 3, 3)}
    spark.sql("CALL sys.rescale(table => 't', bucket_num => 3, where => 'p > 1')")
    assert {r[0] for r in spark.sql("SELECT total_buckets FROM t$partitions").collect()} == {2, 3}
    with pytest.raises(Exception, match="only conditions on partition columns"):
        spark.sql("CALL sys.rescale(table => 't', bucket_num => 3, where => 'v > 1')")
    spark.sql("INSERT OVERWRITE t PARTITION (p = 1) VALUES (1, 1)")
    assert spark.sql("SELECT count(*) FROM t").first()[0] == 3
