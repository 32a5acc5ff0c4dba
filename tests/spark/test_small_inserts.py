"""INSERTs of rows that are in the statement: one task writes them without a shuffle, as tasks after a shuffle would."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.spark

EXCLUDED = "spark.sql.optimizer.excludedRules"
COLUMNS = "(p INT, k BIGINT, v STRING)"
TABLES = {
    "fixed buckets": "TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '4')",
    "dynamic buckets": "TBLPROPERTIES ('primary-key' = 'k', 'dynamic-bucket.target-row-num' = '2')",
    "keys in partitions": "PARTITIONED BY (p) TBLPROPERTIES ('primary-key' = 'p,k', 'bucket' = '2')",
    "keys that move between partitions": "PARTITIONED BY (p) TBLPROPERTIES ('primary-key' = 'k')",
    "rows in partitions": "PARTITIONED BY (p)",
    "rows in buckets": "TBLPROPERTIES ('bucket-key' = 'k', 'bucket' = '3')",
    "rows in order": "TBLPROPERTIES ('clustering.columns' = 'v')",
}
INSERTS = (
    "INSERT INTO {} VALUES (1, 1, 'a')",
    "INSERT INTO {} VALUES (2, 2, 'd'), (1, 3, 'c'), (NULL, 4, NULL), (2, 5, 'b'), (1, 6, 'e')",
    "INSERT INTO {} (k, p) VALUES (7, 1), (8, 2)",
    "INSERT INTO {} SELECT p + 1, k * 10, upper(v) FROM VALUES (1, 1, 'x'), (2, 2, 'y') AS t (p, k, v)",
    "INSERT INTO {} SELECT 1, 100, 'none' WHERE 1 = 0",
)


def shuffles(spark: Any, statement: str) -> bool:
    return "Exchange" in spark.sql(f"EXPLAIN {statement}").first()[0]


@pytest.mark.parametrize("kind", TABLES)
def test_one_task_writes_the_rows_that_shuffled_tasks_write(spark: Any, kind: str) -> None:
    is_keyed_by_partition = "primary-key" in TABLES[kind] and "PARTITIONED" in TABLES[kind]
    # a column of a primary key has no NULL
    inserts = [i.replace("(NULL, 4", "(9, 4") if is_keyed_by_partition else i for i in INSERTS]
    for name in ("one_task", "shuffled"):
        spark.sql(f"CREATE TABLE {name} {COLUMNS} {TABLES[kind]}")
        spark.conf.set(EXCLUDED, "SourceTasks$Unshuffled" if name == "shuffled" else "")
        try:
            assert shuffles(spark, inserts[1].format(name)) is (name == "shuffled")
            for statement in inserts:
                spark.sql(statement.format(name))
        finally:
            spark.conf.unset(EXCLUDED)
    one, shuffled = (spark.sql(f"SELECT * FROM {name} ORDER BY k").collect() for name in ("one_task", "shuffled"))
    assert one == shuffled and len(one) == 10
    if "dynamic" not in kind and "move" not in kind:  # there the number of tasks decides the buckets
        placed = "SELECT partition, bucket, sum(record_count) FROM {}$files GROUP BY 1, 2 ORDER BY 1, 2"
        assert spark.sql(placed.format("one_task")).collect() == spark.sql(placed.format("shuffled")).collect()


@pytest.mark.parametrize("mode", ["STATIC", "DYNAMIC"])
def test_overwrites(spark: Any, mode: str) -> None:
    spark.sql(f"CREATE TABLE t {COLUMNS} PARTITIONED BY (p)")
    spark.sql("INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b')")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", mode)
    try:
        assert not shuffles(spark, "INSERT OVERWRITE t VALUES (2, 3, 'c')")
        spark.sql("INSERT OVERWRITE t VALUES (2, 3, 'c')")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    left = {(2, 3, "c")} if mode == "STATIC" else {(1, 1, "a"), (2, 3, "c")}
    assert {tuple(r) for r in spark.table("t").collect()} == left


def test_the_last_of_a_key_in_one_statement_wins(spark: Any) -> None:
    spark.sql(f"CREATE TABLE t {COLUMNS} TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2')")
    rows = ", ".join(f"({i}, {i % 3}, 'v{i}')" for i in range(50))
    spark.sql(f"INSERT INTO t VALUES {rows}")
    assert {tuple(r) for r in spark.table("t").collect()} == {(48, 0, "v48"), (49, 1, "v49"), (47, 2, "v47")}


def test_many_rows_and_rows_of_queries_are_shuffled(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k BIGINT, v INT) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2')")
    assert shuffles(spark, "INSERT INTO t SELECT id, 1 FROM range(10)")
    assert shuffles(spark, "INSERT INTO t SELECT explode(sequence(1, 20000)), 1 FROM range(1)")
    values = ", ".join(f"({i}, 1)" for i in range(10_001))
    assert shuffles(spark, f"INSERT INTO t VALUES {values}")
