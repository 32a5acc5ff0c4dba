"""Statements on a table with Iceberg metadata, and what a reader of Iceberg sees of their rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.expressions import EqualTo
from pyspark.errors import PySparkException

from tests.support.iceberg_reader import iceberg_rows, open_iceberg

pytestmark = pytest.mark.spark

ICEBERG = "'metadata.iceberg.storage' = 'table-location'"


def metadata(warehouse: str, table: str = "t") -> Path:
    return Path(warehouse, "default.db", table, "metadata")


def rows(spark: Any, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(r) for r in spark.sql(query).collect()), key=str)


def test_partitions_of_every_type(spark: Any, warehouse: str) -> None:
    types = {
        "p1": ("INT", "7"),
        "p2": ("STRING", "'a/b=#?%'"),
        "p3": ("DATE", "DATE '1969-12-30'"),
        "p4": ("DECIMAL(9, 2)", "-1.50BD"),
        "p5": ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ '2024-01-02 03:04:05.123456'"),
        "p6": ("BOOLEAN", "true"),
        "p7": ("BIGINT", "NULL"),
        "p8": ("DECIMAL(30, 3)", "12345678901234567890.123BD"),
    }
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in types.items())
    spark.sql(f"CREATE TABLE t (k INT, {columns}) PARTITIONED BY ({', '.join(types)}) TBLPROPERTIES ({ICEBERG})")
    spark.sql(f"INSERT INTO t SELECT 1, {', '.join(value for _, value in types.values())}")
    spark.sql("INSERT INTO t SELECT 2, 8, 'x', DATE '2024-02-29', 3, TIMESTAMP_NTZ '1960-01-01', false, 9, 4")
    names = ["k", *types]
    assert iceberg_rows(metadata(warehouse), *names) == rows(spark, f"SELECT {', '.join(names)} FROM t")
    table = open_iceberg(metadata(warehouse))
    for name, value in (("p1", 7), ("p2", "x"), ("p6", True)):
        assert len(list(table.scan(row_filter=EqualTo(name, value)).plan_files())) == 1, name
    spark.sql("DELETE FROM t WHERE k = 1")
    spark.sql("DELETE FROM t WHERE p3 = DATE '2024-02-29'")
    assert iceberg_rows(metadata(warehouse), *names) == []


def test_statements_that_change_rows_and_columns(spark: Any, warehouse: str) -> None:
    spark.sql(
        "CREATE TABLE t (k INT, v STRING, s STRUCT<x INT, y ARRAY<STRING>>, m MAP<STRING, INT>, d DECIMAL(9, 2)) "
        f"TBLPROPERTIES ({ICEBERG})"
    )
    spark.sql("INSERT INTO t SELECT id, 'v', struct(id, array('a', NULL)), map('k', id), id FROM range(5)")
    spark.sql("UPDATE t SET v = 'updated' WHERE k = 1")
    spark.sql("DELETE FROM t WHERE k = 2")
    spark.sql("MERGE INTO t USING (SELECT 3 AS k) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = 'merged'")
    spark.sql("ALTER TABLE t ADD COLUMN n BIGINT")
    spark.sql("ALTER TABLE t RENAME COLUMN v TO w")
    spark.sql("ALTER TABLE t DROP COLUMN d")
    spark.sql("ALTER TABLE t ALTER COLUMN k TYPE BIGINT")
    spark.sql("INSERT INTO t SELECT id, 'new', NULL, NULL, id FROM range(5, 7)")
    assert iceberg_rows(metadata(warehouse), "k", "w", "n") == rows(spark, "SELECT k, w, n FROM t")
    nested = "SELECT k, s.x, s.y, m['k'] FROM t WHERE s IS NOT NULL"
    found = iceberg_rows(metadata(warehouse), "k", "s", "m")
    assert sorted([(k, s["x"], s["y"], dict(m)["k"]) for k, s, m in found if s is not None], key=str) == rows(
        spark, nested
    )
    spark.sql("INSERT OVERWRITE t SELECT 1L, 'only', NULL, NULL, 1L")
    assert iceberg_rows(metadata(warehouse), "k", "w") == [(1, "only")]
    spark.sql("TRUNCATE TABLE t")
    assert iceberg_rows(metadata(warehouse), "k") == []


def test_upserts_are_seen_with_the_next_full_compaction(spark: Any, warehouse: str) -> None:
    spark.sql(
        "CREATE TABLE t (k INT, v STRING, p INT) PARTITIONED BY (p) "
        f"TBLPROPERTIES ('primary-key' = 'k, p', 'bucket' = '2', {ICEBERG})"
    )
    spark.sql("INSERT INTO t SELECT id, 'old', id % 2 FROM range(10)")
    spark.sql("INSERT INTO t SELECT id, 'new', id % 2 FROM range(5)")
    spark.sql("DELETE FROM t WHERE k = 9")
    spark.sql("CALL sys.compact(table => 't')")
    query = "SELECT k, v, p FROM t"
    assert iceberg_rows(metadata(warehouse), "k", "v", "p") == rows(spark, query)


def test_a_table_dropped_and_made_again_is_another(spark: Any, warehouse: str) -> None:
    create = "CREATE TABLE t (k INT) TBLPROPERTIES ('metadata.iceberg.storage' = 'hadoop-catalog')"
    folder = Path(warehouse, "iceberg", "default", "t", "metadata")
    found = []
    for value in (1, 2):
        spark.sql(create)
        spark.sql(f"INSERT INTO t VALUES ({value})")
        assert iceberg_rows(folder, "k") == [(value,)]
        found.append(open_iceberg(folder).metadata.table_uuid)
        spark.sql("DROP TABLE t")
    assert found[0] != found[1]


@pytest.mark.parametrize(
    ("column", "options", "says"),
    [
        ("v VARIANT", ICEBERG, "'v' has type VARIANT, which Iceberg 2 cannot store; drop it"),
        ("v INT", f"{ICEBERG}, 'deletion-vectors.enabled' = 'true'", "deletion vectors"),
        ("v INT", f"{ICEBERG}, 'metadata.iceberg.format-version' = '3'", "format-version"),
        ("v INT", "'metadata.iceberg.storage' = 'hive-catalog'", "no metastore: set 'metadata.iceberg.uri'"),
    ],
)
def test_what_readers_of_iceberg_would_misread_is_refused(spark: Any, column: str, options: str, says: str) -> None:
    with pytest.raises(PySparkException, match=says):
        spark.sql(f"CREATE TABLE t (k INT, {column}) TBLPROPERTIES ({options})")
        spark.sql("INSERT INTO t SELECT 1, NULL")
